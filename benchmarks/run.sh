#!/bin/sh
# Builds the release and measures every bar beside its reference: one line each. Ends with 1 when one is missed.
# Arguments go to the program: `run.sh --benchmark_filter=memory` measures the bars of that name only.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SLUICE_BUILD_DIR:-$root/build/release}

cd "$root"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake --preset release -B "$build" && cmake --build "$build" --target sluice_bars; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 2
fi
"$build/benchmarks/sluice_bars" "$@"
