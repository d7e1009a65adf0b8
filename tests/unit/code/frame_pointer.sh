#!/bin/sh
# frame_pointer.sh OBJECT...: rbp is the guest call's frame pointer, so no handler that C made may mention it.
set -eu
objects=$(echo "$@" | tr ';' ' ')
for object in $objects; do
    case $object in *.S.o) continue ;; esac
    case $(objdump -f "$object") in
    *x86-64*) register='%rbp' ;;
    *) register='x29' ;;
    esac
    if objdump -d --no-show-raw-insn "$object" | grep -F -m 5 "$register"; then
        echo "$object: the frame pointer is not a handler's to use"
        exit 1
    fi
done
