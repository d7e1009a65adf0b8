/* refuse_perf_event ERRNO COMMAND [ARGUMENT...]: runs COMMAND in a process where perf_event_open fails with ERRNO, as a
 * container's seccomp filter (EPERM, ENOSYS) or kernel.perf_event_paranoid (EACCES) has it. A filter rather than the
 * sysctl, since a test must not change the machine. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: refuse_perf_event ERRNO COMMAND...\n", stderr);
        return 2;
    }
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        printf("skip: no seccomp filter: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
