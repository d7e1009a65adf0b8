#!/bin/sh
# `glassbox doctor` under each restriction that it should name, with what mends it. Needs root for mounts of its own and
# to become somebody else.
#
#     doctor.sh REFUSE_PERF_EVENT
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"
refuse=$1

# The restricted user cannot read the folder of a build under /root.
chmod 755 "$folder"
cp "$GLASSBOX" ./glassbox
mkdir open closed bin
chmod 777 open

# As it is: whatever the machine is like, exit status, text and JSON agree.
"$GLASSBOX" doctor >out
plain=$?
grep -q '^FAIL' out && expected=1 || expected=0
[ $plain = "$expected" ] || fail "status $plain: $(cat out)"
run $plain "$GLASSBOX" doctor --json
python3 - out >checked <<'PYTHON' || fail "the JSON: $(cat checked)"
import json, sys
report = json.load(open(sys.argv[1]))
assert set(report) == {"glassbox", "works", "checks"}, report
for check in report["checks"]:
    assert set(check) == {"name", "status", "detail", "mend"} and check["status"] in ("ok", "warn", "fail"), check
assert report["works"] == all(check["status"] != "fail" for check in report["checks"])
print(*(check["name"] for check in report["checks"]))
PYTHON
for name in kernel regions code-memory sampling pmu user-counters ring-buffer map dump-dir pid-namespace perf \
    perf-features perf-inject binutils; do
    grep -qw -- "$name" checked || fail "no check $name"
done

# perf: not there, a wrapper that finds none for this kernel, one that lacks what is needed.
PATH=/nonexistent run 1 "$GLASSBOX" doctor
says out '^FAIL  perf +perf is not on the PATH'
says out 'mend: sudo apt-get install linux-perf'
says out '^warn  binutils +not on the PATH: objdump.*addr2line'
says out '^warn  perf-features +unknown without perf'
cat >bin/perf <<'SH'
#!/bin/sh
echo "WARNING: perf not found for kernel 6.1.0" >&2
exit 2
SH
chmod +x bin/perf
PATH=$PWD/bin:$PATH run 1 "$GLASSBOX" doctor
says out '^FAIL  perf +.*/bin/perf does not run: WARNING: perf not found for kernel'
cat >bin/perf <<'SH'
#!/bin/sh
[ "$1" = version ] || exit 129
echo "perf version 4.19"
echo "                 dwarf: [ OFF ]  # HAVE_DWARF_SUPPORT"
echo "                libelf: [ on  ]  # HAVE_LIBELF_SUPPORT"
SH
PATH=$PWD/bin:$PATH run $plain "$GLASSBOX" doctor
says out '^ok    perf +.*perf version 4.19'
says out '^warn  perf-features +perf was built without: source lines; --call-graph dwarf$'
says out "^warn  perf-inject +this perf has no 'inject --jit'"

# perf_event_open refused: by seccomp (EPERM, ENOSYS) and by the paranoid level (EACCES).
for errno in 1 13 38; do
    run 1 "$refuse" $errno "$GLASSBOX" doctor
    says out '^FAIL  sampling +.*refused'
    says out '^warn  ring-buffer +unknown'
done
says out 'mend: .*--cap-add=PERFMON'

# The dump's folder: not there, not ours, noexec, full.
run 1 "$GLASSBOX" doctor --perf-dir=missing
says out '^FAIL  dump-dir +missing cannot be written: No such file or directory$'
JITDUMPDIR=missing run 1 "$GLASSBOX" doctor
says out '^FAIL  dump-dir +missing cannot be written'
says out 'mend: glassbox run --perf-dir=DIR'
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
run 1 nobody ./glassbox doctor --perf-dir=closed
says out '^FAIL  dump-dir +closed cannot be written: Permission denied$'
nobody ./glassbox doctor --perf-dir=open >out 2>err # its status depends on kernel.perf_event_paranoid
says out '^ok    dump-dir +open takes'
says out '^ok    map +.*will belong to uid 65534, so report as that user'
[ -z "$(ls -A open)" ] || fail "something was left behind: $(ls -A open)"

# The copy is called by a path relative to the working directory, which is there also when /tmp is covered.
cat >mounted.sh <<'SH'
set -e
mount -t tmpfs -o "$1" none "$2"
[ "$3" = 0 ] || head -c "$3" /dev/zero >"$2/filler"
shift 3
exec "$@"
SH
mounted() { unshare -m sh mounted.sh "$@"; }
run 1 mounted noexec "$folder/closed" 0 ./glassbox doctor --perf-dir="$folder/closed"
says out '^FAIL  dump-dir +.*/closed is on a file system mounted noexec'
says out "mend: .*sudo mount -o remount,exec $folder/closed\$"
run $plain mounted size=1m "$folder/closed" 500000 ./glassbox doctor --perf-dir=closed
says out '^warn  dump-dir +closed has less than 64 MiB left$'
run 1 mounted ro /tmp 0 ./glassbox doctor
says out '^FAIL  map +/tmp/perf-[0-9]+.map cannot be made: Read-only file system$'
run 1 mounted mode=755 /tmp 0 setpriv --reuid=65534 --regid=65534 --clear-groups ./glassbox doctor --perf-dir=open
says out '^FAIL  map +/tmp/perf-[0-9]+.map cannot be made: Permission denied$'
says out 'mend: sudo chmod 1777 /tmp$'
run $plain mounted mode=777 /tmp 0 ./glassbox doctor
says out '^warn  map +/tmp has no sticky bit'
says out 'mend: sudo chmod 1777 /tmp$'

# A map that another process with this pid has left.
# shellcheck disable=SC2016  # for the inner shell
run $plain sh -c ': >/tmp/perf-$$.map; exec "$GLASSBOX" doctor'
says out '^warn  map +/tmp/perf-[0-9]+.map is left over'
rm -f "/tmp/perf-$(sed -n 's,.*/tmp/perf-\([0-9]*\).map is left over.*,\1,p' out).map"

# A pid namespace of its own, as a container has.
run $plain unshare -pf --mount-proc "$GLASSBOX" doctor
says out '^warn  pid-namespace '

# Colour on a terminal only, and not where it is unwelcome.
run $plain "$GLASSBOX" doctor
escape=$(printf '\033')
! grep -q "$escape" out || fail "colour in a file"
coloured() { script -qec "$GLASSBOX doctor" /dev/null; }
TERM=xterm NO_COLOR='' coloured >out 2>err
says out "^$escape\\[3[123]m(ok|warn|FAIL)"
TERM=xterm NO_COLOR=1 coloured >out 2>err
! grep -q "$escape" out || fail "colour in spite of NO_COLOR"
TERM=dumb coloured >out 2>err
! grep -q "$escape" out || fail "colour on a dumb terminal"
finish
