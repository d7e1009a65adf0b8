/* library TOPIC...: libcounters on a machine with hardware counters, that of the host or the emulated one of arm64-pmu.
 *
 * The work that is counted is a loop of a known number of instructions, so that what the library says is compared with
 * the truth and not only with itself. Each topic is one property; the first that does not hold ends the program with 1
 * and a line that says what was found. The emulated CPU counts without noise. A real one may add an instruction for
 * each interrupt, and there the same comparisons allow for them.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/counters.h"
#include "counters/internal.h"

/* `retired` is the raw number of the event `instructions`, written in ever more digits to be ever another name. */
#if defined(__aarch64__)
static const bool is_emulated = true;
static const unsigned retired = 0x8;
#else
static const bool is_emulated = false;
static const unsigned retired = 0xc0;
#endif

enum { EVENTS_MAX = 32, WORK_INSTRUCTIONS = 3 };

/* What interrupts may have added to a count. */
static uint64_t noise_of(uint64_t instructions)
{
    return is_emulated ? 0 : 50 + instructions / 10000;
}

/* WORK_INSTRUCTIONS a turn and a few around them; no compiler has a say. */
static void work(uint64_t turns)
{
#if defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n nop\n b.ne 1b" : "+r"(turns)::"cc");
#elif defined(__x86_64__)
    __asm__ volatile("1: dec %0\n nop\n jnz 1b" : "+r"(turns)::"cc");
#endif
}

static void expect_near(const char *what, uint64_t found, uint64_t expected, uint64_t allowed)
{
    uint64_t distance = found > expected ? found - expected : expected - found;
    if (distance > allowed) {
        printf("%s: %" PRIu64 ", expected %" PRIu64 " give or take %" PRIu64 "\n", what, found, expected, allowed);
        exit(1);
    }
}

static void expect_true(const char *what, bool holds)
{
    if (!holds) {
        printf("%s\n", what);
        exit(1);
    }
}

struct session {
    struct counters_set *set;
    struct counters_group *group;
};

static struct session begin(const char *list)
{
    struct session session;
    struct counters_error error = {""};
    bool is_open = counters_set_create(list, NULL, 0, &session.set, &error) == 0 &&
                   counters_group_open(session.set, NULL, &session.group, &error) == 0;
    expect_true(error.message, is_open);
    char text[COUNTERS_MESSAGE_BYTES];
    if (counters_group_explain(session.group, text, sizeof text) != 0)
        printf("%s\n", text);
    return session;
}

static void end(struct session session)
{
    counters_group_close(session.group);
    counters_set_destroy(session.set);
}

/* What event 0 counts of work(turns). */
__attribute__((noinline)) static uint64_t count_work(struct session session, uint64_t turns)
{
    uint64_t before[EVENTS_MAX], after[EVENTS_MAX];
    counters_read(session.group, before);
    work(turns);
    counters_read(session.group, after);
    return after[0] - before[0];
}

/* The same work has the same count each time, and that count is the true one. */
static void repeat(void)
{
    struct session session = begin("instructions:u");
    uint64_t around = count_work(session, 1) - WORK_INSTRUCTIONS;
    for (uint64_t turns = 1000; turns <= 1000000; turns *= 10) {
        uint64_t expected = around + WORK_INSTRUCTIONS * turns;
        for (int i = 0; i < 10; i++)
            expect_near("instructions", count_work(session, turns), expected, noise_of(expected));
        printf("10 times %" PRIu64 " turns: %" PRIu64 " instructions\n", turns, expected);
    }
    expect_true("not exact", counters_group_state(session.group, 0).status == COUNTERS_EXACT);
    end(session);
}

static void read_by_kernel(struct session session, uint64_t *values)
{
    const struct perf_event_mmap_page *page = session.group->counters[0].page;
    session.group->counters[0].page = &counters_no_page;
    counters_read(session.group, values);
    session.group->counters[0].page = page;
}

/* User space and read(2) read the same counters: a value that one of them reads lies between two of the other, in the
 * same place each time. */
static void agree(void)
{
    struct session session = begin("instructions:u,cycles:u");
    uint64_t first_distance = 0;
    int repeated = 0; /* readings that an interrupt made start again: the page changed under them */
    for (int i = 0; i < 10000; i++) {
        uint64_t before[EVENTS_MAX], between[EVENTS_MAX], after[EVENTS_MAX];
        counters_read(session.group, before);
        read_by_kernel(session, between);
        counters_read(session.group, after);
        for (int event = 0; event < 2; event++)
            expect_true("not in order", before[event] < between[event] && between[event] < after[event]);
        if (i == 1)
            first_distance = after[0] - before[0];
        uint64_t distance = after[0] - before[0];
        if (i > 1 && distance > first_distance + noise_of(0) && distance < 2 * first_distance)
            repeated++;
        else if (i > 1)
            expect_near("instructions of two readings", distance, first_distance, noise_of(0));
    }
    expect_true("more readings start again than there are interrupts", repeated <= 10);
    expect_true("not read in user space", counters_group_state(session.group, 0).is_read_by_page);
    printf("10000 times in order\n");
    end(session);
}

