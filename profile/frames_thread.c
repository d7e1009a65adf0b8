/* Enter and leave: what is done at every call of the guest.
 *
 *     enter   find the callee's node; read the counters; push {node, counts}
 *     leave   read the counters; pop; charge the difference to the node
 *
 * Between the two the guest runs, undisturbed, and nothing else is added up: what a function cost itself is computed
 * when the thread ends (tree.h). The counters are read last on entering and first on leaving, so that what is measured
 * of a call is as little as can be of ourselves.
 *
 * The rest of our own cost is taken away as it arises, by a meter for each event: a counter that stands still while
 * Glassbox measures. It shows the raw count less what has been `spent`, which grows by the calibrated cost of each
 * call. So everything that is made of it, self, inclusive, smallest, largest, histogram, is free of that cost at once,
 * and what all frames are charged is exactly what the meter shows at the end: the raw count less what was subtracted.
 *
 *     raw      ──────╱╱╱╱────────╱╱╱╱──────       ╱ ourselves
 *     meter    ──────    ────────    ──────
 *
 * A call may cost less than the calibrated mean. The meter never runs backwards; it then stands still until the raw
 * count has caught up (a debt), which keeps sums right where a meter that forgot its debts would give more than the
 * truth. Only a debt of more than DEBT_CALLS calls is forgiven, since then the calibration does not fit.
 *
 * Variants. Reading differs much in cost: one memory load for wasm-instructions, one instruction for the tick counter,
 * some 25 ns to some us for libcounters' group. Each has its own pair of functions, made by the compiler from one text
 * whose `variant` is constant. wall-clock is the CPU's tick counter where its rate is constant (25 ns less than
 * clock_gettime, and so much less to subtract); ticks become ns when the thread ends, by what both clocks did from the
 * start to then.
 *
 * Frames stand in an array of their own, so that an unwound guest needs no cleaning up. Where it cannot grow, deeper
 * calls are counted to their caller, and it is said.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "profile/frames_internal.h"

#define INLINE static inline __attribute__((always_inline))

#define FIRST_FRAMES 256
#define DEBT_CALLS 64
/* A context whose calls cost so many times what measuring one costs can bear that all are measured: 3 %. */
#define DEAR_CALLS 32

struct frame {
    struct profile_node *node;
    uint64_t measured; /* enum measured, where calls are thinned */
    uint64_t start[];  /* what the meters showed */
};

struct meter {
    uint64_t shown; /* at the last reading */
    uint64_t spent; /* in 1/2^PROFILE_FRACTION_BITS */
    struct profile_overhead each;
};

/* A guest thread. Its own thread's alone. */
struct profile_thread {
    struct frame *top;
    uint8_t *limit;               /* of the frames */
    const uint64_t *instructions; /* the VM's */
    struct meter *meters;
    uint64_t lost; /* frames above `top` for which there was no memory */
    struct profile_tree tree;
    struct counters_group *group;
    uint64_t ticks; /* what the group reads wall-clock from */
    uint64_t *now;  /* room for one reading */
    uint64_t *begin;
    size_t event_count;
    size_t frame_bytes;
    uint64_t every;
    uint64_t random;           /* the same numbers in every run */
    uint64_t dear;             /* contexts whose calls cost so much, in the first event, are not thinned; 0: all are */
    struct profile_node *edge; /* the innermost open call that is not a flat node's, where there is one that is */
    struct frame *stack;
    struct profile_frames *frames;
    uint32_t number;
};

enum reading { READ_INSTRUCTIONS, READ_TICKS, READ_ONE, READ_GROUP }; /* ONE: any one event of the group */

struct variant {
    enum reading reading;
    bool is_thinned;
    void (*enter_new)(void *thread, void *function); /* where a node or a frame has to be made; NULL: here */
};

/* ---- clocks ---- */

INLINE uint64_t read_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

uint64_t profile_ticks(void)
{
    return read_ticks();
}

bool profile_ticks_trusted(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1); /* invariant TSC */
#else
    return true; /* constant by the architecture */
#endif
}

uint64_t profile_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- readings ---- */

INLINE void read_raw(struct profile_thread *thread, enum reading reading, uint64_t *values)
{
    if (reading == READ_INSTRUCTIONS) {
        values[0] = *thread->instructions;
    } else if (reading == READ_TICKS) {
        values[0] = read_ticks();
    } else {
        if (reading == READ_GROUP)
            thread->ticks = read_ticks();
        counters_read(thread->group, values);
    }
}

