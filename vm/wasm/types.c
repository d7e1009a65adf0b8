/* A type is read and judged in one go, for nothing in it refers to what follows. Limits are read as 64-bit integers
 * whatever the address type, since 3.0's grammar has them so: a size that 32 bits cannot hold is invalid, not
 * malformed.
 */
#include "vm/wasm/types.h"

#include "vm/wasm/features.h"

#define MAX_PAGES 65536u
#define MAX_ELEMENTS UINT32_MAX

static const struct valtype {
    uint32_t valtype;
    bool is_reference;
    const char *text;
} valtypes[] = {
#define VALTYPE(ident, byte, text, letter, is_reference) {byte, is_reference, text},
#include "vm/wasm/valtypes.def"
};

static const struct valtype *find(uint32_t valtype)
{
    for (size_t i = 0; i < sizeof valtypes / sizeof valtypes[0]; i++)
        if (valtypes[i].valtype == valtype)
            return &valtypes[i];
    return NULL;
}

const char *wasm_valtype_name(uint32_t valtype)
{
    const struct valtype *found = find(valtype);
    return found ? found->text : "any type";
}

bool wasm_is_reference(uint32_t valtype)
{
    const struct valtype *found = find(valtype);
    return found && found->is_reference;
}

const uint32_t *wasm_valtype_alone(uint32_t valtype)
{
    const struct valtype *found = find(valtype);
    return found ? &found->valtype : NULL;
}

/* The type whose byte `code` was read at `where`; `what` is for the message. */
static int judge(struct wasm_cursor *in, const uint8_t *where, uint8_t code, const char *what, uint32_t *valtype)
{
    if (find(code)) {
        *valtype = code;
        return 0;
    }
    const char *feature = wasm_feature_of(WASM_PLACE_VALTYPE, code);
    if (feature)
        return wasm_unsupported(in, where, "%s: %s 0x%02x", feature, what, code);
    return wasm_malformed(in, where, "malformed %s 0x%02x", what, code);
}

int wasm_read_valtype(struct wasm_cursor *in, uint32_t *valtype)
{
    const uint8_t *where = in->at;
    uint8_t code;
    int rc = wasm_cursor_byte(in, &code);
    return rc ? rc : judge(in, where, code, "value type", valtype);
}

int wasm_read_reftype(struct wasm_cursor *in, uint32_t *reftype)
{
    const uint8_t *where = in->at;
    uint8_t code;
    int rc = wasm_cursor_byte(in, &code);
    if (!rc)
        rc = judge(in, where, code, "reference type", reftype);
    if (!rc && !wasm_is_reference(*reftype))
        rc = wasm_malformed(in, where, "malformed reference type: %s", wasm_valtype_name(*reftype));
    return rc;
}

int wasm_read_heaptype(struct wasm_cursor *in, uint32_t *reftype)
{
    const uint8_t *where = in->at;
    int64_t code;
    int rc = wasm_cursor_s33(in, &code);
    if (rc)
        return rc;
    if (code >= 0)
        return wasm_unsupported(in, where, "gc: heap type %lld", (long long)code);
    in->at = where; /* an abstract heap type is one byte */
    return wasm_read_reftype(in, reftype);
}

int wasm_read_blocktype(struct wasm_cursor *in, int64_t *blocktype)
{
    const uint8_t *where = in->at;
    if (in->at < in->end && *in->at == 0x40) {
        in->at++;
        *blocktype = -64;
        return 0;
    }
    int rc = wasm_cursor_s33(in, blocktype);
    if (rc || *blocktype >= 0)
        return rc;
    in->at = where; /* a value type is one byte, not any LEB128 of its value */
    uint32_t valtype;
    return wasm_read_valtype(in, &valtype);
}

static int read_limits(struct wasm_cursor *in, struct wasm_limits *limits)
{
    const uint8_t *where = in->at;
    uint8_t flags;
    int rc = wasm_cursor_byte(in, &flags);
    if (rc)
        return rc;
    const char *feature = wasm_feature_of(WASM_PLACE_LIMITS, flags);
    if (feature)
        return wasm_unsupported(in, where, "%s: limits flags 0x%02x", feature, flags);
    if (flags > 1)
        return wasm_malformed(in, where, "malformed limits flags 0x%02x", flags);
    *limits = (struct wasm_limits){.max = UINT64_MAX, .has_max = flags & 1};
    rc = wasm_cursor_u64(in, &limits->min);
    if (!rc && limits->has_max)
        rc = wasm_cursor_u64(in, &limits->max);
    return rc;
}

/* §3.2.4: both within `bound`, and in order. */
static int check_limits(struct wasm_cursor *in, const uint8_t *where, const struct wasm_limits *limits, uint64_t bound,
                        const char *words)
{
    if (limits->min > bound || (limits->has_max && limits->max > bound))
        return wasm_invalid(in, where, "%s", words);
    if (limits->has_max && limits->min > limits->max)
        return wasm_invalid(in, where, "size minimum must not be greater than maximum");
    return 0;
}

int wasm_read_tabletype(struct wasm_cursor *in, struct wasm_tabletype *type)
{
    int rc = wasm_read_reftype(in, &type->reftype);
    const uint8_t *where = in->at;
    if (!rc)
        rc = read_limits(in, &type->limits);
    if (!rc)
        rc = check_limits(in, where, &type->limits, MAX_ELEMENTS, "table size must be at most 2^32-1");
    return rc;
}

int wasm_read_memtype(struct wasm_cursor *in, struct wasm_memtype *type)
{
    const uint8_t *where = in->at;
    int rc = read_limits(in, &type->limits);
    if (!rc)
        rc = check_limits(in, where, &type->limits, MAX_PAGES, "memory size must be at most 65536 pages (4GiB)");
    return rc;
}

int wasm_read_globaltype(struct wasm_cursor *in, struct wasm_globaltype *type)
{
    int rc = wasm_read_valtype(in, &type->valtype);
    const uint8_t *where = in->at;
    uint8_t mutability;
    if (!rc)
        rc = wasm_cursor_byte(in, &mutability);
    if (!rc && mutability > 1)
        rc = wasm_malformed(in, where, "malformed mutability 0x%02x", mutability);
    if (!rc)
        type->is_mutable = mutability;
    return rc;
}
