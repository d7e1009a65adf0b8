/* fuzz_wasi: the functions of WASI against arbitrary arguments and arbitrary guest memory, within a temporary directory
 * (beneath $TMPDIR: one in memory is ten times as fast).
 *
 * The input is a program of calls:
 *
 *     u8 flags, bit 0: without openat2 | steps: u8 function, u8 for each argument, and u64 behind one that is ESCAPE
 *                                      |     or u8 POKE, u16 address, u64 value to store there
 *
 * An argument's byte is an index into values that are worth trying for its role: descriptors, addresses where the
 * memory holds paths (whose every prefix is a path), vectors and subscriptions, edges. So most calls get far, and a
 * short input opens files and reads them; ESCAPE and POKE reach every bit.
 *
 * What may not happen: a byte touched outside the memory (the sanitizers see it), a crash, a leak, a file beside the
 * directory (checked after each run by the number of entries there). No call waits for long: the peers of the pipe
 * (descriptor 0) and of the socket (2) are closed, and a list of subscriptions gets a timeout of 0.
 */
#include "tests/unit/wasi/double.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/wasi/internal.h"

#define MEMORY_BYTES 2048
#define STEPS_MAX 64
#define PATH_BYTES 128
#define ESCAPE 0xff
#define POKE 0xff

enum { PATHS = 16, VECTORS = 128, SUBSCRIPTIONS = 256, ROOM = 512 };

/* What each argument is: a key of `roles`. */
static const char *const arguments[] = {
    [WASI_FUNCTION_args_get] = "bb",
    [WASI_FUNCTION_args_sizes_get] = "bb",
    [WASI_FUNCTION_environ_get] = "bb",
    [WASI_FUNCTION_environ_sizes_get] = "bb",
    [WASI_FUNCTION_clock_res_get] = "nb",
    [WASI_FUNCTION_clock_time_get] = "nxb",
    [WASI_FUNCTION_fd_advise] = "fxxn",
    [WASI_FUNCTION_fd_allocate] = "fxx",
    [WASI_FUNCTION_fd_close] = "f",
    [WASI_FUNCTION_fd_datasync] = "f",
    [WASI_FUNCTION_fd_fdstat_get] = "fb",
    [WASI_FUNCTION_fd_fdstat_set_flags] = "fn",
    [WASI_FUNCTION_fd_fdstat_set_rights] = "fRR",
    [WASI_FUNCTION_fd_filestat_get] = "fb",
    [WASI_FUNCTION_fd_filestat_set_size] = "fx",
    [WASI_FUNCTION_fd_filestat_set_times] = "fxxn",
    [WASI_FUNCTION_fd_pread] = "fvnxb",
    [WASI_FUNCTION_fd_prestat_get] = "fb",
    [WASI_FUNCTION_fd_prestat_dir_name] = "fbl",
    [WASI_FUNCTION_fd_pwrite] = "fvnxb",
    [WASI_FUNCTION_fd_read] = "fvnb",
    [WASI_FUNCTION_fd_readdir] = "fblxb",
    [WASI_FUNCTION_fd_renumber] = "ff",
    [WASI_FUNCTION_fd_seek] = "fxnb",
    [WASI_FUNCTION_fd_sync] = "f",
    [WASI_FUNCTION_fd_tell] = "fb",
    [WASI_FUNCTION_fd_write] = "fvnb",
    [WASI_FUNCTION_path_create_directory] = "dpl",
    [WASI_FUNCTION_path_filestat_get] = "dnplb",
    [WASI_FUNCTION_path_filestat_set_times] = "dnplxxn",
    [WASI_FUNCTION_path_link] = "dnpldpl",
    [WASI_FUNCTION_path_open] = "dnplnRRnb",
    [WASI_FUNCTION_path_readlink] = "dplblb",
    [WASI_FUNCTION_path_remove_directory] = "dpl",
    [WASI_FUNCTION_path_rename] = "dpldpl",
    [WASI_FUNCTION_path_symlink] = "pldpl",
    [WASI_FUNCTION_path_unlink_file] = "dpl",
    [WASI_FUNCTION_poll_oneoff] = "sbnb",
    [WASI_FUNCTION_proc_exit] = "x",
    [WASI_FUNCTION_proc_raise] = "n",
    [WASI_FUNCTION_random_get] = "bl",
    [WASI_FUNCTION_sched_yield] = "",
    [WASI_FUNCTION_sock_accept] = "fnb",
    [WASI_FUNCTION_sock_recv] = "fvnnbb",
    [WASI_FUNCTION_sock_send] = "fvnnb",
    [WASI_FUNCTION_sock_shutdown] = "fn",
};

