/* page: each thing that a mapped page can say, on a page that the test writes. What the kernel does to a page while it
 * is read is done here by the reading of the register, which is in the middle of the protocol.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counters/page.h"

static struct perf_event_mmap_page page;
static uint64_t registers[4];
static int register_reads;
static void (*while_reading)(void);

bool counters_register_read(uint32_t number, uint64_t *value)
{
    if (number >= sizeof registers / sizeof registers[0])
        return false;
    register_reads++;
    *value = registers[number];
    if (while_reading)
        while_reading();
    return true;
}

static int reset(void **state)
{
    page = (struct perf_event_mmap_page){.lock = 2, .index = 1, .offset = 1000, .pmc_width = 48};
    page.cap_user_rdpmc = 1;
    memset(registers, 0, sizeof registers);
    register_reads = 0;
    while_reading = NULL;
    return 0;
}

static void expect_count(uint64_t expected)
{
    uint64_t count = 0;
    assert_true(counters_page_read(&page, &count));
    assert_int_equal(count, expected);
}

static void expect_nothing(void)
{
    uint64_t count = 77;
    assert_false(counters_page_read(&page, &count));
    assert_int_equal(count, 77);
}

static void test_register_is_added_to_the_offset(void **state)
{
    registers[0] = 234;
    expect_count(1234);
    page.index = 4;
    registers[3] = 5;
    expect_count(1005);
}

static void test_no_index_and_no_permission_are_for_the_kernel(void **state)
{
    page.index = 0;
    expect_nothing();
    page.index = 1;
    page.cap_user_rdpmc = 0;
    expect_nothing();
    assert_int_equal(register_reads, 0);
}

static void test_a_register_that_cannot_be_read_is_for_the_kernel(void **state)
{
    page.index = 9;
    expect_nothing();
}

static void test_widths_are_signed(void **state)
{
    static const uint16_t widths[] = {32, 40, 48, 63};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        uint64_t half = UINT64_C(1) << (widths[i] - 1);
        page.pmc_width = widths[i];
        page.offset = INT64_C(1) << 50;
        registers[0] = half - 1; /* the largest positive number */
        expect_count((UINT64_C(1) << 50) + half - 1);
        registers[0] = half; /* the most negative one */
        expect_count((UINT64_C(1) << 50) - half);
        registers[0] = 2 * half - 1; /* -1 */
        expect_count((UINT64_C(1) << 50) - 1);
    }
}

/* The kernel starts a counter at minus its period, so that the interrupt comes at the wrap. */
static void test_ascends_through_the_wrap(void **state)
{
    page.pmc_width = 40;
    page.offset = INT64_C(1) << 39;
    uint64_t last = 0;
    for (int step = -3; step <= 3; step++) {
        registers[0] = (uint64_t)step & ((UINT64_C(1) << 40) - 1);
        uint64_t count;
        assert_true(counters_page_read(&page, &count));
        if (step > -3)
            assert_int_equal(count, last + 1);
        last = count;
    }
}

static void test_bits_above_the_width_are_nothing(void **state)
{
    page.pmc_width = 40;
    registers[0] = UINT64_C(0xffffff0000000000) + 7;
    expect_count(1007);
}

static void test_64_bits_are_all_of_it(void **state)
{
    page.pmc_width = 64;
    registers[0] = UINT64_C(1) << 63;
    expect_count((UINT64_C(1) << 63) + 1000);
    page.offset = -1;
    registers[0] = 0;
    expect_count(UINT64_MAX);
    registers[0] = UINT64_MAX;
    expect_count(UINT64_MAX - 1);
}

static void update_once(void)
{
    while_reading = NULL;
    page.lock += 2;
    page.offset = 5000;
    page.index = 2;
    registers[1] = 1;
}

static void test_an_update_is_read_anew(void **state)
{
    registers[0] = 1;
    while_reading = update_once;
    expect_count(5001);
    assert_int_equal(register_reads, 2);
}

static void take_away(void)
{
    page.lock += 2;
    page.index = 0;
}

static void test_an_index_that_vanishes_is_for_the_kernel(void **state)
{
    while_reading = take_away;
    expect_nothing();
    assert_int_equal(register_reads, 1);
}

static void update_always(void)
{
    page.lock += 2;
}

static void test_a_page_that_never_settles_is_for_the_kernel(void **state)
{
    while_reading = update_always;
    expect_nothing();
    assert_int_equal(register_reads, PAGE_ATTEMPTS);
}

static void settle(void)
{
    if (register_reads == 3)
        page.lock++;
}

static void test_an_odd_sequence_is_not_believed(void **state)
{
    page.lock = 3;
    expect_nothing();
    assert_int_equal(register_reads, PAGE_ATTEMPTS);
    register_reads = 0;
    while_reading = settle;
    expect_count(1000);
    assert_int_equal(register_reads, 4);
}

static void test_the_sequence_may_wrap(void **state)
{
    page.lock = UINT32_MAX - 1;
    while_reading = update_once;
    expect_count(5001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_register_is_added_to_the_offset, reset),
        cmocka_unit_test_setup(test_no_index_and_no_permission_are_for_the_kernel, reset),
        cmocka_unit_test_setup(test_a_register_that_cannot_be_read_is_for_the_kernel, reset),
        cmocka_unit_test_setup(test_widths_are_signed, reset),
        cmocka_unit_test_setup(test_ascends_through_the_wrap, reset),
        cmocka_unit_test_setup(test_bits_above_the_width_are_nothing, reset),
        cmocka_unit_test_setup(test_64_bits_are_all_of_it, reset),
        cmocka_unit_test_setup(test_an_update_is_read_anew, reset),
        cmocka_unit_test_setup(test_an_index_that_vanishes_is_for_the_kernel, reset),
        cmocka_unit_test_setup(test_a_page_that_never_settles_is_for_the_kernel, reset),
        cmocka_unit_test_setup(test_an_odd_sequence_is_not_believed, reset),
        cmocka_unit_test_setup(test_the_sequence_may_wrap, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
