#!/bin/sh
# self_test.sh <check_readme.sh>
#
# Shows that the README check passes what it should pass and stops what it should stop.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/examples/admit" "$house/tests"
printf '#!/bin/sh\n' >"$house/tests/run.sh"
printf 'not executable\n' >"$house/tests/notes.sh"
chmod +x "$house/tests/run.sh"
echo 'add_executable(contention contention.cpp)' >"$house/examples/CMakeLists.txt"
echo '{ "configurePresets": [ { "name": "dev" } ] }' >"$house/CMakePresets.json"
cat >"$house/examples/admit/admit.cpp" <<'CPP'
int main() {
  //! [admit]
  auto permit = gate.try_admit();
  if (!permit) {
    return 1;
  }
  //! [admit]
}
CPP

# expect <pass | text of the fault>, with README on standard input
expect() {
  cat >"$house/README.md"
  if "$check" "$house/README.md" "$house" >"$house/output" 2>&1; then got=pass; else got=$(cat "$house/output"); fi
  case $got in
    *"$1"*) ;;
    *)
      echo "expected '$1', got '$got' for:" >&2
      cat "$house/README.md" >&2
      echo failed >>"$house/failures"
      ;;
  esac
}

good='<!-- snippet: admit -->
```cpp
auto permit = gate.try_admit();
if (!permit) {
  return 1;
}
```'
printf '%s\n' "$good" | expect pass
printf '%s\n' "$good" | sed 's/return 1/return 2/' | expect "not the snippet 'admit'"
printf '%s\n' "$good" | sed 's/  return 1/ return 1/' | expect "not the snippet 'admit'"
printf '%s\n' "$good" | sed '/return 1/d' | expect "not the snippet 'admit'"
printf '%s\n' "$good" | sed 's/snippet: admit/snippet: leave/' | expect "no example has a snippet 'leave'"
printf '%s\n' "$good" | sed 1d | expect 'names no snippet'
printf '%s\n' "$good" | sed '1a Some words in between.' | expect 'names no snippet'
printf '%s\n' "$good" | sed 's/```cpp/```c++/; 1d' | expect 'names no snippet'
printf '%s\n' "$good" | sed '$d' | expect 'does not end'
printf '```json\n{ "any": "thing" }\n```\n' | expect pass

shell() { printf '```%s\n%s\n```\n' "$1" "$2"; }
shell sh 'tests/run.sh --quick' | expect pass
shell sh 'CI=true ./tests/run.sh | sort   # all of it' | expect pass
shell sh 'cmake --preset dev && cmake --build --preset dev' | expect pass
shell sh 'build/release/examples/contention --seconds 20' | expect pass
shell console '$ tests/run.sh
this-is-its-output' | expect pass
shell sh 'tests/gone.sh' | expect "no command 'tests/gone.sh'"
shell bash 'tests/notes.sh' | expect "no command 'tests/notes.sh'"
shell sh 'true && no-such-program' | expect "no command 'no-such-program'"
shell console '$ no-such-program' | expect "no command 'no-such-program'"
shell sh 'cmake --preset sunny' | expect "no preset 'sunny'"
shell sh 'build/release/examples/gone' | expect "no command 'build/release/examples/gone'"

printf '%s\n' '//! [admit]' '//! [admit]' >"$house/examples/twice.cpp"
printf '%s\n' "$good" | expect 'two snippets are named admit'
printf '%s\n' '//! [open]' 'int x;' >"$house/examples/twice.cpp"
printf '%s\n' "$good" | expect 'does not end'

# `expect` runs at the end of a pipe, where a variable would be lost.
[ ! -e "$house/failures" ]
