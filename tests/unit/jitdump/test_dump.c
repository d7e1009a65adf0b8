/* libjitdump, told from outside: what is in the file that perf inject reads. Tests named perf_bug_NN are for what
 * users of other integrations reported; the numbers are those of tests/perf/bugs.md. */
#include "tests/unit/perfmap/scratch.h"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "jitdump/jitdump.h"
#include "tests/unit/jitdump/parser.h"

static const char code_bytes[] = "twenty bytes of code";
enum { CODE_SIZE = 20 };

static struct jitdump *open_dump(void)
{
    struct jitdump *dump;
    struct jitdump_error error;
    if (jitdump_open(scratch, &dump, &error) != 0)
        fail_msg("%s", error.message);
    return dump;
}

static int load(struct jitdump *dump, const char *name, uint64_t *index)
{
    struct jitdump_code code = {
        .address = code_bytes, .size_bytes = CODE_SIZE, .name = name, .name_bytes = strlen(name)};
    return jitdump_load(dump, &code, index, NULL);
}

static char *dump_text; /* of the last read_dump */

static const char *try_read(pid_t pid, struct dump *dump)
{
    size_t size_bytes;
    free(dump_text);
    dump_text = scratch_read(scratch_file("jit", pid, "dump"), &size_bytes);
    return dump_text ? dump_parse(dump_text, size_bytes, dump) : "no such file";
}

static struct dump read_dump(pid_t pid)
{
    struct dump dump;
    const char *wrong = try_read(pid, &dump);
    if (wrong)
        fail_msg("%s", wrong);
    return dump;
}

/* The names of LOADs, and "close" for CLOSE, in order, each after a blank. */
static void assert_dump(pid_t pid, const char *expected)
{
    struct dump dump = read_dump(pid);
    assert_int_equal(dump.header.pid, pid);
    char found[1000] = "";
    for (size_t i = 0; i < dump.count; i++) {
        strcat(found, " ");
        strcat(found, dump.records[i].id == DUMP_LOAD ? dump.records[i].name : "close");
    }
    assert_string_equal(found, expected);
    free(dump.records);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- what a record is ---- */

static void perf_bug_16_17_19_version_timestamps_flags(void **state)
{
    uint64_t before = monotonic_ns();
    struct jitdump *dump = open_dump();
    assert_int_equal(load(dump, "fib", NULL), 0);
    jitdump_close(dump);
    uint64_t after = monotonic_ns();

    struct dump read = read_dump(getpid()); /* which checks version and flags */
    assert_in_range(read.header.timestamp, before, after);
#ifdef __x86_64__
    assert_int_equal(read.header.elf_mach, EM_X86_64);
#else
    assert_int_equal(read.header.elf_mach, EM_AARCH64);
#endif
    assert_int_equal(read.count, 2);
    for (size_t i = 0; i < read.count; i++)
        assert_in_range(read.records[i].timestamp, before, after);
    free(read.records);
}

static void perf_bug_18_20_the_marker_is_readable_and_executable(void **state)
{
    struct jitdump *dump = open_dump();
    jitdump_close(dump);
    char *maps = scratch_read("/proc/self/maps", NULL);
    char *line = strstr(maps, scratch_file("jit", getpid(), "dump"));
    assert_non_null(line);
    *strchr(line, '\n') = '\0';
    while (line > maps && line[-1] != '\n')
        line--;
    assert_non_null(strstr(line, " r-xp 00000000 "));
    free(maps);
}

static void a_load_is_complete(void **state)
{
    struct jitdump *dump = open_dump();
    uint64_t index = 99;
    assert_int_equal(load(dump, "fib", &index), 0);
    assert_int_equal(index, 0);
    assert_int_equal(load(dump, "f", &index), 0);
    assert_int_equal(index, 1);
    jitdump_close(dump);

    struct dump read = read_dump(getpid());
    assert_int_equal(read.count, 3);
    struct dump_record *record = &read.records[0];
    assert_int_equal(record->id, DUMP_LOAD);
    assert_int_equal(record->pid, getpid());
    assert_int_equal(record->tid, gettid());
    assert_int_equal(record->code_addr, (uintptr_t)code_bytes);
    assert_int_equal(record->code_size, CODE_SIZE);
    assert_int_equal(record->code_index, 0);
    assert_string_equal(record->name, "fib");
    assert_memory_equal(record->code, code_bytes, CODE_SIZE);
    assert_int_equal(read.records[1].code_index, 1);
    assert_string_equal(read.records[1].name, "f");
    assert_int_equal(read.records[2].id, DUMP_CLOSE);
    free(read.records);
}

static void lines_come_before_their_load_and_end(void **state)
{
    const struct jitdump_line lines[] = {
        {0, 10, 0, "/src/a.c"},
        {4, 11, 2, "/src/a.c"},
        {9, 7, 0, "/src/\x1b[m.h"},
    };
    struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = "fib", .name_bytes = 3,
                                .lines = lines, .line_count = 3};
    struct jitdump *dump = open_dump();
    assert_int_equal(jitdump_load(dump, &code, NULL, NULL), 0);
    assert_int_equal(load(dump, "without", NULL), 0);
    jitdump_close(dump);

    struct dump read = read_dump(getpid());
    assert_int_equal(read.count, 4);
    const struct dump_record *record = &read.records[0];
    assert_int_equal(record->id, DUMP_DEBUG_INFO);
    static const struct {
        uint64_t offset;
        uint32_t line;
        uint32_t discriminator;
        const char *file;
    } expected[] = {
        {0, 10, 0, "/src/a.c"}, {4, 11, 2, "/src/a.c"}, {9, 7, 0, "/src/\\x1b[m.h"}, {20, 7, 0, "/src/\\x1b[m.h"}};
    assert_int_equal(record->entry_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(record->entries[i].address, (uintptr_t)code_bytes + expected[i].offset);
        assert_int_equal(record->entries[i].line, expected[i].line);
        assert_string_equal(record->entries[i].file, expected[i].file);
    }
    assert_int_equal(record->entries[1].discriminator, 2);
    free(read.records);
}

