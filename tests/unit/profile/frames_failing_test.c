/* frames: every allocation of a counted run made to fail in its turn. The guest's calls go on whatever fails, one
 * message says what is lost, what is left keeps to the rule of sums, and nothing leaks (which the address sanitizer's
 * build of this test looks at). Linked with --wrap=malloc and its kin. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module_double.h"
#include "profile/count.h"

#define DEPTH 700

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *old, size_t size_bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);
char *__wrap_strdup(const char *text);

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

static unsigned message_count;

static void note_message(void *user, const char *text)
{
    message_count++;
}

static void call(const struct vm_hooks *hooks, void *thread, void *function, bool begins)
{
    if (function && begins)
        hooks->enter(thread, function);
    else if (function)
        hooks->leave(thread, function, VM_LEAVE_RETURN);
}

/* Two threads that recurse deeper than contexts and the first frames go. */
static void play(struct profile_frames *frames, const struct vm_hooks *hooks, void *const functions[3])
{
    for (int i = 0; i < 2; i++) {
        uint64_t instructions = 0;
        void *thread = hooks->thread_begin(frames, &instructions);
        for (int depth = 0; depth < DEPTH; depth++) {
            call(hooks, thread, functions[depth % 3], true);
            instructions += 3;
        }
        for (int depth = DEPTH; depth-- > 0;)
            call(hooks, thread, functions[depth % 3], false);
        if (thread)
            hooks->thread_end(thread);
    }
}

static void write_all(struct profile_frames *frames, const char *folder)
{
    static const char *const files[] = {"a.json", "a.csv", "a.callgrind", "a.folded"};
    FILE *null = fopen("/dev/null", "w");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (profile_frames_write(frames, path, 0, &err) == 0)
            assert_int_equal(unlink(path), 0);
        else
            assert_non_null(strstr(err.message, "memory"));
    }
    profile_frames_print(frames, null, true);
    fclose(null);
}

static void check_sums(const struct profile_report *report)
{
    uint64_t sum = 0;
    for (size_t i = 0; report && i < report->all.count; i++)
        sum += report->all.rows[i].self[0];
    if (report)
        assert_int_equal(sum, report->tree.root->charges[0].sum);
}

static void live(struct vm_module *module, uint64_t every, const char *folder)
{
    struct profile_frames_config config = {
        .events = "wasm-instructions,wall-clock", .every = every, .limit = 100, .message = note_message};
    struct profile_frames *frames;
    if (profile_frames_open(&config, &frames, NULL) != 0)
        return;
    const void *bytes;
    size_t size_bytes;
    const struct vm_hooks *hooks = profile_frames_calibration(frames, &bytes, &size_bytes);
    void *trial[3] = {0};
    for (uint32_t i = 0; i < 3 && hooks; i++)
        trial[i] = hooks->observe_function(frames, module, i, NULL);
    for (int i = 0; i < PROFILE_FRAMES_TRIALS / 2 && hooks; i++)
        play(frames, hooks, trial);
    hooks = profile_frames_hooks(frames, NULL, NULL);
    void *functions[3];
    for (uint32_t i = 0; i < 2; i++)
        functions[i] = hooks->observe_function(frames, module, i, NULL);
    functions[2] = hooks->observe_function(frames, NULL, UINT32_MAX, "fd_write");
    play(frames, hooks, functions);
    hooks->module_destroyed(frames, module);
    write_all(frames, folder);
    check_sums(profile_report_get(frames));
    profile_frames_close(frames);
}

static void test_each_allocation_fails_in_turn(void **state)
{
    const char *names[] = {"main", "parse"};
    char folder[] = "/tmp/frames-failing-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct vm_module module = double_of_names("m.wasm", names, 2);
    for (uint64_t every = 1; every <= 4; every += 3) {
        message_count = 0;
        for (long which = 0; remaining < 0; which++) { /* until there is none left to fail */
            remaining = which;
            live(&module, every, folder);
        }
        remaining = -1;
        assert_true(message_count > 0);
    }
    double_fini(&module);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_fails_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
