#!/bin/sh
# stencil_tool.sh TOOL COMPILER SOURCE OBJECT...: the tool accepts the real handlers and refuses, by name, one that
# refers to a constant in memory, one that calls a function, and one that is missing.
set -eu
tool=$1 compiler=$2 source=$3
shift 3
objects=$(echo "$@" | tr ';' ' ')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086  # a list of paths
"$tool" "$work/good.c" $objects
[ -s "$work/good.c" ]

refused() { # NAME WORD OBJECT...
    name=$1 word=$2
    shift 2
    if "$tool" "$work/bad.c" "$@" 2>"$work/said"; then
        echo "$name: was accepted"
        exit 1
    fi
    if ! grep -q "$name: .*$word" "$work/said"; then
        echo "$name: refused without its name and '$word':"
        cat "$work/said"
        exit 1
    fi
    [ ! -e "$work/bad.c" ] || { echo "$name: left an output"; exit 1; }
}

handler() { # BODY: as the first integer handler
    cat >"$work/bad.c" <<C
#include "vm/run/handler.h"
void elsewhere(void);
static const double constants[2] = {1.5, 2.5};
HANDLER(i32_add_0_0_n) { $1 }
C
    "$compiler" -O2 -std=gnu17 -I"$source" -fPIC -ffunction-sections -Wno-uninitialized \
        -c "$work/bad.c" -o "$work/bad.o"
    rm "$work/bad.c"
}

handler 'r0 = (u64)constants[r1 & 1]; NEXT(0);'
refused run_op_i32_add_0_0_n 'refers to' "$work/bad.o"
handler 'elsewhere(); NEXT(0);'
refused run_op_i32_add_0_0_n 'refers to elsewhere' "$work/bad.o"
handler 'r0 = (u64)(uintptr_t)run_next; NEXT(0);'
refused run_op_i32_add_0_0_n 'refers to' "$work/bad.o"
handler 'NEXT(0);'
refused run_op_i32_sub_0_0_n 'not found' "$work/bad.o"
