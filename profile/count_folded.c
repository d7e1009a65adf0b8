/* The report as folded stacks, one line a context, "main;parse;next 1234", weighted by its own cost in one event: for
 * flame graphs, docs/formats/count-folded.md.
 *
 * A stack of more than DEEPEST frames ends in `[deeper]`, which stands for all that is beneath: nobody can see more in
 * a flame graph, and lines whose length is the recursion's depth would make a file of its square. */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/count.h"

#define DEEPEST 256

static void write_stack(FILE *stream, const struct profile_report *report, const struct profile_node *node,
                        uint64_t weight, const char *last)
{
    const struct profile_node *frames[DEEPEST + 1];
    size_t count = 0;
    for (; node->parent; node = node->parent)
        frames[count++] = node;
    if (count == 0)
        fputs(profile_node_name(report, node), stream);
    for (size_t i = count; i-- > 0;)
        fprintf(stream, "%s%s", profile_node_name(report, frames[i]), i ? ";" : "");
    fprintf(stream, "%s %" PRIu64 "\n", last, weight);
}

void profile_count_folded(FILE *stream, const struct profile_report *report, size_t weight)
{
    const struct profile_tree *tree = &report->tree;
    uint64_t *deeper = calloc(tree->node_count, sizeof *deeper); /* what is beneath DEEPEST, on its way up */
    if (!deeper) {
        profile_frames_lack_memory(report->frames, "the file of folded stacks is empty");
        return;
    }
    for (size_t i = tree->node_count; i-- > 0;) {
        const struct profile_node *node = profile_tree_at(tree, i);
        if (node->depth > DEEPEST)
            deeper[node->parent->index] += deeper[i] + node->charges[weight].self;
    }
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct profile_node *node = profile_tree_at(tree, i);
        if (node->depth > DEEPEST)
            continue;
        if (node->charges[weight].self > 0)
            write_stack(stream, report, node, node->charges[weight].self, "");
        if (deeper[i] > 0)
            write_stack(stream, report, node, deeper[i], ";[deeper]");
    }
    free(deeper);
}
