/* lines: what profile/ reads from the DWARF of a guest that clang has just made. Called with the guest's file and the
 * folder of its source; the guest is compiled so that its DWARF calls that folder `src`, relative to /guest. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module_double.h"
#include "profile/lines.h"

static const char *guest_path;
static const char *source_folder;

struct guest {
    uint8_t *bytes;
    size_t size_bytes;
    struct vm_module module;
};

static struct guest guest_open(void)
{
    struct guest guest = {0};
    guest.bytes = double_read_file(guest_path, &guest.size_bytes);
    assert_non_null(guest.bytes);
    guest.module = double_of_bytes("guest", guest.bytes, guest.size_bytes);
    return guest;
}

static void guest_close(struct guest *guest)
{
    double_fini(&guest->module);
    free(guest->bytes);
}

static struct profile_lines *read_lines(const struct guest *guest)
{
    struct err err = {0};
    struct profile_lines *lines;
    assert_int_equal(profile_lines_create(&guest->module, &lines, &err), 0);
    return lines;
}

/* The number of the line that holds `word`. */
static uint32_t line_with(const char *file_name, const char *word)
{
    char path[4096];
    size_t size_bytes;
    snprintf(path, sizeof path, "%s/%s", source_folder, file_name);
    char *text = double_read_file(path, &size_bytes);
    assert_non_null(text);
    char *found = strstr(text, word);
    assert_non_null(found);
    uint32_t line = 1;
    for (char *at = text; at < found; at++)
        line += *at == '\n';
    free(text);
    return line;
}

/* How many bytes of `function` come from lines first..last of `file`. */
static unsigned count_bytes(const struct guest *guest, const struct profile_lines *lines, const char *function,
                            const char *file, uint32_t first, uint32_t last)
{
    uint32_t begin, end;
    unsigned count = 0;
    uint32_t funcidx = double_find(&guest->module, function);
    assert_true(vm_module_func_range(&guest->module, funcidx, &begin, &end));
    for (uint32_t at = begin; at < end; at++) {
        const char *found_file;
        uint32_t line;
        if (profile_lines_find(lines, at, &found_file, &line) && strcmp(found_file, file) == 0 && line >= first &&
            line <= last)
            count++;
    }
    return count;
}

static void instructions_have_their_lines(void **state)
{
    struct guest guest = guest_open();
    struct profile_lines *lines = read_lines(&guest);
    const char *file = "/guest/src/lines_guest.c";
    uint32_t begin = line_with("lines_guest.c", "CHURN-BEGIN");
    uint32_t end = line_with("lines_guest.c", "CHURN-END");
    assert_in_range(count_bytes(&guest, lines, "churn", file, begin - 2, end + 1), 10, 1000);
    assert_int_equal(count_bytes(&guest, lines, "churn", file, 1, begin - 3), 0);
    assert_int_equal(count_bytes(&guest, lines, "churn", file, end + 2, 1000), 0);
    uint32_t add = line_with("lines_guest.c", "ADD");
    assert_in_range(count_bytes(&guest, lines, "add", file, add, add), 3, 1000);
    profile_lines_destroy(lines);
    guest_close(&guest);
}

static void inlined_code_keeps_its_own_lines(void **state)
{
    struct guest guest = guest_open();
    struct profile_lines *lines = read_lines(&guest);
    uint32_t begin = line_with("lines_guest.h", "MIX-BEGIN");
    uint32_t end = line_with("lines_guest.h", "MIX-END");
    assert_in_range(count_bytes(&guest, lines, "churn", "/guest/src/lines_guest.h", begin, end), 10, 1000);
    profile_lines_destroy(lines);
    guest_close(&guest);
}

static void code_that_the_linker_dropped_has_no_rows(void **state)
{
    struct guest guest = guest_open();
    struct profile_lines *lines = read_lines(&guest);
    assert_int_equal(double_find(&guest.module, "dropped"), UINT32_MAX);
    uint32_t dropped = line_with("lines_guest.c", "DROPPED");
    for (uint32_t at = 0; at < guest.size_bytes; at++) {
        const char *file;
        uint32_t line;
        if (profile_lines_find(lines, at, &file, &line) && strstr(file, "lines_guest.c"))
            assert_int_not_equal(line, dropped);
    }
    profile_lines_destroy(lines);
    guest_close(&guest);
}

static void outside_the_code_there_are_no_lines(void **state)
{
    struct guest guest = guest_open();
    struct profile_lines *lines = read_lines(&guest);
    const char *file;
    uint32_t line;
    assert_false(profile_lines_find(lines, 0, &file, &line));
    assert_false(profile_lines_find(lines, guest.module.code_offset, &file, &line));
    assert_false(profile_lines_find(lines, UINT32_MAX, &file, &line));
    profile_lines_destroy(lines);
    guest_close(&guest);
}

