/* real: the library on the machine that the test runs on. What can be counted anywhere (time, page faults) must be
 * right; then the machine is made worse, each way in a child of its own: no descriptors, a seccomp filter, no
 * privileges. The child's caller never notices but by the explanation.
 */
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "counters/counters.h"

enum { PAGES = 100 };

struct session {
    struct counters_set *set;
    struct counters_group *group;
    char explanation[COUNTERS_MESSAGE_BYTES];
};

static void begin(struct session *session, const char *list)
{
    struct counters_error error = {""};
    if (counters_set_create(list, NULL, 0, &session->set, &error) != 0 ||
        counters_group_open(session->set, NULL, &session->group, &error) != 0)
        fail_msg("%s: %s", list, error.message);
    counters_group_explain(session->group, session->explanation, sizeof session->explanation);
}

static void end(struct session *session)
{
    counters_group_close(session->group);
    counters_set_destroy(session->set);
}

static bool can_count_faults(void)
{
    struct session session;
    begin(&session, "page-faults:u");
    bool is_exact = counters_group_state(session.group, 0).status == COUNTERS_EXACT;
    end(&session);
    return is_exact;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void touch_pages(void)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, PAGES * page_bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)memory)[i * page_bytes] = 1;
    munmap(memory, PAGES * page_bytes);
}