static int32_t s32(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void unwinding_finds_the_code_from_where_perf_puts_it(void **state)
{
    unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES];
    struct jitdump_unwinding unwinding = jitdump_unwinding_frame_pointer(CODE_SIZE, buffer);
    struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = "fib", .name_bytes = 3,
                                .unwinding = &unwinding};
    struct jitdump *dump = open_dump();
    assert_int_equal(jitdump_load(dump, &code, NULL, NULL), 0);
    jitdump_close(dump);

    struct dump read = read_dump(getpid());
    assert_int_equal(read.records[0].id, DUMP_UNWINDING_INFO);
    const uint8_t *eh_frame = read.records[0].unwinding;
    size_t eh_frame_size = read.records[0].unwinding_size - read.records[0].eh_frame_hdr_size;
    const uint8_t *hdr = eh_frame + eh_frame_size;
    long eh_frame_at = 24; /* CODE_SIZE rounded up to 8: where perf puts it, counted from the code */
    long hdr_at = eh_frame_at + (long)eh_frame_size;

    long fde = s32(eh_frame) + 4; /* behind the CIE */
    assert_int_equal(s32(eh_frame + 4), 0);
    assert_int_equal(fde + 4 - s32(eh_frame + fde + 4), 0);
    assert_int_equal(eh_frame_at + fde + 8 + s32(eh_frame + fde + 8), 0);
    assert_int_equal(s32(eh_frame + fde + 12), CODE_SIZE);
    assert_int_equal(s32(eh_frame + eh_frame_size - 4), 0);
    assert_int_equal(hdr_at + 4 + s32(hdr + 4), eh_frame_at);
    assert_int_equal(s32(hdr + 8), 1);
    assert_int_equal(hdr_at + s32(hdr + 12), 0);
    assert_int_equal(hdr_at + s32(hdr + 16), eh_frame_at + fde);
    free(read.records);
}

static void a_move_names_its_load(void **state)
{
    struct jitdump *dump = open_dump();
    uint64_t index;
    load(dump, "first", NULL);
    load(dump, "moved", &index);
    assert_int_equal(jitdump_move(dump, index, code_bytes, (void *)0x4000, CODE_SIZE, NULL), 0);
    jitdump_close(dump);
    struct dump read = read_dump(getpid());
    assert_int_equal(read.count, 4);
    const struct dump_record *move = &read.records[2];
    assert_int_equal(move->id, DUMP_MOVE);
    assert_int_equal(move->pid, getpid());
    assert_int_equal(move->tid, gettid());
    assert_int_equal(move->code_addr, (uintptr_t)code_bytes);
    assert_int_equal(move->new_code_addr, 0x4000);
    assert_int_equal(move->code_size, CODE_SIZE);
    assert_int_equal(move->code_index, read.records[1].code_index);
    free(read.records);
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
        {"f", 1, "f"},
    };
    size_t count = sizeof cases / sizeof *cases;
    struct jitdump *dump = open_dump();
    for (size_t i = 0; i < count; i++) {
        struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = cases[i].name,
                                    .name_bytes = cases[i].name_bytes};
        assert_int_equal(jitdump_load(dump, &code, NULL, NULL), 0);
    }
    jitdump_close(dump);
    struct dump read = read_dump(getpid());
    assert_int_equal(read.count, count + 1);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(read.records[i].name, cases[i].written);
    free(read.records);
}

