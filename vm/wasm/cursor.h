/* cursor: reading bytes that nobody has checked, inside bounds. Internal to vm/wasm.
 *
 * Every function returns 0 and advances, or records a malformed module in `err` (which may be NULL) and returns a
 * negative errno; where the cursor then stands is unspecified. Nothing is read at or after `end`.
 */
#ifndef GLASSBOX_VM_WASM_CURSOR_H
#define GLASSBOX_VM_WASM_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/wasm/module.h"

struct wasm_cursor {
    const uint8_t *base; /* the module's first byte: offsets count from here */
    const uint8_t *at;
    const uint8_t *end;
    bool in_section; /* what the specification calls an end that comes too early depends on it */
    struct err *err;
};

enum wasm_limit {
#define LIMIT(ident, value, words) WASM_LIMIT_##ident,
#include "vm/wasm/limits.def"
};

static inline uint32_t wasm_cursor_offset(const struct wasm_cursor *in, const uint8_t *where)
{
    return (uint32_t)(where - in->base);
}

static inline size_t wasm_cursor_left(const struct wasm_cursor *in)
{
    return (size_t)(in->end - in->at);
}

/* Report at `where` and return the negative errno; the words are printf's. */
#define wasm_malformed(in, where, ...) \
    err_set((in)->err, ERR_MALFORMED, wasm_cursor_offset(in, where), __VA_ARGS__)
#define wasm_invalid(in, where, ...) err_set((in)->err, ERR_INVALID, wasm_cursor_offset(in, where), __VA_ARGS__)
#define wasm_unsupported(in, where, ...) err_set((in)->err, ERR_UNSUPPORTED, wasm_cursor_offset(in, where), __VA_ARGS__)
#define wasm_no_memory(in) err_set((in)->err, ERR_RESOURCE, wasm_cursor_offset(in, (in)->at), "out of memory")

/* "unexpected end". */
int wasm_cursor_end(const struct wasm_cursor *in);

int wasm_cursor_u32_slow(struct wasm_cursor *in, uint32_t *value);
int wasm_cursor_s32_slow(struct wasm_cursor *in, int32_t *value);
int wasm_cursor_u64_slow(struct wasm_cursor *in, uint64_t *value);
int wasm_cursor_s33(struct wasm_cursor *in, int64_t *value);
int wasm_cursor_s64(struct wasm_cursor *in, int64_t *value);

/* Invalid, in the limit's words, where `count` is above it. */
int wasm_check_limit(const struct wasm_cursor *in, const uint8_t *where, enum wasm_limit limit, uint64_t count);

/* A count within `limit`, of elements of at least one byte each: never more than there are bytes left. */
int wasm_cursor_count(struct wasm_cursor *in, enum wasm_limit limit, uint32_t *count);

/* vec(byte) that is UTF-8 (§5.2.4). */
int wasm_cursor_name(struct wasm_cursor *in, struct wasm_name *name);

/* `size_bytes` bytes. */
int wasm_cursor_bytes(struct wasm_cursor *in, size_t size_bytes, const uint8_t **bytes);

static inline int wasm_cursor_byte(struct wasm_cursor *in, uint8_t *byte)
{
    if (in->at == in->end)
        return wasm_cursor_end(in);
    *byte = *in->at++;
    return 0;
}

/* LEB128 (§5.2.2). Most are one byte long. */
static inline int wasm_cursor_u32(struct wasm_cursor *in, uint32_t *value)
{
    if (in->at == in->end || *in->at >= 0x80)
        return wasm_cursor_u32_slow(in, value);
    *value = *in->at++;
    return 0;
}

static inline int wasm_cursor_u64(struct wasm_cursor *in, uint64_t *value)
{
    if (in->at == in->end || *in->at >= 0x80)
        return wasm_cursor_u64_slow(in, value);
    *value = *in->at++;
    return 0;
}

static inline int wasm_cursor_s32(struct wasm_cursor *in, int32_t *value)
{
    if (in->at == in->end || *in->at >= 0x80)
        return wasm_cursor_s32_slow(in, value);
    *value = (int32_t)((uint32_t)*in->at++ << 25) >> 25;
    return 0;
}

#endif