static void test_time_and_faults(void **state)
{
    if (!can_count_faults())
        skip();
    struct session session;
    begin(&session, "task-clock,page-faults:u,wall-clock");
    uint64_t before[3], after[3], busy_ns = cpu_ns();
    counters_read(session.group, before);
    touch_pages();
    while (cpu_ns() - busy_ns < 20000000)
        ;
    counters_read(session.group, after);
    busy_ns = cpu_ns() - busy_ns;
    uint64_t task_ns = after[0] - before[0];
    assert_in_range(task_ns, busy_ns * 9 / 10, busy_ns * 11 / 10);
    assert_in_range(after[1] - before[1], PAGES, PAGES + 20);
    assert_true(after[2] - before[2] >= task_ns * 9 / 10);
    end(&session);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* It is CLOCK_MONOTONIC, but for what passes between two looks, and never goes back. */
static void test_wall_clock(void **state)
{
    struct session session;
    begin(&session, "wall-clock");
    uint64_t first, last = 0;
    counters_read(session.group, &first);
    uint64_t first_ns = monotonic_ns();
    assert_in_range(first_ns - first, 0, 20000000);
    while (monotonic_ns() - first_ns < 100000000) {
        for (int i = 0; i < 1000; i++) {
            uint64_t now;
            counters_read(session.group, &now);
            assert_true(now >= last);
            last = now;
        }
    }
    uint64_t passed_ns = monotonic_ns() - first_ns;
    counters_read(session.group, &last);
    assert_in_range(last - first, passed_ns, passed_ns + 20000000);
    end(&session);
}

struct in_thread {
    struct counters_set *set;
    uint64_t faults;
};

static void *count_in_thread(void *argument)
{
    struct in_thread *thread = argument;
    struct counters_group *group;
    uint64_t before, after;
    if (counters_group_open(thread->set, NULL, &group, NULL) != 0)
        return NULL;
    counters_read(group, &before);
    touch_pages();
    counters_read(group, &after);
    thread->faults = after - before;
    counters_group_close(group);
    return NULL;
}

static void test_a_group_counts_its_own_thread(void **state)
{
    if (!can_count_faults())
        skip();
    struct session session;
    begin(&session, "page-faults:u");
    pthread_t threads[4];
    struct in_thread arguments[4];
    uint64_t before, after;
    counters_read(session.group, &before);
    for (int i = 0; i < 4; i++) {
        arguments[i] = (struct in_thread){.set = session.set};
        assert_int_equal(pthread_create(&threads[i], NULL, count_in_thread, &arguments[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_in_range(arguments[i].faults, PAGES, PAGES + 20);
    }
    counters_read(session.group, &after);
    assert_in_range(after - before, 0, PAGES);
    end(&session);
}

/* Runs `body` in a child, which fails by a signal or a status that is not 0. */
static void in_child(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void check(const char *what, bool holds)
{
    if (!holds) {
        fprintf(stderr, "in the child: %s\n", what);
        _exit(1);
    }
}

/* That a group is of use although page-faults cannot be counted, for the reason that is given. */
static void check_refused(int failure, const char *explanation)
{
    struct session session;
    struct counters_error error = {""};
    check(error.message, counters_set_create("page-faults:u,wall-clock", NULL, 0, &session.set, &error) == 0);
    check(error.message, counters_group_open(session.set, NULL, &session.group, &error) == 0);
    counters_group_explain(session.group, session.explanation, sizeof session.explanation);
    check(session.explanation, strstr(session.explanation, explanation) != NULL);
    struct counters_state state = counters_group_state(session.group, 0);
    check("the failure", state.status == COUNTERS_UNAVAILABLE && state.failure == failure);
    uint64_t before[2], after[2];
    counters_read(session.group, before);
    usleep(1000);
    counters_read(session.group, after);
    check("wall-clock", after[1] - before[1] >= 1000000);
    check("page-faults", before[0] == 0 && after[0] == 0);
    end(&session);
}

static void without_descriptors(void)
{
    struct rlimit none = {0, 0};
    check("setrlimit", setrlimit(RLIMIT_NOFILE, &none) == 0);
    check_refused(EMFILE, "ulimit -n");
}

static void test_no_descriptors(void **state)
{
    if (!can_count_faults())
        skip();
    in_child(without_descriptors);
}

static void filter(uint32_t failure)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | failure),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog whole = {.len = sizeof program / sizeof program[0], .filter = program};
    check("PR_SET_NO_NEW_PRIVS", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    check("PR_SET_SECCOMP", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0);
}

static void under_docker(void)
{
    filter(EPERM);
    check_refused(EPERM, "seccomp");
}

static void under_podman(void)
{
    filter(ENOSYS);
    check_refused(ENOSYS, "seccomp");
}

static void test_seccomp(void **state)
{
    in_child(under_docker);
    in_child(under_podman);
}

static int paranoid_level(void)
{
    int level = -1;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file) {
        if (fscanf(file, "%d", &level) != 1)
            level = -1;
        fclose(file);
    }
    return level;
}

static void as_nobody(void)
{
    check("setuid", setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    int level = paranoid_level();
    if (level > 2) {
        check_refused(EACCES, "kernel.perf_event_paranoid is");
        return;
    }
    struct session session;
    begin(&session, "page-faults,context-switches,task-clock");
    struct counters_state faults = counters_group_state(session.group, 0);
    struct counters_state switches = counters_group_state(session.group, 1);
    check("page-faults", faults.status == COUNTERS_EXACT && faults.is_user_only == (level == 2));
    check("context-switches", (switches.status == COUNTERS_UNAVAILABLE) == (level == 2));
    check("task-clock", counters_group_state(session.group, 2).status == COUNTERS_EXACT);
    check(session.explanation, (strstr(session.explanation, "page-faults: user space only") != NULL) == (level == 2));
    end(&session);
}

static void test_no_privileges(void **state)
{
    if (geteuid() != 0 || paranoid_level() < 0)
        skip();
    in_child(as_nobody);
}

/* A parent's group in a child: it may be closed, and nothing else of the child's goes with it. */
static struct session inherited;

static void close_inherited(void)
{
    end(&inherited);
}

static void test_a_child_closes_what_it_inherited(void **state)
{
    begin(&inherited, "task-clock,wall-clock");
    in_child(close_inherited);
    uint64_t before[2], after[2];
    counters_read(inherited.group, before);
    touch_pages();
    counters_read(inherited.group, after);
    assert_true(after[1] > before[1]);
    if (counters_group_state(inherited.group, 0).status == COUNTERS_EXACT)
        assert_true(after[0] > before[0]);
    end(&inherited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_and_faults),
        cmocka_unit_test(test_wall_clock),
        cmocka_unit_test(test_a_group_counts_its_own_thread),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_seccomp),
        cmocka_unit_test(test_no_privileges),
        cmocka_unit_test(test_a_child_closes_what_it_inherited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
