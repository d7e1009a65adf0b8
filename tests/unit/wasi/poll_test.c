/* poll_oneoff: clocks, descriptors, both, and lists that make no sense. */
#include "double.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

#define MS UINT64_C(1000000)

static uint32_t out_events;
static uint32_t out_count;

static struct wasi_abi_subscription clock_after(uint32_t clockid, uint64_t timeout_ns, uint16_t flags,
                                                uint64_t userdata)
{
    return (struct wasi_abi_subscription){.userdata = userdata,
                                          .tag = WASI_EVENT_CLOCK,
                                          .clockid_or_fd = clockid,
                                          .timeout_ns = timeout_ns,
                                          .flags = flags};
}

static struct wasi_abi_subscription fd_ready(uint8_t tag, uint32_t fd, uint64_t userdata)
{
    return (struct wasi_abi_subscription){.userdata = userdata, .tag = tag, .clockid_or_fd = fd};
}

static uint32_t poll_list(const struct wasi_abi_subscription *list, uint32_t count)
{
    uint32_t in = guest_put(list, count * sizeof *list);
    out_events = guest_room(count * sizeof(struct wasi_abi_event));
    out_count = guest_room(4);
    return CALL(poll_oneoff, in, out_events, count, out_count);
}

static struct wasi_abi_event event(uint32_t index)
{
    struct wasi_abi_event event;
    memcpy(&event, guest_at(out_events + index * (uint32_t)sizeof event), sizeof event);
    return event;
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A pipe of the host's; the guest has the end to read as 5 and the one to write as 6. */
static int ends[2];

static int start(void **state)
{
    struct err err = {0};
    sandbox_start(state);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[0], &err), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[1], &err), 0);
    return 0;
}

static int stop(void **state)
{
    close(ends[0]);
    close(ends[1]);
    return sandbox_stop(state);
}

static void test_relative_clocks(void **state)
{
    for (uint32_t clockid = 0; clockid < 2; clockid++) {
        struct wasi_abi_subscription list[] = {clock_after(clockid, 20 * MS, 0, 42)};
        uint64_t before = now(CLOCK_MONOTONIC);
        assert_int_equal(poll_list(list, 1), WASI_SUCCESS);
        assert_in_range(now(CLOCK_MONOTONIC) - before, 19 * MS, 5000 * MS);
        assert_int_equal(guest_u32(out_count), 1);
        assert_int_equal(event(0).userdata, 42);
        assert_int_equal(event(0).type, WASI_EVENT_CLOCK);
        assert_int_equal(event(0).error, WASI_SUCCESS);
    }
}

static void test_absolute_clocks(void **state)
{
    static const clockid_t hosts[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    for (uint32_t clockid = 0; clockid < 2; clockid++) {
        uint64_t deadline = now(hosts[clockid]) + 20 * MS;
        struct wasi_abi_subscription list[] = {clock_after(clockid, deadline, WASI_SUBCLOCK_ABSTIME, 1)};
        assert_int_equal(poll_list(list, 1), WASI_SUCCESS);
        assert_true(now(hosts[clockid]) >= deadline);
    }
    struct wasi_abi_subscription past[] = {clock_after(WASI_CLOCK_MONOTONIC, 1, WASI_SUBCLOCK_ABSTIME, 1)};
    assert_int_equal(poll_list(past, 1), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 1);
}

static void test_the_earliest_clock_wins(void **state)
{
    struct wasi_abi_subscription list[] = {
        clock_after(WASI_CLOCK_MONOTONIC, UINT64_MAX, 0, 1),
        clock_after(WASI_CLOCK_REALTIME, 10 * MS, 0, 2),
        clock_after(WASI_CLOCK_MONOTONIC, 100000 * MS, 0, 3),
    };
    assert_int_equal(poll_list(list, 3), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 1);
    assert_int_equal(event(0).userdata, 2);
}

static void test_what_cannot_be_waited_for_is_answered_at_once(void **state)
{
    struct wasi_abi_subscription list[] = {
        clock_after(WASI_CLOCK_MONOTONIC, UINT64_MAX, 0, 1),
        clock_after(WASI_CLOCK_PROCESS_CPUTIME, 10 * MS, 0, 2),
        clock_after(9, 10 * MS, 0, 3),
        clock_after(WASI_CLOCK_MONOTONIC, 10 * MS, 2, 4),
        fd_ready(WASI_EVENT_FD_READ, 99, 5),
        fd_ready(WASI_EVENT_FD_READ, 6, 6), /* the end to write */
    };
    assert_int_equal(poll_list(list, 6), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 5);
    static const uint16_t errors[] = {WASI_ENOTSUP, WASI_EINVAL, WASI_EINVAL, WASI_EBADF, WASI_ENOTCAPABLE};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(event(i).userdata, i + 2);
        assert_int_equal(event(i).error, errors[i]);
    }
}

