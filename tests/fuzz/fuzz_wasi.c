/* fuzz_wasi: the functions of WASI against arbitrary arguments and arbitrary guest memory, within a temporary
 * directory.
 *
 * The input is a program of calls:
 *
 *     u8 flags, bit 0: without openat2 | the memory, MEMORY_BYTES | calls: u8 function, u8 for each argument, and u64
 *     behind one that is ESCAPE
 *
 * An argument's byte is an index into values that are worth trying (addresses in and at the end of the memory,
 * descriptors, small numbers); ESCAPE is followed by the value itself. So a short input makes calls that get far, and
 * libFuzzer's dictionary of sizes still reaches every bit.
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
#define CALLS_MAX 64
#define ESCAPE 0xff

static const uint64_t values[] = {0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  5,
                                  6,
                                  7,
                                  8,
                                  9,
                                  10,
                                  16,
                                  24,
                                  32,
                                  48,
                                  64,
                                  100,
                                  128,
                                  200,
                                  255,
                                  256,
                                  300,
                                  400,
                                  512,
                                  600,
                                  700,
                                  800,
                                  1000,
                                  1024,
                                  MEMORY_BYTES - 64,
                                  MEMORY_BYTES - 8,
                                  MEMORY_BYTES - 4,
                                  MEMORY_BYTES - 1,
                                  MEMORY_BYTES,
                                  MEMORY_BYTES + 1,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  UINT64_MAX,
                                  INT64_MAX,
                                  WASI_RIGHT(30) - 1,
                                  WASI_RIGHTS_FILE,
                                  WASI_RIGHTS_DIRECTORY};

static char sandbox[] = "/tmp/glassbox-fuzz-wasi-XXXXXX";

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

static void make_path(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", sandbox, name);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* A file of a terabyte is no finding, and neither is a signal for writing it. */
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(sandbox))
        abort();
    return atexit(remove_sandbox);
}

/* sandbox/inside is preopened, and has a file, a folder, and links within and out. */
static void make_inside(void)
{
    char path[64];
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

static const uint8_t *run_call(const uint8_t *at, const uint8_t *end)
{
    uint64_t args[16] = {0};
    size_t index = *at++ % DOUBLE_FUNCTION_COUNT;
    for (size_t i = 0; i < strlen(double_functions[index].params); i++) {
        uint8_t choice = at < end ? *at++ : 0;
        if (choice == ESCAPE && end - at >= 8) {
            memcpy(&args[i], at, 8);
            at += 8;
        } else {
            args[i] = values[choice % (sizeof values / sizeof values[0])];
        }
    }
    if (index != WASI_FUNCTION_poll_oneoff || shorten_wait(args))
        guest_call_index(index, args);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < MEMORY_BYTES + 2)
        return 0;
    guest_start(MEMORY_BYTES);
    replace_standard_descriptors();
    make_inside();
    guest.wasi->openat2_is_missing = data[0] & 1;
    memcpy(guest.memory.data, data + 1, MEMORY_BYTES);

    const uint8_t *at = data + 1 + MEMORY_BYTES;
    for (int calls = 0; calls < CALLS_MAX && at < data + size; calls++)
        at = run_call(at, data + size);

    guest_stop();
    if (count_entries(sandbox) != 3) /* `.`, `..` and inside */
        abort();
    nftw(sandbox, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
