/* frames: what is charged to whom. The VM is this file: it plays calls and lets the count of instructions grow between
 * them, and a model that knows nothing of trees says what each function must have been charged. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "module_double.h"
#include "profile/count.h"

#define FUNCTIONS 6
#define DEEPEST 4000

static const char *names[FUNCTIONS] = {"main", "parse", "next", "print", "fib", "odd"};

/* What one function must have been charged. */
struct expected {
    uint64_t calls, self, inclusive;
};

struct open_call {
    int function; /* FUNCTIONS: the host's */
    bool is_outermost;
    uint64_t begin;
};

struct player {
    struct vm_module module;
    struct profile_frames *frames;
    const struct vm_hooks *hooks;
    void *functions[FUNCTIONS + 1];
    void *thread;
    uint64_t instructions;
    struct expected expected[FUNCTIONS + 1];
    struct open_call open[DEEPEST];
    int open_count[FUNCTIONS + 1];
    int depth;
    uint64_t outside;
    uint64_t random;
    /* What observing costs besides: counts that are not the guest's. */
    uint64_t inner, outer;
    char messages[4096];
};

static void note_message(void *user, const char *text)
{
    struct player *player = user;
    assert_null(strchr(text, '\n'));
    strncat(player->messages, text, sizeof player->messages - strlen(player->messages) - 2);
    strcat(player->messages, "\n");
}

static void open_frames(struct player *player, struct profile_frames_config config)
{
    memset(player, 0, sizeof *player);
    player->module = double_of_names("m.wasm", names, FUNCTIONS);
    player->random = 1;
    config.message = note_message;
    config.message_user = player;
    assert_int_equal(profile_frames_open(&config, &player->frames, NULL), 0);
}

static void begin_thread(struct player *player)
{
    player->instructions = 1000; /* whatever it was before */
    player->thread = player->hooks->thread_begin(player->frames, &player->instructions);
    assert_non_null(player->thread);
}

static void begin(struct player *player)
{
    player->hooks = profile_frames_hooks(player->frames, NULL, NULL);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        player->functions[i] = player->hooks->observe_function(player->frames, &player->module, i, NULL);
    player->functions[FUNCTIONS] = player->hooks->observe_function(player->frames, NULL, UINT32_MAX, "fd_write");
    begin_thread(player);
}

static void close_frames(struct player *player)
{
    profile_frames_close(player->frames);
    double_fini(&player->module);
}

static void work(struct player *player, uint64_t cost)
{
    player->instructions += cost;
    if (player->depth)
        player->expected[player->open[player->depth - 1].function].self += cost;
    else
        player->outside += cost;
}

static void enter(struct player *player, int function)
{
    player->expected[function].calls++;
    player->open[player->depth++] =
        (struct open_call){function, player->open_count[function]++ == 0, player->instructions};
    player->hooks->enter(player->thread, player->functions[function]);
    player->instructions += player->inner;
}

/* The model's half of a leave. */
static void close_call(struct player *player)
{
    struct open_call *call = &player->open[--player->depth];
    player->open_count[call->function]--;
    if (call->is_outermost)
        player->expected[call->function].inclusive += player->instructions - call->begin;
}

static void leave(struct player *player, enum vm_leave why)
{
    close_call(player);
    player->hooks->leave(player->thread, player->functions[player->open[player->depth].function], why);
    player->instructions += player->outer;
}

static uint64_t draw(struct player *player, uint64_t bound)
{
    player->random = player->random * 6364136223846793005u + 1442695040888963407u;
    return (player->random >> 33) % bound;
}

