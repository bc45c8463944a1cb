#!/bin/sh
# Installs the Debian packages that sluice needs and that are missing; does nothing, and needs no rights, when all are
# there.
#
#   cmake/debian-packages.sh build        compilers, tools and libraries: the layers and the examples
#   cmake/debian-packages.sh test         what the tests need on top
#   cmake/debian-packages.sh benchmark    what the benchmarks need on top
#   cmake/debian-packages.sh tidy         what static analysis needs on top
#
# Several may be named. `--list` before them prints the names of the packages and installs nothing.
set -eu

build='cmake ninja-build ccache g++ libasio-dev libcurl4-openssl-dev libsimdjson-dev libexpected-dev
  nlohmann-json3-dev libvalijson-dev libre2-dev librestinio-dev libfmt-dev libhttp-parser-dev libcli11-dev'
test='doctest-dev librapidcheck-dev clang clang-format libclang-rt-14-dev nodejs npm
  nginx-light nghttp2-server tinyproxy openssl'
benchmark='libbenchmark-dev'
tidy='clang clang-tidy'

list=no
if [ "${1-}" = --list ]; then
  list=yes
  shift
fi

wanted=
for purpose in "$@"; do
  case $purpose in
    build) wanted="$wanted $build" ;;
    test) wanted="$wanted $test" ;;
    benchmark) wanted="$wanted $benchmark" ;;
    tidy) wanted="$wanted $tidy" ;;
    *)
      echo "debian-packages.sh: '$purpose' is not one of build, test, benchmark, tidy" >&2
      exit 2
      ;;
  esac
done

if [ "$list" = yes ]; then
  for package in $wanted; do echo "$package"; done
  exit 0
fi

if ! command -v dpkg-query >/dev/null; then
  echo "debian-packages.sh: this is no Debian; install what these stand for, if it is missing:" $wanted >&2
  exit 0
fi

missing=
for package in $wanted; do
  # A node that is not Debian's brings its own npm, and bears no other beside it.
  case $package in
    nodejs | npm) if command -v "${package%js}" >/dev/null; then continue; fi ;;
  esac
  case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "debian-packages.sh: run this as root first: apt-get install$missing" >&2
    exit 1
  fi
  as_root='sudo -n'
fi
echo "installing:$missing" >&2
$as_root apt-get -q -o DPkg::Lock::Timeout=300 update >&2
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing >&2 </dev/null
