/* A calling-context tree: nodes in blocks, found by (parent, function).
 *
 * Nodes stand in the order of their creation, so a parent always comes before its children: walking forward goes from
 * callers to callees, and backward from callees to callers. All passes over the tree are such loops, since a guest may
 * recurse as deep as there are nodes and a recursive pass would need as much native stack.
 *
 * Finding a child is usually done by the caller, who asks `parent->recent` first. The rest goes through one table for
 * the whole tree: lists of children were rejected, since an interpreter's loop calls hundreds of functions in turn.
 *
 * Settling. What the guest's run leaves is `sum`, measured. Three things are done to it, each of which keeps the rule
 * that a node has at least as much as its children together (and so that no `self` is negative, and that all of them
 * add up to the root's sum):
 *
 *     extrapolation   of sampled calls to all. Estimates may break the rule, so from the root (which is measured whole)
 *                     downward, children that together claim more than their caller has share what it has in proportion
 *     conversion      of clock ticks to ns, of counts in turns to full counts, rounded down: the parts rounded down are
 *                     never more than the whole rounded down
 *     subtraction     self = sum - children - elsewhere
 */
#include "profile/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_NODES 128

/* What `recent` holds where no child was entered yet: no function is its function. */
static const struct profile_node nobody;

struct profile_node *profile_tree_at(const struct profile_tree *tree, size_t i)
{
    uint8_t *block = *(uint8_t **)vec_at(&tree->blocks, i / BLOCK_NODES);
    return (struct profile_node *)(block + i % BLOCK_NODES * tree->node_bytes);
}

static struct profile_node *add_node(struct profile_tree *tree, struct profile_node *parent,
                                     struct profile_function *function)
{
    if (tree->node_count == tree->blocks.count * BLOCK_NODES) {
        uint8_t *block = calloc(BLOCK_NODES, tree->node_bytes);
        uint8_t **slot = block ? vec_push(&tree->blocks) : NULL;
        if (!slot) {
            free(block);
            return NULL;
        }
        *slot = block;
    }
    struct profile_node *node = profile_tree_at(tree, tree->node_count);
    node->function = function;
    node->parent = parent;
    for (size_t i = 0; i < PROFILE_RECENT; i++)
        node->recent[i] = (struct profile_node *)&nobody; /* only read */
    node->index = (uint32_t)tree->node_count++;
    node->depth = parent ? parent->depth + 1 : 0;
    node->is_flat = node->index == 1 || (parent && parent == tree->merged);
    tree->flat_count += node->index > 1 && node->is_flat;
    for (size_t e = 0; e < tree->event_count; e++)
        node->charges[e].min = UINT64_MAX;
    return node;
}

bool profile_tree_init(struct profile_tree *tree, size_t event_count, size_t limit)
{
    *tree = (struct profile_tree){
        .event_count = event_count,
        .limit = limit,
        .node_bytes = sizeof(struct profile_node) + event_count * sizeof(struct profile_charge),
        .blocks = VEC_INIT(sizeof(uint8_t *)),
        .slot_count = 64,
    };
    tree->slots = calloc(tree->slot_count, sizeof(struct profile_node *));
    tree->root = tree->slots ? add_node(tree, NULL, NULL) : NULL;
    tree->merged = tree->root ? add_node(tree, tree->root, NULL) : NULL;
    if (!tree->merged)
        profile_tree_fini(tree);
    return tree->merged != NULL;
}

void profile_tree_fini(struct profile_tree *tree)
{
    for (size_t i = 0; i < tree->blocks.count; i++)
        free(*(uint8_t **)vec_at(&tree->blocks, i));
    vec_fini(&tree->blocks);
    free(tree->slots);
    *tree = (struct profile_tree){0};
}

/* ---- finding ---- */

