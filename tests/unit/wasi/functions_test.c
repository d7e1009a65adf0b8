/* Finding functions, and what holds for all of them: no address that a guest passes leads outside its memory. */
#include "double.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

static struct vm_func *find(const char *name, const struct vm_functype *type, struct err *err)
{
    *err = (struct err){0};
    return wasi_func(guest.wasi, NULL, name, strlen(name), type, err);
}

#define DEV_NULL 3 /* the guest's descriptor of it */

static int start(void **state)
{
    struct err err = {0};
    guest_start(65536);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(wasi_inherit_fd(guest.wasi, null, &err), 0);
    close(null);
    return 0;
}

static int stop(void **state)
{
    guest_stop();
    return 0;
}

static void test_every_function_is_found_with_its_type_only(void **state)
{
    assert_int_equal(DOUBLE_FUNCTION_COUNT, 46);
    for (size_t i = 0; i < DOUBLE_FUNCTION_COUNT; i++) {
        struct err err;
        struct vm_functype type = double_type(&double_functions[i]);
        struct vm_func *func = find(double_functions[i].name, &type, &err);
        assert_non_null(func);
        assert_memory_equal(func->name, "wasi_snapshot_preview1.", 23);
        assert_string_equal(func->name + 23, double_functions[i].name);

        struct vm_functype longer = type;
        longer.param_count++;
        assert_null(find(double_functions[i].name, &longer, &err));
        assert_int_equal(err.kind, ERR_UNLINKABLE);
        struct vm_functype other = type;
        other.result_count ^= 1;
        assert_null(find(double_functions[i].name, &other, &err));
        if (type.param_count > 0) {
            uint32_t params[16];
            memcpy(params, type.params, type.param_count * sizeof params[0]);
            params[0] = VM_F32;
            other = type;
            other.params = params;
            assert_null(find(double_functions[i].name, &other, &err));
        }
    }
}

static void test_an_unknown_function_is_refused(void **state)
{
    struct err err;
    struct vm_functype type = double_type(&double_functions[0]);
    assert_null(find("args_gets", &type, &err));
    assert_int_equal(err.kind, ERR_UNLINKABLE);
    assert_non_null(strstr(err.message, "args_gets"));
    assert_null(find("", &type, &err));
    assert_null(find("args_ge", &type, &err));
}

static void test_a_hostile_name_stays_out_of_the_message(void **state)
{
    struct err err;
    struct vm_functype type = double_type(&double_functions[0]);
    char name[1000];
    memset(name, '\x1b', sizeof name);
    name[sizeof name - 1] = 0;
    assert_null(find(name, &type, &err));
    assert_null(strchr(err.message, '\x1b'));
    assert_null(find("a\nb", &type, &err));
    assert_null(strchr(err.message, '\n'));
}

/* Every i32 of every function, set to each of these while the others are harmless, and all at once. Nothing may crash,
 * and nothing outside the memory may be touched (the sanitizers' build sees that). */
static const uint64_t hostile[] = {0xffffffff, 0xfffffffe, 0xfffffff8, 0x80000000, 0x7fffffff, 65536,
                                   65535,      65534,      65533,      65528,      65520,      65504,
                                   65489,      65488,      65472,      0x10000000, 0x20000000, 0x40000000};

static bool blocks_or_ends(const char *name)
{
    static const char *const names[] = {"proc_exit", "proc_raise", "fd_close", "fd_renumber", "poll_oneoff"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void test_no_argument_leads_outside_the_memory(void **state)
{
    for (size_t i = 0; i < DOUBLE_FUNCTION_COUNT; i++) {
        size_t count = strlen(double_functions[i].params);
        for (size_t value = 0; value < sizeof hostile / sizeof hostile[0]; value++) {
            for (size_t which = 0; which <= count; which++) {
                uint64_t args[16] = {99}; /* no such descriptor */
                for (size_t arg = 1; arg < count; arg++)
                    args[arg] = 16;
                for (size_t arg = 0; arg < count; arg++)
                    args[arg] = which == count || arg == which ? hostile[value] : args[arg];
                guest_call_index(i, args);
            }
        }
    }
}

/* The same with a descriptor that exists. */
static void test_no_buffer_leads_outside_the_memory(void **state)
{
    for (size_t i = 0; i < DOUBLE_FUNCTION_COUNT; i++) {
        size_t count = strlen(double_functions[i].params);
        for (size_t value = 0; value < sizeof hostile / sizeof hostile[0] && !blocks_or_ends(double_functions[i].name);
             value++) {
            for (size_t which = 1; which < count; which++) {
                uint64_t args[16] = {DEV_NULL, 16, 8, 16, 16, 16, 16, 16, 16};
                args[which] = hostile[value];
                guest_call_index(i, args);
            }
        }
    }
}

static void test_out_of_bounds_is_fault(void **state)
{
    uint32_t iovec = guest_iovec(65535, 2);
    uint32_t huge = guest_iovec(0xffffffff, 0xffffffff);
    uint32_t good = guest_iovec(16, 1);
    uint32_t out = guest_room(4);
    assert_int_equal(CALL(fd_write, DEV_NULL, iovec, 1, out), WASI_EFAULT);
    assert_int_equal(CALL(fd_write, DEV_NULL, huge, 1, out), WASI_EFAULT);
    assert_int_equal(CALL(fd_write, DEV_NULL, 65529, 1, out), WASI_EFAULT);
    assert_int_equal(CALL(fd_write, DEV_NULL, good, 0x20000000, out), WASI_EFAULT); /* 8 times this wraps to 0 */
    assert_int_equal(CALL(fd_write, DEV_NULL, good, 1, 65533), WASI_EFAULT);
    assert_int_equal(CALL(fd_write, DEV_NULL, good, 1025, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_write, DEV_NULL, good, 1, out), WASI_SUCCESS);
    assert_int_equal(CALL(clock_time_get, 0, 0, 65529), WASI_EFAULT);
    assert_int_equal(CALL(random_get, 65535, 2), WASI_EFAULT);
    assert_int_equal(CALL(random_get, 1, 0xffffffff), WASI_EFAULT);
    assert_int_equal(CALL(random_get, 65536, 0), WASI_SUCCESS);
}

static void test_a_caller_without_memory_gets_fault(void **state)
{
    guest.instance.memory = NULL;
    assert_int_equal(CALL(random_get, 0, 0), WASI_EFAULT);
    assert_int_equal(CALL(clock_time_get, 0, 0, 0), WASI_EFAULT);
    assert_int_equal(CALL(fd_write, DEV_NULL, 0, 0, 0), WASI_EFAULT);
    assert_int_equal(CALL(sched_yield), WASI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_function_is_found_with_its_type_only, start, stop),
        cmocka_unit_test_setup_teardown(test_an_unknown_function_is_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_a_hostile_name_stays_out_of_the_message, start, stop),
        cmocka_unit_test_setup_teardown(test_no_argument_leads_outside_the_memory, start, stop),
        cmocka_unit_test_setup_teardown(test_no_buffer_leads_outside_the_memory, start, stop),
        cmocka_unit_test_setup_teardown(test_out_of_bounds_is_fault, start, stop),
        cmocka_unit_test_setup_teardown(test_a_caller_without_memory_gets_fault, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
