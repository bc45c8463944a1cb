#!/usr/bin/env bash
# Breaks each rule of core on purpose and shows that a unit test notices.
#
#   tests/core/mutations/run.sh              all of mutations.txt
#   tests/core/mutations/run.sh 'late lane'  those whose rule contains the words
#
# Needs a C++20 compiler and doctest, no CMake. Slow (each mutation is a compilation, a link and a run), therefore not a
# part of ctest. Every mutation is made in a copy of lib/core; the tree is not touched. Ends with 1 when a mutation
# survives, or is killed by other tests than the one it names; with 2 when a mutation no longer fits the sources.
#
#   CXX       the compiler (g++)
#   JOBS      compilations at once (1)
#   SCRATCH   a directory that is kept, so that the next run compiles only what changed (a new one, removed at the end)
#   LIMIT     seconds that the tests may take; a mutation that makes them take longer is killed (40)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
only=${1:-}
cxx=${CXX:-g++}
limit=${LIMIT:-40}
if [[ -n ${SCRATCH:-} ]]; then
  scratch=$SCRATCH
  mkdir -p "$scratch"
else
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
fi
flags=(-std=c++20 -O1 -w -MMD "-I$scratch/lib" "-I$root/include" "-I$root/tests")
export CCACHE_NOHASHDIR=1
launcher=$(command -v ccache || true)

# The sources as CMake knows them, so that a test left out of the suite proves nothing here either.
sources() {
  sed -n "/^$2/,/)/{s/^ *\([a-z0-9_]*\.cpp\)\$/\1/p}" "$1"
}

# stale <object>: whether it is missing or older than what it was made from.
stale() {
  [[ -f $1 && -f ${1%.o}.d ]] || return 0
  local made_from
  for made_from in $(sed 's/^[^:]*://; s/\\$//' "${1%.o}.d"); do
    [[ $made_from -nt $1 || ! -e $made_from ]] && return 0
  done
  return 1
}

# compile <source> <object>
compile() {
  $launcher "$cxx" "${flags[@]}" -c "$1" -o "$2"
}

mkdir -p "$scratch/lib/core" "$scratch/core" "$scratch/tests" "$scratch/mutant"
for each in "$root"/lib/core/*.[ch]pp; do
  # Also after a run that was stopped in the middle of a mutation.
  cmp -s "$each" "$scratch/lib/core/${each##*/}" || cp --preserve=timestamps "$each" "$scratch/lib/core/"
done

