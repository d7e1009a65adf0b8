/* image_test: what an image holds, and what its functions refuse. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elfimage/elfimage.h"
#include "tests/unit/elfimage/machine_code.h"
#include "tests/unit/elfimage/reader.h"
#include "tests/unit/elfimage/scratch.h"

#define TEXT_OFFSET 0x10000

static struct elfimage *create(void **state, size_t capacity_bytes)
{
    struct elfimage *image = NULL;
    assert_int_equal(elfimage_create(*state, "unit", capacity_bytes, &image), 0);
    return image;
}

static const void *put_code(const struct elfimage_code *code, size_t offset, const void *bytes, size_t size)
{
    const char *execute = (const char *)code->execute + offset;
    memcpy((char *)code->write + offset, bytes, size);
    __builtin___clear_cache((char *)execute, (char *)execute + size);
    return execute;
}

static struct reader *open_image(const struct elfimage *image)
{
    struct reader *reader = reader_open(elfimage_path(image));
    assert_non_null(reader);
    assert_true(reader_debug_is_whole(reader));
    return reader;
}

static void test_path(void **state)
{
    char expected[256];
    struct stat status;
    struct elfimage *first = create(state, 1);
    struct elfimage *second = create(state, 1);

    snprintf(expected, sizeof(expected), "%s/unit-%d.so", (char *)*state, getpid());
    assert_string_equal(elfimage_path(first), expected);
    snprintf(expected, sizeof(expected), "%s/unit-%d-1.so", (char *)*state, getpid());
    assert_string_equal(elfimage_path(second), expected);
    assert_int_equal(stat(expected, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);

    elfimage_destroy(first);
    elfimage_destroy(second);
    assert_int_equal(access(expected, F_OK), 0);
}

/* A link that lies in the way is neither followed nor overwritten. */
static void test_link_in_the_way(void **state)
{
    char link[256], target[256];
    snprintf(link, sizeof(link), "%s/unit-%d.so", (char *)*state, getpid());
    snprintf(target, sizeof(target), "%s/target", (char *)*state);
    assert_int_equal(symlink(target, link), 0);

    struct elfimage *image = create(state, 1);
    assert_string_not_equal(elfimage_path(image), link);
    assert_int_not_equal(access(target, F_OK), 0);
    elfimage_destroy(image);
}

static void test_refused_arguments(void **state)
{
    struct elfimage *image = NULL;
    char long_stem[5000];

    memset(long_stem, 'x', sizeof(long_stem));
    long_stem[sizeof(long_stem) - 1] = '\0';
    assert_int_equal(elfimage_create(*state, "unit", 0, &image), -EINVAL);
    assert_int_equal(elfimage_create(*state, "unit", ELFIMAGE_CAPACITY_MAX + 1, &image), -EINVAL);
    assert_int_equal(elfimage_create(*state, "", 1, &image), -EINVAL);
    assert_int_equal(elfimage_create(*state, "../unit", 1, &image), -EINVAL);
    assert_int_equal(elfimage_create(*state, long_stem, 1, &image), -ENAMETOOLONG);
    assert_int_equal(elfimage_create("/nowhere/at/all", "unit", 1, &image), -ENOENT);
    assert_int_equal(elfimage_create("/dev/null", "unit", 1, &image), -ENOTDIR);
    assert_null(image);
    elfimage_destroy(NULL);
}

static void test_code_runs(void **state)
{
    struct elfimage *image = create(state, 1 << 20);
    struct elfimage_code code;

    assert_int_equal(elfimage_reserve(image, 100, &code), 0);
    const void *spin = put_code(&code, 0, spin_code, sizeof(spin_code));
    const void *call = put_code(&code, 1024, call_code, sizeof(call_code));
    assert_int_equal(elfimage_add(image, spin, sizeof(spin_code), "spin", NULL, 0), 0);
    assert_int_equal(elfimage_add(image, call, sizeof(call_code), "call", NULL, 0), 0);
    ((call_fn)call)(1000, (spin_fn)spin);

    assert_int_equal(elfimage_finish(image), 0);
    ((call_fn)call)(1000, (spin_fn)spin);
    elfimage_destroy(image);
}