static void perf_bug_26_long_names(void **state)
{
    char name[20001];
    memset(name, 'x', 20000);
    name[20000] = '\0';
    struct jitdump *dump = open_dump();
    assert_int_equal(load(dump, name, NULL), 0);
    name[JITDUMP_NAME_BYTES] = '\0';
    assert_int_equal(load(dump, name, NULL), 0);
    jitdump_close(dump);
    struct dump read = read_dump(getpid());
    assert_int_equal(strlen(read.records[0].name), JITDUMP_NAME_BYTES);
    assert_string_equal(read.records[0].name + JITDUMP_NAME_BYTES - 4, "x...");
    assert_string_equal(read.records[1].name, name);
    free(read.records);
}

static int load_and_die(void *unused)
{
    struct jitdump *dump;
    CHECK(jitdump_open(scratch, &dump, NULL) == 0);
    CHECK(load(dump, "first", NULL) == 0);
    CHECK(load(dump, "last", NULL) == 0);
    return raise(SIGKILL);
}

static void perf_bug_27_the_last_records_survive_a_kill(void **state)
{
    pid_t pid;
    int status = in_child(load_and_die, NULL, &pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_dump(pid, " first last");
}

/* ---- whose file it is ---- */

static void a_stale_dump_is_emptied_and_private(void **state)
{
    int fd = open(scratch_file("jit", getpid(), "dump"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char junk[200] = "junk";
    assert_int_equal(write(fd, junk, sizeof junk), sizeof junk);
    close(fd);
    struct jitdump *dump = open_dump();
    assert_dump(getpid(), "");
    load(dump, "mine", NULL);
    jitdump_close(dump);
    assert_dump(getpid(), " mine close");
    struct stat file;
    assert_int_equal(stat(scratch_file("jit", getpid(), "dump"), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static void perf_bug_11_two_users_share_the_dump(void **state)
{
    uint64_t index[5];
    struct jitdump *first = open_dump();
    load(first, "first", &index[0]);
    struct jitdump *second = open_dump();
    load(second, "second", &index[1]);
    load(first, "again", &index[2]);
    jitdump_close(first);
    load(second, "alone", &index[3]);
    jitdump_close(second);
    assert_dump(getpid(), " first second again alone close");
    struct jitdump *third = open_dump();
    load(third, "third", &index[4]);
    assert_dump(getpid(), " first second again alone third");
    jitdump_close(third);
    jitdump_close(open_dump());
    assert_dump(getpid(), " first second again alone third close");
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(index[i], i);
}

static void perf_bug_10_another_engines_dump_is_not_truncated(void **state)
{
    int other = open(scratch_file("jit", getpid(), "dump"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(other, "another engine's", 16), 16);
    struct jitdump *dump;
    struct jitdump_error error;
    assert_int_equal(jitdump_open(scratch, &dump, &error), -EBUSY);
    assert_non_null(strstr(error.message, "another directory"));
    close(other);
    char *text = scratch_read(scratch_file("jit", getpid(), "dump"), NULL);
    assert_string_equal(text, "another engine's");
    free(text);
}

static int load_as_pid_1(void *unused)
{
    CHECK(getpid() == 1);
    struct jitdump *dump;
    CHECK(jitdump_open(scratch, &dump, NULL) == 0);
    CHECK(load(dump, "contained", NULL) == 0);
    jitdump_close(dump);
    return 0;
}

static int enter_pid_namespace(void *unused)
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77;
    int status = in_child(load_as_pid_1, NULL, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void perf_bug_02_the_pid_is_the_innermost_namespaces(void **state)
{
    int status = in_child(enter_pid_namespace, NULL, NULL);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_dump(1, " contained close");
}

/* ---- threads ---- */

enum { WRITERS = 4, LOADS = 500 };

static void *load_many(void *dump)
{
    static const struct jitdump_line lines[] = {{0, 1, 0, "/src/a.c"}};
    unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES];
    struct jitdump_unwinding unwinding = jitdump_unwinding_frame_pointer(CODE_SIZE, buffer);
    struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = "fib", .name_bytes = 3,
                                .lines = lines, .line_count = 1, .unwinding = &unwinding};
    for (int i = 0; i < LOADS; i++)
        if (jitdump_load(dump, &code, NULL, NULL) != 0)
            return dump;
    return NULL;
}

static void perf_bug_09_03_threads_write_whole_records_of_one_process(void **state)
{
    struct jitdump *dumps[2] = {open_dump(), open_dump()};
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_many, dumps[i % 2]), 0);
    for (int i = 0; i < WRITERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    jitdump_close(dumps[0]);
    jitdump_close(dumps[1]);
    struct dump read = read_dump(getpid()); /* which checks that each load's records are together */
    assert_int_equal(read.count, 3 * WRITERS * LOADS + 1);
    uint64_t index = 0;
    for (size_t i = 0; i < read.count; i++) {
        if (read.records[i].id != DUMP_LOAD)
            continue;
        assert_int_equal(read.records[i].code_index, index++);
        assert_int_equal(read.records[i].pid, getpid());
        assert_int_not_equal(read.records[i].tid, getpid());
    }
    free(read.records);
}

/* ---- fork ---- */

static int load_in_child(void *dump)
{
    uint64_t index;
    CHECK(load(dump, "child", &index) == 0);
    CHECK(index == 0);
    char *maps = scratch_read("/proc/self/maps", NULL);
    CHECK(strstr(maps, scratch_file("jit", getpid(), "dump")));
    free(maps);
    jitdump_close(dump);
    return 0;
}

static void perf_bug_08_parent_and_child_keep_to_their_own_dumps(void **state)
{
    struct jitdump *dump = open_dump();
    load(dump, "parent", NULL);
    pid_t pid;
    assert_int_equal(in_child(load_in_child, dump, &pid), 0);
    load(dump, "later", NULL);
    jitdump_close(dump);
    assert_dump(getpid(), " parent later close");
    assert_dump(pid, " child close");
}

static int only_close(void *dump)
{
    jitdump_close(dump);
    return 0;
}

static void perf_bug_04_a_child_that_only_closes(void **state)
{
    struct jitdump *dump = open_dump();
    load(dump, "before", NULL);
    pid_t pid;
    assert_int_equal(in_child(only_close, dump, &pid), 0);
    load(dump, "after", NULL);
    jitdump_close(dump);
    assert_dump(getpid(), " before after close");
    struct dump read;
    assert_string_equal(try_read(pid, &read), "no such file");
}

static int keep_loading;

static void *load_until_told(void *dump)
{
    while (__atomic_load_n(&keep_loading, __ATOMIC_RELAXED))
        load(dump, "background", NULL);
    return NULL;
}

static void perf_bug_07_fork_while_others_hold_the_lock(void **state)
{
    struct jitdump *dump = open_dump();
    pthread_t threads[2];
    __atomic_store_n(&keep_loading, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_until_told, dump), 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid;
        assert_int_equal(in_child(load_in_child, dump, &pid), 0);
        assert_dump(pid, " child close");
    }
    __atomic_store_n(&keep_loading, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    jitdump_close(dump);
    free(read_dump(getpid()).records);
}

/* ---- failures ---- */

static void assert_refused(int status, const char *words)
{
    struct jitdump *dump = (struct jitdump *)1;
    struct jitdump_error error = {""};
    int descriptors = scratch_descriptors();
    assert_int_equal(jitdump_open(scratch, &dump, &error), status);
    assert_null(dump);
    if (!strstr(error.message, words) || !strstr(error.message, scratch))
        fail_msg("unexpected message: %s", error.message);
    assert_int_equal(scratch_descriptors(), descriptors);
}

static void a_trap_in_the_way_is_refused(void **state)
{
    char path[128], target[128];
    strcpy(path, scratch_file("jit", getpid(), "dump"));
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
    assert_refused(-EINVAL, "not a regular file");
    unlink(path);

    char *text = scratch_read(target, NULL);
    assert_string_equal(text, "precious");
    free(text);
}

static void another_users_dump_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    const char *path = scratch_file("jit", getpid(), "dump");
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_refused(-EPERM, "belongs to user 65534");
}

static void a_missing_directory(void **state)
{
    struct jitdump *dump;
    struct jitdump_error error;
    assert_int_equal(jitdump_open("/nonexistent/folder", &dump, &error), -ENOENT);
    assert_null(dump);
    assert_non_null(strstr(error.message, "/nonexistent/folder"));
    assert_int_equal(load(dump, "fib", NULL), 0);
    assert_int_equal(jitdump_move(dump, 0, NULL, NULL, 1, NULL), 0);
    jitdump_close(dump);
}

static void perf_bug_41_nothing_leaks(void **state)
{
    jitdump_close(open_dump()); /* keeps one descriptor and one page a directory, as its header says */
    int descriptors = scratch_descriptors();
    for (int i = 0; i < 2000; i++) {
        struct jitdump *dump = open_dump();
        load(dump, "again", NULL);
        jitdump_close(dump);
    }
    assert_int_equal(scratch_descriptors(), descriptors);
    char *maps = scratch_read("/proc/self/maps", NULL);
    char *first = strstr(maps, scratch_file("jit", getpid(), "dump"));
    assert_non_null(first);
    assert_null(strstr(first + 1, scratch_file("jit", getpid(), "dump")));
    free(maps);
}

static int load_without_descriptors(void *dump)
{
    struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR);
    struct jitdump_error error = {""};
    struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = "fib", .name_bytes = 3};
    CHECK(jitdump_load(dump, &code, NULL, &error) == -EMFILE);
    CHECK(strstr(error.message, "Too many open files"));
    CHECK(jitdump_load(dump, &code, NULL, &error) == 0);
    CHECK(jitdump_move(dump, 0, code_bytes, code_bytes, 1, &error) == 0);
    jitdump_close(dump);
    return 0;
}

static void perf_bug_41_out_of_descriptors_is_said_once(void **state)
{
    struct jitdump *dump = open_dump();
    assert_int_equal(in_child(load_without_descriptors, dump, NULL), 0);
    jitdump_close(dump);
}

static int load_beyond_the_limit(void *unused)
{
    struct jitdump *dump;
    struct jitdump_error error = {""};
    static const struct jitdump_line lines[] = {{0, 1, 0, "/src/a.c"}};
    struct jitdump_code code = {.address = code_bytes, .size_bytes = CODE_SIZE, .name = "fib", .name_bytes = 3,
                                .lines = lines, .line_count = 1};
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(jitdump_open(scratch, &dump, NULL) == 0);
    int status = 0;
    for (int i = 0; i < 100 && status == 0; i++)
        status = jitdump_load(dump, &code, NULL, &error);
    CHECK(status == -ENOSPC || status == -EFBIG);
    CHECK(strstr(error.message, "cannot write") && strstr(error.message, scratch));
    CHECK(jitdump_load(dump, &code, NULL, &error) == 0);
    jitdump_close(dump);
    return 0;
}

static void a_full_disk_leaves_whole_records(void **state)
{
    pid_t pid;
    assert_int_equal(in_child(load_beyond_the_limit, NULL, &pid), 0);
    struct dump read = read_dump(pid);
    assert_in_range(read.count, 8, 15);
    free(read.records);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(perf_bug_16_17_19_version_timestamps_flags),
        TEST(perf_bug_18_20_the_marker_is_readable_and_executable),
        TEST(a_load_is_complete),
        TEST(lines_come_before_their_load_and_end),
        TEST(unwinding_finds_the_code_from_where_perf_puts_it),
        TEST(a_move_names_its_load),
        TEST(perf_bug_37_38_names_break_nothing),
        TEST(perf_bug_26_long_names),
        TEST(perf_bug_27_the_last_records_survive_a_kill),
        TEST(a_stale_dump_is_emptied_and_private),
        TEST(perf_bug_11_two_users_share_the_dump),
        TEST(perf_bug_10_another_engines_dump_is_not_truncated),
        TEST(perf_bug_02_the_pid_is_the_innermost_namespaces),
        TEST(perf_bug_09_03_threads_write_whole_records_of_one_process),
        TEST(perf_bug_08_parent_and_child_keep_to_their_own_dumps),
        TEST(perf_bug_04_a_child_that_only_closes),
        TEST(perf_bug_07_fork_while_others_hold_the_lock),
        TEST(a_trap_in_the_way_is_refused),
        TEST(another_users_dump_is_refused),
        TEST(a_missing_directory),
        TEST(perf_bug_41_nothing_leaks),
        TEST(perf_bug_41_out_of_descriptors_is_said_once),
        TEST(a_full_disk_leaves_whole_records),
    };
    int failed = cmocka_run_group_tests_name("unit/jitdump", tests, NULL, NULL);
    free(dump_text);
    return failed;
}
