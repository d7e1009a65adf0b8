#!/bin/sh
# test.sh [CTEST OPTION...]: installs what is missing, builds the release preset, runs every test, and ends with ctest's
# own summary and exit status. `scripts/test.sh -R perf/` runs the tests of that name.
#
# One test at a time: many of them measure where the time goes, and would measure one another.

set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh
scripts/aarch64-sysroot || echo "test.sh: the tests of the aarch64 build will be skipped"
cmake --preset release
cmake --build --preset release
exec ctest --preset release "$@"