INLINE void meter_show(struct meter *meter, uint64_t *value)
{
    uint64_t shown = *value - (meter->spent >> PROFILE_FRACTION_BITS);
    int64_t debt = (int64_t)(meter->shown - shown);
    if (debt > 0) {
        uint64_t bound = (meter->each.inner + meter->each.outer) * DEBT_CALLS;
        uint64_t over = (uint64_t)debt << PROFILE_FRACTION_BITS;
        if (over > bound)
            meter->spent -= over - bound < meter->spent ? over - bound : meter->spent;
        shown = meter->shown;
    }
    meter->shown = shown;
    *value = shown;
}

INLINE size_t events_of(const struct profile_thread *thread, enum reading reading)
{
    return reading == READ_GROUP ? thread->event_count : 1;
}

/* Reads all events as the meters show them. Instructions cost nothing to read. */
INLINE void read_meters(struct profile_thread *thread, enum reading reading, uint64_t *values)
{
    read_raw(thread, reading, values);
    if (reading == READ_INSTRUCTIONS)
        return;
    for (size_t e = 0; e < events_of(thread, reading); e++)
        meter_show(&thread->meters[e], &values[e]);
}

/* ---- enter and leave ---- */

INLINE size_t frame_bytes_of(const struct profile_thread *thread, enum reading reading)
{
    return reading == READ_GROUP ? thread->frame_bytes : sizeof(struct frame) + sizeof(uint64_t);
}

/* False: no memory. */
static __attribute__((noinline)) bool grow_stack(struct profile_thread *thread)
{
    size_t used_bytes = (size_t)((uint8_t *)thread->top - (uint8_t *)thread->stack);
    size_t size_bytes = (size_t)(thread->limit - (uint8_t *)thread->stack) * 2;
    struct frame *stack = realloc(thread->stack, size_bytes);
    if (!stack)
        return false;
    thread->stack = stack;
    thread->limit = (uint8_t *)stack + size_bytes;
    thread->top = (struct frame *)((uint8_t *)stack + used_bytes);
    return true;
}

static __attribute__((noinline)) void lose_frame(struct profile_thread *thread)
{
    thread->lost++;
    pthread_mutex_lock(&thread->frames->mutex);
    profile_frames_lack_memory(thread->frames, "deep calls are counted to their callers");
    pthread_mutex_unlock(&thread->frames->mutex);
}

/* A flat node is never remembered as recent, so that all of its calls begin here. */
static __attribute__((noinline)) struct profile_node *find_child(struct profile_thread *thread,
                                                                 struct profile_node *parent, void *function)
{
    struct profile_node *node = profile_tree_child(&thread->tree, parent, function);
    if (!node->is_flat) {
        parent->recent[profile_recent(function)] = node;
        return node;
    }
    node->open++;
    if (!parent->is_flat)
        thread->edge = parent;
    return node;
}

enum measured { IS_CERTAIN, IS_SAMPLED, IS_PASSED };

/* How many calls on the next one is sampled: evenly from 1 to 2 * every - 1. A fixed distance would fall into step with
 * guests that alternate, as every recursion by two calls does. */
INLINE uint64_t random_gap(struct profile_thread *thread)
{
    thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
    return 1 + ((thread->random >> 32) * (2 * thread->every - 1) >> 32);
}

/* Whether to measure this call, and which one next: each while the context is cold, or dear enough to bear it; else one
 * in `every`. Calls of flat nodes are all measured. */
INLINE enum measured choose(struct profile_thread *thread, struct profile_node *node)
{
    node->calls++;
    if (node->calls < node->due)
        return IS_PASSED;
    enum measured measured = node->next;
    node->certain += measured == IS_CERTAIN;
    node->sampled += measured == IS_SAMPLED;
    uint64_t dear = thread->dear * (node->certain + node->sampled);
    if (node->calls < PROFILE_WARM_CALLS || node->is_flat || (dear && node->charges[0].sum >= dear)) {
        node->next = IS_CERTAIN;
        node->due = node->calls + 1;
    } else {
        node->next = IS_SAMPLED;
        node->due = node->calls + random_gap(thread);
    }
    return measured;
}

