#!/bin/sh
# check_format.sh <root>
#
# Every C++ file under <root> stands as its .clang-format says. The rules of formatting change from one release of
# clang-format to the next, so only the release that .clang-format names is asked.
set -eu
cd "$1"

release=$(sed -n '1s/^# clang-format \([0-9]*\)$/\1/p' .clang-format)
[ -n "$release" ] || { echo "the first line of .clang-format does not name its release" >&2; exit 1; }

formatter=
for each in "clang-format-$release" clang-format; do
  if command -v "$each" >/dev/null && "$each" --version | grep -q "version $release\."; then
    formatter=$each
    break
  fi
done
[ -n "$formatter" ] || { echo "SKIPPED: there is no clang-format $release"; exit 77; }

files=$(find include lib examples tests benchmarks \( -name '*.hpp' -o -name '*.cpp' \) | sort)
[ -n "$files" ] || { echo "no C++ files under $1" >&2; exit 1; }
# shellcheck disable=SC2086 # one word each
"$formatter" --dry-run -Werror $files
