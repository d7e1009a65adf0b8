/* Arguments, environment, exit, signals, clocks, random bytes. */
#include "double.h"

#include <time.h>

#include <cmocka.h>

static int start(void **state)
{
    struct err err = {0};
    guest_start(65536);
    assert_int_equal(wasi_add_arg(guest.wasi, "program", &err), 0);
    assert_int_equal(wasi_add_arg(guest.wasi, "", &err), 0);
    assert_int_equal(wasi_add_arg(guest.wasi, "zwei", &err), 0);
    assert_int_equal(wasi_add_env(guest.wasi, "NAME=VALUE", &err), 0);
    return 0;
}

static int stop(void **state)
{
    guest_stop();
    return 0;
}

static void test_args(void **state)
{
    uint32_t count = guest_room(4);
    uint32_t size = guest_room(4);
    assert_int_equal(CALL(args_sizes_get, count, size), WASI_SUCCESS);
    assert_int_equal(guest_u32(count), 3);
    assert_int_equal(guest_u32(size), sizeof "program\0\0zwei");

    uint32_t argv = guest_room(12);
    uint32_t bytes = guest_room(14);
    assert_int_equal(CALL(args_get, argv, bytes), WASI_SUCCESS);
    assert_string_equal(guest_at(guest_u32(argv)), "program");
    assert_string_equal(guest_at(guest_u32(argv + 4)), "");
    assert_string_equal(guest_at(guest_u32(argv + 8)), "zwei");
    assert_int_equal(guest_u32(argv), bytes);
    assert_int_equal(CALL(args_get, 65536 - 11, bytes), WASI_EFAULT);
    assert_int_equal(CALL(args_get, argv, 65536 - 13), WASI_EFAULT);
}

static void test_environ(void **state)
{
    uint32_t count = guest_room(4);
    uint32_t size = guest_room(4);
    assert_int_equal(CALL(environ_sizes_get, count, size), WASI_SUCCESS);
    assert_int_equal(guest_u32(count), 1);
    assert_int_equal(guest_u32(size), sizeof "NAME=VALUE");
    uint32_t environ = guest_room(4);
    uint32_t bytes = guest_room(16);
    assert_int_equal(CALL(environ_get, environ, bytes), WASI_SUCCESS);
    assert_string_equal(guest_at(guest_u32(environ)), "NAME=VALUE");
}

static void test_no_environ(void **state)
{
    struct err err = {0};
    struct wasi *bare = wasi_create(&err);
    struct wasi *kept = guest.wasi;
    guest.wasi = bare;
    uint32_t out = guest_room(8);
    assert_int_equal(CALL(environ_sizes_get, out, out + 4), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 0);
    assert_int_equal(CALL(environ_get, 65536, 65536), WASI_SUCCESS); /* nothing is written */
    guest.wasi = kept;
    wasi_destroy(bare);
}

static void test_exit(void **state)
{
    CALL(proc_exit, 7);
    assert_true(guest.ended);
    assert_int_equal(guest.trap.kind, VM_TRAP_EXIT);
    assert_int_equal(guest.trap.exit_status, 7);
}

static void test_raise(void **state)
{
    assert_int_equal(CALL(proc_raise, WASI_SIGNAL_NONE), WASI_SUCCESS);
    assert_int_equal(CALL(proc_raise, WASI_SIGNAL_CHLD), WASI_SUCCESS);
    assert_int_equal(CALL(proc_raise, WASI_SIGNAL_STOP), WASI_ENOTSUP);
    assert_int_equal(CALL(proc_raise, 31), WASI_EINVAL);
    assert_int_equal(CALL(proc_raise, 0xffffffff), WASI_EINVAL);
    CALL(proc_raise, 6);
    assert_true(guest.ended);
    assert_int_equal(guest.trap.kind, VM_TRAP_EXIT);
    assert_int_equal(guest.trap.exit_status, 134);
}

static void test_clocks(void **state)
{
    uint32_t out = guest_room(8);
    for (uint32_t clock = 0; clock < 4; clock++) {
        assert_int_equal(CALL(clock_res_get, clock, out), WASI_SUCCESS);
        assert_true(guest_u64(out) > 0);
        assert_int_equal(CALL(clock_time_get, clock, 1000, out), WASI_SUCCESS);
        assert_true(guest_u64(out) > 0);
    }
    assert_int_equal(CALL(clock_time_get, WASI_CLOCK_REALTIME, 0, out), WASI_SUCCESS);
    assert_in_range(guest_u64(out) / 1000000000, (uint64_t)time(NULL) - 2, (uint64_t)time(NULL) + 2);
    assert_int_equal(CALL(clock_time_get, WASI_CLOCK_MONOTONIC, 0, out), WASI_SUCCESS);
    uint64_t before = guest_u64(out);
    assert_int_equal(CALL(clock_time_get, WASI_CLOCK_MONOTONIC, 0, out), WASI_SUCCESS);
    assert_true(guest_u64(out) >= before);
    assert_int_equal(CALL(clock_res_get, 4, out), WASI_EINVAL);
    assert_int_equal(CALL(clock_time_get, 0xffffffff, 0, out), WASI_EINVAL);
}

static void test_random(void **state)
{
    uint32_t first = guest_room(32);
    uint32_t second = guest_room(32);
    assert_int_equal(CALL(random_get, first, 32), WASI_SUCCESS);
    assert_int_equal(CALL(random_get, second, 31), WASI_SUCCESS);
    assert_memory_not_equal(guest_at(first), guest_at(second), 31);
    assert_int_equal(*(uint8_t *)guest_at(second + 31), 0);
}

static void test_yield(void **state)
{
    assert_int_equal(CALL(sched_yield), WASI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_args, start, stop),
        cmocka_unit_test_setup_teardown(test_environ, start, stop),
        cmocka_unit_test_setup_teardown(test_no_environ, start, stop),
        cmocka_unit_test_setup_teardown(test_exit, start, stop),
        cmocka_unit_test_setup_teardown(test_raise, start, stop),
        cmocka_unit_test_setup_teardown(test_clocks, start, stop),
        cmocka_unit_test_setup_teardown(test_random, start, stop),
        cmocka_unit_test_setup_teardown(test_yield, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
