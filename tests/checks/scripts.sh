#!/bin/sh
# Every shell script of the tree, by its first line, is clean to shellcheck.
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || { echo "skip: shellcheck is not on the PATH"; exit 77; }
scripts=$(git ls-files 2>/dev/null | while read -r file; do
    case $(head -n 1 "$file" 2>/dev/null | tr -d '\0') in "#!/bin/sh"* | "#!/bin/bash"*) echo "$file" ;; esac
done)
[ -n "$scripts" ] || { echo "skip: not a git checkout"; exit 77; }
# SC2317: a function that is only called by a name in a variable looks unreachable to it.
# shellcheck disable=SC2086  # a list of words
exec shellcheck --exclude=SC2317 $scripts
