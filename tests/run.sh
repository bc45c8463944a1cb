#!/bin/sh
# tests/run.sh [--quick]
#
# Installs what is missing, then builds and tests sluice, stage by stage, each a preset of CMakePresets.json:
#
#   dev     everything: unit, integration, consumer projects, headers, layers, format, README, examples
#   asan    unit and integration under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan    unit and integration under ThreadSanitizer
#   clang   unit, and each fuzzer for a few seconds, built with clang
#
# --quick runs the first alone. Fails when anything fails; the last line is the sum, `N passed, N failed`.
set -eu
cd "$(dirname "$0")/.."

stages='dev asan tsan clang'
case ${1-} in
  '') ;;
  --quick) stages=dev ;;
  *)
    echo "usage: tests/run.sh [--quick]" >&2
    exit 2
    ;;
esac

cmake/debian-packages.sh build test benchmark

jobs=$(nproc)
logs=build/logs
mkdir -p "$logs"
passed=0
failed=0

# report <stage> <passed> <failed> <what it is about>
report() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  printf '%-6s %4d passed %4d failed %5d s  %s\n' "$1" "$2" "$3" "$(($(date +%s) - started))" "$4" |
    tee -a "$logs/summary"
}

: >"$logs/summary"
for stage in $stages; do
  started=$(date +%s)
  echo "== $stage: building"
  if ! { cmake --preset "$stage" && cmake --build --preset "$stage" --parallel "$jobs"; } >"$logs/$stage-build" 2>&1; then
    grep -E -A20 'error|FAILED|Error' "$logs/$stage-build" | head -n 200 || tail -n 50 "$logs/$stage-build"
    report "$stage" 0 1 "the build failed: $logs/$stage-build"
    continue
  fi
  echo "== $stage: testing, after $(($(date +%s) - started)) s"
  status=0
  ctest --preset "$stage" --parallel "$jobs" >"$logs/$stage-tests" 2>&1 || status=$?
  cat "$logs/$stage-tests"
  # "98% tests passed, 1 tests failed out of 61"
  counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$logs/$stage-tests")
  if [ -z "$counts" ]; then
    report "$stage" 0 1 "no tests ran: $logs/$stage-tests"
    continue
  fi
  broken=${counts% *}
  total=${counts#* }
  if [ "$status" -ne 0 ] && [ "$broken" -eq 0 ]; then broken=1; fi
  report "$stage" $((total - broken)) "$broken" "$logs/$stage-tests"
done

echo
cat "$logs/summary"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