/* A guest's run: calls, recursion, calls of the host that call back, tail calls, and traps that unwind some frames. */
static void play(struct player *player, int steps, int deepest)
{
    for (int i = 0; i < steps; i++) {
        work(player, draw(player, 8) ? draw(player, 50) : 0);
        uint64_t dice = draw(player, 100);
        if (player->depth == 0 || (dice < 48 && player->depth < deepest)) {
            enter(player, (int)draw(player, FUNCTIONS + 1));
        } else if (dice < 55) {
            leave(player, VM_LEAVE_TAIL_CALL);
            enter(player, (int)draw(player, FUNCTIONS));
        } else if (dice < 57) {
            for (uint64_t count = draw(player, (uint64_t)player->depth) + 1; count-- > 0;)
                leave(player, VM_LEAVE_UNWIND);
        } else {
            leave(player, VM_LEAVE_RETURN);
        }
    }
    while (player->depth)
        leave(player, VM_LEAVE_RETURN);
}

static const struct profile_report *end(struct player *player)
{
    player->hooks->thread_end(player->thread);
    const struct profile_report *report = profile_report_get(player->frames);
    assert_non_null(report);
    return report;
}

static const struct profile_row *find_row(const struct profile_report *report, const char *name)
{
    for (size_t i = 0; i < report->all.count; i++)
        if (strcmp(profile_row_name(&report->all.rows[i]), name) == 0)
            return &report->all.rows[i];
    return NULL;
}

static const char *name_of(int function)
{
    return function == FUNCTIONS ? "fd_write" : names[function];
}

/* The sum of self over rows and over contexts is the total, and histograms hold every call. */
static void check_sums(const struct profile_report *report, size_t event, uint64_t total, bool is_each_measured)
{
    uint64_t by_rows = 0, by_contexts = 0;
    for (size_t i = 0; i < report->all.count; i++)
        by_rows += report->all.rows[i].self[event];
    for (size_t i = 0; i < report->tree.node_count; i++) {
        const struct profile_node *node = profile_tree_at(&report->tree, i);
        uint64_t calls = 0;
        by_contexts += node->charges[event].self;
        assert_true(node->charges[event].self <= node->charges[event].sum);
        for (size_t b = 0; b < PROFILE_BUCKETS; b++)
            calls += node->charges[event].buckets[b];
        if (is_each_measured)
            assert_int_equal(calls, node->calls);
    }
    assert_int_equal(by_rows, total);
    assert_int_equal(by_contexts, total);
    assert_int_equal(report->tree.root->charges[event].sum, total);
}

static void check_exactly(struct player *player, const struct profile_report *report)
{
    uint64_t total = player->outside;
    for (int i = 0; i <= FUNCTIONS; i++) {
        const struct profile_row *row = find_row(report, name_of(i));
        const struct expected *expected = &player->expected[i];
        total += expected->self;
        if (expected->calls == 0)
            continue;
        assert_non_null(row);
        assert_int_equal(row->calls, expected->calls);
        assert_int_equal(row->self[0], expected->self);
        assert_int_equal(row->inclusive[0], expected->inclusive);
    }
    assert_int_equal(find_row(report, "(outside)")->self[0], player->outside);
    check_sums(report, 0, total, true);
}

static void test_random_guests_by_the_model(void **state)
{
    struct player *player = malloc(sizeof *player);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .limit = 1 << 20});
        player->random = seed;
        begin(player);
        play(player, 3000, 1 + (int)(seed % 40));
        check_exactly(player, end(player));
        assert_string_equal(player->messages, "");
        close_frames(player);
    }
    free(player);
}

static void test_deep_recursion(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions"});
    begin(player);
    for (int i = 0; i < DEEPEST; i++) {
        enter(player, i % 2 ? 4 : 5);
        work(player, 3);
    }
    for (int i = 0; i < DEEPEST; i++)
        leave(player, VM_LEAVE_UNWIND);
    check_exactly(player, end(player));
    close_frames(player);
    free(player);
}

