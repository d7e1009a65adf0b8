/* sandbox: a folder on the host for one test, and what the tests of files and paths need to look at it from outside.
 *
 *     DIR/            temporary
 *       secret        a file that the guest must never reach
 *       outside/      a folder that it must never reach
 *       inside/       preopened as "/" (descriptor 3)
 *       other/        preopened as "/other" (descriptor 4)
 */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSIDE 3
#define OTHER 4

#define MEMORY_BYTES (1 << 20)

static char sandbox[64];

static inline const char *host_path(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", sandbox, name);
    return path;
}

static inline void host_write(const char *name, const char *text)
{
    int fd = open(host_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* The file's text, "" where there is none. */
static inline const char *host_read(const char *name)
{
    static char text[4096];
    int fd = open(host_path(name), O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[size < 0 ? 0 : size] = 0;
    return text;
}

static inline bool host_exists(const char *name)
{
    struct stat status;
    return lstat(host_path(name), &status) == 0;
}

static inline int sandbox_start(void **state)
{
    struct err err = {0};
    const char *folder = getenv("TMPDIR");
    snprintf(sandbox, sizeof sandbox, "%s/glassbox-wasi-XXXXXX", folder && strlen(folder) < 32 ? folder : "/tmp");
    assert_non_null(mkdtemp(sandbox));
    host_write("secret", "");
    assert_int_equal(mkdir(host_path("outside"), 0700), 0);
    assert_int_equal(mkdir(host_path("inside"), 0700), 0);
    assert_int_equal(mkdir(host_path("other"), 0700), 0);
    guest_start(MEMORY_BYTES);
    assert_int_equal(wasi_preopen_dir(guest.wasi, host_path("inside"), "/", &err), 0);
    assert_int_equal(wasi_preopen_dir(guest.wasi, host_path("other"), "/other", &err), 0);
    return 0;
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static inline int sandbox_stop(void **state)
{
    guest_stop();
    return nftw(sandbox, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define RIGHTS_READ (WASI_RIGHT_FD_READ | WASI_RIGHT_FD_SEEK | WASI_RIGHT_FD_TELL | WASI_RIGHT_FD_FILESTAT_GET)
#define RIGHTS_WRITE (RIGHTS_READ | WASI_RIGHT_FD_WRITE)
/* All that a preopened directory lets through. */
#define RIGHTS_ALL (WASI_RIGHT(28) - 1)

/* Opens beneath `directory`, following links; the descriptor goes to `*fd`. */
static inline uint32_t guest_open(uint32_t directory, const char *path, uint32_t oflags, uint64_t rights, uint32_t *fd)
{
    uint32_t out = guest_room(4);
    uint32_t error = CALL(path_open, directory, WASI_LOOKUP_SYMLINK_FOLLOW, PATH(path), oflags, rights, 0, 0, out);
    *fd = guest_u32(out);
    return error;
}

/* Opens what must be there. */
static inline uint32_t guest_opened(const char *path, uint32_t oflags, uint64_t rights)
{
    uint32_t fd;
    assert_int_equal(guest_open(INSIDE, path, oflags, rights, &fd), WASI_SUCCESS);
    return fd;
}
