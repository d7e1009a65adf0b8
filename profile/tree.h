/* tree: a calling-context tree, what was charged to each function under each chain of callers. Internal to profile/.
 *
 *     root ─ main ─┬─ parse ── next            one node for each distinct chain; recursion is a chain
 *                  └─ print
 *
 * A node holds what its calls cost, everything beneath included; what it cost itself is that less its children's, so
 * nothing is added up twice while the guest runs, and the sum of all nodes' own costs is the root's, to the count.
 *
 * The number of nodes is bounded. Calls for which there is no node left go to `merged`, a child of the root, which has
 * one child for each function, a flat node: the function is known, its callers no more. What is called from a flat node
 * is flat too. Such a call's cost stands in its own node and, as `elsewhere`, in its caller's, since that is not its
 * parent in the tree. Used by one thread at a time. */
#ifndef GLASSBOX_PROFILE_TREE_H
#define GLASSBOX_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct profile_function;

/* Bucket 0: a call that cost nothing; bucket b: a cost of 2^(b-1) or more, and less than 2^b. */
#define PROFILE_BUCKETS 65

/* Of a node's children, so many are found without a look into the table. */
#define PROFILE_RECENT 16

/* Where calls are thinned, so many of each context are all measured: the first are often unlike the rest. Those after
 * them are sampled. */
#define PROFILE_WARM_CALLS 64

/* Of one event in one context. */
struct profile_charge {
    uint64_t sum;                      /* inclusive, of the calls that were measured; settled: of all calls */
    uint64_t self;                     /* settled: of that, not in callees */
    uint64_t elsewhere;                /* of sum, in calls that went to flat nodes */
    uint64_t outer;                    /* of a flat node: inclusive, of calls not beneath another flat one of it */
    uint64_t row;                      /* of that: of calls that are not beneath any other one of the function */
    uint64_t min, max;                 /* inclusive, of one measured call; UINT64_MAX and 0 before there is any */
    uint64_t sampled;                  /* of sum: the sampled calls' */
    double squares;                    /* sum of the squares of sampled calls; settled: variance of sum */
    uint64_t buckets[PROFILE_BUCKETS]; /* how many measured calls cost that much, inclusive */
};

struct profile_node {
    struct profile_function *function;           /* NULL: the root, or merged */
    struct profile_node *parent;                 /* NULL: the root */
    struct profile_node *recent[PROFILE_RECENT]; /* children that were entered, by profile_recent(); never NULL */
    struct profile_node *twin;                   /* while merging: the same context in the other tree */
    uint64_t calls;                              /* settled; before, maintained only where calls are thinned */
    /* Where calls are thinned: */
    uint64_t due;     /* the number of the call that is to be measured next */
    uint64_t certain; /* calls that were measured since each had to be */
    uint64_t sampled; /* calls that were measured for those that pass */
    uint8_t next;     /* how the next one to be measured is, enum measured */
    bool is_flat;
    uint32_t open;                    /* of a flat node: its calls that have not ended */
    const struct profile_node *asked; /* a node, and */
    bool is_beneath;                  /* whether it is beneath the same function */
    uint32_t index;
    uint32_t depth; /* of the root: 0 */
    struct profile_charge charges[];
};

struct profile_tree {
    struct profile_node *root;
    struct profile_node *merged;
    size_t event_count;
    size_t node_count;
    size_t limit;
    size_t node_bytes;
    size_t flat_count;
    struct vec blocks;           /* of uint8_t * */
    struct profile_node **slots; /* of (parent, function) to the child; open addressing, a power of two */
    size_t slot_count;
};

/* `limit`: how many nodes beside root, merged and flat ones. False: no memory. */
bool profile_tree_init(struct profile_tree *tree, size_t event_count, size_t limit);
void profile_tree_fini(struct profile_tree *tree);

/* The i-th node in order of creation, i < node_count: parents stand before their children; 0 is the root, 1 merged. */
struct profile_node *profile_tree_at(const struct profile_tree *tree, size_t i);

/* The node of `function` called from `parent`, made where there is none; a flat one where no
 * more can be made, and merged, which is flat too, where memory is exhausted. */
struct profile_node *profile_tree_child(struct profile_tree *tree, struct profile_node *parent,
                                        struct profile_function *function);

/* How the numbers of a thread become the report's: value * numerator / denominator. */
struct profile_ratio {
    uint64_t numerator, denominator;
};

/* Makes sums of samples (extrapolates `sum` to the calls that were not measured, where is_thinned), converts them by
 * the ratio of each event and computes `self`. A context never gets more than its caller has: the sum of `self` over
 * all nodes is the root's `sum` afterwards, to the count. Nothing may be charged to the tree any more. */
void profile_tree_settle(struct profile_tree *tree, const struct profile_ratio *ratios, bool is_thinned);

/* Adds the contexts of `from`, settled, to `into`. `is_outermost`, by node of `from`: no caller is the same function.
 */
void profile_tree_merge(struct profile_tree *into, struct profile_tree *from, const bool *is_outermost);

/* value * ratio, rounded down; UINT64_MAX at most. */
uint64_t profile_ratio_apply(struct profile_ratio ratio, uint64_t value);

/* Where in profile_node.recent a function belongs. */
static inline size_t profile_recent(const void *function)
{
    return (uintptr_t)function / 16 % PROFILE_RECENT; /* what malloc gives is 16 apart */
}

/* The least cost of a bucket. */
static inline uint64_t profile_bucket_least(size_t bucket)
{
    return bucket == 0 ? 0 : UINT64_C(1) << (bucket - 1);
}

static inline size_t profile_bucket_of(uint64_t cost)
{
    return cost == 0 ? 0 : 64 - (size_t)__builtin_clzll(cost);
}

/* Charges one measured call's inclusive cost. */
static inline void profile_charge_add(struct profile_charge *charge, uint64_t cost)
{
    charge->sum += cost;
    if (__builtin_expect(cost < charge->min, 0))
        charge->min = cost;
    if (__builtin_expect(cost > charge->max, 0))
        charge->max = cost;
    charge->buckets[profile_bucket_of(cost)]++;
}

#ifdef __cplusplus
}
#endif
#endif