/* Never writable and executable at one address, and the executable view is the lowest (perf's unwinder needs it so). */
static void test_views(void **state)
{
    struct elfimage *image = create(state, 1 << 20);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int executable = 0, writable = 0;

    while (fgets(line, sizeof(line), maps) != NULL) {
        char mode[5];
        assert_int_equal(sscanf(line, "%*s %4s", mode), 1);
        if (strstr(line, elfimage_path(image)) == NULL)
            continue;
        assert_false(strchr(mode, 'w') != NULL && strchr(mode, 'x') != NULL);
        executable += strchr(mode, 'x') != NULL;
        writable += strchr(mode, 'w') != NULL;
        assert_int_equal(executable, 1);
    }
    fclose(maps);
    assert_int_equal(writable, 2);
    elfimage_destroy(image);
}

static void test_reserve(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct elfimage *image = create(state, 1 << 20);
    struct elfimage_code first, second;

    assert_int_equal(elfimage_reserve(image, 0, &first), -EINVAL);
    assert_int_equal(elfimage_reserve(image, 1, &first), 0);
    assert_int_equal(elfimage_reserve(image, page + 1, &second), 0);
    assert_int_equal(first.size_bytes, page);
    assert_int_equal(second.size_bytes, 2 * page);
    assert_int_equal((uintptr_t)first.execute % page, 0);
    assert_int_equal((uintptr_t)first.write % page, 0);
    assert_ptr_equal((char *)first.write + page, second.write);
    assert_ptr_equal((const char *)first.execute + page, second.execute);

    assert_int_equal(elfimage_reserve(image, (1 << 20) - 3 * page + 1, &first), -ENOBUFS);
    assert_int_equal(elfimage_reserve(image, (1 << 20) - 3 * page, &first), 0);
    assert_int_equal(elfimage_reserve(image, 1, &first), -ENOBUFS);
    memset(first.write, 0xcc, first.size_bytes);
    elfimage_destroy(image);
}

static void test_add_refuses(void **state)
{
    struct elfimage *image = create(state, 1 << 20);
    struct elfimage_code code;
    assert_int_equal(elfimage_reserve(image, 4096, &code), 0);
    const char *at = code.execute;
    const struct elfimage_line descending[] = {{4, 1, "f"}, {2, 2, "f"}};
    const struct elfimage_line beyond[] = {{8, 1, "f"}};
    const struct elfimage_line nameless[] = {{0, 1, NULL}};

    assert_int_equal(elfimage_add(image, at - 1, 8, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at + code.size_bytes, 1, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at + code.size_bytes - 1, 2, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at, SIZE_MAX, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, code.write, 8, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, NULL, 8, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at, 0, "f", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at, 8, "", NULL, 0), -EINVAL);
    assert_int_equal(elfimage_add(image, at, 8, "f", descending, 2), -EINVAL);
    assert_int_equal(elfimage_add(image, at, 8, "f", beyond, 1), -EINVAL);
    assert_int_equal(elfimage_add(image, at, 8, "f", nameless, 1), -EINVAL);

    struct reader *reader = open_image(image);
    assert_int_equal(reader_symbol_count(reader), 0);
    reader_close(reader);
    elfimage_destroy(image);
}

static void check_rows(struct elfimage *image, const char *name, const struct elfimage_line *lines, size_t count)
{
    struct reader *reader = open_image(image);
    struct reader_symbol symbol;
    struct reader_row *rows = calloc(count + 1, sizeof(*rows));

    assert_true(reader_find(reader, name, &symbol));
    assert_int_equal(reader_rows(reader, symbol.value, rows, count + 1), count + 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].address, symbol.value + lines[i].offset);
        assert_int_equal(rows[i].line, lines[i].line);
        assert_string_equal(rows[i].file, lines[i].file);
        assert_false(rows[i].is_end);
    }
    assert_int_equal(rows[count].address, symbol.value + symbol.size);
    assert_true(rows[count].is_end);
    free(rows);
    reader_close(reader);
}