static void test_one_call_by_hand(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions"});
    begin(player);
    enter(player, 0);
    work(player, 10);
    for (uint64_t cost = 0; cost < 3; cost++) { /* 0, 7, 14 */
        enter(player, 1);
        work(player, 7 * cost);
        leave(player, VM_LEAVE_RETURN);
    }
    leave(player, VM_LEAVE_RETURN);
    const struct profile_report *report = end(player);
    assert_int_equal(report->tree.node_count, 4);
    const struct profile_node *parse = profile_tree_at(&report->tree, 3);
    assert_string_equal(parse->function->name, "parse");
    assert_string_equal(parse->parent->function->name, "main");
    assert_int_equal(parse->charges[0].sum, 21);
    assert_int_equal(parse->charges[0].min, 0);
    assert_int_equal(parse->charges[0].max, 14);
    assert_int_equal(parse->charges[0].buckets[0], 1);
    assert_int_equal(parse->charges[0].buckets[3], 1); /* 4 to 7 */
    assert_int_equal(parse->charges[0].buckets[4], 1); /* 8 to 15 */
    assert_int_equal(parse->parent->charges[0].sum, 31);
    assert_int_equal(parse->parent->charges[0].self, 10);
    close_frames(player);
    free(player);
}

static void test_past_the_limit_the_rest_is_one_node(void **state)
{
    struct player *player = malloc(sizeof *player);
    for (size_t limit = 1; limit < 60; limit += 7) {
        open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .limit = limit});
        begin(player);
        play(player, 3000, 30);
        const struct profile_report *report = end(player);
        assert_int_equal(report->tree.node_count - report->tree.flat_count, limit + 2);
        check_exactly(player, report); /* functions are as exact as ever */
        assert_true(find_row(report, "(merged)")->inclusive[0] > 0);
        close_frames(player);
    }
    free(player);
}

/* Rounding, of clock ticks to ns, and estimates keep to the rule of sums there too. */
static void test_sums_past_the_limit(void **state)
{
    struct player *player = malloc(sizeof *player);
    for (uint64_t every = 1; every <= 4; every++) {
        open_frames(player, (struct profile_frames_config){
                                .events = "wall-clock,wasm-instructions", .every = every, .limit = 20});
        begin(player);
        for (int i = 0; i < 20; i++)
            play(player, 2000, 20);
        const struct profile_report *report = end(player);
        uint64_t total = player->outside;
        for (int i = 0; i <= FUNCTIONS; i++)
            total += player->expected[i].self;
        check_sums(report, 0, report->tree.root->charges[0].sum, false);
        check_sums(report, 1, total, false);
        close_frames(player);
    }
    free(player);
}

/* Threads, each within the limit, that together are not. */
static void test_threads_add_up(void **state)
{
    struct player *player = malloc(sizeof *player);
    for (size_t limit = 300; limit <= 3000; limit *= 10) {
        open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .limit = limit});
        begin(player);
        uint64_t total = 0;
        for (int thread = 0; thread < 3; thread++) {
            if (thread > 0)
                begin_thread(player);
            play(player, 400, 8);
            if (thread < 2)
                player->hooks->thread_end(player->thread);
        }
        const struct profile_report *report = end(player);
        assert_int_equal(player->frames->threads.count, 3);
        for (int i = 0; i <= FUNCTIONS; i++)
            total += player->expected[i].self;
        check_sums(report, 0, total + player->outside, true);
        check_exactly(player, report);
        assert_int_equal(find_row(report, "(merged)") != NULL, limit < 1000);
        close_frames(player);
    }
    free(player);
}

static void test_frames_open_at_the_end_are_closed(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions"});
    begin(player);
    enter(player, 0);
    work(player, 5);
    enter(player, 1);
    work(player, 6);
    while (player->depth)
        close_call(player); /* the guest's thread was ended from outside */
    check_exactly(player, end(player));
    assert_int_equal(((struct profile_thread_result *)vec_at(&player->frames->threads, 0))->unfinished, 2);
    close_frames(player);
    free(player);
}

