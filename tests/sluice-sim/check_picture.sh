#!/bin/sh
# check_picture.sh <sluice-sim> <traces> <picture>: whether the picture in the tree is the one that sluice-sim draws
# now.
set -eu
if [ ! -f "$2/replay/seed-1.csv" ]; then
  echo "SKIPPED: the picture cannot be drawn again without the recorded traces in $2" >&2
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# It exits with 1 when a bar is missed, which is another test's business.
"$1" E1 --traces "$2" --plot "$scratch/e1.svg" > "$scratch/log" 2>&1 || [ $? -eq 1 ] || { cat "$scratch/log"; exit 1; }
if ! cmp "$scratch/e1.svg" "$3"; then
  echo "The picture is no longer what sluice-sim draws. Look at it, and keep it: $1 E1 --plot $3" >&2
  exit 1
fi
