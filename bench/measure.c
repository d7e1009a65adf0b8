/* measure: runs one command and says what it took: `measure RESULT COMMAND [ARG...]`.
 *
 * Appends to the file RESULT one line, "PID STATUS WALL_NS CPU_NS PEAK_KIB": STATUS as a shell has it, CPU_NS user and
 * system time, PEAK_KIB the peak resident set. It is a program of its own, because the kernel carries a process's peak
 * over exec: a command started by a Python interpreter cannot seem smaller than that. Between fork and exec nothing is
 * done that takes time. Exits 0 where the command could be run, whatever its status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: measure RESULT COMMAND [ARG...]\n");
        return 2;
    }
    pid_t pid;
    int status;
    struct rusage usage;
    uint64_t begin_ns = now_ns();
    int error = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
    if (error) {
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(error));
        return 1;
    }
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR) {
            perror("measure: wait4");
            return 1;
        }
    uint64_t wall_ns = now_ns() - begin_ns;
    FILE *result = fopen(argv[1], "ae");
    if (!result) {
        perror(argv[1]);
        return 1;
    }
    fprintf(result, "%d %d %ju %ju %ld\n", (int)pid, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            (uintmax_t)wall_ns, (uintmax_t)(timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime)), usage.ru_maxrss);
    return fclose(result) != 0;
}
