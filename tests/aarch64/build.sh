#!/bin/sh
# build.sh CMAKE BUILD TARGET...: configures the preset aarch64 in the folder BUILD, and builds targets there.
set -eu
cmake=$1
build=$2
shift 2
cd "${0%/*}/../.."
"$cmake" --preset aarch64 -B "$build"
"$cmake" --build "$build" --target "$@"