static void test_descriptors(void **state)
{
    struct wasi_abi_subscription both[] = {fd_ready(WASI_EVENT_FD_READ, 5, 1), fd_ready(WASI_EVENT_FD_WRITE, 6, 2)};
    assert_int_equal(poll_list(both, 2), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 1);
    assert_int_equal(event(0).userdata, 2);
    assert_int_equal(event(0).type, WASI_EVENT_FD_WRITE);

    assert_int_equal(write(ends[1], "abc", 3), 3);
    assert_int_equal(poll_list(both, 2), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 2);
    assert_int_equal(event(0).userdata, 1);
    assert_int_equal(event(0).nbytes, 3);
    assert_int_equal(event(0).flags, 0);
}

static void test_hangup(void **state)
{
    assert_int_equal(CALL(fd_close, 6), WASI_SUCCESS);
    close(ends[1]);
    ends[1] = dup(0);
    struct wasi_abi_subscription list[] = {fd_ready(WASI_EVENT_FD_READ, 5, 1)};
    assert_int_equal(poll_list(list, 1), WASI_SUCCESS);
    assert_int_equal(event(0).flags, WASI_EVENT_HANGUP);
    assert_int_equal(event(0).error, WASI_SUCCESS);
}

static void test_a_descriptor_or_a_timeout(void **state)
{
    struct wasi_abi_subscription list[] = {fd_ready(WASI_EVENT_FD_READ, 5, 1),
                                           clock_after(WASI_CLOCK_MONOTONIC, 10 * MS, 0, 2)};
    assert_int_equal(poll_list(list, 2), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 1);
    assert_int_equal(event(0).userdata, 2);
}

static void test_a_file_is_always_ready(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    struct wasi_abi_subscription list[] = {fd_ready(WASI_EVENT_FD_READ, fd, 1), fd_ready(WASI_EVENT_FD_WRITE, fd, 2)};
    assert_int_equal(poll_list(list, 2), WASI_SUCCESS);
    assert_int_equal(guest_u32(out_count), 2);
}

static void nothing(int signal)
{
}

static void *interrupt(void *thread)
{
    for (int i = 0; i < 5; i++) {
        usleep(5000);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    return NULL;
}

static void test_signals_do_not_shorten_a_wait(void **state)
{
    struct sigaction action = {.sa_handler = nothing};
    pthread_t self = pthread_self();
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, &self), 0);
    uint64_t before = now(CLOCK_MONOTONIC);
    struct wasi_abi_subscription list[] = {fd_ready(WASI_EVENT_FD_READ, 5, 1),
                                           clock_after(WASI_CLOCK_MONOTONIC, 60 * MS, 0, 2)};
    assert_int_equal(poll_list(list, 2), WASI_SUCCESS);
    assert_true(now(CLOCK_MONOTONIC) - before >= 60 * MS);
    pthread_join(thread, NULL);
}

static void test_lists_that_make_no_sense(void **state)
{
    struct wasi_abi_subscription list[] = {fd_ready(3, 5, 1)};
    assert_int_equal(poll_list(list, 1), WASI_EINVAL);
    list[0].tag = 255;
    assert_int_equal(poll_list(list, 1), WASI_EINVAL);
    assert_int_equal(CALL(poll_oneoff, 16, 16, 0, 16), WASI_EINVAL);
    assert_int_equal(CALL(poll_oneoff, 16, 16, 4097, 16), WASI_EINVAL);
    assert_int_equal(CALL(poll_oneoff, 16, 16, 0x5555556, 16), WASI_EFAULT);
    assert_int_equal(CALL(poll_oneoff, 16, 16, 0xffffffff, 16), WASI_EFAULT);
    assert_int_equal(CALL(poll_oneoff, MEMORY_BYTES - 47, 16, 1, 16), WASI_EFAULT);
    assert_int_equal(CALL(poll_oneoff, 16, MEMORY_BYTES - 31, 1, 16), WASI_EFAULT);
    assert_int_equal(CALL(poll_oneoff, 16, 16, 1, MEMORY_BYTES - 3), WASI_EFAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_relative_clocks, start, stop),
        cmocka_unit_test_setup_teardown(test_absolute_clocks, start, stop),
        cmocka_unit_test_setup_teardown(test_the_earliest_clock_wins, start, stop),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_waited_for_is_answered_at_once, start, stop),
        cmocka_unit_test_setup_teardown(test_descriptors, start, stop),
        cmocka_unit_test_setup_teardown(test_hangup, start, stop),
        cmocka_unit_test_setup_teardown(test_a_descriptor_or_a_timeout, start, stop),
        cmocka_unit_test_setup_teardown(test_a_file_is_always_ready, start, stop),
        cmocka_unit_test_setup_teardown(test_signals_do_not_shorten_a_wait, start, stop),
        cmocka_unit_test_setup_teardown(test_lists_that_make_no_sense, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
