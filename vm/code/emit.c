/* Both outputs of a translation grow side by side: the operand stream always, the region where there is one. In shared
 * dispatch each instruction of the stream begins with its handler's address, in a region its stencil stands in for
 * that.
 *
 * Everything is laid into buffers that the translator keeps, and copied to its final place at the end, when addresses
 * are known: branch targets are {stream, code} pairs of absolute addresses, written then from the list of fixups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/code/translator.h"
#include "vm/run/entry.h"

void code_emit_begin(struct code_translator *t)
{
    t->stream.count = t->region.count = t->positions.count = t->labels.count = t->fixups.count = t->blocks.count = 0;
    t->bytecode_offset = 0;
    t->failed = false;
}

/* A body of a few megabytes can ask for gigabytes: a br_if of three bytes may have to move 1,000 values. */
#define OUTPUT_BYTES_MAX ((size_t)256 << 20)

static void append(struct code_translator *t, struct vec *vec, const void *bytes, size_t count)
{
    if (vec->count > OUTPUT_BYTES_MAX || !vec_append(vec, bytes, count))
        t->failed = true;
}

void code_emit(struct code_translator *t, uint32_t handler)
{
    struct code_position *last = t->positions.count ? vec_at(&t->positions, t->positions.count - 1) : NULL;
    if (!last || last->bytecode_offset != t->bytecode_offset) {
        struct code_position position = {(uint32_t)t->stream.count, (uint32_t)t->region.count, t->bytecode_offset};
        append(t, &t->positions, &position, 1);
    }
    if (t->is_region) {
        const struct code_stencil *stencil = &code_stencils[handler];
        append(t, &t->region, code_stencil_bytes + stencil->offset, stencil->size_bytes);
    } else {
        code_emit_u64(t, (uint64_t)(uintptr_t)run_handlers[handler]);
    }
}

void code_emit_u32(struct code_translator *t, uint32_t value)
{
    append(t, &t->stream, &value, sizeof value);
}

void code_emit_u64(struct code_translator *t, uint64_t value)
{
    append(t, &t->stream, &value, sizeof value);
}

void code_emit_target(struct code_translator *t, uint32_t label)
{
    struct fixup fixup = {(uint32_t)t->stream.count, label};
    append(t, &t->fixups, &fixup, 1);
    code_emit_u64(t, 0);
    code_emit_u64(t, 0);
}

uint32_t code_emit_label(struct code_translator *t)
{
    append(t, &t->labels, NULL, 1);
    return (uint32_t)t->labels.count - 1;
}

void code_emit_bind(struct code_translator *t, uint32_t label)
{
    if (t->failed)
        return;
    struct label *bound = vec_at(&t->labels, label);
    t->is_block_start = true;
    bound->stream_offset = (uint32_t)t->stream.count;
    bound->region_offset = (uint32_t)t->region.count;
}

uint32_t code_emit_here(const struct code_translator *t)
{
    return (uint32_t)t->stream.count;
}

void code_emit_patch_u32(struct code_translator *t, uint32_t at, uint32_t value)
{
    if (!t->failed)
        memcpy((uint8_t *)t->stream.data + at, &value, sizeof value);
}

static void *copy_of(const struct vec *vec)
{
    size_t bytes = vec->count * vec->element_bytes;
    void *copy = malloc(bytes ? bytes : 1);
    if (copy && bytes)
        memcpy(copy, vec->data, bytes);
    return copy;
}

int code_emit_end(struct code_translator *t, struct code_body *body)
{
    if (t->failed)
        return -ENOMEM;
    uint8_t *stream = copy_of(&t->stream);
    struct code_position *positions = copy_of(&t->positions);
    struct code_block *blocks = t->counts ? copy_of(&t->blocks) : NULL;
    const uint8_t *region = t->is_region ? code_arena_add(&t->engine->arena, t->region.data, t->region.count) : NULL;
    if (!stream || !positions || (t->counts && !blocks) || (t->is_region && !region)) {
        free(stream);
        free(positions);
        free(blocks);
        return -ENOMEM;
    }
    for (size_t i = 0; i < t->fixups.count; i++) {
        const struct fixup *fixup = vec_at(&t->fixups, i);
        const struct label *label = vec_at(&t->labels, fixup->label);
        uint64_t target[2] = {
            (uint64_t)(uintptr_t)(stream + label->stream_offset),
            (uint64_t)(uintptr_t)(region ? (const void *)(region + label->region_offset) : (const void *)run_next_code),
        };
        memcpy(stream + fixup->stream_offset, target, sizeof target);
    }
    body->stream = stream;
    body->stream_bytes = (uint32_t)t->stream.count;
    body->region = region;
    body->region_bytes = (uint32_t)t->region.count;
    body->positions = positions;
    body->position_count = (uint32_t)t->positions.count;
    body->blocks = blocks;
    body->block_count = blocks ? (uint32_t)t->blocks.count : 0;
    return 0;
}

void code_emit_fini(struct code_translator *t)
{
    vec_fini(&t->stream);
    vec_fini(&t->region);
    vec_fini(&t->positions);
    vec_fini(&t->labels);
    vec_fini(&t->fixups);
    vec_fini(&t->blocks);
}