#define ROLE_VALUES 8

static const uint64_t roles[][ROLE_VALUES] = {
    ['f'] = {3, 4, 5, 6, 7, 2, 1, 0},
    ['d'] = {3, 3, 3, 4, 5, 3, 4, 99},
    ['n'] = {0, 1, 2, 3, 4, 5, 8, 16},
    ['l'] = {1, 1, 2, 3, 4, 6, 13, 64},
    ['p'] = {PATHS, PATHS + 16, PATHS + 32, PATHS + 48, PATHS + 64, PATHS + 80, PATHS + 3, MEMORY_BYTES - 1},
    ['v'] = {VECTORS, VECTORS, VECTORS, VECTORS + 8, VECTORS + 16, VECTORS + 24, MEMORY_BYTES - 8, UINT64_MAX},
    ['s'] = {SUBSCRIPTIONS, SUBSCRIPTIONS, SUBSCRIPTIONS + 48, SUBSCRIPTIONS + 96, 0, ROOM, MEMORY_BYTES, UINT64_MAX},
    ['b'] = {ROOM, ROOM, ROOM + 256, VECTORS, SUBSCRIPTIONS, PATHS, MEMORY_BYTES - 4, UINT64_MAX},
    ['x'] = {0, 0, 1, 2, 64, MEMORY_BYTES, INT64_MAX, UINT64_MAX},
    ['R'] = {WASI_RIGHTS_FILE | WASI_RIGHTS_DIRECTORY, WASI_RIGHTS_FILE | WASI_RIGHTS_DIRECTORY, WASI_RIGHTS_FILE,
             WASI_RIGHTS_DIRECTORY, WASI_RIGHT_FD_READ, WASI_RIGHT_FD_READ | WASI_RIGHT_FD_SEEK, 0, UINT64_MAX},
};

static void fill_memory(void)
{
    static const char paths[][16] = {"d/../l/x/../y", "o/../d/../f", "f", "../o", "new/new", "l"};
    const struct wasi_abi_iovec vectors[] = {{ROOM, 64}, {ROOM + 256, 8}, {0, 0}, {MEMORY_BYTES - 1, 1}};
    const struct wasi_abi_subscription subscriptions[] = {{.tag = WASI_EVENT_CLOCK},
                                                          {.tag = WASI_EVENT_FD_READ, .clockid_or_fd = 5},
                                                          {.tag = WASI_EVENT_FD_WRITE, .clockid_or_fd = 1}};
    memcpy(guest_at(PATHS), paths, sizeof paths);
    memcpy(guest_at(VECTORS), vectors, sizeof vectors);
    memcpy(guest_at(SUBSCRIPTIONS), subscriptions, sizeof subscriptions);
}

static char sandbox[64];

/* libFuzzer's entries. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return walk->level > 0 ? remove(path) : 0;
}

static void remove_sandbox(void)
{
    nftw(sandbox, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    rmdir(sandbox);
}

static unsigned count_entries(const char *path)
{
    unsigned count = 0;
    DIR *directory = opendir(path);
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void make_path(char path[PATH_BYTES], const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", sandbox, name);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* A file of a terabyte is no finding, and neither is the signal for writing it (blocked: libFuzzer handles it). */
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    setrlimit(RLIMIT_FSIZE, &limit);
    const char *folder = getenv("TMPDIR");
    snprintf(sandbox, sizeof sandbox, "%s/glassbox-fuzz-wasi-XXXXXX", folder && strlen(folder) < 32 ? folder : "/tmp");
    if (!mkdtemp(sandbox))
        abort();
    return atexit(remove_sandbox);
}

