/* group: what becomes of a list of events on machines of many kinds, all of them made up (machine_double.h). */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine_double.h"

static struct counters_set *set;
static struct counters_group *group;
static uint64_t values[MACHINE_EVENTS_MAX];
static uint64_t steps;
static char explanation[COUNTERS_MESSAGE_BYTES];

/* Allocations of the library: the linker leads them here. */
static int allocations_left = INT32_MAX;
void *__real_calloc(size_t count, size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

void *__wrap_calloc(size_t count, size_t size_bytes)
{
    return allocations_left-- > 0 ? __real_calloc(count, size_bytes) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return allocations_left-- > 0 ? __real_strdup(text) : NULL;
}

static int reset(void **state)
{
    machine_reset();
    return 0;
}

static void begin(const char *list)
{
    static const struct counters_external externals[] = {{"steps", "steps"}, {"other", "others"}};
    const uint64_t *places[] = {&steps, NULL};
    struct counters_error error = {""};
    if (counters_set_create(list, externals, 2, &set, &error) != 0 ||
        counters_group_open(set, places, &group, &error) != 0)
        fail_msg("%s: %s", list, error.message);
    counters_group_explain(group, explanation, sizeof explanation);
    machine.kernel_reads = machine.register_reads = 0;
}

static void end(void)
{
    counters_group_close(group);
    counters_set_destroy(set);
    machine_find(0, 0); /* notices what was closed */
    assert_int_equal(machine.open_count, 0);
    assert_int_equal(machine.map_count, 0);
}

static enum counters_status status_of(size_t event)
{
    return counters_group_state(group, event).status;
}

static void expect_explained(const char *part)
{
    if (!strstr(explanation, part))
        fail_msg("\"%s\" is not in \"%s\"", part, explanation);
}

static struct machine_event *instructions(void)
{
    return machine_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static struct machine_event *cycles(void)
{
    return machine_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static void test_values_are_in_the_order_of_the_list(void **state)
{
    begin("page-faults,steps,instructions:u,wall-clock,cycles:u");
    instructions()->count = 11;
    cycles()->count = 22;
    machine_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)->count = 33;
    steps = 44;
    counters_read(group, values);
    assert_int_equal(values[0], 33);
    assert_int_equal(values[1], 44);
    assert_int_equal(values[2], 11);
    assert_true(values[3] > 0);
    assert_int_equal(values[4], 22);
    assert_int_equal(machine.kernel_reads, 1); /* page-faults */
    assert_int_equal(machine.register_reads, 2);
    assert_string_equal(explanation, "");
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(status_of(i), COUNTERS_EXACT);
    end();
}

static void test_cpu_events_alone_need_no_system_call(void **state)
{
    begin("instructions:u,cycles:u");
    instructions()->count = UINT64_C(1) << 46;
    counters_read(group, values);
    assert_int_equal(values[0], UINT64_C(1) << 46);
    assert_int_equal(machine.kernel_reads, 0);
    assert_true(counters_group_state(group, 0).is_read_by_page);
    end();
}

static void test_an_index_that_vanishes_costs_one_read_of_the_unit(void **state)
{
    begin("instructions:u,cycles:u");
    instructions()->count = 5;
    cycles()->count = 6;
    machine_take_index(cycles());
    counters_read(group, values);
    assert_int_equal(values[0], 5);
    assert_int_equal(values[1], 6);
    assert_int_equal(machine.kernel_reads, 1);
    assert_false(counters_group_state(group, 0).is_read_by_page);
    machine.kernel_reads = 0;
    cycles()->page.index = (uint32_t)(cycles() - machine.events) + 1; /* and comes back */
    counters_read(group, values);
    assert_int_equal(values[1], 6);
    assert_int_equal(machine.kernel_reads, 0);
    end();
}

static void test_pages_that_are_refused(void **state)
{
    machine.refuses_maps = true;
    begin("instructions:u");
    instructions()->count = 5;
    counters_read(group, values);
    assert_int_equal(values[0], 5);
    assert_int_equal(machine.kernel_reads, 1);
    assert_int_equal(status_of(0), COUNTERS_EXACT);
    end();
}

static void test_scaled_by_running(void **state)
{
    begin("instructions:u");
    machine.enabled_ns = 400000000 - 1;
    machine.running_ns = 100000000 - 1;
    struct counters_state state_of = counters_group_state(group, 0);
    assert_int_equal(state_of.status, COUNTERS_SCALED);
    assert_int_equal(state_of.enabled_ns, 400000000);
    assert_int_equal(state_of.running_ns, 100000000);
    assert_true(fabs(state_of.relative_error - sqrt(0.75 / 25)) < 1e-12); /* 25 turns of 4 ms */
    assert_int_equal(counters_scale(&state_of, 1000), 4000);
    assert_int_equal(counters_scale(&state_of, UINT64_C(1) << 60), UINT64_C(1) << 62);
    end();
}

static void test_exact_is_not_scaled(void **state)
{
    begin("instructions:u");
    machine.enabled_ns = machine.running_ns = 12345;
    struct counters_state state_of = counters_group_state(group, 0);
    assert_int_equal(state_of.status, COUNTERS_EXACT);
    assert_int_equal(counters_scale(&state_of, 77), 77);
    assert_true(state_of.relative_error == 0);
    end();
}

static void test_never_run_is_not_zero(void **state)
{
    machine.unit_can_run = 0;
    begin("instructions:u");
    struct counters_state state_of = counters_group_state(group, 0);
    assert_int_equal(state_of.status, COUNTERS_NOT_COUNTED);
    assert_int_equal(counters_scale(&state_of, 0), 0);
    expect_explained("instructions:u: not counted so far");
    expect_explained("nmi_watchdog");
    end();
}

static const char ten_events[] = "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra";

static void expect_ten_counted(size_t units)
{
    assert_int_equal(group->unit_count, units);
    for (uint64_t i = 0; i < 10; i++)
        machine_find(PERF_TYPE_RAW, i + 1)->count = 100 + i;
    counters_read(group, values);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(values[i], 100 + i);
        assert_int_equal(status_of(i), COUNTERS_EXACT); /* the double runs every unit all the time */
    }
    end();
}

static void test_too_many_events_take_turns(void **state)
{
    machine.unit_cpu_counters = 4;
    begin(ten_events);
    expect_explained("in 3 turns");
    expect_ten_counted(3);
}

static void test_units_that_are_taken_and_never_run_are_split(void **state)
{
    machine.unit_can_run = 3;
    begin(ten_events);
    expect_explained("in 4 turns");
    expect_ten_counted(4);
}

static void test_no_pmu(void **state)
{
    machine.no_cpu_event = ENOENT;
    begin("instructions:u,task-clock,cycles:u,steps");
    expect_explained("instructions:u, cycles:u: not counted: this machine has no such counter");
    machine_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)->count = 9;
    memset(values, 0xff, sizeof values);
    counters_read(group, values);
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 9);
    assert_int_equal(values[2], 0);
    assert_int_equal(status_of(0), COUNTERS_UNAVAILABLE);
    assert_int_equal(counters_group_state(group, 0).failure, ENOENT);
    assert_int_equal(status_of(1), COUNTERS_EXACT);
    end();
}

