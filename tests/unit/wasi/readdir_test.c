/* fd_readdir: entries, cookies, buffers that are too small, and a directory that changes under it. */
#include "double.h"

#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

struct entry {
    uint64_t next;
    uint8_t type;
    char name[256];
};

static struct entry entries[1024];

/* Reads once from `cookie` into a buffer of `capacity`, and returns the number of whole entries; `*is_full` tells
 * whether there may be more. */
static size_t read_some(uint32_t fd, uint64_t cookie, uint32_t capacity, bool *is_full)
{
    uint32_t kept = guest.used_bytes;
    uint32_t buf = guest_room(capacity);
    uint32_t out = guest_room(4);
    size_t count = 0;
    assert_int_equal(CALL(fd_readdir, fd, buf, capacity, cookie, out), WASI_SUCCESS);
    uint32_t used = guest_u32(out);
    assert_true(used <= capacity);
    *is_full = used == capacity;
    for (uint32_t at = 0; used - at >= sizeof(struct wasi_abi_dirent);) {
        struct wasi_abi_dirent dirent;
        memcpy(&dirent, guest_at(buf + at), sizeof dirent);
        at += sizeof dirent;
        if (used - at < dirent.d_namlen)
            break;
        entries[count] = (struct entry){.next = dirent.d_next, .type = (uint8_t)dirent.d_type};
        memcpy(entries[count++].name, guest_at(buf + at), dirent.d_namlen);
        at += dirent.d_namlen;
    }
    guest.used_bytes = kept;
    return count;
}

/* Makes `count` files in inside/. */
static void make_files(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "inside/file-with-a-rather-long-name-%03u", i);
        host_write(name, "");
    }
}

/* Reads all with buffers of `capacity`, as wasi-libc does; each number of make_files must come once. */
static void assert_all_come_once(unsigned count, uint32_t capacity)
{
    unsigned seen[1000] = {0};
    unsigned dots = 0;
    uint64_t cookie = 0;
    bool is_full = true;
    while (is_full) {
        size_t got = read_some(INSIDE, cookie, capacity, &is_full);
        assert_true(got > 0 || !is_full);
        for (size_t i = 0; i < got; i++) {
            unsigned number;
            if (sscanf(entries[i].name, "file-with-a-rather-long-name-%u", &number) == 1)
                seen[number]++;
            else
                dots += entries[i].name[0] == '.';
            cookie = entries[i].next;
        }
    }
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(dots, 2);
}

static void test_types(void **state)
{
    bool is_full;
    host_write("inside/file", "");
    assert_int_equal(mkdir(host_path("inside/folder"), 0700), 0);
    assert_int_equal(symlink("x", host_path("inside/link")), 0);
    size_t count = read_some(INSIDE, 0, 4096, &is_full);
    assert_int_equal(count, 5);
    assert_false(is_full);
    for (size_t i = 0; i < count; i++) {
        uint8_t type = WASI_FILETYPE_DIRECTORY;
        if (strcmp(entries[i].name, "file") == 0)
            type = WASI_FILETYPE_REGULAR_FILE;
        if (strcmp(entries[i].name, "link") == 0)
            type = WASI_FILETYPE_SYMBOLIC_LINK;
        assert_int_equal(entries[i].type, type);
    }
}

static void test_all_come_once_whatever_the_buffer(void **state)
{
    make_files(300);
    assert_all_come_once(300, 100);
    assert_all_come_once(300, 128);
    assert_all_come_once(300, 4096);
    assert_all_come_once(300, 65536);
}

static void test_a_buffer_too_small_for_one_entry(void **state)
{
    bool is_full;
    make_files(1);
    for (uint32_t capacity = 0; capacity < 24; capacity++) {
        assert_int_equal(read_some(INSIDE, 0, capacity, &is_full), 0);
        assert_true(is_full);
    }
}

static void test_cookies_stay_good(void **state)
{
    static struct entry whole[512];
    bool is_full;
    make_files(200);
    size_t count = read_some(INSIDE, 0, 65536, &is_full);
    assert_int_equal(count, 202);
    memcpy(whole, entries, sizeof whole);
    for (size_t i = 0; i + 1 < count; i += 7) {
        assert_true(read_some(INSIDE, whole[i].next, 200, &is_full) > 0);
        assert_string_equal(entries[0].name, whole[i + 1].name);
    }
    for (size_t i = 0; i < count; i++)
        assert_in_range(whole[i].next, 1, INT32_MAX); /* for a telldir of 32 bits */
    assert_int_equal(read_some(INSIDE, whole[count - 1].next, 200, &is_full), 0);
    assert_false(is_full);
}

static void test_cookie_0_begins_anew(void **state)
{
    bool is_full;
    assert_int_equal(read_some(INSIDE, 0, 4096, &is_full), 2);
    make_files(3);
    assert_int_equal(read_some(INSIDE, 0, 4096, &is_full), 5);
}

/* Reads a buffer, deletes what was in it, and goes on: the way `rm -r` works. Nothing may be left. */
static void test_reading_and_deleting_in_turn(void **state)
{
    uint64_t cookie = 0;
    bool is_full = true;
    make_files(500);
    while (is_full) {
        size_t got = read_some(INSIDE, cookie, 4096, &is_full);
        for (size_t i = 0; i < got; i++) {
            uint32_t kept = guest.used_bytes;
            if (entries[i].name[0] == 'f')
                assert_int_equal(CALL(path_unlink_file, INSIDE, PATH(entries[i].name)), WASI_SUCCESS);
            guest.used_bytes = kept;
            cookie = entries[i].next;
        }
    }
    assert_int_equal(read_some(INSIDE, 0, 65536, &is_full), 2);
}

static void test_hostile_arguments(void **state)
{
    uint32_t buf = guest_room(256);
    uint32_t out = guest_room(4);
    make_files(5);
    assert_int_equal(CALL(fd_readdir, INSIDE, MEMORY_BYTES - 255, 256, 0, out), WASI_EFAULT);
    assert_int_equal(CALL(fd_readdir, INSIDE, buf, 0xffffffff, 0, out), WASI_EFAULT);
    assert_int_equal(CALL(fd_readdir, INSIDE, buf, 256, 0, MEMORY_BYTES - 3), WASI_EFAULT);
    CALL(fd_readdir, INSIDE, buf, 256, UINT64_MAX, out); /* the file system's to refuse */
    CALL(fd_readdir, INSIDE, buf, 256, UINT64_MAX, out);
    CALL(fd_readdir, INSIDE, buf, 256, UINT64_C(1) << 63, out);
    assert_int_equal(CALL(fd_readdir, INSIDE, buf, 256, 0x123456789, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_readdir, INSIDE, buf, 256, INT64_MAX, out), WASI_EINVAL);
    assert_all_come_once(5, 4096);
    uint32_t file = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(CALL(fd_readdir, file, buf, 256, 0, out), WASI_ENOTCAPABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_all_come_once_whatever_the_buffer, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_a_buffer_too_small_for_one_entry, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_cookies_stay_good, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_cookie_0_begins_anew, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_reading_and_deleting_in_turn, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_hostile_arguments, sandbox_start, sandbox_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
