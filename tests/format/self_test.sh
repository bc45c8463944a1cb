#!/bin/sh
# self_test.sh <check> <root> <scratch>
#
# The check finds a file that stands otherwise, and only that.
set -eu
check=$1
scratch=$3

rm -rf "$scratch"
for each in include lib examples tests benchmarks; do mkdir -p "$scratch/$each"; done
cp "$2/.clang-format" "$scratch"
printf 'int one() { return 1; }\n' >"$scratch/lib/one.cpp"

status=0
"$check" "$scratch" >"$scratch/said" 2>&1 || status=$?
if [ "$status" -eq 77 ]; then cat "$scratch/said"; exit 77; fi
if [ "$status" -ne 0 ]; then echo "a file as it should be was refused:"; cat "$scratch/said"; exit 1; fi

printf 'int  two( ) {return 2;}\n' >"$scratch/tests/two.cpp"
if "$check" "$scratch" >"$scratch/said" 2>&1; then echo "a file that stands otherwise was not found"; exit 1; fi
grep -q 'tests/two.cpp' "$scratch/said" || { echo "the file was not named:"; cat "$scratch/said"; exit 1; }
