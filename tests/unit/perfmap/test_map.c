/* libperfmap, told from outside: what is in the file that perf reads. Tests named perf_bug_NN are for what users of
 * other integrations reported; the numbers are those of tests/perf/bugs.md. */
#include "tests/unit/perfmap/scratch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "perfmap/perfmap.h"

static struct perfmap *open_map(void)
{
    struct perfmap *map;
    struct perfmap_error error;
    if (perfmap_open(scratch, &map, &error) != 0)
        fail_msg("%s", error.message);
    return map;
}

static char *read_map(pid_t pid)
{
    return scratch_read(scratch_file("perf", pid, "map"), NULL);
}

static int add(struct perfmap *map, uintptr_t address, const char *name)
{
    return perfmap_add(map, (const void *)address, 16, name, strlen(name), NULL);
}

static void assert_map(pid_t pid, const char *expected)
{
    char *text = read_map(pid);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- what a line is ---- */

static void perf_bug_23_addresses_have_no_0x(void **state)
{
    struct perfmap *map = open_map();
    assert_int_equal(perfmap_add(map, (void *)0xABCDEF0123, 0x1F, "fib", 3, NULL), 0);
    assert_int_equal(perfmap_add(map, (void *)0x10, 0, "empty", 5, NULL), 0);
    perfmap_close(map);
    assert_map(getpid(), "abcdef0123 1f fib\n10 1 empty\n");
}

static void perf_bug_37_38_names_break_nothing(void **state)
{
    static const struct {
        const char *name;
        size_t name_bytes;
        const char *written;
    } cases[] = {
#define NAME(name, written) {name, sizeof(name) - 1, written},
#include "tests/unit/perfmap/names.def"
#undef NAME
        /* perf drops one and two bytes from a map */
        {"f", 1, "f()"},
        {"ab", 2, "ab()"},
        {"\xce\xbb", 2, "\xce\xbb()"},
        {"abc", 3, "abc"},
    };
    struct perfmap *map = open_map();
    char expected[4096] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(perfmap_add(map, (void *)0x40, 8, cases[i].name, cases[i].name_bytes, NULL), 0);
        /* escaped names stay as they are */
        assert_int_equal(perfmap_add(map, (void *)0x40, 8, cases[i].written, strlen(cases[i].written), NULL), 0);
        for (int twice = 0; twice < 2; twice++)
            strcat(strcat(strcat(expected, "40 8 "), cases[i].written), "\n");
    }
    perfmap_close(map);
    assert_map(getpid(), expected);
}

static void perf_bug_26_long_names_keep_their_newline(void **state)
{
    enum { LONG = 20000 };
    char *name = malloc(LONG);
    struct perfmap *map = open_map();
    memset(name, 'x', LONG);
    assert_int_equal(perfmap_add(map, (void *)1, 1, name, PERFMAP_NAME_BYTES, NULL), 0);
    assert_int_equal(perfmap_add(map, (void *)2, 1, name, LONG, NULL), 0);
    memset(name, '\n', LONG);
    assert_int_equal(perfmap_add(map, (void *)3, 1, name, LONG, NULL), 0);
    for (size_t i = 0; i < LONG; i++) /* a cut inside a character would leave a byte that is not UTF-8 */
        name[i] = "\xe2\x86\x92"[i % 3];
    assert_int_equal(perfmap_add(map, (void *)4, 1, name, LONG, NULL), 0);
    perfmap_close(map);
    free(name);

    char *text = read_map(getpid());
    size_t lengths[4] = {0};
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(count < 4);
        lengths[count++] = strlen(line) - 4;
        if (count > 1)
            assert_string_equal(line + strlen(line) - 3, "...");
        if (count == 3)
            assert_memory_equal(line + strlen(line) - 7, "\\x0a", 4);
        if (count == 4)
            assert_memory_equal(line + strlen(line) - 6, "\xe2\x86\x92", 3);
    }
    assert_int_equal(count, 4);
    assert_int_equal(lengths[0], PERFMAP_NAME_BYTES);
    assert_int_equal(lengths[1], PERFMAP_NAME_BYTES);
    assert_in_range(lengths[2], PERFMAP_NAME_BYTES - 4, PERFMAP_NAME_BYTES);
    assert_in_range(lengths[3], PERFMAP_NAME_BYTES - 4, PERFMAP_NAME_BYTES);
    free(text);
}

/* The header says that addresses must not be used twice; what the library is told it writes all the same. */
static void perf_bug_24_duplicate_addresses_are_written_in_order(void **state)
{
    struct perfmap *map = open_map();
    add(map, 0x40, "first");
    add(map, 0x40, "second");
    perfmap_close(map);
    assert_map(getpid(), "40 10 first\n40 10 second\n");
}

