/* Each allocation of a guest's life fails in turn: what was asked for is refused with a reason, and nothing leaks,
 * neither memory (the sanitizers' build sees it) nor a descriptor. */
#include "double.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

static int allocations_left = -1; /* -1: all succeed */

static bool fails(void)
{
    if (allocations_left == 0)
        return true;
    allocations_left -= allocations_left > 0;
    return false;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *string);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *string)
{
    return fails() ? NULL : __real_strdup(string);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* What a guest does that allocates. False: something was refused, for want of memory. */
static bool live(void)
{
    struct err err = {0};
    uint32_t fd = 0;
    uint32_t out = guest_room(256);
    struct wasi_abi_subscription now = {.tag = WASI_EVENT_CLOCK};
    if (wasi_add_arg(guest.wasi, "argument", &err) != 0 || wasi_add_env(guest.wasi, "NAME=VALUE", &err) != 0 ||
        wasi_preopen_dir(guest.wasi, host_path("inside"), "/", &err) != 0 ||
        wasi_inherit_fd(guest.wasi, 0, &err) != 0) {
        assert_int_equal(err.kind, ERR_RESOURCE);
        return false;
    }
    for (int i = 0; i < 20; i++) { /* so that the table grows */
        uint32_t error = guest_open(3, "file", WASI_OFLAG_CREAT, RIGHTS_READ, &fd);
        assert_true(error == WASI_SUCCESS || error == WASI_ENOMEM);
        if (error)
            return false;
    }
    uint32_t error = CALL(fd_readdir, 3, out, 128, 0, out + 128);
    if (!error)
        error = CALL(poll_oneoff, guest_put(&now, sizeof now), out, 1, out + 128);
    assert_true(error == WASI_SUCCESS || error == WASI_ENOMEM);
    return !error;
}

static void test_every_allocation_can_fail(void **state)
{
    bool is_whole = false;
    int failing = 0;
    for (; !is_whole; failing++) {
        struct err err = {0};
        int descriptors = count_descriptors();
        struct wasi *kept = guest.wasi;
        allocations_left = failing;
        guest.wasi = wasi_create(&err);
        if (guest.wasi)
            is_whole = live();
        else
            assert_int_equal(err.kind, ERR_RESOURCE);
        allocations_left = -1;
        wasi_destroy(guest.wasi);
        guest.wasi = kept;
        assert_int_equal(count_descriptors(), descriptors);
    }
    assert_true(failing > 10);
}

/* The host's descriptors run out: the guest is told, and the host keeps none that it lost. */
static void test_descriptors_run_out(void **state)
{
    uint32_t fd;
    uint32_t last = 0;
    uint32_t error;
    struct rlimit old;
    int descriptors = count_descriptors();
    getrlimit(RLIMIT_NOFILE, &old);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = (rlim_t)descriptors + 16, .rlim_max = old.rlim_max});
    while ((error = guest_open(INSIDE, "file", WASI_OFLAG_CREAT, RIGHTS_READ, &fd)) == WASI_SUCCESS)
        last = fd;
    assert_int_equal(error, WASI_EMFILE);
    assert_true(last > OTHER);
    int all = count_descriptors();
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("file")), WASI_EMFILE);
    assert_int_equal(count_descriptors(), all);
    assert_int_equal(CALL(fd_close, last), WASI_SUCCESS);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("file")), WASI_SUCCESS);
    assert_int_equal(count_descriptors(), all - 1);
    setrlimit(RLIMIT_NOFILE, &old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_allocation_can_fail, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_descriptors_run_out, sandbox_start, sandbox_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