static void test_refusals_are_told(void **state)
{
    static const struct {
        int failure;
        const char *text;
    } refusals[] = {
        {EPERM, "seccomp"}, {ENOSYS, "seccomp"},          {EMFILE, "ulimit -n"},
        {ENFILE, "file-max"}, {EBUSY, "other profilers"}, {EOPNOTSUPP, "cannot count it"},
        {E2BIG, "too old"}, {ENOMEM, "memory"},           {ENODEV, "no such counter"},
        {ENOSPC, "too few counters"}, {EINVAL, "for a thread"}, {ETXTBSY, "busy"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        machine_reset();
        machine.refusal = refusals[i].failure;
        begin("instructions:u,page-faults,wall-clock");
        expect_explained("instructions:u, page-faults: not counted: ");
        expect_explained(refusals[i].text);
        assert_int_equal(counters_group_state(group, 1).failure, refusals[i].failure);
        assert_int_equal(status_of(2), COUNTERS_EXACT);
        end();
    }
}

static void test_descriptors_that_run_out(void **state)
{
    machine.descriptors = 2;
    begin("instructions:u,cycles:u,branches:u,page-faults");
    expect_explained("branches:u, page-faults: not counted: no file descriptor is left");
    instructions()->count = 1;
    cycles()->count = 2;
    counters_read(group, values);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 2);
    assert_int_equal(values[2], 0);
    assert_int_equal(values[3], 0);
    end();
}