static void test_what_is_measured_of_thinned_calls(void **state)
{
    struct player *player = malloc(sizeof *player);
    int near = 0, all = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .every = 8});
        player->random = seed;
        begin(player);
        for (int i = 0; i < 40; i++)
            play(player, 3000, 3);
        const struct profile_report *report = end(player);
        uint64_t total = player->outside;
        for (int i = 0; i <= FUNCTIONS; i++)
            total += player->expected[i].self;
        check_sums(report, 0, total, false);
        for (int i = 0; i <= FUNCTIONS; i++) {
            const struct profile_row *row = find_row(report, name_of(i));
            double off = fabs((double)row->self[0] - (double)player->expected[i].self);
            assert_int_equal(row->calls, player->expected[i].calls);
            assert_true(off < 5 * row->error[0]);
            near += off < 2 * row->error[0];
            all++;
        }
        close_frames(player);
    }
    assert_true(near > all * 8 / 10); /* the error that is reported is one */
    free(player);
}

/* A guest that alternates between dear and cheap calls, at the very distance of the samples. */
static void test_samples_do_not_fall_into_step(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .every = 4});
    begin(player);
    enter(player, 0);
    for (int i = 0; i < 40000; i++) {
        enter(player, 1);
        work(player, i % 4 ? 1 : 1001);
        leave(player, VM_LEAVE_RETURN);
        work(player, 300);
    }
    leave(player, VM_LEAVE_RETURN);
    const struct profile_report *report = end(player);
    double truth = 40000 * 251.0, estimate = (double)find_row(report, "parse")->self[0];
    assert_true(fabs(estimate - truth) < 0.05 * truth);
    close_frames(player);
    free(player);
}

/* One trial of the calibration as the VM would run it, with the cost that the test wants to be found. */
static void play_trial(struct player *player, void *const functions[4])
{
    static const int rounds[][2] = {{2, 16}, {3, 16}, {2, 1024}, {3, 1024}};
    begin_thread(player);
    for (size_t i = 0; i < 4; i++) {
        bool is_seen = rounds[i][0] == 2;
        player->hooks->enter(player->thread, functions[rounds[i][0]]);
        for (int call = 0; call < rounds[i][1]; call++) {
            player->instructions += 5;
            if (!is_seen)
                continue;
            player->hooks->enter(player->thread, functions[0]);
            player->instructions += player->inner;
            player->hooks->leave(player->thread, functions[0], VM_LEAVE_RETURN);
            player->instructions += player->outer;
        }
        player->hooks->leave(player->thread, functions[rounds[i][0]], VM_LEAVE_RETURN);
    }
    player->hooks->thread_end(player->thread);
}

static void calibrate(struct player *player)
{
    const void *bytes;
    size_t size_bytes;
    void *functions[4];
    player->hooks = profile_frames_calibration(player->frames, &bytes, &size_bytes);
    for (uint32_t i = 0; i < 4; i++)
        functions[i] = player->hooks->observe_function(player->frames, &player->module, i, NULL);
    assert_null(functions[1]);
    for (int i = 0; i < PROFILE_FRAMES_TRIALS; i++)
        play_trial(player, functions);
}

/* wall-clock beside it, so that instructions pass through a meter as any event whose reading costs something. */
static void test_what_measuring_costs_is_subtracted(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions,wall-clock"});
    player->inner = 17;
    player->outer = 9;
    calibrate(player);
    begin(player);
    enter(player, 0);
    work(player, 1000);
    for (int i = 0; i < 5000; i++) {
        work(player, 40);
        enter(player, 1);
        leave(player, VM_LEAVE_RETURN);
    }
    work(player, 1000);
    leave(player, VM_LEAVE_RETURN);
    const struct profile_report *report = end(player);
    assert_int_equal(find_row(report, "parse")->self[0], 0);
    assert_int_equal(find_row(report, "main")->self[0], 5000 * 40 + 2000);
    assert_int_equal(player->frames->events[0].subtracted, 5001 * 26);
    check_sums(report, 0, 5000 * 40 + 2000, true);
    check_sums(report, 1, report->tree.root->charges[1].sum, true);
    close_frames(player);
    free(player);
}

