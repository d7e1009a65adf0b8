/* What a region needs beside perf: memory that may be executed, and files that perf finds. Each check does what the
 * libraries do (see perfmap/, jitdump/, elfimage/) on a small scale, in the places where they do it, and removes what
 * it made.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "vm/glassbox.h"

void doctor_check_regions(struct doctor_context *context, struct doctor_result *result)
{
    if (vm_has_regions()) {
        doctor_say(result, DOCTOR_OK, "this build gives each guest function code of its own");
    } else {
        doctor_say(result, DOCTOR_FAIL, "this build has no code regions, as sanitizer builds have none");
        doctor_fix(result, "build the preset 'release'");
    }
}

/* Two views of the same shared pages, one writable and one executable: what the VM's own code arena is. */
void doctor_check_code_memory(struct doctor_context *context, struct doctor_result *result)
{
    static const char mark[] = "glassbox";
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *execute = mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *write = execute == MAP_FAILED ? MAP_FAILED : mremap(execute, 0, page_bytes, MREMAP_MAYMOVE);
    bool is_aliased = write != MAP_FAILED && mprotect(write, page_bytes, PROT_READ | PROT_WRITE) == 0;
    int error = errno;
    if (is_aliased) {
        memcpy(write, mark, sizeof mark);
        is_aliased = memcmp(execute, mark, sizeof mark) == 0;
    }

    if (is_aliased) {
        doctor_say(result, DOCTOR_OK, "shared memory with a writable and an executable view");
    } else {
        doctor_say(result, DOCTOR_FAIL,
                   "executable shared memory is refused (%s): SELinux, seccomp or a hardened kernel", strerror(error));
        doctor_fix(result,
                   "SELinux: sudo setsebool -P deny_execmem 0; systemd: MemoryDenyWriteExecute=no; without it guests "
                   "run with --dispatch=shared");
    }
    if (write != MAP_FAILED) {
        munmap(write, page_bytes);
    }
    if (execute != MAP_FAILED) {
        munmap(execute, page_bytes);
    }
}

/* The place is fixed by perf: /tmp. */
void doctor_check_map(struct doctor_context *context, struct doctor_result *result)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) {
        doctor_say(result, DOCTOR_WARN, "%s is left over from another process: a map of a reused pid is in the way",
                   path);
        doctor_fix(result, "sudo rm /tmp/perf-*.map, while nothing that writes one runs");
        return;
    }
    if (file < 0) {
        doctor_say(result, DOCTOR_FAIL, "%s cannot be made: %s", path, strerror(errno));
        if (errno == EACCES) {
            doctor_fix(result, "sudo chmod 1777 /tmp");
        } else if (errno == ENOSPC || errno == EDQUOT) {
            doctor_fix(result, "make room in /tmp");
        } else if (errno == EROFS) {
            doctor_fix(result, "sudo mount -t tmpfs tmpfs /tmp, or run with --perf=elf");
        } else if (errno == ENOENT) {
            doctor_fix(result, "sudo install -d -m 1777 /tmp");
        }
        return;
    }
    struct stat own = {0}, folder = {0};
    bool is_mine = fstat(file, &own) == 0 && own.st_uid == geteuid();
    bool is_guarded = stat("/tmp", &folder) != 0 || !(folder.st_mode & S_IWOTH) || (folder.st_mode & S_ISVTX);
    close(file);
    unlink(path);
    if (!is_mine) {
        doctor_say(result, DOCTOR_WARN,
                   "%s would belong to uid %ld, not to uid %ld: perf report ignores it unless run with -f", path,
                   (long)own.st_uid, (long)geteuid());
    } else if (!is_guarded) {
        doctor_say(result, DOCTOR_WARN, "/tmp has no sticky bit: another user can replace a map");
        doctor_fix(result, "sudo chmod 1777 /tmp");
    } else if (geteuid() == 0) {
        doctor_say(result, DOCTOR_OK, "/tmp takes maps; they will belong to root");
    } else {
        doctor_say(result, DOCTOR_OK,
                   "/tmp takes maps; they will belong to uid %ld, so report as that user (or with -f)",
                   (long)geteuid());
    }
}