static void many_entries(void **state)
{
    struct perfmap *map = open_map();
    for (uintptr_t i = 0; i < 300000; i++)
        assert_int_equal(add(map, i * 64, "a_function_of_usual_length"), 0);
    perfmap_close(map);
    char *text = read_map(getpid());
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 300000);
    free(text);
}

static int add_and_die(void *unused)
{
    struct perfmap *map;
    CHECK(perfmap_open(scratch, &map, NULL) == 0);
    CHECK(add(map, 0x40, "first") == 0);
    CHECK(add(map, 0x80, "last") == 0);
    return raise(SIGKILL);
}

static void perf_bug_27_the_last_entries_survive_a_kill(void **state)
{
    pid_t pid;
    int status = in_child(add_and_die, NULL, &pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_map(pid, "40 10 first\n80 10 last\n");
}

/* ---- whose file it is ---- */

static void leave_file(const char *text, mode_t mode)
{
    int fd = open(scratch_file("perf", getpid(), "map"), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void a_stale_map_is_emptied(void **state)
{
    leave_file("40 10 of_an_earlier_process\n", 0600);
    struct perfmap *map = open_map();
    add(map, 0x40, "mine");
    perfmap_close(map);
    assert_map(getpid(), "40 10 mine\n");
}

static void readers_may_be_others(void **state)
{
    mode_t before = umask(022);
    struct perfmap *map = open_map();
    perfmap_close(map);
    umask(before);
    struct stat file;
    assert_int_equal(stat(scratch_file("perf", getpid(), "map"), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0644);
}

static void perf_bug_11_two_users_share_the_file(void **state)
{
    struct perfmap *first = open_map();
    add(first, 0x40, "first");
    struct perfmap *second = open_map();
    add(second, 0x80, "second");
    add(first, 0xc0, "first again");
    perfmap_close(first);
    add(second, 0x100, "second alone");
    perfmap_close(second);
    struct perfmap *third = open_map();
    add(third, 0x140, "third, after all closed");
    perfmap_close(third);
    assert_map(getpid(), "40 10 first\n80 10 second\nc0 10 first again\n100 10 second alone\n"
                         "140 10 third, after all closed\n");
}

static void perf_bug_11_another_engine_keeps_its_entries(void **state)
{
    leave_file("40 10 another engine\n", 0600);
    int other = open(scratch_file("perf", getpid(), "map"), O_WRONLY | O_APPEND | O_CLOEXEC);
    struct perfmap *map = open_map();
    add(map, 0x80, "mine");
    assert_int_equal(write(other, "c0 10 and its last\n", 19), 19);
    perfmap_close(map);
    close(other);
    assert_map(getpid(), "40 10 another engine\n80 10 mine\nc0 10 and its last\n");
}

static void *open_in_thread(void *unused)
{
    struct perfmap *map;
    if (perfmap_open(scratch, &map, NULL) == 0)
        add(map, 0x40, "from a thread");
    return map;
}

static void perf_bug_03_the_name_bears_the_process_not_the_thread(void **state)
{
    pthread_t thread;
    void *map;
    assert_int_equal(pthread_create(&thread, NULL, open_in_thread, NULL), 0);
    pthread_join(thread, &map);
    assert_non_null(map);
    perfmap_close(map);
    assert_map(getpid(), "40 10 from a thread\n");
}

static int add_as_pid_1(void *unused)
{
    CHECK(getpid() == 1);
    struct perfmap *map;
    CHECK(perfmap_open(scratch, &map, NULL) == 0);
    CHECK(add(map, 0x40, "in a container") == 0);
    perfmap_close(map);
    return 0;
}

static int enter_pid_namespace(void *unused)
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77;
    int status = in_child(add_as_pid_1, NULL, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void perf_bug_02_the_pid_is_the_innermost_namespaces(void **state)
{
    int status = in_child(enter_pid_namespace, NULL, NULL);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_map(1, "40 10 in a container\n");
}

/* ---- threads ---- */

enum { WRITERS = 4, LINES = 2000 };

static void *write_lines(void *argument)
{
    struct perfmap *map = argument;
    char name[200];
    memset(name, 'n', sizeof name);
    for (uintptr_t i = 0; i < LINES; i++)
        if (perfmap_add(map, (void *)0x1000, 64, name, 100 + i % 100, NULL) != 0)
            return map;
    return NULL;
}

static void perf_bug_09_writers_tear_no_lines(void **state)
{
    struct perfmap *maps[2] = {open_map(), open_map()};
    int other = open(scratch_file("perf", getpid(), "map"), O_WRONLY | O_APPEND | O_CLOEXEC);
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, maps[i % 2]), 0);
    for (int i = 0; i < LINES; i++)
        assert_int_equal(write(other, "1000 40 nnn\n", 12), 12);
    for (int i = 0; i < WRITERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    close(other);
    perfmap_close(maps[0]);
    perfmap_close(maps[1]);

    char *text = read_map(getpid());
    size_t lines = 0;
    for (char *at = text; *at; lines++) {
        assert_memory_equal(at, "1000 40 ", 8);
        at += 8;
        at += strspn(at, "n");
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(lines, (WRITERS + 1) * LINES);
    free(text);
}

/* ---- fork ---- */

static int add_in_child(void *map)
{
    CHECK(add(map, 0x80, "the child's") == 0);
    perfmap_close(map);
    return 0;
}

static void perf_bug_08_parent_and_child_keep_to_their_own_maps(void **state)
{
    struct perfmap *map = open_map();
    add(map, 0x40, "the parent's");
    pid_t pid;
    assert_int_equal(in_child(add_in_child, map, &pid), 0);
    add(map, 0xc0, "the parent's, later");
    perfmap_close(map);
    assert_map(getpid(), "40 10 the parent's\nc0 10 the parent's, later\n");
    assert_map(pid, "80 10 the child's\n");
}

static int only_close(void *map)
{
    perfmap_close(map);
    return 0;
}

static void perf_bug_04_a_child_that_only_closes(void **state)
{
    struct perfmap *map = open_map();
    add(map, 0x40, "before");
    pid_t pid;
    assert_int_equal(in_child(only_close, map, &pid), 0);
    add(map, 0x80, "after");
    perfmap_close(map);
    assert_map(getpid(), "40 10 before\n80 10 after\n");
    assert_null(read_map(pid)); /* nothing was added, so nothing was made */
}

static int add_after_closing_everything(void *map)
{
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    int mine[20];
    for (int i = 0; i < 20; i++) /* one of these has the number that the map's descriptor had */
        mine[i] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(add(map, 0x80, "the daemon's") == 0);
    perfmap_close(map);
    for (int i = 0; i < 20; i++)
        CHECK(close(mine[i]) == 0);
    return 0;
}

static void a_child_that_closed_everything_loses_nothing_of_its_own(void **state)
{
    struct perfmap *map = open_map();
    pid_t pid;
    assert_int_equal(in_child(add_after_closing_everything, map, &pid), 0);
    perfmap_close(map);
    assert_map(getpid(), "");
    assert_map(pid, "80 10 the daemon's\n");
}

static volatile int keep_adding;

static void *add_until_told(void *map)
{
    while (__atomic_load_n(&keep_adding, __ATOMIC_RELAXED))
        add(map, 0x40, "in the background");
    return NULL;
}

static void perf_bug_07_fork_while_others_hold_the_lock(void **state)
{
    struct perfmap *map = open_map();
    pthread_t threads[2];
    __atomic_store_n(&keep_adding, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_until_told, map), 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid;
        assert_int_equal(in_child(add_in_child, map, &pid), 0);
        assert_map(pid, "80 10 the child's\n");
    }
    __atomic_store_n(&keep_adding, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    perfmap_close(map);
}

/* ---- failures ---- */

static void assert_refused(int status, const char *words)
{
    struct perfmap *map = (struct perfmap *)1;
    struct perfmap_error error = {""};
    int descriptors = scratch_descriptors();
    assert_int_equal(perfmap_open(scratch, &map, &error), status);
    assert_null(map);
    if (!strstr(error.message, words) || !strstr(error.message, scratch))
        fail_msg("unexpected message: %s", error.message);
    assert_int_equal(perfmap_open(scratch, &map, NULL), status);
    assert_int_equal(scratch_descriptors(), descriptors);
}

static void a_trap_in_the_way_is_refused(void **state)
{
    char path[128], target[128];
    strcpy(path, scratch_file("perf", getpid(), "map"));
    snprintf(target, sizeof target, "%s/precious", scratch);
    int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);

    assert_int_equal(symlink(target, path), 0);
    assert_refused(-ELOOP, "symbolic link");
    unlink(path);

    assert_int_equal(link(target, path), 0);
    assert_refused(-EPERM, "hard links");
    unlink(path);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(-ENXIO, "cannot open");
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_refused(-EINVAL, "not a regular file");
    close(reader);
    unlink(path);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(-EISDIR, "cannot open");
    rmdir(path);

    char *text = scratch_read(target, NULL);
    assert_string_equal(text, "precious");
    free(text);
}

static void perf_bug_01_a_map_of_another_user_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    leave_file("", 0666);
    assert_int_equal(chown(scratch_file("perf", getpid(), "map"), 65534, 65534), 0);
    assert_refused(-EPERM, "belongs to user 65534");
}

static void a_missing_directory(void **state)
{
    struct perfmap *map;
    struct perfmap_error error;
    assert_int_equal(perfmap_open("/nonexistent/folder", &map, &error), -ENOENT);
    assert_null(map);
    assert_non_null(strstr(error.message, "/nonexistent/folder"));
    assert_int_equal(perfmap_add(map, (void *)1, 1, "name", 4, &error), 0);
    perfmap_close(map);
}

static void perf_bug_41_nothing_leaks(void **state)
{
    int descriptors = scratch_descriptors();
    for (int i = 0; i < 2000; i++) {
        struct perfmap *map = open_map();
        add(map, 0x40, "again");
        perfmap_close(map);
    }
    assert_int_equal(scratch_descriptors(), descriptors);
}

static int add_without_descriptors(void *map)
{
    struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR);
    struct perfmap *another;
    struct perfmap_error error = {""};
    CHECK(perfmap_open(scratch, &another, &error) == -EMFILE);
    CHECK(!another && strstr(error.message, "Too many open files"));
    error.message[0] = '\0';
    CHECK(perfmap_add(map, (void *)0x40, 1, "name", 4, &error) == -EMFILE);
    CHECK(strstr(error.message, "Too many open files"));
    CHECK(perfmap_add(map, (void *)0x40, 1, "name", 4, &error) == 0);
    perfmap_close(map);
    return 0;
}

static void perf_bug_41_out_of_descriptors_is_said_once(void **state)
{
    struct perfmap *map = open_map();
    assert_int_equal(in_child(add_without_descriptors, map, NULL), 0);
    perfmap_close(map);
}

static int add_beyond_the_limit(void *unused)
{
    struct perfmap *map, *second;
    struct perfmap_error error = {""};
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(perfmap_open(scratch, &map, NULL) == 0 && perfmap_open(scratch, &second, NULL) == 0);
    int status = 0;
    for (int i = 0; i < 100 && status == 0; i++)
        status = perfmap_add(map, (void *)0x1000, 16, "a_function", 10, &error);
    CHECK(status == -ENOSPC || status == -EFBIG);
    CHECK(strstr(error.message, "cannot write") && strstr(error.message, scratch));
    CHECK(perfmap_add(map, (void *)0x1000, 16, "a_function", 10, &error) == 0); /* off */
    CHECK(perfmap_add(second, (void *)0x1000, 16, "another_function", 16, &error) != 0); /* not told yet */
    CHECK(perfmap_add(second, (void *)0x1000, 16, "another_function", 16, &error) == 0);
    perfmap_close(map);
    perfmap_close(second);
    return 0;
}

static void a_full_disk_leaves_whole_lines(void **state)
{
    pid_t pid;
    assert_int_equal(in_child(add_beyond_the_limit, NULL, &pid), 0);
    char *text = read_map(pid);
    size_t lines = 0;
    for (const char *at = text; *at; at += strlen("1000 10 a_function\n"), lines++)
        assert_memory_equal(at, "1000 10 a_function\n", strlen("1000 10 a_function\n"));
    assert_int_equal(lines, 1000 / strlen("1000 10 a_function\n"));
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(perf_bug_23_addresses_have_no_0x),
        TEST(perf_bug_37_38_names_break_nothing),
        TEST(perf_bug_26_long_names_keep_their_newline),
        TEST(perf_bug_24_duplicate_addresses_are_written_in_order),
        TEST(many_entries),
        TEST(perf_bug_27_the_last_entries_survive_a_kill),
        TEST(a_stale_map_is_emptied),
        TEST(readers_may_be_others),
        TEST(perf_bug_11_two_users_share_the_file),
        TEST(perf_bug_11_another_engine_keeps_its_entries),
        TEST(perf_bug_03_the_name_bears_the_process_not_the_thread),
        TEST(perf_bug_02_the_pid_is_the_innermost_namespaces),
        TEST(perf_bug_09_writers_tear_no_lines),
        TEST(perf_bug_08_parent_and_child_keep_to_their_own_maps),
        TEST(perf_bug_04_a_child_that_only_closes),
        TEST(a_child_that_closed_everything_loses_nothing_of_its_own),
        TEST(perf_bug_07_fork_while_others_hold_the_lock),
        TEST(a_trap_in_the_way_is_refused),
        TEST(perf_bug_01_a_map_of_another_user_is_refused),
        TEST(a_missing_directory),
        TEST(perf_bug_41_nothing_leaks),
        TEST(perf_bug_41_out_of_descriptors_is_said_once),
        TEST(a_full_disk_leaves_whole_lines),
    };
    return cmocka_run_group_tests_name("unit/perfmap", tests, NULL, NULL);
}
