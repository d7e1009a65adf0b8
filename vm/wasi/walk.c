/* openat2(RESOLVE_BENEATH) without openat2.
 *
 *     path        a/link/../b           link -> c/d
 *     opened      [directory] a c d     `..` goes back to c, by closing d
 *
 * Each component is opened with O_NOFOLLOW relative to the one before, so no link is followed unseen; what a link says
 * is put in front of the rest of the path. `..` never asks the kernel, which would answer with where the directory is
 * now: it returns to the directory that was open before, so a directory that is moved out meanwhile leads nowhere. For
 * that the directories stay open; their number is bounded (DEPTH_MAX), as is that of links.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 128
#define LINKS_MAX 40 /* as Linux */

struct walk {
    int opened[DEPTH_MAX + 1]; /* [0] is the caller's */
    int depth;
    int links;
    char rest[PATH_MAX]; /* what is still to be walked */
};

static int current(const struct walk *walk)
{
    return walk->opened[walk->depth];
}

/* Takes the next component off `rest`. True: it is the last one and nothing, not even a slash, follows it. */
static bool take(struct walk *walk, char component[PATH_MAX])
{
    size_t length = strcspn(walk->rest, "/");
    memcpy(component, walk->rest, length);
    component[length] = 0;
    bool is_last = walk->rest[length] == 0;
    size_t next = length + strspn(walk->rest + length, "/");
    memmove(walk->rest, walk->rest + next, strlen(walk->rest + next) + 1);
    return is_last;
}

/* Puts a link's text in front of the rest. */
static int follow(struct walk *walk, const char *target, bool is_last)
{
    char rest[PATH_MAX];
    size_t target_bytes = strlen(target);
    size_t rest_bytes = strlen(walk->rest);
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    if (target[0] == '/')
        return -EPERM;
    if (target_bytes == 0)
        return -ENOENT;
    if (target_bytes + 1 + rest_bytes >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(rest, walk->rest, rest_bytes + 1);
    memcpy(walk->rest, target, target_bytes);
    if (!is_last)
        walk->rest[target_bytes++] = '/';
    memcpy(walk->rest + target_bytes, rest, rest_bytes + 1);
    return 0;
}

static int enter(struct walk *walk, const char *component)
{
    if (walk->depth == DEPTH_MAX)
        return -ENAMETOOLONG;
    int host = openat(current(walk), component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (host < 0)
        return -errno;
    walk->opened[++walk->depth] = host;
    return 0;
}

static int leave(struct walk *walk)
{
    if (walk->depth == 0)
        return -EPERM;
    close(walk->opened[walk->depth--]);
    return 0;
}

static int open_here(const struct walk *walk, const char *name, int flags, mode_t mode)
{
    int host = (int)TEMP_FAILURE_RETRY(openat(current(walk), name, flags, mode));
    return host < 0 ? -errno : host;
}

/* One component. Returns a descriptor when the walk has arrived, a negative errno when it cannot go on; else `*arrived`
 * is false. */
static int step(struct walk *walk, int flags, mode_t mode, bool *arrived)
{
    char component[PATH_MAX];
    char target[PATH_MAX];
    bool is_last = take(walk, component);
    bool is_end = is_last || walk->rest[0] == 0;
    bool follows = !is_last || !(flags & (O_NOFOLLOW | O_EXCL));
    int error = 0;

    *arrived = true;
    if (strcmp(component, "..") == 0) {
        error = leave(walk);
    } else if (strcmp(component, ".") != 0) {
        ssize_t target_bytes = readlinkat(current(walk), component, target, sizeof target - 1);
        if (target_bytes >= 0 && follows) {
            target[target_bytes] = 0;
            *arrived = false;
            return follow(walk, target, is_last);
        }
        if (is_last)
            return open_here(walk, component, flags | O_NOFOLLOW, mode);
        error = enter(walk, component);
    }
    if (error)
        return error;
    if (is_end)
        return open_here(walk, ".", flags, mode);
    *arrived = false;
    return 0;
}

int wasi_walk_open(int directory, const char *path, int flags, mode_t mode)
{
    struct walk walk = {.opened = {directory}};
    bool arrived = false;
    int result = 0;
    if (path[0] == '/')
        return -EPERM;
    if (path[0] == 0)
        return -ENOENT;
    if (strlen(path) >= sizeof walk.rest)
        return -ENAMETOOLONG;
    strcpy(walk.rest, path);
    while (result >= 0 && !arrived)
        result = step(&walk, flags, mode, &arrived);
    while (walk.depth > 0)
        close(walk.opened[walk.depth--]);
    return result;
}
