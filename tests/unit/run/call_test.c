/* Calls from the host into the guest and back, how they end early, and that they can be made again after it. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void values_cross(struct guest *guest)
{
    struct vm_trap trap;
    union vm_slot slots[2] = {{.i32 = 7}, {.i64 = 1ull << 40}};
    assert_true(vm_call(guest_func(guest, "swap"), slots, &trap));
    assert_int_equal(slots[0].i64, 1ull << 40);
    assert_int_equal(slots[1].i32, 7);
    slots[0].f32 = 1.5f;
    assert_true(vm_call(guest_func(guest, "third"), slots, &trap));
    assert_true(slots[0].f32 == 0.5f);
    /* The upper half of an i32 argument is not the guest's business. */
    slots[0].i64 = 0xffffffff00000028u;
    slots[1].i64 = 0xdeadbeef00000002u;
    assert_true(vm_call(guest_func(guest, "add"), slots, &trap));
    assert_int_equal(slots[0].i64, 42);
}

static void indirect_calls(struct guest *guest)
{
    assert_int_equal(call_i32(guest, "indirect", 0), 42);
    assert_int_equal(call_trap(guest, "indirect", 1).kind, VM_TRAP_UNINITIALIZED_ELEMENT);
    assert_int_equal(call_trap(guest, "indirect", 2).kind, VM_TRAP_UNDEFINED_ELEMENT);
    assert_int_equal(call_trap(guest, "indirect", UINT32_MAX).kind, VM_TRAP_UNDEFINED_ELEMENT);
}

/* guest -> host -> guest -> ... -> trap: every activation's frames are in the backtrace, innermost first. */
static void trap_through_the_host(struct guest *guest)
{
    struct vm_trap trap = call_trap(guest, "down", 5);
    assert_int_equal(trap.kind, VM_TRAP_UNREACHABLE);
    assert_string_equal(trap.message, "unreachable");
    uint32_t guest_frames = 0;
    for (uint32_t i = 0; i < trap.frame_count; i++)
        guest_frames += trap.frames[i].funcidx == 2;
    assert_int_equal(guest_frames, 6);
}

static void positions_in_a_backtrace(struct guest *guest)
{
    struct vm_trap trap = call_trap(guest, "deep_load", 8);
    assert_int_equal(trap.kind, VM_TRAP_MEMORY_OUT_OF_BOUNDS);
    assert_int_equal(trap.frame_count, 2);
    char text[64];
    vm_module_listing(guest->module, trap.frames[0].offset, text, sizeof text);
    assert_memory_equal(text, "i32.load", 8);
    vm_module_listing(guest->module, trap.frames[1].offset, text, sizeof text);
    assert_memory_equal(text, "call", 4);
}

static void recursion_is_bounded(struct guest *guest)
{
    for (int i = 0; i < 3; i++) {
        struct vm_trap trap = call_trap(guest, "forever", 0);
        assert_int_equal(trap.kind, VM_TRAP_STACK_EXHAUSTED);
        assert_string_equal(trap.message, "call stack exhausted");
        assert_int_equal(trap.frame_count, VM_TRAP_FRAMES);
        assert_true(trap.frame_total > 1000);
    }
    assert_int_equal(call_i32(guest, "even", 0), 1);
}

static void tail_calls_take_no_stack(struct guest *guest)
{
    assert_int_equal(call_i32(guest, "even", 5000000), 1);
    assert_int_equal(call_i32(guest, "even", 5000001), 0);
}

/* Recursion through the host uses native stack that the value stack does not see. */
static void recursion_through_the_host_is_bounded(struct guest *guest)
{
    assert_int_equal(call_trap(guest, "down", 100000000).kind, VM_TRAP_STACK_EXHAUSTED);
}

static void *exhaust(void *guest)
{
    recursion_is_bounded(guest);
    recursion_through_the_host_is_bounded(guest);
    return NULL;
}