/* A region with four bytes of code for each byte of `churn`, after four of entering. */
static void regions_get_merged_rows(void **state)
{
    struct guest guest = guest_open();
    struct profile_lines *lines = read_lines(&guest);
    uint32_t begin, end;
    uint32_t funcidx = double_find(&guest.module, "churn");
    assert_true(vm_module_func_range(&guest.module, funcidx, &begin, &end));
    size_t count = end - begin;
    struct vm_code_position *positions = calloc(count, sizeof *positions);
    struct elfimage_line *rows = calloc(count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = (struct vm_code_position){4 + 4 * i, begin + i};
    struct vm_code code = {.module = &guest.module,
                           .funcidx = funcidx,
                           .size_bytes = 4 + 4 * count,
                           .positions = positions,
                           .position_count = count};
    size_t row_count = profile_lines_rows(lines, &code, rows);
    assert_in_range(row_count, 4, count - 1);
    assert_int_equal(rows[0].offset, 0);
    assert_string_equal(rows[0].file, "/guest/src/lines_guest.c");
    for (size_t i = 1; i < row_count; i++) {
        assert_true(rows[i].offset > rows[i - 1].offset);
        assert_true(rows[i].line != rows[i - 1].line || rows[i].file != rows[i - 1].file);
    }
    /* Each row says what a lookup says. */
    for (size_t i = 0; i < row_count; i++) {
        const char *file;
        uint32_t line;
        uint32_t offset = i == 0 ? 4 : rows[i].offset;
        while (!profile_lines_find(lines, positions[offset / 4 - 1].bytecode_offset, &file, &line))
            offset += 4;
        assert_int_equal(line, rows[i].line);
        assert_ptr_equal(file, rows[i].file);
    }
    /* Backwards, too: what a translator moves comes out of order. */
    for (uint32_t i = 0; i < count; i++)
        positions[i].bytecode_offset = end - 1 - i;
    row_count = profile_lines_rows(lines, &code, rows);
    assert_in_range(row_count, 4, count - 1);
    /* Of several instructions in one place the last counts, and one without code says nothing. */
    for (uint32_t i = 0; i < count; i++)
        positions[i] = (struct vm_code_position){8, begin + i};
    positions[count - 1].region_offset = (uint32_t)code.size_bytes;
    assert_in_range(profile_lines_rows(lines, &code, rows), 1, 2);
    free(positions);
    free(rows);
    profile_lines_destroy(lines);
    guest_close(&guest);
}

static void a_module_without_dwarf_says_so(void **state)
{
    static const uint8_t empty[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    struct vm_module module = double_of_bytes("empty", empty, sizeof empty);
    struct profile_lines *lines;
    assert_int_equal(profile_lines_create(&module, &lines, NULL), -ENOENT);
    assert_null(lines);
    double_fini(&module);
}

/* Every byte of the DWARF sections in turn is damaged: an answer or an error, never a crash. (The fuzzer does more.) */
static void damaged_dwarf_is_survived(void **state)
{
    struct guest guest = guest_open();
    static const char *const sections[] = {".debug_line", ".debug_abbrev", ".debug_info"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        size_t size_bytes = 0;
        uint8_t *bytes = (uint8_t *)vm_module_custom(&guest.module, sections[i], &size_bytes);
        assert_non_null(bytes);
        for (size_t at = 0; at < size_bytes && at < 2000; at++) {
            uint8_t saved = bytes[at];
            bytes[at] = saved ^ (at % 2 ? 0xff : 0x80);
            struct profile_lines *lines;
            struct err err = {0};
            int status = profile_lines_create(&guest.module, &lines, &err);
            assert_true(status <= 0 && (status == 0) == (lines != NULL));
            profile_lines_destroy(lines);
            bytes[at] = saved;
        }
    }
    guest_close(&guest);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_their_lines),
        cmocka_unit_test(inlined_code_keeps_its_own_lines),
        cmocka_unit_test(code_that_the_linker_dropped_has_no_rows),
        cmocka_unit_test(outside_the_code_there_are_no_lines),
        cmocka_unit_test(regions_get_merged_rows),
        cmocka_unit_test(a_module_without_dwarf_says_so),
        cmocka_unit_test(damaged_dwarf_is_survived),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: lines_test GUEST.wasm SOURCE_FOLDER\n");
        return 2;
    }
    guest_path = argv[1];
    source_folder = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
