/* What a host function leaves behind is a guest's value: nothing of an argument's may show through. */
#include "harness.h"

static bool narrow(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    slots[0].i32 = 7; /* what was the upper half of the argument stays where it was */
    return true;
}

static bool pair(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    slots[0].i32 = 7;
    slots[1].i32 = 8;
    return true;
}

static bool half(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    slots[0].f32 = 0.5f;
    return true;
}

/* Calls the guest's `leaf` two times: the second call must not find its frame elsewhere than the first. */
static bool twice(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    union vm_slot first = slots[0], second = slots[0];
    if (!vm_call(guest_func(user, "leaf"), &first, trap) || !vm_call(guest_func(user, "leaf"), &second, trap))
        return false;
    slots[0].i64 = first.i64 + second.i64;
    return true;
}

static bool refuse(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    return false; /* and does not say why */
}

static const uint32_t i32s[] = {VM_I32, VM_I32}, i64s[] = {VM_I64, VM_I64}, f32s[] = {VM_F32}, f64s[] = {VM_F64};
static const struct {
    const char *name;
    vm_host_fn run;
    struct vm_functype type;
} functions[] = {
    {"host.narrow", narrow, {i64s, i32s, 1, 1}}, {"host.pair", pair, {i64s, i32s, 2, 2}},
    {"host.half", half, {f64s, f32s, 1, 1}},     {"host.twice", twice, {i64s, i64s, 1, 1}},
    {"host.refuse", refuse, {NULL, NULL, 0, 0}},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void open_hosts(struct guest *guest, enum vm_dispatch dispatch)
{
    struct vm_config config = {.dispatch = dispatch};
    struct vm_trap trap;
    guest->bytes = read_guest("hosts");
    assert_int_equal(vm_engine_create(&config, &guest->engine, NULL), 0);
    assert_int_equal(
        vm_module_create(guest->engine, guest->bytes.data, guest->bytes.size_bytes, NULL, &guest->module, NULL), 0);
    guest->store = vm_store_create(guest->engine);
    struct vm_extern imports[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++)
        imports[i] = (struct vm_extern){
            .kind = VM_EXTERN_FUNC,
            .func = vm_func_create(guest->store, &functions[i].type, functions[i].name, functions[i].run, guest),
        };
    assert_int_equal(vm_instance_create(guest->store, guest->module, imports, FUNCTIONS, &guest->instance, &trap, NULL),
                     0);
}

static uint64_t call_i64(struct guest *guest, const char *name, uint64_t argument)
{
    struct vm_trap trap;
    union vm_slot slots[2] = {{.i64 = argument}};
    assert_true(vm_call(guest_func(guest, name), slots, &trap));
    return slots[0].i64;
}

static const uint64_t garbage = 0xfeedface00000001u;

static void test_results_have_zeros_above(void **state)
{
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        struct guest guest;
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        open_hosts(&guest, (enum vm_dispatch)dispatch);
        assert_int_equal(call_i64(&guest, "extend", garbage), 7);
        assert_int_equal(call_i64(&guest, "extend_indirect", garbage), 7);
        assert_int_equal(call_i64(&guest, "extend_tail", garbage), 7);
        assert_int_equal(call_i64(&guest, "extend_global", garbage), 7);
        assert_int_equal(call_i64(&guest, "extend_pair", garbage), 7);
        assert_int_equal(call_i64(&guest, "bits", garbage), 0x3f000000);
        guest_close(&guest);
    }
}

static void test_calling_back_twice(void **state)
{
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        struct guest guest;
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        open_hosts(&guest, (enum vm_dispatch)dispatch);
        assert_int_equal(call_i64(&guest, "through", 10), 1120);
        guest_close(&guest);
    }
}

static void test_a_refusal_without_a_reason(void **state)
{
    struct guest guest;
    struct vm_trap trap;
    union vm_slot slots[1];
    open_hosts(&guest, VM_DISPATCH_SHARED);
    assert_false(vm_call(guest_func(&guest, "refused"), slots, &trap));
    assert_int_equal(trap.kind, VM_TRAP_HOST);
    assert_string_equal(trap.message, "host function trapped");
    guest_close(&guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_have_zeros_above),
        cmocka_unit_test(test_calling_back_twice),
        cmocka_unit_test(test_a_refusal_without_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
