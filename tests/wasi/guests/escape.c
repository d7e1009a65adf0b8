/* A guest that tries to reach the file `secret` beside its folder.
 *
 * options: --dir=FOLDER::/again
 * status: 0
 * output: escape.c: stayed inside
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

#include "check.h"

/* wasi-libc shortens paths before it asks; this asks as written. */
static __wasi_errno_t open_raw(const char *path)
{
    __wasi_fd_t fd;
    return __wasi_path_open(3, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, path, 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd);
}

int main(void)
{
    static const char *const paths[] = {"../secret",   "/../secret",     "./../secret",    "sub/../../secret",
                                        "/etc/passwd", "link-up/secret", "link-to-secret", "link-twice",
                                        "..",          "sub/../..",      "sub/link/secret"};
    CHECK(mkdir("/sub", 0700) == 0);
    CHECK(symlink("..", "/link-up") == 0);
    CHECK(symlink("../secret", "/link-to-secret") == 0);
    CHECK(symlink("link-to-secret", "/link-twice") == 0);
    CHECK(symlink("../..", "/sub/link") == 0);
    FAILS(symlink("/etc/passwd", "/absolute"), EPERM);
    for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        __wasi_errno_t error = open_raw(paths[i]);
        CHECK(error == __WASI_ERRNO_PERM);
        CHECK(open(paths[i], O_RDONLY) < 0);
    }
    CHECK(rename("/link-to-secret", "/again/moved") == 0); /* the link, not what it points to */
    CHECK(open("/again/moved", O_RDONLY) < 0);
    CHECK(rename("/sub", "/../moved-out") != 0 || access("/moved-out", F_OK) == 0);
    puts("escape.c: stayed inside");
}
