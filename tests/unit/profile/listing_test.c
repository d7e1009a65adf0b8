/* listing: the text that stands for bytecode, and the rows that point into it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module_double.h"
#include "profile/listing.h"

/* Two functions without parameters; what the offsets below count on. */
static const uint8_t bytes[] = {
    0,    'a', 's',  'm',  1,    0, 0,    0, /*  0 */
    10,   30,  2,                            /*  8 code section */
    21,   2,   3,    0x7f, 0x81, 0, 0x7e,    /* 11 locals: 3 i32, 1 i64 (long LEB) */
    0x20, 0,   0x04, 0x40, 0x41, 1, 0x0d, 0, 0x05, 0x41, 2, 0x21, 1, 0x0b, 0x0b, /* 18 */
    6,    0,   0x41, 7,    0x41, 8, 0x0b,                                        /* 33 */
};

static const char text_of_first[] =
    ";; Glassbox bytecode listing 1: the functions of one process, in the order of their "
    "first call\n"
    "\n"
    ";; func[0] of m.wasm, bytes 0xc to 0x21\n"
    "(func $first\n"
    "  local.get 0\n"
    "  if\n"
    "    i32.const 1\n"
    "    br_if 0\n"
    "  else\n"
    "    i32.const 2\n"
    "    local.set 1\n"
    "  end\n"
    ")\n";

static const char text_of_second[] = "\n"
                                     ";; func[1] of m.wasm, bytes 0x22 to 0x28\n"
                                     "(func $second\n"
                                     "  i32.const 7\n"
                                     "  i32.const 8\n"
                                     ")\n";

struct fixture {
    char directory[64];
    struct vm_module module;
    struct profile_listing *listing;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    strcpy(fixture->directory, "/tmp/listing-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    fixture->module = double_of_bytes("m.wasm", bytes, sizeof bytes);
    struct err err = {0};
    assert_int_equal(profile_listing_create(fixture->directory, &fixture->listing, &err), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unlink(profile_listing_path(fixture->listing));
    profile_listing_destroy(fixture->listing);
    assert_int_equal(rmdir(fixture->directory), 0);
    double_fini(&fixture->module);
    free(fixture);
    return 0;
}

static char *listed(const struct fixture *fixture)
{
    size_t size_bytes;
    return double_read_file(profile_listing_path(fixture->listing), &size_bytes);
}

static const struct vm_code_position first_positions[] = {
    {0, 12}, {8, 18}, {16, 20}, {24, 22}, {30, 24}, {30, 26}, {40, 27}, {48, 29}, {56, 31}, {60, 32},
};

static struct vm_code first_code(const struct fixture *fixture)
{
    return (struct vm_code){.module = &fixture->module,
                            .funcidx = 0,
                            .address = "",
                            .size_bytes = 64,
                            .positions = first_positions,
                            .position_count = sizeof first_positions / sizeof first_positions[0]};
}

static void functions_are_listed_as_they_come(void **state)
{
    struct fixture *fixture = *state;
    struct vm_code code = first_code(fixture);
    struct elfimage_line rows[16];
    size_t row_count;
    uint32_t first_line = 0;
    struct err err = {0};
    assert_int_equal(profile_listing_add(fixture->listing, &code, "first", &first_line, rows, &row_count, &err), 0);
    assert_int_equal(first_line, 4);
    char *text = listed(fixture);
    assert_string_equal(text, text_of_first);
    free(text);

    /* Entering is at the head; of two instructions in one place the last counts. */
    static const uint32_t expected[][2] = {{0, 4},   {8, 5},   {16, 6},  {24, 7}, {30, 9},
                                           {40, 10}, {48, 11}, {56, 12}, {60, 13}};
    assert_int_equal(row_count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < row_count; i++) {
        assert_int_equal(rows[i].offset, expected[i][0]);
        assert_int_equal(rows[i].line, expected[i][1]);
        assert_ptr_equal(rows[i].file, profile_listing_path(fixture->listing));
    }

    const struct vm_code_position positions[] = {{4, 35}, {8, 37}};
    struct vm_code second = {
        .module = &fixture->module, .funcidx = 1, .size_bytes = 12, .positions = positions, .position_count = 2};
    uint32_t second_line = 0;
    assert_int_equal(profile_listing_add(fixture->listing, &second, "second", &second_line, rows, &row_count, &err), 0);
    assert_int_equal(second_line, 16);
    text = listed(fixture);
    assert_memory_equal(text, text_of_first, strlen(text_of_first));
    assert_string_equal(text + strlen(text_of_first), text_of_second);
    free(text);
    assert_int_equal(row_count, 2);
    assert_int_equal(rows[0].offset, 0);
    assert_int_equal(rows[0].line, 17);
    assert_int_equal(rows[1].line, 18);
}

static void a_function_is_listed_once(void **state)
{
    struct fixture *fixture = *state;
    struct vm_code code = first_code(fixture);
    struct elfimage_line rows[16];
    size_t row_count;
    uint32_t first_line = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(profile_listing_add(fixture->listing, &code, "first", &first_line, rows, &row_count, NULL), 0);
        assert_int_equal(rows[1].line, 5);
    }
    char *text = listed(fixture);
    assert_string_equal(text, text_of_first);
    free(text);
}

static void the_path_is_absolute_and_new(void **state)
{
    struct fixture *fixture = *state;
    char directory[64], expected[128];
    assert_int_equal(chdir(fixture->directory), 0);
    struct profile_listing *second;
    assert_int_equal(profile_listing_create(".", &second, NULL), 0);
    assert_non_null(getcwd(directory, sizeof directory));
    snprintf(expected, sizeof expected, "%s/glassbox-%d-1.wat", directory, (int)getpid());
    assert_string_equal(profile_listing_path(second), expected);
    struct stat status;
    assert_int_equal(stat(expected, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    unlink(expected);
    profile_listing_destroy(second);
    assert_int_equal(chdir("/"), 0);
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
    struct profile_listing *listing;
    struct err err = {0};
    assert_int_equal(profile_listing_create("/nowhere/at all", &listing, &err), -ENOENT);
    assert_null(listing);
    assert_non_null(strstr(err.message, "/nowhere/at all"));
}

static void a_full_disk_leaves_whole_functions(void **state)
{
    struct fixture *fixture = *state;
    struct vm_code code = first_code(fixture);
    struct elfimage_line rows[16];
    size_t row_count;
    uint32_t first_line = 0;
    struct err err = {0};
    assert_int_equal(profile_listing_add(fixture->listing, &code, "first", &first_line, rows, &row_count, &err), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit saved, limit;
    getrlimit(RLIMIT_FSIZE, &saved);
    limit = (struct rlimit){strlen(text_of_first) + 10, saved.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    const struct vm_code_position positions[] = {{4, 35}};
    struct vm_code second = {
        .module = &fixture->module, .funcidx = 1, .size_bytes = 12, .positions = positions, .position_count = 1};
    uint32_t second_line = 0;
    assert_int_equal(profile_listing_add(fixture->listing, &second, "second", &second_line, rows, &row_count, &err),
                     -EFBIG);
    setrlimit(RLIMIT_FSIZE, &saved);
    assert_int_equal(row_count, 0);
    assert_int_equal(second_line, 0);
    assert_non_null(strstr(err.message, profile_listing_path(fixture->listing)));
    char *text = listed(fixture);
    assert_string_equal(text, text_of_first);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_are_listed_as_they_come, setup, teardown),
        cmocka_unit_test_setup_teardown(a_function_is_listed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(the_path_is_absolute_and_new, setup, teardown),
        cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_functions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