mapfile -t core < <(sources "$root/lib/core/CMakeLists.txt" 'sluice_layer(core')
mapfile -t tests < <(sources "$root/tests/core/CMakeLists.txt" 'sluice_test(core LABEL')
queue=()
for each in "${core[@]}"; do queue+=("$scratch/lib/core/$each" "$scratch/core/${each%.cpp}.o"); done
for each in "${tests[@]}"; do queue+=("$root/tests/core/$each" "$scratch/tests/${each%.cpp}.o"); done
queue+=("$root/tests/test_main.cpp" "$scratch/tests/test_main.o")
made_once=()
for ((i = 0; i < ${#queue[@]}; i += 2)); do
  made_once+=("${queue[i + 1]}")
  stale "${queue[i + 1]}" || continue
  compile "${queue[i]}" "${queue[i + 1]}" &
  while (($(jobs -rp | wc -l) >= ${JOBS:-1})); do wait -n; done
done
wait

# failures <binary> <test>: the failing test cases, one a line; nothing when all pass. Without a name, of all of them.
failures() {
  # In doctest's patterns a comma separates and an asterisk is anything.
  local log=$scratch/mutant/log status=0 pattern=${2//,/?}
  timeout "$limit" "$1" --no-colors=true --no-intro=true --order-by=file --test-case="${pattern:-*}" >"$log" 2>&1 ||
    status=$?
  awk '/^TEST CASE: / { name = substr($0, 13) } / ERROR: / && !seen[name]++ { print name }' "$log" \
    >"$scratch/mutant/failed"
  if ((status == 124)); then
    echo "the time limit" >>"$scratch/mutant/failed"
  elif ((status != 0)) && [[ ! -s $scratch/mutant/failed ]]; then
    echo "exit status $status" >"$scratch/mutant/failed"
  elif ((status == 0)); then
    : >"$scratch/mutant/failed"
  fi
  cat "$scratch/mutant/failed"
}

"$cxx" "${made_once[@]}" -o "$scratch/unchanged"
if [[ -n $(failures "$scratch/unchanged" "") ]]; then
  echo "The tests fail without any mutation:" >&2
  cat "$scratch/mutant/failed" >&2
  exit 2
fi

made=0 killed=0 survived=0 elsewhere=0 misfits=0

# mutate <rule> <file> <test> <old> <new>
mutate() {
  local rule=$1 file=$2 test=$3 old=$4 new=$5
  [[ -z $only || $rule == *"$only"* ]] || return 0
  made=$((made + 1))
  local path=$scratch/lib/core/$file text rest
  text=$(<"$path")
  rest=${text#*"$old"}
  if [[ -z $old || $rest == "$text" || $rest == *"$old"* ]]; then
    echo "MISFIT    $rule: $file does not hold the text exactly once"
    misfits=$((misfits + 1))
    return 0
  fi
  cp --preserve=timestamps "$path" "$scratch/mutant/original"
  printf '%s\n' "${text%%"$old"*}$new$rest" >"$path"

  # A source is one object. A header is every object that includes it, among the tests too.
  local objects=() object fresh source outcome status=0
  rm -f "$scratch"/mutant/*.o "$scratch/mutant/log"
  for object in "${made_once[@]}"; do
    fresh=$object
    if grep -qF "lib/core/$file" "${object%.o}.d"; then
      fresh=$scratch/mutant/$(basename "$(dirname "$object")")-$(basename "$object")
      source=$root/tests/core/$(basename "${object%.o}").cpp
      [[ $object == */tests/* ]] || source=$scratch/lib/core/$(basename "${object%.o}").cpp
      compile "$source" "$fresh" >>"$scratch/mutant/log" 2>&1 &
      while (($(jobs -rp | wc -l) >= ${JOBS:-1})); do wait -n || true; done
    fi
    objects+=("$fresh")
  done
  wait
  for object in "${objects[@]}"; do [[ -f $object ]] || status=1; done
  if ((status != 0)); then
    echo "MISFIT    $rule: $file does not compile"
    sed -n '/error/p' "$scratch/mutant/log" | head -3
    misfits=$((misfits + 1))
  else
    "$cxx" "${objects[@]}" -o "$scratch/mutant/tests"
    if [[ -n $test && -n $(failures "$scratch/mutant/tests" "$test") ]]; then
      echo "killed    $rule: by '$test'"
      killed=$((killed + 1))
    else
      outcome=$(failures "$scratch/mutant/tests" "")
      if [[ -z $outcome ]]; then
        echo "SURVIVED  $rule"
        survived=$((survived + 1))
      else
        echo "ELSEWHERE $rule: not killed by '$test', but by:"
        sed 's/^/            /' "$scratch/mutant/failed"
        elsewhere=$((elsewhere + 1))
      fi
    fi
  fi
  cp --preserve=timestamps "$scratch/mutant/original" "$path"
}

rule= file= test= old= new=
flush() {
  [[ -z $rule ]] || mutate "$rule" "$file" "$test" "${old%$'\n'}" "${new%$'\n'}"
  rule= file= test= old= new=
}
while IFS= read -r line || [[ -n $line ]]; do
  case $line in
    'rule: '*) flush; rule=${line#rule: } ;;
    'file: '*) file=${line#file: } ;;
    'test: '*) test=${line#test: } ;;
    '- '*) old+=${line#- }$'\n' ;;
    '+ '*) new+=${line#+ }$'\n' ;;
  esac
done <"$here/mutations.txt"
flush

echo "$made mutations: $killed killed as named, $elsewhere elsewhere, $survived survived, $misfits misfits"
((misfits == 0)) || exit 2
((survived + elsewhere == 0))