static void test_lines(void **state)
{
    struct elfimage *image = create(state, 1 << 20);
    struct elfimage_code code;
    const struct elfimage_line lines[] = {
        {0, 1, "/src/a.c"}, {1, 0, "/src/a.c"},         {60, 2, "/src/b.c"},      {121, 2000000000, "/src/a.c"},
        {200, 3, "rel.c"},  {100000, 4, "/with space"}, {100001, 3, "/src/a.c"}, {100002, 5, "/src/a.c"},
    };
    const struct elfimage_line same_offset[] = {
        {0, 1, "/src/a.c"}, {4, 2, "/src/b.c"}, {4, 3, "/src/a.c"}, {5, 4, "/src/a.c"}};
    const struct elfimage_line last_counts[] = {{0, 1, "/src/a.c"}, {4, 3, "/src/a.c"}, {5, 4, "/src/a.c"}};

    assert_int_equal(elfimage_reserve(image, 200000, &code), 0);
    assert_int_equal(elfimage_add(image, code.execute, 150000, "various", lines, 8), 0);
    assert_int_equal(elfimage_add(image, (char *)code.execute + 150000, 8, "same", same_offset, 4), 0);
    assert_int_equal(elfimage_add(image, (char *)code.execute + 150008, 8, "none", NULL, 0), 0);
    check_rows(image, "various", lines, 8);
    check_rows(image, "same", last_counts, 3);
    assert_int_equal(elfimage_finish(image), 0);
    check_rows(image, "various", lines, 8);
    check_rows(image, "same", last_counts, 3);
    elfimage_destroy(image);
}

/* More paths in one function than the encoder remembers. */
static void test_many_files(void **state)
{
    enum { FILES = 150, LINES = 3 * FILES };
    static char paths[FILES][32];
    static struct elfimage_line lines[LINES];
    struct elfimage *image = create(state, 1 << 20);
    struct elfimage_code code;

    for (int i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof(paths[i]), "/src/%d.c", i);
    for (uint32_t i = 0; i < LINES; i++)
        lines[i] = (struct elfimage_line){4 * i, i + 1, paths[i % FILES]};
    assert_int_equal(elfimage_reserve(image, 4 * LINES, &code), 0);
    assert_int_equal(elfimage_add(image, code.execute, 4 * LINES, "many", lines, LINES), 0);
    check_rows(image, "many", lines, LINES);
    elfimage_destroy(image);
}

static void check_functions(struct elfimage *image, size_t count, size_t bytes_each)
{
    struct reader *reader = open_image(image);
    char name[64];

    assert_int_equal(reader_symbol_count(reader), count);
    for (size_t i = 0; i < count; i++) {
        struct reader_symbol symbol = reader_symbol(reader, i);
        struct reader_row rows[2];
        snprintf(name, sizeof(name), "function_%zu_%0*d", i, (int)(i % 40), 0);
        assert_string_equal(symbol.name, name);
        assert_int_equal(symbol.value, TEXT_OFFSET + i * bytes_each);
        assert_int_equal(symbol.size, bytes_each);
        assert_int_equal(reader_rows(reader, symbol.value + bytes_each - 1, rows, 2), 2);
        assert_int_equal(rows[0].line, (int)i);
    }
    reader_close(reader);
}

/* Tables grow several times and are moved when the image is finished; into a text that is full as well. */
static void grow(void **state, size_t capacity_bytes)
{
    enum { COUNT = 8000, BYTES = 16 };
    struct elfimage *image = create(state, capacity_bytes);
    struct elfimage_code code;
    struct stat before, after;
    char name[64];

    assert_int_equal(elfimage_reserve(image, COUNT * BYTES, &code), 0);
    memset(code.write, 0x90, COUNT * BYTES);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct elfimage_line line = {0, i, "/some/source/file.c"};
        snprintf(name, sizeof(name), "function_%u_%0*d", i, (int)(i % 40), 0);
        assert_int_equal(elfimage_add(image, (char *)code.execute + i * BYTES, BYTES, name, &line, 1), 0);
    }
    check_functions(image, COUNT, BYTES);
    assert_int_equal(stat(elfimage_path(image), &before), 0);
    assert_int_equal(elfimage_finish(image), 0);
    assert_int_equal(stat(elfimage_path(image), &after), 0);
    check_functions(image, COUNT, BYTES);

    struct reader *reader = open_image(image);
    static const char *const tables[] = {".symtab", ".strtab", ".debug_info", ".debug_aranges", ".debug_line"};
    uint64_t needed = TEXT_OFFSET + COUNT * BYTES;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        needed += reader_section_bytes(reader, tables[i]);
    reader_close(reader);
    assert_true(after.st_size < before.st_size);
    assert_true((uint64_t)after.st_size < needed + (capacity_bytes < 1 << 20 ? 256 << 10 : 64 << 10));
    assert_true(after.st_blocks < before.st_blocks);
    elfimage_destroy(image);
}