static void small_native_stack(struct guest *guest)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    assert_int_equal(pthread_create(&thread, &attributes, exhaust, guest), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

#define HANDLED 77

static void handle(int signal)
{
    _exit(HANDLED);
}

/* The wait status of a process that had this handler of faults, then made a store, and then faults. */
static int fault_after(void (*handler)(int), struct guest *guest)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* where it faults for ever */
        signal(SIGSEGV, handler);
        vm_store_create(guest->engine);
        *(volatile int *)8 = 1;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

/* A fault of the host's own is none of the guest's: whoever handled it before does so again. Nobody can ignore it. */
static void host_faults_stay_the_hosts(struct guest *guest)
{
    int handled = fault_after(handle, guest);
    assert_true(WIFEXITED(handled) && WEXITSTATUS(handled) == HANDLED);
    int dies = fault_after(SIG_DFL, guest), ignored = fault_after(SIG_IGN, guest);
    assert_true(WIFSIGNALED(dies) && WTERMSIG(dies) == SIGSEGV);
    assert_true(WIFSIGNALED(ignored) && WTERMSIG(ignored) == SIGSEGV);
}

/* A forked child translates what its parent had not, and the parent does so after it. */
static void fork_and_translate(struct guest *guest)
{
    assert_int_equal(call_i32(guest, "even", 2), 1);
    pid_t child = fork();
    if (child == 0)
        _exit(call_i32(guest, "indirect", 0) == 42 && call_i32(guest, "even", 3) == 0 ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct vm_trap trap;
    union vm_slot slots[2] = {{.i32 = 3}, {.i32 = 4}};
    assert_true(vm_call(guest_func(guest, "add"), slots, &trap));
    assert_int_equal(slots[0].i32, 7);
}

/* No memory may be written and executed at one address. */
static void nothing_is_writable_and_executable(struct guest *guest)
{
    assert_int_equal(call_i32(guest, "even", 2), 1);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (fgets(line, sizeof line, maps))
        assert_null(strstr(line, " rwx"));
    fclose(maps);
}

#define IN_EACH_DISPATCH(test)            \
    static void test_##test(void **state) \
    {                                     \
        in_each_dispatch(test);           \
    }
#define TESTS(X)                                                                                     \
    X(values_cross)                                                                                  \
    X(indirect_calls)                                                                                \
    X(trap_through_the_host)                                                                         \
    X(positions_in_a_backtrace) X(recursion_is_bounded) X(tail_calls_take_no_stack)                  \
        X(recursion_through_the_host_is_bounded) X(small_native_stack) X(host_faults_stay_the_hosts) \
            X(fork_and_translate) X(nothing_is_writable_and_executable)
TESTS(IN_EACH_DISPATCH)

/* Two instances that tail call one another cannot give up their frames, since each must have its instance back: the
 * stack runs out, and says so. */
static void test_tail_calls_between_instances(void **state)
{
    struct guest_bytes bytes = read_guest("ping");
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        struct vm_config config = {.dispatch = (enum vm_dispatch)dispatch};
        struct vm_engine *engine;
        struct vm_module *module;
        struct vm_trap trap;
        assert_int_equal(vm_engine_create(&config, &engine, NULL), 0);
        assert_int_equal(vm_module_create(engine, bytes.data, bytes.size_bytes, NULL, &module, NULL), 0);
        struct vm_store *store = vm_store_create(engine);
        struct vm_table *table = vm_table_create(store, VM_FUNCREF, (struct vm_limits){4, UINT64_MAX}, NULL);
        struct vm_extern ping = {0}, sink = {0};
        for (uint32_t me = 0; me < 2; me++) {
            struct vm_extern imports[2] = {
                {.kind = VM_EXTERN_TABLE, .table = table},
                {.kind = VM_EXTERN_GLOBAL,
                 .global = vm_global_create(store, VM_I32, false, (union vm_slot){.i32 = me})},
            };
            struct vm_instance *instance;
            struct vm_extern place;
            union vm_slot none[1];
            assert_int_equal(vm_instance_create(store, module, imports, 2, &instance, &trap, NULL), 0);
            assert_true(vm_instance_export(instance, "place", 5, &place));
            assert_true(vm_call(place.func, none, &trap));
            assert_true(vm_instance_export(instance, "ping", 4, &ping));
            assert_true(vm_instance_export(instance, "sink", 4, &sink));
        }
        union vm_slot slots[1] = {{.i32 = 1001}};
        assert_true(vm_call(ping.func, slots, &trap));
        assert_int_equal(slots[0].i32, 0);
        slots[0].i32 = UINT32_MAX;
        assert_false(vm_call(ping.func, slots, &trap));
        assert_int_equal(trap.kind, VM_TRAP_STACK_EXHAUSTED);
        /* What tail calls took of the native stack is not there any more for the calls that follow. */
        for (uint32_t depth = 0; depth < 300000; depth += 30000) {
            slots[0].i32 = depth;
            assert_false(vm_call(sink.func, slots, &trap));
            assert_int_equal(trap.kind, VM_TRAP_STACK_EXHAUSTED);
        }
        vm_store_destroy(store);
        vm_module_destroy(module);
        vm_engine_destroy(engine);
    }
    free(bytes.data);
}

/* A table costs memory for every element at once and a module may ask for 100,000 tables: a store's are bounded
 * together.
 */
static void test_tables_are_bounded_together(void **state)
{
    struct vm_engine *engine;
    struct err err = {0};
    assert_int_equal(vm_engine_create(NULL, &engine, NULL), 0);
    struct vm_store *store = vm_store_create(engine);
    assert_non_null(vm_table_create(store, VM_FUNCREF, (struct vm_limits){6000000, UINT64_MAX}, &err));
    assert_null(vm_table_create(store, VM_FUNCREF, (struct vm_limits){6000000, UINT64_MAX}, &err));
    assert_int_equal(err.kind, ERR_RESOURCE);
    vm_store_destroy(store);
    vm_engine_destroy(engine);
}

int main(void)
{
#define UNIT(test) cmocka_unit_test(test_##test),
    const struct CMUnitTest tests[] = {
        TESTS(UNIT) cmocka_unit_test(test_tail_calls_between_instances),
        cmocka_unit_test(test_tables_are_bounded_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