/* Calls that cost us less than was calibrated: nothing gets less than 0, sums still hold. */
static void test_too_much_is_not_subtracted(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions,wall-clock"});
    player->inner = 100;
    player->outer = 100;
    calibrate(player);
    player->inner = 1;
    player->outer = 0;
    begin(player);
    play(player, 20000, 10);
    uint64_t raw = player->instructions - 1000;
    const struct profile_report *report = end(player);
    uint64_t subtracted = player->frames->events[0].subtracted;
    assert_true(subtracted > 0 && subtracted <= raw);
    check_sums(report, 0, raw - subtracted, true);
    close_frames(player);
    free(player);
}

static void test_only_functions_of_the_pattern(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions", .functions = "p*"});
    begin(player);
    for (int i = 0; i <= FUNCTIONS; i++)
        assert_int_equal(player->functions[i] != NULL, name_of(i)[0] == 'p');
    end(player);
    close_frames(player);
    free(player);
}

static void test_host_functions_of_one_name_are_one(void **state)
{
    struct player *player = malloc(sizeof *player);
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions"});
    begin(player);
    assert_ptr_equal(player->hooks->observe_function(player->frames, NULL, UINT32_MAX, "fd_write"),
                     player->functions[FUNCTIONS]);
    end(player);
    close_frames(player);
    free(player);
}

static int heard;
static void hear_code(void *user, const struct vm_code *code)
{
    assert_ptr_equal(user, &heard);
    heard += 1;
}
static void hear_module(void *user, const struct vm_module *module)
{
    assert_ptr_equal(user, &heard);
    heard += 10;
}

static void test_another_profiler_hears_of_code(void **state)
{
    struct player *player = malloc(sizeof *player);
    const struct vm_hooks other = {.code_published = hear_code, .module_destroyed = hear_module};
    open_frames(player, (struct profile_frames_config){.events = "wasm-instructions"});
    const struct vm_hooks *hooks = profile_frames_hooks(player->frames, &other, &heard);
    assert_null(hooks->code_memory_create);
    hooks->code_published(player->frames, &(struct vm_code){0});
    hooks->module_destroyed(player->frames, &player->module);
    assert_int_equal(heard, 11);
    assert_null(profile_frames_hooks(player->frames, NULL, NULL)->code_published);
    close_frames(player);
    free(player);
}

static void test_lists_that_are_refused(void **state)
{
    static const char *const lists[] = {"", "nothing-such", "wasm-instructions,wasm-instructions", "wall-clock,,"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct profile_frames_config config = {.events = lists[i]};
        struct profile_frames *frames;
        struct err err = {0};
        assert_int_equal(profile_frames_open(&config, &frames, &err), -EINVAL);
        assert_null(frames);
        assert_true(err.message[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_call_by_hand),
        cmocka_unit_test(test_random_guests_by_the_model),
        cmocka_unit_test(test_deep_recursion),
        cmocka_unit_test(test_past_the_limit_the_rest_is_one_node),
        cmocka_unit_test(test_sums_past_the_limit),
        cmocka_unit_test(test_threads_add_up),
        cmocka_unit_test(test_frames_open_at_the_end_are_closed),
        cmocka_unit_test(test_what_is_measured_of_thinned_calls),
        cmocka_unit_test(test_samples_do_not_fall_into_step),
        cmocka_unit_test(test_what_measuring_costs_is_subtracted),
        cmocka_unit_test(test_too_much_is_not_subtracted),
        cmocka_unit_test(test_only_functions_of_the_pattern),
        cmocka_unit_test(test_host_functions_of_one_name_are_one),
        cmocka_unit_test(test_another_profiler_hears_of_code),
        cmocka_unit_test(test_lists_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
