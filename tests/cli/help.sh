#!/bin/sh
# --help goes to standard output and names exactly the options that the man page has; what cannot be printed is an
# error.
#
#     help.sh MAN_FOLDER VERSION
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"
man=$1
version=$2

run 0 "$GLASSBOX" --version
prints "glassbox $version"

# The options of a man page as --help writes them: the line after each .TP of the section OPTIONS that starts with a
# dash, without its macro, fonts and escapes. The macros that join their words lose the blanks.
man_options() {
    sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$1" | grep -A1 '^\.TP' | grep -E '^\.(B|BI|BR) \\-\\-' |
        sed -e 's/^\.B[IR]* //' -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e 's/ //g' | sort
}

for command in "" run dump doctor; do
    # shellcheck disable=SC2086  # the empty word is no argument
    run 0 "$GLASSBOX" $command --help
    silent err
    says out "^Usage: glassbox ${command:-\[OPTION\]}"
    sed -n 's/^  \(--[^ ]*\)$/\1/p' out | sort >options
    [ -s options ] || fail "no options in the help of glassbox $command"
    page=$man/glassbox${command:+-$command}.1
    man_options "$page" >documented
    diff options documented >differences || fail "$page and --help differ (< help, > man): $(cat differences)"
    [ "$(awk '{ if (length > longest) longest = length } END { print longest }' out)" -le 80 ] ||
        fail "glassbox $command --help is wider than 80 columns"
done

# The help is called for anywhere among the options, and then nothing is run.
run 0 "$GLASSBOX" run --invoke=f --help nothing.wasm
says out "^Usage: glassbox run"

full() { "$@" >/dev/full; }
closed() { "$@" >&-; }
broken() { (trap '' PIPE; { sleep 0.2; "$@"; echo $? >status; } | true); return "$(cat status)"; }
for how in full closed broken; do
    run 1 $how "$GLASSBOX" --help
    says err "^glassbox: standard output: "
done
finish
