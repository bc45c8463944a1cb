#!/bin/sh
# Runs one provider's own client against the mock provider.
#
#   run.sh <folder with package.json and check.mjs> <mock server> <folder to work in>
#
# The client is installed into the folder to work in, by the registry that npm is configured for, once for each
# package-lock.json. Exits with 77, and the word SKIPPED, when node or npm is missing or the registry cannot be reached.
set -eu

source=$1
server=$2
work=$3

skip() {
  echo "SKIPPED: $*"
  exit 77
}

command -v node >/dev/null || skip "node is not installed; Debian's package is nodejs"
command -v npm >/dev/null || skip "npm is not installed; Debian's package is npm"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 18 ] || skip "node $(node --version) is too old; 18 is needed"

mkdir -p "$work"
if ! cmp -s "$source/package-lock.json" "$work/installed-lock.json"; then
  cp "$source/package.json" "$source/package-lock.json" "$work/"
  rm -rf "$work/node_modules" "$work/installed-lock.json"
  status=0
  (cd "$work" && timeout 150 npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=1 \
    --fetch-timeout=30000) >"$work/npm.log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    cat "$work/npm.log"
    [ "$status" -ne 124 ] || skip "npm did not finish within 150 s"
    # Everything else, such as a lock file that does not fit, is a fault of ours.
    unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET|FETCH_ERROR'
    unreachable="$unreachable|network|E40[13]|E5[0-9][0-9]|CERT"
    if grep -Eq "$unreachable" "$work/npm.log"; then
      skip "npm cannot reach its registry"
    fi
    exit 1
  fi
  cp "$source/package-lock.json" "$work/installed-lock.json"
fi

cp "$source/check.mjs" "$(dirname "$source")/mock_server.mjs" "$work/"
cd "$work"
SLUICE_MOCK_SERVER=$server exec node check.mjs