/* sandbox/inside is preopened, and has a file, a folder, and links within and out. */
static void make_inside(void)
{
    char path[PATH_BYTES];
    struct err err = {0};
    make_path(path, "inside");
    mkdir(path, 0700);
    make_path(path, "inside/f");
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    make_path(path, "inside/d");
    mkdir(path, 0700);
    make_path(path, "inside/l");
    (void)!symlink("d", path);
    make_path(path, "inside/o");
    (void)!symlink("..", path);
    make_path(path, "inside");
    if (wasi_preopen_dir(guest.wasi, path, "/", &err) != 0)
        abort();
}

/* 0: a pipe to read from, at its end. 1: /dev/null. 2: a socket whose peer is gone. */
static void replace_standard_descriptors(void)
{
    struct err err = {0};
    int ends[2];
    int pair[2];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < guest.wasi->fds.count; i++)
        wasi_fds_close(vec_at(&guest.wasi->fds, i));
    if (null < 0 || pipe2(ends, O_CLOEXEC) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
        wasi_inherit_fd(guest.wasi, ends[0], &err) != 0 || wasi_inherit_fd(guest.wasi, null, &err) != 0 ||
        wasi_inherit_fd(guest.wasi, pair[0], &err) != 0)
        abort();
    const int descriptors[] = {null, ends[0], ends[1], pair[0], pair[1]};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++)
        close(descriptors[i]);
}

/* Sleeping is not what is tested: the wait of every clock becomes none, and a list without a clock is left out. */
static bool shorten_wait(const uint64_t *args)
{
    bool has_clock = false;
    uint32_t in = (uint32_t)args[0];
    for (uint32_t i = 0; i < (uint32_t)args[2] && (uint64_t)in + i * 48 + 48 <= MEMORY_BYTES; i++) {
        struct wasi_abi_subscription subscription;
        memcpy(&subscription, guest_at(in + i * 48), sizeof subscription);
        has_clock |= subscription.tag == WASI_EVENT_CLOCK && subscription.flags == 0 && subscription.clockid_or_fd < 2;
        subscription.timeout_ns = 0;
        memcpy(guest_at(in + i * 48), &subscription, sizeof subscription);
    }
    return has_clock;
}

static const uint8_t *poke(const uint8_t *at, const uint8_t *end)
{
    uint16_t address;
    if (end - at < 10)
        return end;
    memcpy(&address, at, sizeof address);
    memcpy(guest_at(address % (MEMORY_BYTES - 8)), at + 2, 8);
    return at + 10;
}

static const uint8_t *run_call(uint8_t function, const uint8_t *at, const uint8_t *end)
{
    uint64_t args[16] = {0};
    size_t index = function % DOUBLE_FUNCTION_COUNT;
    for (size_t i = 0; i < strlen(double_functions[index].params); i++) {
        uint8_t choice = at < end ? *at++ : 0;
        if (choice == ESCAPE && end - at >= 8) {
            memcpy(&args[i], at, 8);
            at += 8;
        } else {
            args[i] = roles[(unsigned char)arguments[index][i]][choice % ROLE_VALUES];
        }
    }
    if (index != WASI_FUNCTION_poll_oneoff || shorten_wait(args))
        guest_call_index(index, args);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    if (size < 2)
        return 0;
    guest_start(MEMORY_BYTES);
    replace_standard_descriptors();
    make_inside();
    fill_memory();
    guest.wasi->openat2_is_missing = data[0] & 1;

    const uint8_t *at = data + 1;
    for (int steps = 0; steps < STEPS_MAX && at < end; steps++) {
        uint8_t step = *at++;
        at = step == POKE ? poke(at, end) : run_call(step, at, end);
    }

    guest_stop();
    if (count_entries(sandbox) != 3) /* `.`, `..` and inside */
        abort();
    nftw(sandbox, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
