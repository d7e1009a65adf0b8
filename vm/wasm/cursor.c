/* The LEB128 of WebAssembly is bounded twice: an N-bit integer takes at most ceil(N / 7) bytes ("integer representation
 * too long"), and the bits of the last byte beyond N must be zeros, or copies of the sign ("integer too large"). One
 * function knows that rule, for every width; the widths are wrappers. A fast path per width would gain nothing
 * measurable: single bytes, by far the most, never come here.
 */
#include "vm/wasm/cursor.h"

#include "vm/wasm/utf8.h"

static const struct {
    uint32_t value;
    const char *words;
} limits[] = {
#define LIMIT(ident, value, words) {value, words},
#include "vm/wasm/limits.def"
};

int wasm_cursor_end(const struct wasm_cursor *in)
{
    return wasm_malformed(in, in->end, in->in_section ? "unexpected end of section or function" : "unexpected end");
}

/* The value is sign-extended to 64 bits where `is_signed`. */
static int read_leb(struct wasm_cursor *in, unsigned bits, bool is_signed, uint64_t *value)
{
    const uint8_t *start = in->at;
    uint64_t result = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (in->at == in->end)
            return wasm_cursor_end(in);
        uint8_t byte = *in->at++;
        if (bits - shift <= 7) { /* the last byte there may be */
            if (byte & 0x80)
                return wasm_malformed(in, start, "integer representation too long");
            unsigned used = bits - shift;
            uint8_t excess = is_signed ? (uint8_t)(byte >> (used - 1)) : (uint8_t)(byte >> used);
            uint8_t all_ones = (uint8_t)(0x7f >> (used - 1));
            if (excess != 0 && !(is_signed && excess == all_ones))
                return wasm_malformed(in, start, "integer too large");
        }
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (is_signed && byte & 0x40 && shift + 7 < 64)
                result |= ~(uint64_t)0 << (shift + 7);
            *value = result;
            return 0;
        }
    }
}

int wasm_cursor_u32_slow(struct wasm_cursor *in, uint32_t *value)
{
    uint64_t wide = 0;
    int rc = read_leb(in, 32, false, &wide);
    *value = (uint32_t)wide;
    return rc;
}

int wasm_cursor_s32_slow(struct wasm_cursor *in, int32_t *value)
{
    uint64_t wide = 0;
    int rc = read_leb(in, 32, true, &wide);
    *value = (int32_t)wide;
    return rc;
}

int wasm_cursor_s33(struct wasm_cursor *in, int64_t *value)
{
    uint64_t wide = 0;
    int rc = read_leb(in, 33, true, &wide);
    *value = (int64_t)wide;
    return rc;
}

int wasm_cursor_u64_slow(struct wasm_cursor *in, uint64_t *value)
{
    *value = 0;
    return read_leb(in, 64, false, value);
}

int wasm_cursor_s64(struct wasm_cursor *in, int64_t *value)
{
    uint64_t wide = 0;
    int rc = read_leb(in, 64, true, &wide);
    *value = (int64_t)wide;
    return rc;
}

int wasm_check_limit(const struct wasm_cursor *in, const uint8_t *where, enum wasm_limit limit, uint64_t count)
{
    if (count <= limits[limit].value)
        return 0;
    return wasm_invalid(in, where, "%s: %llu, the limit is %u", limits[limit].words, (unsigned long long)count,
                        limits[limit].value);
}

int wasm_cursor_count(struct wasm_cursor *in, enum wasm_limit limit, uint32_t *count)
{
    const uint8_t *where = in->at;
    int rc = wasm_cursor_u32(in, count);
    if (rc)
        return rc;
    if (*count > wasm_cursor_left(in))
        return wasm_cursor_end(in);
    return wasm_check_limit(in, where, limit, *count);
}

int wasm_cursor_bytes(struct wasm_cursor *in, size_t size_bytes, const uint8_t **bytes)
{
    if (size_bytes > wasm_cursor_left(in))
        return wasm_cursor_end(in);
    *bytes = in->at;
    in->at += size_bytes;
    return 0;
}

int wasm_cursor_name(struct wasm_cursor *in, struct wasm_name *name)
{
    const uint8_t *where = in->at;
    int rc = wasm_cursor_u32(in, &name->size_bytes);
    if (rc)
        return rc;
    if (name->size_bytes > wasm_cursor_left(in))
        return wasm_malformed(in, where, "length out of bounds: a name of %u bytes, %zu are left", name->size_bytes,
                              wasm_cursor_left(in));
    if (!wasm_utf8_valid(in->at, name->size_bytes))
        return wasm_malformed(in, in->at, "malformed UTF-8 encoding");
    name->bytes = (const char *)in->at;
    in->at += name->size_bytes;
    return 0;
}
