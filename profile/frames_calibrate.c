/* What measuring a call costs, found out with a guest of our own, in the VM, by the code that will run: hooks called
 * from here would miss what the VM does around them.
 *
 *     (module
 *       (func $seen)
 *       (func $unseen)
 *       (func $calls_seen (param $count i32)
 *         (loop $again
 *           (call $seen)
 *           (br_if $again (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))
 *       (func $calls_unseen ... the same with $unseen)
 *       (func (export "run")
 *         (call $calls_seen (i32.const 16)) (call $calls_unseen (i32.const 16))
 *         (call $calls_seen (i32.const 1024)) (call $calls_unseen (i32.const 1024))))
 *
 * All but `unseen` and `run` are observed. What 1024 calls of `seen` cost more than those of `unseen` is what measuring
 * costs; of that, what `seen` was charged lies between the two readings (inner), the rest outside (outer). The shorter
 * runs before are for translating and for making the nodes. Where calls are thinned, later trials let all calls pass
 * but those that warm up the context.
 *
 * Each trial is a guest thread (a store) of its own and gives one figure for each event; the median of TRIALS is taken,
 * since any of them may have been interrupted.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/frames_internal.h"

#define TRIALS (PROFILE_FRAMES_TRIALS / 2) /* of each kind */
#define WARM_UP_CALLS 16
#define TRIAL_CALLS 1024

static const uint8_t module_bytes[] = {
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x60, 0x00, 0x00, 0x60, 0x01, 0x7f,
    0x00, 0x03, 0x06, 0x05, 0x00, 0x00, 0x01, 0x01, 0x00, 0x07, 0x07, 0x01, 0x03, 0x72, 0x75, 0x6e, 0x00,
    0x04, 0x0a, 0x3e, 0x05, 0x02, 0x00, 0x0b, 0x02, 0x00, 0x0b, 0x10, 0x00, 0x03, 0x40, 0x10, 0x00, 0x20,
    0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, 0x0d, 0x00, 0x0b, 0x0b, 0x10, 0x00, 0x03, 0x40, 0x10, 0x01, 0x20,
    0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, 0x0d, 0x00, 0x0b, 0x0b, 0x14, 0x00, 0x41, 0x10, 0x10, 0x02, 0x41,
    0x10, 0x10, 0x03, 0x41, 0x80, 0x08, 0x10, 0x02, 0x41, 0x80, 0x08, 0x10, 0x03, 0x0b,
};

enum funcidx { FUNC_SEEN, FUNC_UNSEEN, FUNC_CALLS_SEEN, FUNC_CALLS_UNSEEN, FUNC_RUN };

struct profile_calibration {
    struct vm_hooks hooks;
    struct profile_function functions[FUNC_RUN];
    int trial;
    uint64_t (*pairs)[TRIALS];  /* by event and trial: of a measured call, in 1/2^PROFILE_FRACTION_BITS */
    uint64_t (*inners)[TRIALS]; /* of that, between the readings */
    uint64_t (*passes)[TRIALS]; /* of a call that is not measured */
};

static void *observe_function(void *user, const struct vm_module *module, uint32_t funcidx, const char *host_name)
{
    struct profile_frames *frames = user;
    if (funcidx == FUNC_UNSEEN || funcidx >= FUNC_RUN)
        return NULL;
    return &frames->calibration->functions[funcidx];
}

const struct vm_hooks *profile_frames_calibration(struct profile_frames *frames, const void **module,
                                                  size_t *size_bytes)
{
    size_t event_count = frames->event_count;
    struct profile_calibration *calibration = calloc(1, sizeof *calibration);
    if (!calibration)
        return NULL;
    frames->calibration = calibration;
    calibration->pairs = calloc(event_count, sizeof *calibration->pairs);
    calibration->inners = calloc(event_count, sizeof *calibration->inners);
    calibration->passes = calloc(event_count, sizeof *calibration->passes);
    if (!calibration->pairs || !calibration->inners || !calibration->passes) {
        profile_calibration_end(frames);
        return NULL;
    }
    for (uint32_t i = 0; i < FUNC_RUN; i++)
        calibration->functions[i].number = i;
    calibration->hooks.observe_function = observe_function;
    calibration->hooks.counts_instructions = frames->instructions_event >= 0;
    profile_frames_thread_hooks(frames, &calibration->hooks);
    *module = module_bytes;
    *size_bytes = sizeof module_bytes;
    return &calibration->hooks;
}

bool profile_calibration_passes(const struct profile_frames *frames)
{
    return frames->calibration && frames->calibration->trial >= TRIALS && frames->config.every > 1;
}

static int compare_costs(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint64_t median(uint64_t *costs)
{
    qsort(costs, TRIALS, sizeof *costs, compare_costs);
    return costs[TRIALS / 2];
}

/* The dearer of the two runs of a function that is called by nobody observed. */
static uint64_t run_cost(struct profile_calibration *calibration, struct profile_tree *tree, enum funcidx funcidx,
                         size_t event)
{
    const struct profile_node *node = profile_tree_child(tree, tree->root, &calibration->functions[funcidx]);
    return node->charges[event].max;
}

void profile_calibration_note(struct profile_frames *frames, struct profile_tree *tree)
{
    struct profile_calibration *calibration = frames->calibration;
    bool is_passing = profile_calibration_passes(frames);
    int trial = calibration->trial++;
    if (trial >= 2 * TRIALS || (trial >= TRIALS && !is_passing))
        return;
    struct profile_node *caller = profile_tree_child(tree, tree->root, &calibration->functions[FUNC_CALLS_SEEN]);
    const struct profile_node *seen = profile_tree_child(tree, caller, &calibration->functions[FUNC_SEEN]);
    for (size_t e = 0; e < frames->event_count; e++) {
        uint64_t with = run_cost(calibration, tree, FUNC_CALLS_SEEN, e);
        uint64_t without = run_cost(calibration, tree, FUNC_CALLS_UNSEEN, e);
        uint64_t cost = with > without ? (with - without) << PROFILE_FRACTION_BITS : 0;
        if (!is_passing) {
            calibration->pairs[e][trial] = cost / TRIAL_CALLS;
            calibration->inners[e][trial] =
                (seen->charges[e].sum << PROFILE_FRACTION_BITS) / (WARM_UP_CALLS + TRIAL_CALLS);
            continue;
        }
        uint64_t warm_calls = PROFILE_WARM_CALLS - WARM_UP_CALLS;
        uint64_t warm_cost = warm_calls * median(calibration->pairs[e]);
        calibration->passes[e][trial - TRIALS] = cost > warm_cost ? (cost - warm_cost) / (TRIAL_CALLS - warm_calls) : 0;
    }
}

void profile_calibration_end(struct profile_frames *frames)
{
    struct profile_calibration *calibration = frames->calibration;
    if (!calibration)
        return;
    for (size_t e = 0; e < frames->event_count && calibration->trial >= 2 * TRIALS; e++) {
        uint64_t pair = median(calibration->pairs[e]), inner = median(calibration->inners[e]);
        struct profile_overhead *overhead = &frames->overheads[e];
        overhead->inner = inner < pair ? inner : pair;
        overhead->outer = pair - overhead->inner;
        overhead->passing = median(calibration->passes[e]);
    }
    free(calibration->pairs);
    free(calibration->inners);
    free(calibration->passes);
    free(calibration);
    frames->calibration = NULL;
}