/* CPU events, the kernel's and the clock in one list: all count, the CPU's as one group. */
static void together(void)
{
    struct session session = begin("instructions:u,page-faults,cycles:u,wall-clock");
    uint64_t before[EVENTS_MAX], after[EVENTS_MAX];
    enum { PAGES = 64, PAGE_BYTES = 4096 };
    volatile char *memory = aligned_alloc(PAGE_BYTES, PAGES * PAGE_BYTES);
    expect_true("no memory", memory != NULL);
    counters_read(session.group, before);
    work(100000);
    for (int i = 0; i < PAGES; i++)
        memory[i * PAGE_BYTES] = 1;
    counters_read(session.group, after);
    for (size_t i = 0; i < counters_set_count(session.set); i++) {
        struct counters_event event = counters_set_event(session.set, i);
        printf("%s: %" PRIu64 " %s\n", event.name, after[i] - before[i], event.unit);
        expect_true("does not count", after[i] > before[i]);
        expect_true("not exact", counters_group_state(session.group, i).status == COUNTERS_EXACT);
    }
    expect_true("page faults fewer than pages", after[1] - before[1] >= PAGES);
    expect_true("more than one group of the CPU's", session.group->unit_count == 2);
    free((void *)memory);
    end(session);
}

/* More events than the CPU has counters take turns: values never decrease although their registers come and go, and the
 * scaled sums are the truth within the error that is told. */
static void turns(void)
{
    char list[512] = "";
    for (int digits = 2; digits <= 13; digits++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%sr%0*x:u", *list ? "," : "", digits, retired);
    struct session session = begin(list);
    uint64_t before[EVENTS_MAX], last[EVENTS_MAX], after[EVENTS_MAX];
    size_t count = counters_set_count(session.set);
    enum { PIECES = 1000, TURNS = 100000 };
    uint64_t truth = (uint64_t)WORK_INSTRUCTIONS * PIECES * TURNS;
    counters_read(session.group, before);
    memcpy(last, before, sizeof last);
    for (int piece = 0; piece < PIECES; piece++) {
        work(TURNS);
        counters_read(session.group, after);
        for (size_t i = 0; i < count; i++)
            expect_true("a value that decreases", after[i] >= last[i]);
        memcpy(last, after, sizeof last);
    }
    for (size_t i = 0; i < count; i++) {
        struct counters_state state = counters_group_state(session.group, i);
        uint64_t scaled = counters_scale(&state, after[i] - before[i]);
        printf("%s: %" PRIu64 " scaled to %" PRIu64 ", error %.1f %%\n", counters_set_event(session.set, i).name,
               after[i] - before[i], scaled, 100 * state.relative_error);
        expect_true("not scaled", state.status == COUNTERS_SCALED && state.relative_error > 0);
        expect_near("scaled instructions", scaled, truth, (uint64_t)(2 * state.relative_error * (double)truth));
    }
    expect_true("one group of the CPU's", session.group->unit_count > 1);
    end(session);
}

static void allow_user_reads(bool is_allowed)
{
    FILE *setting = fopen("/proc/sys/kernel/perf_user_access", "we");
    expect_true("no kernel.perf_user_access", setting && fputs(is_allowed ? "1" : "0", setting) >= 0);
    fclose(setting);
}

/* Where user space may not read the registers, the same counts come by read(2). The setting is the whole machine's, so
 * only the emulated one is changed. */
static void denied(void)
{
    if (!is_emulated)
        return;
    allow_user_reads(false);
    struct session session = begin("instructions:u");
    expect_true("read in user space", !counters_group_state(session.group, 0).is_read_by_page);
    uint64_t around = count_work(session, 1) - WORK_INSTRUCTIONS;
    expect_near("instructions by read(2)", count_work(session, 1000), around + WORK_INSTRUCTIONS * 1000, 0);
    printf("by read(2): %" PRIu64 " instructions a reading\n", around);
    end(session);
    allow_user_reads(true);
}

/* How long a reading is itself. */
static void cost(void)
{
    struct session session = begin("instructions:u");
    uint64_t first[EVENTS_MAX], second[EVENTS_MAX];
    counters_read(session.group, first);
    counters_read(session.group, first);
    counters_read(session.group, second);
    printf("one event: %" PRIu64 " instructions a reading\n", second[0] - first[0]);
    expect_true("more than 60 instructions", second[0] - first[0] <= 60 + noise_of(0));
    end(session);
}

static void *work_in_thread(void *turns)
{
    struct session session = begin("instructions:u");
    uint64_t *count = turns;
    *count = count_work(session, *count);
    end(session);
    return NULL;
}

/* A group counts its own thread and no other. */
static void threads(void)
{
    struct session session = begin("instructions:u");
    uint64_t around = count_work(session, 1) - WORK_INSTRUCTIONS;
    uint64_t counts[4] = {100000, 200000, 300000, 400000};
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        expect_true("no thread", pthread_create(&ids[i], NULL, work_in_thread, &counts[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], NULL);
        uint64_t expected = around + WORK_INSTRUCTIONS * (uint64_t)(i + 1) * 100000;
        expect_near("instructions of a thread", counts[i], expected, noise_of(expected));
        printf("thread %d: %" PRIu64 "\n", i, counts[i]);
    }
    uint64_t values[EVENTS_MAX];
    counters_read(session.group, values);
    expect_true("the others' work is in this thread's count", values[0] < 300000);
    end(session);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } topics[] = {{"repeat", repeat}, {"agree", agree}, {"together", together}, {"turns", turns},
                  {"denied", denied}, {"cost", cost},   {"threads", threads}};
    int run_count = 0;
    for (int argument = 1; argument < argc; argument++) {
        for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
            if (strcmp(argv[argument], topics[i].name) == 0) {
                printf("%s\n", topics[i].name);
                topics[i].run();
                run_count++;
            }
        }
    }
    expect_true("unknown topic", argc > 1 && run_count == argc - 1);
    return 0;
}
