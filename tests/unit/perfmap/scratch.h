/* scratch: a folder for one test, whole files as text, and pieces of tests that run in a process of their own.
 *
 * A child must not use cmocka's assertions, which would return into the parent's test: it returns 0, or the line (at
 * most 255) where it failed, and CHECK does that.
 */
#ifndef TESTS_UNIT_PERFMAP_SCRATCH_H
#define TESTS_UNIT_PERFMAP_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static char scratch[64];

static int scratch_setup(void **state)
{
    strcpy(scratch, "/tmp/glassbox-unit-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_teardown(void **state)
{
    DIR *folder = opendir(scratch);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", scratch, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    return rmdir(scratch);
}

/* "SCRATCH/PREFIX-PID.SUFFIX", good until the next call. */
static inline const char *scratch_file(const char *prefix, pid_t pid, const char *suffix)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s-%d.%s", scratch, prefix, (int)pid, suffix);
    return path;
}

/* All bytes of a file and a NUL; free() them. NULL where there is no such file. */
static inline char *scratch_read(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return NULL;
    size_t used = 0;
    char *data = malloc(1);
    for (size_t got = 1; got;) {
        data = realloc(data, used + 65536 + 1);
        got = fread(data + used, 1, 65536, file);
        used += got;
    }
    fclose(file);
    data[used] = '\0';
    if (size_bytes)
        *size_bytes = used;
    return data;
}

static inline int scratch_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Forks, runs, and returns the child's wait status. A child that hangs is killed by SIGALRM. */
static inline int in_child(int (*run)(void *), void *argument, pid_t *pid)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(run(argument));
    }
    if (pid)
        *pid = child;
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

#endif