INLINE void enter(struct profile_thread *thread, void *function, struct variant variant)
{
    if (__builtin_expect(!thread, 0))
        return;
    size_t frame_bytes = frame_bytes_of(thread, variant.reading);
    bool is_full = (uint8_t *)thread->top + 2 * frame_bytes > thread->limit;
    struct profile_node *parent = thread->top->node;
    struct profile_node *node = parent->recent[profile_recent(function)];
    if (variant.enter_new && __builtin_expect(is_full || node->function != function, 0)) {
        variant.enter_new(thread, function);
        return;
    }
    if (!variant.enter_new && is_full && (thread->lost || !grow_stack(thread))) {
        lose_frame(thread);
        return;
    }
    if (!variant.enter_new && node->function != function)
        node = find_child(thread, parent, function);
    struct frame *frame = (struct frame *)((uint8_t *)thread->top + frame_bytes);
    frame->node = node;
    thread->top = frame;
    if (variant.is_thinned) {
        frame->measured = choose(thread, node);
        if (frame->measured == IS_PASSED)
            return;
    }
    read_meters(thread, variant.reading, frame->start);
}

/* Whether the regular node `node` is of, or beneath, the function of `flat`, which asks the same again and again. */
static bool is_beneath(struct profile_node *flat, const struct profile_node *node)
{
    if (flat->asked == node)
        return flat->is_beneath;
    flat->asked = node;
    while (node && node->function != flat->function)
        node = node->parent;
    return flat->is_beneath = node != NULL;
}

static __attribute__((noinline)) void charge_flat(struct profile_thread *thread, const struct frame *frame,
                                                  struct profile_node *caller, const uint64_t *now)
{
    struct profile_node *node = frame->node;
    bool is_outer = --node->open == 0;
    bool is_outermost = is_outer && !is_beneath(node, thread->edge);
    for (size_t e = 0; e < thread->event_count; e++) {
        uint64_t cost = now[e] - frame->start[e];
        profile_charge_add(&node->charges[e], cost);
        node->charges[e].outer += is_outer ? cost : 0;
        node->charges[e].row += is_outermost ? cost : 0;
        caller->charges[e].elsewhere += cost;
    }
}

INLINE void leave(struct profile_thread *thread, struct variant variant)
{
    if (__builtin_expect(!thread, 0))
        return;
    struct frame *frame = thread->top;
    struct frame *caller = (struct frame *)((uint8_t *)frame - frame_bytes_of(thread, variant.reading));
    size_t event_count = events_of(thread, variant.reading);
    if (__builtin_expect(thread->lost, 0)) {
        thread->lost--;
        return;
    }
    thread->top = caller;
    if (variant.is_thinned && frame->measured == IS_PASSED) {
        for (size_t e = 0; e < event_count; e++)
            thread->meters[e].spent += thread->meters[e].each.passing;
        return;
    }
    uint64_t one;
    uint64_t *now = variant.reading == READ_GROUP ? thread->now : &one;
    struct meter *meters = variant.reading == READ_INSTRUCTIONS ? NULL : thread->meters;
    if (meters) {
        read_raw(thread, variant.reading, now);
        for (size_t e = 0; e < event_count; e++) {
            meters[e].spent += meters[e].each.inner;
            meter_show(&meters[e], &now[e]);
            meters[e].spent += meters[e].each.outer;
        }
    } else {
        read_raw(thread, variant.reading, now);
    }
    struct profile_node *node = frame->node;
    if (__builtin_expect(node->is_flat, 0)) {
        charge_flat(thread, frame, caller->node, now);
        return;
    }
    for (size_t e = 0; e < event_count; e++) {
        uint64_t cost = now[e] - frame->start[e];
        profile_charge_add(&node->charges[e], cost);
        if (variant.is_thinned && frame->measured == IS_SAMPLED) {
            node->charges[e].sampled += cost;
            node->charges[e].squares += (double)cost * (double)cost;
        }
    }
}

#define VARIANTS(X)                           \
    X(instructions, READ_INSTRUCTIONS, false) \
    X(ticks, READ_TICKS, false)               \
    X(ticks_thinned, READ_TICKS, true)        \
    X(one, READ_ONE, false)                   \
    X(group, READ_GROUP, false)               \
    X(group_thinned, READ_GROUP, true)

