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

# The provider's own package for JavaScript stands beside `chat()`, where npm can get it.
packages=$build/benchmarks/npm
if [ ! -d "$packages/node_modules/openai" ]; then
  mkdir -p "$packages"
  cp "$root"/tests/sdk/openai/package*.json "$packages"
  (cd "$packages" && timeout 120 npm ci --no-audit --no-fund) >"$log" 2>&1 || true
fi
if [ -d "$packages/node_modules/openai" ]; then
  SLUICE_NPM=$packages
  export SLUICE_NPM
fi

"$build/benchmarks/sluice_bars" "$@"
