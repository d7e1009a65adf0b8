#!/bin/sh
# benchmarks.sh MODE: every benchmark gives its known result, by --dispatch=MODE. One iteration each; no time is
# measured.
set -u
status=0 count=0
for module in "$GLASSBOX_GUESTS"/bench-*.wasm; do
    "$GLASSBOX" run --dispatch="$1" "$module" 1 || { echo "$module: exit status $?"; status=1; }
    count=$((count + 1))
done
echo "$count benchmarks"
[ $count -ge 12 ] || status=1
exit $status
