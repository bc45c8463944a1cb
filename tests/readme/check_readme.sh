#!/bin/sh
# check_readme.sh <README.md> <repository>
#
# Holds README to what really compiles and exists. Every ```cpp block is preceded by a line
#
#     <!-- snippet: name -->
#
# and is word for word what stands between two lines `//! [name]` in a source under examples/, but for indentation that
# all its lines share and for blank lines around it. Every command in a ```sh, ```bash, ```shell or ```console block
# exists: as an executable file of the repository, as a program on this machine, or as something the build makes; and
# every preset that is named is in CMakePresets.json. Prints one line per fault and fails if there is one.
set -eu
readme=$1
repository=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Snippets of the examples, one file each.
mkdir "$work/examples" "$work/readme"
find "$repository/examples" -name '*.cpp' -exec awk -v out="$work/examples" '
  FNR == 1 && open != "" { exit }
  /^[ \t]*\/\/! \[[a-z0-9_]+\][ \t]*$/ {
    name = $0; sub(/^[^[]*\[/, "", name); sub(/\].*$/, "", name)
    if (open == name) { open = ""; close(file); next }
    if (open != "") { print "the snippet " open " holds the marker of " name > "/dev/stderr"; failed = 1; exit }
    if (name in seen) { print "two snippets are named " name > "/dev/stderr"; failed = 1; exit }
    seen[name] = 1; open = name; file = out "/" name; printf "" > file; next
  }
  open != "" { print > file }
  END {
    if (!failed && open != "") { print "the snippet " open " does not end" > "/dev/stderr"; failed = 1 }
    exit failed
  }' {} + || exit 1

# Blocks of README: readme/<line>.cpp with readme/<line>.name, and readme/shell with "<line> <command>".
: >"$work/readme/shell"
awk -v out="$work/readme" '
  !inside && /^[ \t]*<!-- snippet: [a-z0-9_]+ -->[ \t]*$/ { name = $3; next }
  !inside && /^[ \t]*```/ {
    inside = 1; language = $0; sub(/^[ \t]*```[ \t]*/, "", language); sub(/[ \t{].*$/, "", language)
    if (language ~ /^(cpp|c\+\+|cc|cxx|C\+\+)$/) {
      kind = "cpp"; file = out "/" NR ".cpp"; printf "" > file
      print name > (out "/" NR ".name"); close(out "/" NR ".name")
    } else if (language ~ /^(sh|bash|shell|console)$/) { kind = "shell"; file = out "/shell" }
    else kind = ""
    name = ""; next
  }
  inside && /^[ \t]*```[ \t]*$/ { inside = 0; if (kind == "cpp") close(file); next }
  inside && kind == "cpp" { print > file }
  inside && kind == "shell" {
    # In a console block only what follows the prompt was typed.
    if (language == "console" && $0 !~ /^[ \t]*[$#] / && held == "") next
    line = $0; sub(/^[ \t]*[$#] /, "", line); sub(/[ \t]+$/, "", line)
    if (line ~ /\\$/) { sub(/\\$/, "", line); held = held line " "; next }
    print NR " " held line > file; held = ""
  }
  !inside && NF { name = "" }
  END { if (inside) { print "README: a block does not end" > "/dev/stderr"; exit 1 } }
' "$readme" || exit 1

# Common indentation, blank lines at both ends and space at the ends of lines do not count.
normalised() {
  awk '
    { sub(/[ \t\r]+$/, ""); line[NR] = $0 }
    $0 != "" {
      match($0, /^ */); if (indent == "" || RLENGTH < indent) indent = RLENGTH
      if (!first) first = NR
      last = NR
    }
    END { for (i = first; first && i <= last; ++i) print substr(line[i], indent + 1) }
  ' "$1"
}

faults=0
fault() {
  echo "README:$1: $2" >&2
  faults=$((faults + 1))
}

for block in "$work"/readme/*.cpp; do
  [ -e "$block" ] || continue
  line=$(basename "$block" .cpp)
  name=$(cat "$work/readme/$line.name")
  if [ -z "$name" ]; then
    fault "$line" "this C++ names no snippet: put <!-- snippet: name --> in front of it"
  elif [ ! -e "$work/examples/$name" ]; then
    fault "$line" "no example has a snippet '$name'"
  else
    normalised "$block" >"$work/left"
    normalised "$work/examples/$name" >"$work/right"
    if ! diff "$work/left" "$work/right" >"$work/difference"; then
      fault "$line" "this is not the snippet '$name' of the examples ('<' README, '>' example):"
      cat "$work/difference" >&2
    fi
  fi
done

# Whether $1 is a command that a reader who follows README can run.
exists() {
  case $1 in
    build/*) grep -rqE --include=CMakeLists.txt "(add_executable\(|example[a-z_]*\(|benchmark[a-z_]*\()$(basename "$1")[ )]" "$repository" ;;
    */*) [ -f "$repository/${1#./}" ] && [ -x "$repository/${1#./}" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

while read -r line commands; do
  printf '%s\n' "$commands" | sed 's/[ \t]#.*$//; s/^#.*$//; s/&&/\n/g; s/||/\n/g; s/[;|]/\n/g' >"$work/commands"
  while read -r words; do
    set -f
    set -- $words
    set +f
    while [ $# -gt 0 ]; do
      case $1 in
        sudo | env | time | [A-Za-z_]*=*) shift ;;
        *) break ;;
      esac
    done
    [ $# -gt 0 ] || continue
    exists "$1" || fault "$line" "there is no command '$1'"
    while [ $# -gt 0 ]; do
      preset=
      case $1 in
        --preset) preset=${2-} ;;
        --preset=*) preset=${1#--preset=} ;;
      esac
      if [ -n "$preset" ] && ! grep -q "\"name\": \"$preset\"" "$repository/CMakePresets.json"; then
        fault "$line" "there is no preset '$preset'"
      fi
      shift
    done
  done <"$work/commands"
done <"$work/readme/shell"

[ "$faults" -eq 0 ]
