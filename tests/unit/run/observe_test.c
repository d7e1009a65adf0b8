/* What an observer sees: every call's begin and end, in order and in pairs, whatever ends it; and instruction counts
 * that are exact at each of them, by hand count. */
#include "harness.h"

struct watcher {
    char events[8192];
    uint64_t total;     /* instructions, at the last event */
    uint64_t self[64];  /* charged to each function by what ran between two events */
    int stack[1 << 18]; /* functions that have begun and not ended */
    int depth;
    const uint64_t *instructions;
};

static struct watcher watcher;
/* What stands for a function is its index, past NULL; a host function's is 50. */
static int number_of(void *function)
{
    return (int)(uintptr_t)function - 1;
}

static void charge(void)
{
    if (watcher.depth > 0)
        watcher.self[watcher.stack[watcher.depth - 1]] += *watcher.instructions - watcher.total;
    watcher.total = *watcher.instructions;
}

static void note(char kind, int function)
{
    size_t used = strlen(watcher.events);
    if (used + 16 < sizeof watcher.events)
        snprintf(watcher.events + used, 16, "%c%d ", kind, function);
}

static void *on_thread(void *user, const uint64_t *instructions)
{
    watcher.instructions = instructions;
    return &watcher;
}

enum { BOOM = 11, FIRST = 12 };

static void *on_function(void *user, const struct vm_module *module, uint32_t funcidx, const char *host_name)
{
    if (module && (funcidx == BOOM || funcidx == FIRST))
        return NULL;
    return (void *)(uintptr_t)(module ? funcidx + 1 : 51);
}

static void on_enter(void *thread, void *function)
{
    assert_ptr_equal(thread, &watcher);
    charge();
    watcher.stack[watcher.depth++] = number_of(function);
    note('<', number_of(function));
}

static void on_leave(void *thread, void *function, enum vm_leave why)
{
    charge();
    assert_true(watcher.depth > 0);
    assert_int_equal(watcher.stack[--watcher.depth], number_of(function));
    note(why == VM_LEAVE_RETURN ? '>' : why == VM_LEAVE_TAIL_CALL ? '~' : '!', number_of(function));
}

static const struct vm_hooks hooks = {
    .observe_function = on_function,
    .thread_begin = on_thread,
    .enter = on_enter,
    .leave = on_leave,
    .counts_instructions = true,
};

/* Runs name(argument) under the watcher, in each dispatch mode; it must trap or not as said. */
static void watch(const char *name, uint32_t argument, bool traps, const char *events, uint64_t instructions)
{
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        struct guest guest;
        struct vm_trap trap;
        memset(&watcher, 0, sizeof watcher);
        guest_open_observed(&guest, (enum vm_dispatch)dispatch, &hooks);
        union vm_slot slots[2] = {{.i32 = argument}};
        assert_int_equal(vm_call(guest_func(&guest, name), slots, &trap), !traps);
        if (events)
            assert_string_equal(watcher.events, events);
        assert_int_equal(watcher.depth, 0);
        uint64_t sum = 0;
        for (size_t i = 0; i < 64; i++)
            sum += watcher.self[i];
        if (watcher.events[0]) /* else nobody was there to be charged */
            assert_int_equal(sum, *watcher.instructions);
        if (instructions)
            assert_int_equal(*watcher.instructions, instructions);
        guest_close(&guest);
    }
}

/* Functions of calls.wat by index: 1 add, 2 down, 3 forever, 4 load, 5 deep_load, 6 indirect, 9 odd, 10 even, 13 hop;
 * 50 host. 11 boom and 12 first are not observed, but count. */
static void test_calls_and_returns(void **state)
{
    /* indirect: 3 operands, call; add: 2 operands, add */
    watch("indirect", 0, false, "<6 <1 >1 >6 ", 4 + 3);
}

static void test_tail_calls(void **state)
{
    /* each step: get, eqz, if, get, const, sub, return_call = 7; the last: get, eqz, if, const = 4 */
    watch("even", 3, false, "<10 ~10 <9 ~9 <10 ~10 <9 >9 ", 3 * 7 + 4);
}

static void test_indirect_tail_calls(void **state)
{
    watch("hop", 0, false, "<13 ~13 <1 >1 ", 4 + 3);
    watch("hop", 9, true, "<13 ~13 ", 4);
}

static void test_a_trap_in_the_middle_of_a_block(void **state)
{
    /* deep_load: const, get, call and not the add behind it; load: get, load */
    watch("deep_load", 8, true, "<5 <4 !4 !5 ", 3 + 2);
}

static void test_an_indirect_call_that_fails(void **state)
{
    watch("indirect", 9, true, "<6 !6 ", 4);
}

static void test_through_the_host(void **state)
{
    /* down(1): get, eqz, if, const, get, const, sub, call = 8 and, after the trap behind it, no add;
     * down(0): get, eqz, if, unreachable = 4 */
    watch("down", 1, true, "<2 <50 <2 !2 !50 !2 ", 8 + 4);
}

static void test_a_trap_behind_the_first_instruction(void **state)
{
    /* first: call and not the get and the add behind it; boom: unreachable */
    watch("first", 0, true, "", 1 + 1);
}

static void test_exhaustion(void **state)
{
    watch("forever", 0, true, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_returns),
        cmocka_unit_test(test_tail_calls),
        cmocka_unit_test(test_indirect_tail_calls),
        cmocka_unit_test(test_a_trap_in_the_middle_of_a_block),
        cmocka_unit_test(test_an_indirect_call_that_fails),
        cmocka_unit_test(test_through_the_host),
        cmocka_unit_test(test_a_trap_behind_the_first_instruction),
        cmocka_unit_test(test_exhaustion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
