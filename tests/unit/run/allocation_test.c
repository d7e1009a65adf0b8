/* Every allocation of a guest's whole life made to fail in its turn: each failure is an error or a trap that says so,
 * and nothing is lost (which the address sanitizer's build of this test looks at). Linked with --wrap=malloc and its
 * kin. */
#include "harness.h"

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *old, size_t size_bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size_bytes);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size_bytes);

static long remaining = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    return remaining >= 0 && remaining-- == 0;
}

void *__wrap_malloc(size_t size_bytes)
{
    return fails() ? NULL : __real_malloc(size_bytes);
}
void *__wrap_calloc(size_t count, size_t size_bytes)
{
    return fails() ? NULL : __real_calloc(count, size_bytes);
}
void *__wrap_realloc(void *old, size_t size_bytes)
{
    return fails() ? NULL : __real_realloc(old, size_bytes);
}
char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}
char *__wrap_strndup(const char *text, size_t size_bytes)
{
    return fails() ? NULL : __real_strndup(text, size_bytes);
}

/* True where everything went well; false at the first refusal, which must be one that names memory. */
static bool live(struct guest_bytes bytes, enum vm_dispatch dispatch)
{
    struct vm_config config = {.dispatch = dispatch};
    struct guest guest = {.bytes = bytes};
    struct vm_trap trap = {0};
    struct err err = {0};
    bool is_well = false;
    if (vm_engine_create(&config, &guest.engine, &err) != 0)
        goto refused;
    if (vm_module_create(guest.engine, bytes.data, bytes.size_bytes, "calls", &guest.module, &err) != 0)
        goto refused;
    guest.store = vm_store_create(guest.engine);
    struct vm_extern import = {.kind = VM_EXTERN_FUNC};
    if (guest.store)
        import.func = vm_func_create(guest.store, &i32_to_i32, "host.again", host_again, &guest);
    if (!guest.store || !import.func) {
        err.kind = ERR_RESOURCE;
        goto refused;
    }
    int status = vm_instance_create(guest.store, guest.module, &import, 1, &guest.instance, &trap, &err);
    if (status != 0)
        goto refused;
    for (uint32_t i = 0; i < 2; i++) {
        union vm_slot slots[2] = {{.i32 = 0}};
        if (!vm_call(guest_func(&guest, i ? "indirect" : "even"), slots, &trap))
            goto refused;
        assert_int_equal(slots[0].i32, i ? 42 : 1);
    }
    is_well = true;
refused:
    assert_true(is_well || err.kind == ERR_RESOURCE || trap.kind == VM_TRAP_OUT_OF_MEMORY);
    remaining = -1;
    vm_store_destroy(guest.store);
    vm_module_destroy(guest.module);
    vm_engine_destroy(guest.engine);
    return is_well;
}

static void test_each_allocation(void **state)
{
    struct guest_bytes bytes = read_guest("calls");
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        long failures = 0;
        for (remaining = 0; !live(bytes, (enum vm_dispatch)dispatch); remaining = failures)
            failures++;
        assert_true(failures > 30);
    }
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
