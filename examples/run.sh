#!/bin/sh
# examples/run.sh [options]
#
# Installs what is missing, builds the contention example and runs it with the options given (--help names them): chats
# and batch agents share one provider, first unprotected, then behind a plain limit, then behind sluice.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

# The example runs where it was called, so that relative file names in its options mean what they say.
"$here/cmake/debian-packages.sh" build
log=$here/build/logs/examples-build
mkdir -p "$here/build/logs"
echo "building the example (log: $log)" >&2
if ! (cd "$here" && cmake --preset release -DSLUICE_BUILD_BENCHMARKS=OFF &&
  cmake --build --preset release --target contention) >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
exec "$here/build/release/examples/contention/contention" "$@"