/* The directory where the file system of `directory` is mounted: the last one upwards on the same device. */
static void find_mount(const char *directory, char *mount)
{
    if (!realpath(directory, mount)) {
        snprintf(mount, PATH_MAX, "%s", directory);
        return;
    }
    struct stat here = {0}, above = {0};
    for (;;) {
        char *slash = strrchr(mount, '/');
        char parent[PATH_MAX];
        snprintf(parent, sizeof parent, "%.*s", slash == mount ? 1 : (int)(slash - mount), mount);
        if (strcmp(parent, mount) == 0 || stat(mount, &here) != 0 || stat(parent, &above) != 0 ||
            here.st_dev != above.st_dev) {
            return;
        }
        memcpy(mount, parent, sizeof parent);
    }
}

/* Maps the open, empty file as perf's marker and elfimage map theirs. Returns 0 or an errno. */
static int map_executable(int file)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (ftruncate(file, (off_t)page_bytes) != 0) {
        return errno;
    }
    void *view = mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (view == MAP_FAILED) {
        return errno;
    }
    munmap(view, page_bytes);
    return 0;
}

void doctor_check_dump_dir(struct doctor_context *context, struct doctor_result *result)
{
    enum { LEAST_FREE_MIB = 64 };
    const char *directory = context->dump_dir;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.glassbox-doctor-%ld", directory, (long)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        doctor_say(result, DOCTOR_FAIL, "%s cannot be written: %s", directory, strerror(errno));
        doctor_fix(result, "glassbox run --perf-dir=DIR, with a directory that you may write");
        return;
    }
    int error = map_executable(file);
    struct statvfs room = {0};
    bool has_room = fstatvfs(file, &room) != 0 || room.f_bavail >= LEAST_FREE_MIB * (1 << 20) / room.f_frsize;
    close(file);
    unlink(path);

    if (error == EPERM || (error != 0 && room.f_flag & ST_NOEXEC)) {
        char mount[PATH_MAX];
        find_mount(directory, mount);
        doctor_say(result, DOCTOR_FAIL,
                   "%s is on a file system mounted noexec, which neither a jitdump nor an ELF image can be", directory);
        doctor_fix(result, "glassbox run --perf-dir=DIR on another file system, or sudo mount -o remount,exec %s",
                   mount);
    } else if (error != 0) {
        doctor_say(result, DOCTOR_FAIL, "a file in %s cannot be mapped executable: %s", directory, strerror(error));
        doctor_fix(result, "glassbox run --perf-dir=DIR on another file system");
    } else if (!has_room) {
        doctor_say(result, DOCTOR_WARN, "%s has less than %d MiB left", directory, LEAST_FREE_MIB);
        doctor_fix(result, "glassbox run --perf-dir=DIR on another file system, or make room");
    } else {
        doctor_say(result, DOCTOR_OK, "%s takes jitdumps and ELF images", directory);
    }
}

/* The kernel gives the first pid namespace a fixed inode (PROC_PID_INIT_INO), which is how one tells that one is in
 * another even where /proc shows no outer pid. */
void doctor_check_pid_namespace(struct doctor_context *context, struct doctor_result *result)
{
    static const char initial[] = "pid:[4026531836]";
    char name[64] = {0};
    if (readlink("/proc/self/ns/pid", name, sizeof name - 1) < 0) {
        doctor_say(result, DOCTOR_WARN, "unknown: /proc/self/ns/pid: %s", strerror(errno));
        doctor_fix(result, "sudo mount -t proc proc /proc");
    } else if (strcmp(name, initial) == 0) {
        doctor_say(result, DOCTOR_OK, "the machine's own: pids are the same for everyone");
    } else {
        doctor_say(result, DOCTOR_WARN,
                   "a container's: pids differ outside, where perf finds a map or dump only while the guest "
                   "runs");
        doctor_fix(result,
                   "run perf in the container too, or use --perf=elf with a --perf-dir that has one path in and "
                   "outside");
    }
}