static void test_growth(void **state)
{
    grow(state, 64 << 20);
}

static void test_growth_in_full_text(void **state)
{
    grow(state, 128 << 10);
}

static void test_finish(void **state)
{
    struct elfimage *image = create(state, 64 << 20);
    struct elfimage_code code;
    struct stat status;

    /* Code that nobody announced keeps its place. */
    assert_int_equal(elfimage_reserve(image, 1 << 20, &code), 0);
    const void *spin = put_code(&code, 20000, spin_code, sizeof(spin_code));
    assert_int_equal(elfimage_finish(image), 0);
    assert_int_equal(elfimage_finish(image), 0);
    ((spin_fn)spin)(100);

    assert_int_equal(stat(elfimage_path(image), &status), 0);
    assert_true(status.st_size < 128 << 10);
    assert_true(status.st_blocks * 512 < 64 << 10);
    assert_int_equal(elfimage_reserve(image, 1, &code), -ESHUTDOWN);
    assert_int_equal(elfimage_add(image, spin, sizeof(spin_code), "late", NULL, 0), -ESHUTDOWN);
    struct reader *reader = open_image(image);
    assert_int_equal(reader_symbol_count(reader), 0);
    reader_close(reader);
    elfimage_destroy(image);
}

static void test_two_images(void **state)
{
    struct elfimage *images[2] = {create(state, 1 << 20), create(state, 1 << 20)};
    struct elfimage_code codes[2];
    struct reader_symbol symbol;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(elfimage_reserve(images[i], 4096, &codes[i]), 0);
        put_code(&codes[i], 0, spin_code, sizeof(spin_code));
        assert_int_equal(elfimage_add(images[i], codes[i].execute, sizeof(spin_code), i ? "b" : "a", NULL, 0), 0);
    }
    assert_int_equal(elfimage_add(images[0], codes[1].execute, 1, "x", NULL, 0), -EINVAL);
    elfimage_destroy(images[0]);
    ((spin_fn)codes[1].execute)(100);
    struct reader *reader = open_image(images[1]);
    assert_false(reader_find(reader, "a", &symbol));
    assert_true(reader_find(reader, "b", &symbol));
    reader_close(reader);
    elfimage_destroy(images[1]);
}

static void test_limits(void **state)
{
    struct rlimit files, size;
    struct elfimage *image = NULL;
    struct elfimage_code code;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, files.rlim_max}), 0);
    assert_int_equal(elfimage_create(*state, "unit", 1, &image), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);

    /* Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the process. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, size.rlim_max}), 0);
    assert_int_equal(elfimage_create(*state, "unit", 4 << 20, &image), -EFBIG);
    assert_int_equal(elfimage_create(*state, "unit", 128 << 10, &image), 0);
    assert_int_equal(elfimage_reserve(image, 4096, &code), 0);
    int status = 0;
    for (int i = 0; i < 100000 && status == 0; i++)
        status = elfimage_add(image, code.execute, 16, "a function with a name that takes room", NULL, 0);
    assert_int_equal(status, -EFBIG);
    struct reader *reader = open_image(image);
    assert_true(reader_symbol_count(reader) > 1000);
    reader_close(reader);
    elfimage_destroy(image);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &size), 0);
}

static void test_status_text(void **state)
{
    assert_string_equal(elfimage_status_text(0), "success");
    assert_non_null(strstr(elfimage_status_text(-EPERM), "noexec"));
    assert_non_null(strstr(elfimage_status_text(-ENOSPC), "full"));
    assert_non_null(elfimage_status_text(-12345));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(path),   TEST(link_in_the_way), TEST(refused_arguments), TEST(code_runs),
        TEST(views),  TEST(reserve),         TEST(add_refuses),       TEST(lines),
        TEST(growth), TEST(growth_in_full_text), TEST(many_files),    TEST(finish),
        TEST(two_images), TEST(limits),      TEST(status_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
