#!/bin/sh
# guests.sh DISPATCH: every benchmark of $GLASSBOX_GUESTS runs one iteration in $GLASSBOX, and finds its known checksum.
set -u
failures=0
count=0
for guest in "$GLASSBOX_GUESTS"/bench-*.wasm; do
    count=$((count + 1))
    "$GLASSBOX" run --dispatch="$1" "$guest" 1 || { failures=$((failures + 1)); echo "FAIL: $guest"; }
done
echo "$count guests, $failures failed"
[ $count -gt 10 ] && [ $failures = 0 ]