/* What is rare in enter has a function of its own, so that what is not saves no registers for it. */
#define VARIANT(name, reading, is_thinned)                                                \
    static __attribute__((noinline)) void enter_new_##name(void *thread, void *function)  \
    {                                                                                     \
        enter(thread, function, (struct variant){reading, is_thinned, NULL});             \
    }                                                                                     \
    static void enter_##name(void *thread, void *function)                                \
    {                                                                                     \
        enter(thread, function, (struct variant){reading, is_thinned, enter_new_##name}); \
    }                                                                                     \
    static void leave_##name(void *thread, void *function, enum vm_leave why)             \
    {                                                                                     \
        leave(thread, (struct variant){reading, is_thinned, NULL});                       \
    }
VARIANTS(VARIANT)
#undef VARIANT

enum variant_number {
#define VARIANT(name, reading, is_thinned) VARIANT_##name,
    VARIANTS(VARIANT)
#undef VARIANT
};

static const struct {
    void (*enter)(void *thread, void *function);
    void (*leave)(void *thread, void *function, enum vm_leave why);
} variants[] = {
#define VARIANT(name, reading, is_thinned) {enter_##name, leave_##name},
    VARIANTS(VARIANT)
#undef VARIANT
};

static enum variant_number variant_for(const struct profile_frames *frames)
{
    bool is_thinned = frames->config.every > 1;
    if (frames->event_count == 1 && frames->ticks_event == 0)
        return is_thinned ? VARIANT_ticks_thinned : VARIANT_ticks;
    if (frames->event_count == 1 && frames->instructions_event == 0 && !is_thinned)
        return VARIANT_instructions;
    if (frames->event_count == 1 && !is_thinned)
        return VARIANT_one;
    return is_thinned ? VARIANT_group_thinned : VARIANT_group;
}

/* Reads without correction, whatever the variant. */
static void read_now(struct profile_thread *thread, uint64_t *values)
{
    switch (variant_for(thread->frames)) {
    case VARIANT_instructions: read_raw(thread, READ_INSTRUCTIONS, values); break;
    case VARIANT_ticks:
    case VARIANT_ticks_thinned: read_raw(thread, READ_TICKS, values); break;
    case VARIANT_one: read_raw(thread, READ_ONE, values); break;
    default: read_raw(thread, READ_GROUP, values); break;
    }
}

/* ---- life ---- */

static void thread_free(struct profile_thread *thread)
{
    if (!thread)
        return;
    counters_group_close(thread->group);
    profile_tree_fini(&thread->tree);
    free(thread->stack);
    free(thread->meters);
    free(thread->now);
    free(thread->begin);
    free(thread);
}

/* False: no memory. */
static bool thread_init(struct profile_thread *thread)
{
    size_t event_count = thread->event_count;
    const uint64_t *externals[PROFILE_EXTERNAL_COUNT] = {
        [PROFILE_EXTERNAL_INSTRUCTIONS] = thread->instructions,
        [PROFILE_EXTERNAL_TICKS] = &thread->ticks,
    };
    thread->frame_bytes = sizeof(struct frame) + event_count * sizeof(uint64_t);
    thread->stack = malloc(FIRST_FRAMES * thread->frame_bytes);
    thread->meters = calloc(event_count, sizeof *thread->meters);
    thread->now = calloc(event_count, sizeof *thread->now);
    thread->begin = calloc(event_count, sizeof *thread->begin);
    if (!thread->stack || !thread->meters || !thread->now || !thread->begin ||
        counters_group_open(thread->frames->set, externals, &thread->group, NULL) != 0)
        return false;
    thread->limit = (uint8_t *)thread->stack + FIRST_FRAMES * thread->frame_bytes;
    thread->top = thread->stack;
    if (!profile_tree_init(&thread->tree, event_count, thread->frames->config.limit))
        return false;
    thread->top->node = thread->tree.root;
    return true;
}

static void explain(struct profile_frames *frames, struct counters_group *group)
{
    char text[COUNTERS_MESSAGE_BYTES];
    if (!frames->has_explained && counters_group_explain(group, text, sizeof text) > 0)
        profile_frames_say(frames, text);
    frames->has_explained = true;
}

/* Where there is no memory, NULL, which enter and leave know. The VM asks again for that thread, maybe when it is deep
 * in calls whose end would then come without their begin: so no thread is begun from then on. */
static void *thread_begin(void *user, const uint64_t *instructions)
{
    struct profile_frames *frames = user;
    struct profile_thread *thread = calloc(1, sizeof *thread);
    if (thread) {
        thread->frames = frames;
        thread->instructions = instructions;
        thread->event_count = frames->event_count;
    }
    pthread_mutex_lock(&frames->mutex);
    bool is_ready = !frames->is_off && thread && thread_init(thread);
    if (is_ready) {
        thread->number = frames->calibration ? 0 : ++frames->thread_count;
        explain(frames, thread->group);
    } else {
        frames->is_off = true;
        profile_frames_lack_memory(frames, "a thread is not counted, nor are those that begin after it");
    }
    pthread_mutex_unlock(&frames->mutex);
    if (!is_ready) {
        thread_free(thread);
        return NULL;
    }
    thread->every = frames->calibration ? 1 : frames->config.every;
    if (profile_calibration_passes(frames))
        thread->every = UINT64_C(1) << 31;
    read_now(thread, thread->begin);
    if (frames->is_every_automatic && !frames->calibration)
        thread->dear = DEAR_CALLS * (frames->overheads[0].inner + frames->overheads[0].outer) >> PROFILE_FRACTION_BITS;
    for (size_t e = 0; e < thread->event_count; e++) {
        thread->top->start[e] = thread->meters[e].shown = thread->begin[e];
        thread->meters[e].each = frames->overheads[e];
    }
    return thread;
}

/* How what the thread counted becomes the event's unit, and how it was counted. */
static struct profile_ratio event_ratio(const struct profile_frames *frames, size_t event,
                                        const struct counters_state *state)
{
    if ((int)event == frames->ticks_event)
        return (struct profile_ratio){profile_clock_ns() - frames->begin_ns, profile_ticks() - frames->begin_ticks};
    if (state->status == COUNTERS_SCALED)
        return (struct profile_ratio){state->enabled_ns, state->running_ns};
    return (struct profile_ratio){1, 1};
}

/* Adds what the thread can tell of an event to what is known of it. */
static void note_event(struct profile_frames *frames, size_t event, const struct counters_state *state,
                       struct profile_ratio ratio, uint64_t subtracted, const struct meter *meter)
{
    struct profile_event_result *result = &frames->events[event];
    double factor = (double)ratio.numerator / (double)ratio.denominator, ended = (double)frames->threads.count;
    double overhead = factor * (double)(meter->each.inner + meter->each.outer) / (1 << PROFILE_FRACTION_BITS);
    result->status = state->status > result->status ? state->status : result->status;
    result->is_user_only |= state->is_user_only;
    result->is_uncorrected |= state->is_uncorrected;
    result->is_read_by_page |= state->is_read_by_page;
    if (state->relative_error > result->relative_error)
        result->relative_error = state->relative_error;
    result->subtracted += profile_ratio_apply(ratio, subtracted);
    result->overhead += (overhead - result->overhead) / ended;
    result->bucket_scale += (factor - result->bucket_scale) / ended;
}

/* Charges the root with all of it and hands the tree over. */
static void add_result(struct profile_thread *thread, uint64_t unfinished)
{
    struct profile_frames *frames = thread->frames;
    struct profile_thread_result *result = vec_push(&frames->threads);
    struct profile_ratio *ratios = calloc(thread->event_count, sizeof *ratios);
    if (!result || !ratios) {
        frames->threads.count -= result != NULL;
        profile_frames_lack_memory(frames, "a thread is not in the report");
        free(ratios);
        return;
    }
    thread->tree.root->calls = 1;
    read_now(thread, thread->now);
    for (size_t e = 0; e < thread->event_count; e++) {
        uint64_t raw = thread->now[e];
        meter_show(&thread->meters[e], &thread->now[e]);
        struct counters_state state = counters_group_state(thread->group, e);
        ratios[e] = event_ratio(frames, e, &state);
        profile_charge_add(&thread->tree.root->charges[e], thread->now[e] - thread->begin[e]);
        note_event(frames, e, &state, ratios[e], raw - thread->now[e], &thread->meters[e]);
    }
    profile_tree_settle(&thread->tree, ratios, frames->config.every > 1);
    *result = (struct profile_thread_result){thread->number, unfinished, thread->tree};
    thread->tree = (struct profile_tree){0};
    free(ratios);
}

/* Closes what is open. */
static void thread_end(void *opaque)
{
    struct profile_thread *thread = opaque;
    if (!thread)
        return;
    struct profile_frames *frames = thread->frames;
    enum variant_number variant = variant_for(frames);
    uint64_t unfinished = 0;
    thread->lost = 0;
    for (; thread->top != thread->stack; unfinished++)
        variants[variant].leave(thread, thread->top->node->function, VM_LEAVE_UNWIND);

    pthread_mutex_lock(&frames->mutex);
    if (frames->calibration)
        profile_calibration_note(frames, &thread->tree);
    else
        add_result(thread, unfinished);
    pthread_mutex_unlock(&frames->mutex);
    thread_free(thread);
}

void profile_frames_thread_hooks(const struct profile_frames *frames, struct vm_hooks *hooks)
{
    enum variant_number variant = variant_for(frames);
    hooks->thread_begin = thread_begin;
    hooks->thread_end = thread_end;
    hooks->enter = variants[variant].enter;
    hooks->leave = variants[variant].leave;
}
