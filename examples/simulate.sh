#!/bin/sh
# examples/simulate.sh [experiment...] [options]
#
# Installs what is missing, builds sluice-sim and runs it with the arguments given (--help names them): experiments with
# sluice's own policy under virtual time, each a table and a line for each thing that it is to reach.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

"$here/cmake/debian-packages.sh" build
log=$here/build/logs/simulation-build
mkdir -p "$here/build/logs"
echo "building sluice-sim (log: $log)" >&2
if ! (cd "$here" && cmake --preset release -DSLUICE_BUILD_BENCHMARKS=OFF &&
  cmake --build --preset release --target example_sluice_sim) >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
exec "$here/build/release/examples/sluice-sim/sluice-sim" "$@"