static void test_unprivileged_gets_user_space(void **state)
{
    machine.is_privileged = false;
    begin("instructions,cycles:u,task-clock,context-switches,branches:k");
    expect_explained("instructions: user space only: kernel.perf_event_paranoid is 2: sysctl "
                     "kernel.perf_event_paranoid=1");
    expect_explained("context-switches, branches:k: not counted: kernel.perf_event_paranoid is 2");
    assert_true(counters_group_state(group, 0).is_user_only);
    assert_false(counters_group_state(group, 1).is_user_only);
    assert_false(counters_group_state(group, 2).is_user_only); /* a clock ticks everywhere */
    assert_int_equal(status_of(2), COUNTERS_EXACT);
    assert_int_equal(status_of(3), COUNTERS_UNAVAILABLE);
    assert_int_equal(status_of(4), COUNTERS_UNAVAILABLE);
    end();
}

static void test_debian_refuses_everything(void **state)
{
    machine.is_privileged = false;
    machine.paranoid = 3;
    begin("instructions:u,page-faults:u,steps");
    expect_explained("instructions:u, page-faults:u: not counted: kernel.perf_event_paranoid is 3: sysctl "
                     "kernel.perf_event_paranoid=2");
    end();
}

static void test_externals(void **state)
{
    begin("other,steps");
    steps = 3;
    counters_read(group, values);
    assert_int_equal(values[1], 3);
    assert_int_equal(status_of(1), COUNTERS_EXACT);
    assert_int_equal(status_of(0), COUNTERS_UNAVAILABLE);
    expect_explained("other: not counted");
    end();
}

/* ---- instructions-minus-irqs ---- */

static void expect_corrected(const char *vendor, unsigned family, uint64_t event)
{
    machine_reset();
    strcpy(machine.cpu.vendor, vendor);
    machine.cpu.family = family;
    begin("cycles:u,instructions-minus-irqs:u");
    instructions()->count = 1000;
    struct machine_event *interrupts = machine_find(PERF_TYPE_RAW, event);
    assert_non_null(interrupts);
    assert_true(interrupts->attr.exclude_kernel);
    interrupts->count = 7;
    counters_read(group, values);
    assert_int_equal(values[1], 993);
    assert_int_equal(machine.kernel_reads, 0);
    machine_take_index(interrupts);
    counters_read(group, values);
    assert_int_equal(values[1], 993);
    assert_int_equal(machine.kernel_reads, 1);
    assert_false(counters_group_state(group, 1).is_uncorrected);
    assert_string_equal(explanation, "");
    end();
}

static void test_interrupts_are_subtracted(void **state)
{
    expect_corrected("GenuineIntel", 6, 0x01cb);
    expect_corrected("AuthenticAMD", 0x19, 0x2c);
    expect_corrected("AuthenticAMD", 0x15, 0xcf);
    expect_corrected("HygonGenuine", 0x18, 0x2c);
}

static void expect_uncorrected(void)
{
    assert_true(counters_group_state(group, 0).is_uncorrected);
    expect_explained("instructions-minus-irqs:u: not corrected");
    instructions()->count = 1000;
    counters_read(group, values);
    assert_int_equal(values[0], 1000);
    end();
}

static void test_no_event_of_interrupts(void **state)
{
    strcpy(machine.cpu.vendor, "CentaurHauls");
    begin("instructions-minus-irqs:u");
    expect_uncorrected();
    machine_reset();
    machine.no_raw_event = 0x01cb;
    begin("instructions-minus-irqs:u");
    expect_uncorrected();
    machine_reset();
    machine.unit_cpu_counters = machine.unit_can_run = 1;
    begin("instructions-minus-irqs:u");
    expect_uncorrected();
}

static void test_no_interrupts_to_subtract(void **state)
{
    machine.cpu = (struct counters_cpu){.vendor = ""}; /* aarch64 */
    begin("instructions-minus-irqs:u");
    assert_false(counters_group_state(group, 0).is_uncorrected);
    assert_string_equal(explanation, "");
    end();
}

static void test_both_counters_move_to_the_next_unit(void **state)
{
    for (size_t room = 1; room <= 3; room++) {
        machine_reset();
        machine.unit_cpu_counters = 3;
        machine.unit_can_run = room < 3 ? 2 : 3;
        begin(room == 1 ? "cycles:u,instructions-minus-irqs:u" : "cycles:u,branches:u,instructions-minus-irqs:u");
        struct machine_event *interrupts = machine_find(PERF_TYPE_RAW, 0x01cb);
        assert_int_equal(interrupts->leader_fd, instructions()->leader_fd);
        assert_int_not_equal(interrupts->leader_fd, cycles()->leader_fd);
        size_t event = counters_set_count(set) - 1;
        assert_false(counters_group_state(group, event).is_uncorrected);
        instructions()->count = 10;
        interrupts->count = 4;
        counters_read(group, values);
        assert_int_equal(values[event], 6);
        end();
    }
}

