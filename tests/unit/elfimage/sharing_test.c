/* sharing_test: images, threads and forked children. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "elfimage/elfimage.h"
#include "tests/unit/elfimage/machine_code.h"
#include "tests/unit/elfimage/reader.h"
#include "tests/unit/elfimage/scratch.h"

static struct elfimage *create(void **state)
{
    struct elfimage *image = NULL;
    assert_int_equal(elfimage_create(*state, "unit", 16 << 20, &image), 0);
    return image;
}

/* Reserves, writes, publishes and runs one function of a page. Not by assertions: threads and children call it. */
static int add_spin(struct elfimage *image, const char *name)
{
    const struct elfimage_line lines[] = {{0, 1, "/src/spin.c"}, {SPIN_LOOP, 2, "/src/spin.c"}};
    struct elfimage_code code;

    int status = elfimage_reserve(image, sizeof(spin_code), &code);
    if (status != 0)
        return status;
    memcpy(code.write, spin_code, sizeof(spin_code));
    __builtin___clear_cache((char *)code.execute, (char *)code.execute + sizeof(spin_code));
    status = elfimage_add(image, code.execute, sizeof(spin_code), name, lines, 2);
    if (status == 0)
        ((spin_fn)code.execute)(10);
    return status;
}

static size_t symbol_count(const char *path)
{
    struct reader *reader = reader_open(path);
    assert_non_null(reader);
    size_t count = reader_symbol_count(reader);
    reader_close(reader);
    return count;
}

static bool is_mapped_writable(const char *path)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], mode[5];
    bool found = false;

    while (fgets(line, sizeof(line), maps) != NULL)
        found |= strstr(line, path) != NULL && sscanf(line, "%*s %4s", mode) == 1 && strchr(mode, 'w') != NULL;
    fclose(maps);
    return found;
}

/* Returns 0, or the number of the step that went wrong: the child's exit status. */
static int in_child(struct elfimage *image, const struct elfimage_code *code, const char *directory)
{
    struct elfimage_code more;
    struct elfimage *own;

    ((spin_fn)code->execute)(100);
    if (is_mapped_writable(elfimage_path(image)))
        return 1;
    if (elfimage_reserve(image, 1, &more) != -ECHILD)
        return 2;
    if (elfimage_add(image, code->execute, 1, "child", NULL, 0) != -ECHILD)
        return 3;
    if (elfimage_finish(image) != -ECHILD)
        return 4;
    if (elfimage_create(directory, "unit", 1 << 20, &own) != 0 || add_spin(own, "child") != 0)
        return 5;
    ((spin_fn)code->execute)(100);
    elfimage_destroy(image);
    if (add_spin(own, "child again") != 0)
        return 6;
    elfimage_destroy(own);
    return 0;
}

/* python/cpython#141612, #149156, #144766: a child's entries in its parent's image, inherited code unmapped, what is
 * inherited released twice. */
static void test_child_changes_nothing(void **state)
{
    struct elfimage *image = create(state);
    struct elfimage_code code;
    char child_path[256];
    int status;

    assert_int_equal(elfimage_reserve(image, 4096, &code), 0);
    memcpy(code.write, spin_code, sizeof(spin_code));
    __builtin___clear_cache((char *)code.execute, (char *)code.execute + sizeof(spin_code));
    assert_int_equal(elfimage_add(image, code.execute, sizeof(spin_code), "parent", NULL, 0), 0);

    pid_t child = fork();
    if (child == 0)
        _exit(in_child(image, &code, *state));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    assert_int_equal(add_spin(image, "parent again"), 0);
    ((spin_fn)code.execute)(100);
    assert_int_equal(symbol_count(elfimage_path(image)), 2);
    snprintf(child_path, sizeof(child_path), "%s/unit-%d.so", (char *)*state, child);
    assert_int_equal(symbol_count(child_path), 2);
    elfimage_destroy(image);
}

struct adder {
    struct elfimage *image;
    const char *name;
    atomic_bool *is_over; /* NULL: adds a fixed number of functions */
    int status;
};

enum { ADDED_EACH = 600 };

static void *add_many(void *argument)
{
    struct adder *adder = argument;
    char name[64];

    for (int i = 0; adder->status == 0 && (adder->is_over ? !*adder->is_over : i < ADDED_EACH); i++) {
        snprintf(name, sizeof(name), "%s_%d", adder->name, i);
        adder->status = add_spin(adder->image, name);
    }
    return NULL;
}

#if __has_feature(thread_sanitizer)
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0"; /* a child ends without its parent's thread */
}
#endif

/* python/cpython#152330: the lock is held by a thread that the child does not have. */
static void test_fork_while_adding(void **state)
{
    struct elfimage *image = create(state);
    atomic_bool is_over = false;
    struct adder adder = {image, "adder", &is_over, 0};
    struct elfimage_code code;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, add_many, &adder), 0);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            bool refused = elfimage_reserve(image, 1, &code) == -ECHILD && elfimage_finish(image) == -ECHILD;
#if !__has_feature(thread_sanitizer) /* which believes that the thread runs in the child too */
            elfimage_destroy(image);
#endif
            _exit(refused ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    is_over = true;
    pthread_join(thread, NULL);
    assert_true(adder.status == 0 || adder.status == -ENOBUFS);
    elfimage_destroy(image);
}

/* Four threads publish and run while the file is read over and over: whatever is read is whole. */
static void test_threads(void **state)
{
    struct elfimage *image = create(state);
    struct adder adders[] = {
        {image, "a", NULL, 0}, {image, "b", NULL, 0}, {image, "c", NULL, 0}, {image, "d", NULL, 0}};
    pthread_t threads[4];
    size_t count = 0;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
    while (count < 4 * ADDED_EACH) {
        struct reader *reader = reader_open(elfimage_path(image));
        assert_non_null(reader);
        assert_true(reader_symbol_count(reader) >= count);
        count = reader_symbol_count(reader);
        for (size_t i = 0; i < count; i++) {
            struct reader_symbol symbol = reader_symbol(reader, i);
            assert_non_null(symbol.name);
            assert_true(strlen(symbol.name) >= 3 && symbol.name[1] == '_');
        }
        assert_true(reader_debug_is_whole(reader));
        reader_close(reader);
        for (int i = 0; i < 4; i++)
            assert_int_equal(adders[i].status, 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    elfimage_destroy(image);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {TEST(child_changes_nothing), TEST(fork_while_adding), TEST(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
