/* Stores of one engine in many threads at once: each function is translated once, by whoever comes first. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8

static _Atomic uint32_t published[16];
static pthread_barrier_t barrier;

static void count_published(void *user, const struct vm_code *code)
{
    if (code->module)
        atomic_fetch_add(&published[code->funcidx], 1);
}

static void *run(void *argument)
{
    struct guest guest = *(struct guest *)argument;
    struct vm_trap trap;
    guest.store = vm_store_create(guest.engine);
    struct vm_extern import = {
        .kind = VM_EXTERN_FUNC,
        .func = vm_func_create(guest.store, &i32_to_i32, "host.again", host_again, &guest),
    };
    assert_int_equal(vm_instance_create(guest.store, guest.module, &import, 1, &guest.instance, &trap, NULL), 0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(call_i32(&guest, "even", 1000), 1);
    assert_int_equal(call_i32(&guest, "indirect", 0), 42);
    assert_int_equal(call_trap(&guest, "deep_load", 8).kind, VM_TRAP_MEMORY_OUT_OF_BOUNDS);
    assert_int_equal(call_trap(&guest, "down", 3).kind, VM_TRAP_UNREACHABLE);
    vm_store_destroy(guest.store);
    return NULL;
}

static void test_many_threads(void **state)
{
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        static const struct vm_hooks hooks = {.code_published = count_published};
        struct vm_config config = {.dispatch = (enum vm_dispatch)dispatch, .hooks = &hooks};
        struct guest shared = {.bytes = read_guest("calls")};
        assert_int_equal(vm_engine_create(&config, &shared.engine, NULL), 0);
        assert_int_equal(
            vm_module_create(shared.engine, shared.bytes.data, shared.bytes.size_bytes, NULL, &shared.module, NULL), 0);
        memset(published, 0, sizeof published);
        pthread_t threads[THREADS];
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, run, &shared);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 0; i < sizeof published / sizeof *published; i++)
            assert_true(published[i] <= 1);
        vm_module_destroy(shared.module);
        vm_engine_destroy(shared.engine);
        free(shared.bytes.data);
        pthread_barrier_destroy(&barrier);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
