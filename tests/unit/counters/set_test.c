/* set: what a list of events may hold, what each name comes to, and how a name that is wrong is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counters/internal.h"

static const struct counters_external externals[] = {{"wasm-instructions", "instructions"}, {"cycles", "turns"}};

static struct counters_set *parse(const char *list)
{
    struct counters_set *set;
    struct counters_error error = {""};
    if (counters_set_create(list, externals, 2, &set, &error) != 0)
        fail_msg("%s: %s", list, error.message);
    return set;
}

static void test_names_units_and_sources(void **state)
{
    static const struct {
        const char *name;
        const char *unit;
        enum counters_source source;
    } expected[] = {
        {"instructions:u", "instructions", COUNTERS_CPU},
        {"cpu-cycles", "cycles", COUNTERS_CPU},
        {"cache-misses:u", "misses", COUNTERS_CPU},
        {"L1-dcache-load-misses", "events", COUNTERS_CPU},
        {"r01c2:u", "events", COUNTERS_CPU},
        {"instructions-minus-irqs:u", "instructions", COUNTERS_CPU},
        {"task-clock", "ns", COUNTERS_KERNEL},
        {"page-faults:u", "faults", COUNTERS_KERNEL},
        {"context-switches", "switches", COUNTERS_KERNEL},
        {"wall-clock", "ns", COUNTERS_CLOCK},
        {"wasm-instructions", "instructions", COUNTERS_EXTERNAL},
        {"cycles", "turns", COUNTERS_EXTERNAL}, /* the caller's go first */
    };
    char list[512] = "";
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        strcat(list, i ? ", " : " ");
        strcat(list, expected[i].name);
    }
    struct counters_set *set = parse(list);
    assert_int_equal(counters_set_count(set), sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < counters_set_count(set); i++) {
        struct counters_event event = counters_set_event(set, i);
        assert_string_equal(event.name, expected[i].name);
        assert_string_equal(event.unit, expected[i].unit);
        assert_int_equal(event.source, expected[i].source);
    }
    counters_set_destroy(set);
}

static void test_encodings(void **state)
{
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t config;
        bool counts_user;
        bool counts_kernel;
    } expected[] = {
        {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, true},
        {"instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false},
        {"instructions:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, true},
        {"instructions:uk", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, true},
        {"instructions:u:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, true},
        {"instructions-minus-irqs:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false},
        {"rc0:u", PERF_TYPE_RAW, 0xc0, true, false},
        {"r01c2:uk", PERF_TYPE_RAW, 0x1c2, true, true},
        {"faults:u", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, false},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct counters_set *set = parse(expected[i].name);
        const struct perf_event_attr *attr = &set->events[0].attr;
        assert_int_equal(attr->type, expected[i].type);
        assert_int_equal(attr->config, expected[i].config);
        assert_int_equal(!attr->exclude_user, expected[i].counts_user);
        assert_int_equal(!attr->exclude_kernel, expected[i].counts_kernel);
        counters_set_destroy(set);
    }
}

static void test_refusals_name_the_event(void **state)
{
    static const struct {
        const char *list;
        const char *message;
    } refused[] = {
        {"", "empty name"},
        {"cycles,", "empty name"},
        {" , cycles", "empty name"},
        {"cycles,no-such-event", "no-such-event"},
        {"instructions:x", "instructions:x"},
        {"instructions:pp", "instructions:pp"},
        {"instructions:", "instructions:"},
        {"instructions-minus-irqs:zz", "instructions-minus-irqs:zz"},
        {"wall-clock:u", "wall-clock:u"},
        {"wasm-instructions:u", "wasm-instructions:u"},
        {"wasm-instr", "wasm-instr"},
        {"r", "event r"},
        {"rxyz", "rxyz"},
        {"page-faults,page-faults", "twice"},
        {"context-switches:u", "kernel only"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct counters_set *set = (struct counters_set *)&set;
        struct counters_error error = {""};
        if (counters_set_create(refused[i].list, externals, 2, &set, &error) != -EINVAL)
            fail_msg("%s is taken", refused[i].list);
        assert_null(set);
        if (!strstr(error.message, refused[i].message))
            fail_msg("%s: %s", refused[i].list, error.message);
    }
}

static void test_names_of_any_length_are_refused_or_taken(void **state)
{
    char list[5000];
    for (size_t length = 1; length < sizeof list; length = length * 3 / 2 + 1) {
        memset(list, 'x', length);
        memcpy(list, "instructions-minus-irqs:", length < 24 ? length : 24);
        list[length] = '\0';
        struct counters_set *set;
        assert_int_equal(counters_set_create(list, NULL, 0, &set, NULL), -EINVAL);
    }
}

static void test_many_events(void **state)
{
    char list[8 * 300] = "";
    for (int i = 0; i < 300; i++) {
        char name[8] = {'r', (char)('1' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), ',', '\0'};
        strcat(list, name);
    }
    list[strlen(list) - 1] = '\0';
    struct counters_set *set = parse(list);
    assert_int_equal(counters_set_count(set), 300);
    assert_string_equal(counters_set_event(set, 299).name, "r399");
    counters_set_destroy(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_units_and_sources),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_refusals_name_the_event),
        cmocka_unit_test(test_names_of_any_length_are_refused_or_taken),
        cmocka_unit_test(test_many_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
