#!/bin/sh
# run.sh DISPATCH GUEST.c
#
# Runs the guest that was compiled from GUEST.c as $GLASSBOX_GUESTS/wasi_GUEST.wasm in $GLASSBOX, within a folder of its
# own, and compares its exit status and standard output with what the source's first comment says:
#
#     options: ...    of `glassbox run`; FOLDER stands for the folder
#     arguments: ...  as a shell would read them
#     input: ...      its standard input, one line
#     status: N
#     output: ...     one line each
#
# The folder is preopened as "/". Beside it lies a file "secret" and into it leads nothing from there.
set -u

dispatch=$1
source=$2
guest=$GLASSBOX_GUESTS/wasi_$(basename "$source" .c).wasm

field() {
    sed -n "1,/\*\//s,^[ /*]*$1: *,,p" "$source"
}

top=$(mktemp -d "${TMPDIR:-/tmp}/glassbox-wasi-XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
mkdir "$top/folder"
echo treasure >"$top/secret"

options=$(field options | sed "s,FOLDER,$top/folder,g")
eval "set -- $(field arguments)"
# shellcheck disable=SC2086 # options are words
field input | "$GLASSBOX" run --dispatch="$dispatch" --dir="$top/folder::/" $options "$guest" "$@" >"$top/output"
status=$?

field output >"$top/expected"
if ! diff -u "$top/expected" "$top/output" || [ $status != "$(field status)" ]; then
    echo "status $status, expected $(field status)" >&2
    exit 1
fi
if [ "$(cat "$top/secret")" != treasure ] || [ "$(find "$top" -maxdepth 1 | wc -l)" != 5 ]; then
    echo "the guest changed something outside its folder" >&2
    exit 1
fi