static void test_speclockmap_is_told_where_it_is(void **state)
{
    machine.has_speclockmap = true;
    begin("instructions:u");
    assert_string_equal(explanation, "");
    end();
    machine.cpu = (struct counters_cpu){.vendor = "AuthenticAMD", .family = 0x19};
    begin("instructions:u");
    expect_explained("SpecLockMap");
    end();
    begin("page-faults");
    assert_string_equal(explanation, "");
    end();
    machine.has_speclockmap = false;
    begin("instructions:u");
    assert_string_equal(explanation, "");
    end();
}

static void test_lost_counters_are_unavailable(void **state)
{
    machine.has_user_reads = false;
    begin("instructions:u,wall-clock");
    machine.loses_reads = true;
    instructions()->count = 5;
    errno = 3;
    counters_read(group, values);
    assert_int_equal(errno, 3);
    assert_int_equal(values[0], 0);
    assert_int_equal(counters_group_state(group, 0).failure, EIO);
    assert_int_equal(status_of(1), COUNTERS_EXACT);
    machine.loses_reads = false; /* for good, since its values would not go on from where they were */
    assert_int_equal(status_of(0), COUNTERS_UNAVAILABLE);
    end();
}

static void test_an_explanation_is_cut(void **state)
{
    machine.refusal = EPERM;
    begin("instructions:u,cycles:u,branches:u");
    size_t length = strlen(explanation);
    for (size_t capacity = 0; capacity <= length + 1; capacity++) {
        char text[COUNTERS_MESSAGE_BYTES];
        memset(text, '#', sizeof text);
        size_t expected = capacity > length ? length : capacity ? capacity - 1 : 0;
        assert_int_equal(counters_group_explain(group, text, capacity), expected);
        assert_memory_equal(text, explanation, expected);
        assert_true(capacity == 0 || text[expected] == '\0');
        assert_int_equal(text[capacity], '#');
    }
    end();
}

static void test_allocations_that_fail(void **state)
{
    struct counters_set *made;
    struct counters_group *opened;
    struct counters_error error;
    for (int left = 0; left < 2; left++) {
        allocations_left = left;
        assert_int_equal(counters_set_create("cycles:u", NULL, 0, &made, &error), -ENOMEM);
        assert_null(made);
    }
    allocations_left = INT32_MAX;
    assert_int_equal(counters_set_create("cycles:u", NULL, 0, &made, &error), 0);
    int left = 0, status;
    do {
        allocations_left = left++;
        status = counters_group_open(made, NULL, &opened, &error);
        assert_true(status == 0 || (status == -ENOMEM && !opened));
    } while (status != 0);
    assert_int_equal(left, 5);
    allocations_left = INT32_MAX;
    counters_group_close(opened);
    counters_set_destroy(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_values_are_in_the_order_of_the_list, reset),
        cmocka_unit_test_setup(test_cpu_events_alone_need_no_system_call, reset),
        cmocka_unit_test_setup(test_an_index_that_vanishes_costs_one_read_of_the_unit, reset),
        cmocka_unit_test_setup(test_pages_that_are_refused, reset),
        cmocka_unit_test_setup(test_scaled_by_running, reset),
        cmocka_unit_test_setup(test_exact_is_not_scaled, reset),
        cmocka_unit_test_setup(test_never_run_is_not_zero, reset),
        cmocka_unit_test_setup(test_too_many_events_take_turns, reset),
        cmocka_unit_test_setup(test_units_that_are_taken_and_never_run_are_split, reset),
        cmocka_unit_test_setup(test_no_pmu, reset),
        cmocka_unit_test_setup(test_refusals_are_told, reset),
        cmocka_unit_test_setup(test_descriptors_that_run_out, reset),
        cmocka_unit_test_setup(test_unprivileged_gets_user_space, reset),
        cmocka_unit_test_setup(test_debian_refuses_everything, reset),
        cmocka_unit_test_setup(test_externals, reset),
        cmocka_unit_test_setup(test_interrupts_are_subtracted, reset),
        cmocka_unit_test_setup(test_no_event_of_interrupts, reset),
        cmocka_unit_test_setup(test_no_interrupts_to_subtract, reset),
        cmocka_unit_test_setup(test_both_counters_move_to_the_next_unit, reset),
        cmocka_unit_test_setup(test_speclockmap_is_told_where_it_is, reset),
        cmocka_unit_test_setup(test_lost_counters_are_unavailable, reset),
        cmocka_unit_test_setup(test_an_explanation_is_cut, reset),
        cmocka_unit_test_setup(test_allocations_that_fail, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