/* Where the child of `parent` is in the table, or the free slot where it belongs. */
static struct profile_node **find_slot(struct profile_node **slots, size_t slot_count,
                                       const struct profile_node *parent, const struct profile_function *function)
{
    uint64_t hash = ((uint64_t)(uintptr_t)function / 16 + parent->index) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (slot_count - 1);
    while (slots[at] && (slots[at]->parent != parent || slots[at]->function != function))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow_table(struct profile_tree *tree)
{
    size_t slot_count = tree->slot_count * 2;
    struct profile_node **slots = calloc(slot_count, sizeof(struct profile_node *));
    if (!slots)
        return false;
    for (size_t i = 0; i < tree->slot_count; i++)
        if (tree->slots[i])
            *find_slot(slots, slot_count, tree->slots[i]->parent, tree->slots[i]->function) = tree->slots[i];
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count = slot_count;
    return true;
}

struct profile_node *profile_tree_child(struct profile_tree *tree, struct profile_node *parent,
                                        struct profile_function *function)
{
    if (parent->is_flat)
        parent = tree->merged;
    struct profile_node **slot = find_slot(tree->slots, tree->slot_count, parent, function);
    if (*slot)
        return *slot;
    bool is_flat = parent->is_flat;
    if (!is_flat && tree->node_count - tree->flat_count >= tree->limit + 2)
        return profile_tree_child(tree, tree->merged, function);
    if (tree->node_count * 2 > tree->slot_count) {
        if (!grow_table(tree))
            return is_flat ? tree->merged : profile_tree_child(tree, tree->merged, function);
        slot = find_slot(tree->slots, tree->slot_count, parent, function);
    }
    struct profile_node *node = add_node(tree, parent, function);
    if (!node)
        return is_flat ? tree->merged : profile_tree_child(tree, tree->merged, function);
    *slot = node;
    return node;
}

/* ---- settling ---- */

uint64_t profile_ratio_apply(struct profile_ratio ratio, uint64_t value)
{
    if (ratio.numerator == ratio.denominator || ratio.denominator == 0)
        return value;
    unsigned __int128 product = (unsigned __int128)value * ratio.numerator / ratio.denominator;
    return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

/* The estimate for all calls, and its variance: calls that pass cost on average what those did that were sampled of
 * them or, where none was yet, what the certain ones did. One sample alone says nothing of its own variance: the
 * deviation is then taken to be as large as the value. */
static void extrapolate(const struct profile_node *node, struct profile_charge *charge)
{
    double squares = charge->squares, sampled = (double)charge->sampled, count = (double)node->sampled;
    uint64_t rest = node->calls - node->certain, certain_sum = charge->sum - charge->sampled;
    charge->squares = 0;
    if (rest == node->sampled)
        return;
    if (node->sampled == 0) {
        charge->sum = profile_ratio_apply((struct profile_ratio){node->calls, node->certain}, certain_sum);
        charge->squares = (double)(charge->sum - certain_sum) * (double)(charge->sum - certain_sum);
        return;
    }
    double variance = count > 1 ? fmax(0, (squares - sampled * sampled / count) / (count - 1)) : sampled * sampled;
    charge->sum = certain_sum + profile_ratio_apply((struct profile_ratio){rest, node->sampled}, charge->sampled);
    charge->squares = (double)rest * (double)rest * variance / count * (1 - count / (double)rest);
}

static void extrapolate_all(struct profile_tree *tree, size_t e)
{
    for (size_t i = 2; i < tree->node_count; i++) {
        struct profile_node *node = profile_tree_at(tree, i);
        if (node->is_flat)
            continue;
        extrapolate(node, &node->charges[e]);
        node->parent->charges[e].self += node->charges[e].sum; /* for now: what its children claim */
    }
    for (size_t i = 0; i < tree->node_count; i++) {
        struct profile_node *node = profile_tree_at(tree, i);
        struct profile_charge *charge = &node->charges[e];
        if (node->is_flat)
            continue;
        if (node->parent) {
            const struct profile_charge *caller = &node->parent->charges[e];
            uint64_t allowed = caller->sum - caller->elsewhere;
            if (caller->self > allowed)
                charge->sum = profile_ratio_apply((struct profile_ratio){allowed, caller->self}, charge->sum);
        }
        charge->elsewhere = charge->elsewhere < charge->sum ? charge->elsewhere : charge->sum;
    }
}

static void convert(struct profile_charge *charge, struct profile_ratio ratio)
{
    double factor = ratio.denominator ? (double)ratio.numerator / (double)ratio.denominator : 1;
    charge->sum = profile_ratio_apply(ratio, charge->sum);
    charge->elsewhere = profile_ratio_apply(ratio, charge->elsewhere);
    charge->outer = profile_ratio_apply(ratio, charge->outer);
    charge->row = profile_ratio_apply(ratio, charge->row);
    charge->max = profile_ratio_apply(ratio, charge->max);
    if (charge->min != UINT64_MAX)
        charge->min = profile_ratio_apply(ratio, charge->min);
    charge->squares *= factor * factor;
}

/* Where every call is measured, the histogram has them all. */
static void count_calls(struct profile_tree *tree)
{
    for (size_t i = 2; i < tree->node_count; i++) {
        struct profile_node *node = profile_tree_at(tree, i);
        for (size_t b = 0; b < PROFILE_BUCKETS; b++)
            node->calls += node->charges[0].buckets[b];
    }
}

static void sum_merged(struct profile_tree *tree, size_t e)
{
    tree->merged->charges[e].sum = 0;
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct profile_node *node = profile_tree_at(tree, i);
        tree->merged->charges[e].sum += node->is_flat ? 0 : node->charges[e].elsewhere;
    }
}

/* The flat nodes share what is elsewhere of all others by what each cost itself; what rounding leaves is merged's. */
static void settle_flat(struct profile_tree *tree, size_t e)
{
    struct profile_charge *merged = &tree->merged->charges[e];
    uint64_t claimed = 0;
    sum_merged(tree, e);
    merged->self = merged->sum;
    for (size_t i = 2; i < tree->node_count; i++) {
        const struct profile_node *node = profile_tree_at(tree, i);
        claimed += node->is_flat ? node->charges[e].sum - node->charges[e].elsewhere : 0;
    }
    for (size_t i = 2; i < tree->node_count; i++) {
        struct profile_node *node = profile_tree_at(tree, i);
        struct profile_charge *charge = &node->charges[e];
        if (!node->is_flat)
            continue;
        charge->self = charge->sum - charge->elsewhere;
        if (claimed > merged->sum)
            charge->self = profile_ratio_apply((struct profile_ratio){merged->sum, claimed}, charge->self);
        charge->sum = charge->outer > charge->self ? charge->outer : charge->self;
        charge->elsewhere = 0;
        merged->self -= charge->self;
    }
}

static void settle_event(struct profile_tree *tree, size_t e, struct profile_ratio ratio)
{
    for (size_t i = 0; i < tree->node_count; i++)
        convert(&profile_tree_at(tree, i)->charges[e], ratio);
    for (size_t i = 0; i < tree->node_count; i++) {
        struct profile_node *node = profile_tree_at(tree, i);
        if (node->is_flat)
            continue;
        node->charges[e].self = node->charges[e].sum - node->charges[e].elsewhere;
        if (node->parent)
            node->parent->charges[e].self -= node->charges[e].sum;
    }
    settle_flat(tree, e);
}

void profile_tree_settle(struct profile_tree *tree, const struct profile_ratio *ratios, bool is_thinned)
{
    if (!is_thinned)
        count_calls(tree);
    for (size_t e = 0; e < tree->event_count; e++) {
        if (is_thinned)
            extrapolate_all(tree, e);
        settle_event(tree, e, ratios[e]);
    }
}

/* ---- merging ---- */

static void add_calls(struct profile_charge *into, const struct profile_charge *from)
{
    into->self += from->self;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    for (size_t b = 0; b < PROFILE_BUCKETS; b++)
        into->buckets[b] += from->buckets[b];
}

static void add_context(struct profile_charge *into, const struct profile_charge *from)
{
    add_calls(into, from);
    into->sum += from->sum;
    into->elsewhere += from->elsewhere;
    into->row += from->row;
    into->squares += from->squares;
}

/* No room for this context in the other tree: it becomes a flat one. `is_outer`: of those that do, no caller of it is
 * the same function; `is_outermost`: of all. */
static void add_lost(const struct profile_node *node, size_t e, bool is_outer, bool is_outermost)
{
    struct profile_charge *into = &node->twin->charges[e];
    const struct profile_charge *from = &node->charges[e];
    add_calls(into, from);
    into->sum += is_outer ? from->sum : 0;
    into->row += is_outermost ? from->sum : 0;
    if (!node->parent->twin->is_flat)
        node->parent->twin->charges[e].elsewhere += from->sum;
}

static bool has_lost_caller(const struct profile_node *node)
{
    for (const struct profile_node *caller = node->parent; caller->twin->is_flat; caller = caller->parent)
        if (caller->function == node->function)
            return true;
    return false;
}

void profile_tree_merge(struct profile_tree *into, struct profile_tree *from, const bool *is_outermost)
{
    for (size_t i = 0; i < from->node_count; i++) {
        struct profile_node *node = profile_tree_at(from, i);
        node->twin = i < 2 ? profile_tree_at(into, i) : profile_tree_child(into, node->parent->twin, node->function);
        node->twin->calls += node->calls;
        bool is_lost = node->twin->is_flat && !node->is_flat;
        bool is_outer = is_lost && !has_lost_caller(node);
        for (size_t e = 0; e < from->event_count; e++) {
            if (is_lost)
                add_lost(node, e, is_outer, is_outermost[i]);
            else
                add_context(&node->twin->charges[e], &node->charges[e]);
        }
    }
    for (size_t e = 0; e < into->event_count; e++)
        sum_merged(into, e);
}
