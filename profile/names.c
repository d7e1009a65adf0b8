/* names: what a function is called.
 *
 * A name passes through perf maps, symbol tables, folded stacks and terminals, and people compare the reports of two
 * runs. So a name is decided here once, for all of them, from the module alone (never from the order in which functions
 * are first called), and is made harmless here, since a module's bytes are anybody's:
 *
 *     name section ─ demangle ─ escape ─ pad ─ suffix         foo::bar(int)      fib      f()      init[12]
 *     no name      ─ MODULE!func ────── suffix                ruby.wasm!func[12]
 *
 * A suffix is the function's index. Those get it that share their name with another function, and those whose name ends
 * like a suffix already. Therefore names are unique: two names without a suffix differ, two with one differ in it, and
 * a name without one never ends in one.
 *
 * To know who shares, every function's name is made once at the start and its hash remembered; the text itself is made
 * again when asked for. Keeping the texts was rejected: demangling can blow 30 bytes up to 4000, and a module can bring
 * a million of them. Two names with one 64-bit hash both get a suffix, which is harmless.
 *
 * libiberty bounds its recursion (and leaves C++ names of over 1024 bytes alone for that), but not its output, which
 * substitutions make exponential in the input. Its callback has no way to say stop, so the callback jumps out. The
 * demanglers keep their state on the stack; only a Rust identifier in punycode is on the heap while it is printed, and
 * would leak, so the jump waits for text that is ASCII. Calling cplus_demangle() instead would hang or exhaust memory.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* Room that is kept free at the end of a name: "..." where it was cut, "[4294967295]", and a pad. */
#define TAIL_BYTES 24

struct profile_names {
    const struct vm_module *module;
    uint8_t has_suffix[]; /* one bit a function */
};

/* ---- escaping ---- */

/* Code points that are valid but invisible, or that reorder or control what stands around them. */
static const struct {
    uint32_t first, last;
} unsafe_ranges[] = {
    {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

/* Decodes one multi-byte UTF-8 sequence. Returns its size, or 0 where it is not valid (RFC 3629). */
static size_t utf8_decode(const uint8_t *at, size_t size_bytes, uint32_t *code_point)
{
    size_t size = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                  : (at[0] & 0xf0) == 0xe0         ? 3
                  : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                   : 0;
    if (size == 0 || size > size_bytes)
        return 0;
    uint32_t value = at[0] & (0x7f >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if ((size == 3 && value < 0x800) || (size == 4 && value < 0x10000) || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code_point = value;
    return size;
}

static bool is_unsafe(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof unsafe_ranges / sizeof unsafe_ranges[0]; i++)
        if (code_point >= unsafe_ranges[i].first && code_point <= unsafe_ranges[i].last)
            return true;
    return false;
}

/* Takes one character of `text` and writes what stands for it to `piece`. Returns how many bytes it took. */
static size_t escape_character(const uint8_t *text, size_t size_bytes, bool is_edge, char piece[16])
{
    uint32_t code_point = 0;
    size_t size = 1;
    if (text[0] == ';') {
        /* As FlameGraph's stackcollapse-perf.pl writes it: `<[u8; 4]>` stays legible. */
        strcpy(piece, ":");
    } else if (text[0] < 0x20 || text[0] == 0x7f || (text[0] == ' ' && is_edge)) {
        sprintf(piece, "\\x%02x", text[0]);
    } else if (text[0] < 0x80) {
        piece[0] = (char)text[0];
        piece[1] = '\0';
    } else if ((size = utf8_decode(text, size_bytes, &code_point)) == 0) {
        size = 1;
        sprintf(piece, "\\x%02x", text[0]);
    } else if (is_unsafe(code_point)) {
        sprintf(piece, "\\u{%x}", code_point);
    } else {
        memcpy(piece, text, size);
        piece[size] = '\0';
    }
    return size;
}

size_t profile_name_escape(const char *text, size_t size_bytes, char *name)
{
    size_t length = 0;
    for (size_t at = 0; at < size_bytes;) {
        char piece[16];
        bool is_edge = at == 0 || at == size_bytes - 1;
        at += escape_character((const uint8_t *)text + at, size_bytes - at, is_edge, piece);
        size_t piece_bytes = strlen(piece);
        if (length + piece_bytes > PROFILE_NAME_BYTES - TAIL_BYTES) {
            strcpy(name + length, "...");
            return length + 3;
        }
        memcpy(name + length, piece, piece_bytes);
        length += piece_bytes;
    }
    name[length] = '\0';
    if (length == 0)
        strcpy(name, "(unnamed)");
    else if (length <= 2)
        strcpy(name + length, "()"); /* perf drops such names from maps */
    return strlen(name);
}

/* ---- demangling ---- */

struct demangled {
    char text[PROFILE_NAME_BYTES];
    size_t size_bytes;
    jmp_buf full;
};

static bool is_ascii(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (text[i] & 0x80)
            return false;
    return true;
}

static void append_demangled(const char *text, size_t size_bytes, void *opaque)
{
    struct demangled *demangled = opaque;
    size_t room = sizeof demangled->text - demangled->size_bytes;
    size_t taken = size_bytes < room ? size_bytes : room;
    if (taken > 0) /* an empty identifier comes as NULL */
        memcpy(demangled->text + demangled->size_bytes, text, taken);
    demangled->size_bytes += taken;
    if (demangled->size_bytes == sizeof demangled->text && is_ascii(text, size_bytes))
        longjmp(demangled->full, 1);
}

/* False: not a mangled name. A demangled name that is too long is there as far as it fits. */
static bool demangle(const char *mangled, struct demangled *demangled)
{
    const int style = DMGL_PARAMS | DMGL_ANSI;
    demangled->size_bytes = 0;
    if (setjmp(demangled->full))
        return true;
    if (rust_demangle_callback(mangled, style, append_demangled, demangled) && demangled->size_bytes)
        return true;
    demangled->size_bytes = 0;
    return cplus_demangle_v3_callback(mangled, style, append_demangled, demangled) && demangled->size_bytes;
}

/* ---- naming ---- */

/* The name without a suffix. *needs_suffix: it would not be unique without one whatever the others are called. */
static size_t base_name(const struct vm_module *module, uint32_t funcidx, char *name, bool *needs_suffix)
{
    size_t size_bytes = 0;
    const char *raw = vm_module_func_name(module, funcidx, &size_bytes);
    if (!raw || size_bytes == 0) {
        const char *module_name = vm_module_name(module);
        size_t length = profile_name_escape(module_name, strlen(module_name), name);
        *needs_suffix = true;
        strcpy(name + length, "!func");
        return length + 5;
    }
    size_t length;
    char mangled[1024 + 1];
    struct demangled demangled;
    bool may_be_mangled = size_bytes > 2 && size_bytes < sizeof mangled && raw[0] == '_' &&
                          (raw[1] == 'Z' || raw[1] == 'R') && !memchr(raw, '\0', size_bytes);
    if (may_be_mangled) {
        memcpy(mangled, raw, size_bytes);
        mangled[size_bytes] = '\0';
    }
    if (may_be_mangled && demangle(mangled, &demangled))
        length = profile_name_escape(demangled.text, demangled.size_bytes, name);
    else
        length = profile_name_escape(raw, size_bytes, name);

    size_t digits = 0;
    while (digits + 2 < length && name[length - 2 - digits] >= '0' && name[length - 2 - digits] <= '9')
        digits++;
    *needs_suffix = name[length - 1] == ']' && digits > 0 && name[length - 2 - digits] == '[';
    return length;
}

size_t profile_names_get(const struct profile_names *names, uint32_t funcidx, char *name)
{
    bool needs_suffix;
    size_t length = base_name(names->module, funcidx, name, &needs_suffix);
    if (names->has_suffix[funcidx / 8] >> funcidx % 8 & 1)
        length += (size_t)sprintf(name + length, "[%u]", funcidx);
    return length;
}

/* ---- who shares a name ---- */

/* An open-addressed table from a name's hash to the first function that had it. hash 0: free. */
struct slot {
    uint64_t hash;
    uint32_t funcidx;
};

static uint64_t hash_name(const char *name, size_t length, uint64_t seed)
{
    uint64_t hash = seed;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u; /* FNV-1a */
    hash ^= hash >> 32;
    return hash ? hash : 1;
}

static void give_suffix(struct profile_names *names, uint32_t funcidx)
{
    names->has_suffix[funcidx / 8] |= (uint8_t)(1 << funcidx % 8);
}

static void note_name(struct profile_names *names, struct slot *slots, size_t slot_count, uint32_t funcidx,
                      uint64_t hash)
{
    size_t at = hash & (slot_count - 1);
    while (slots[at].hash && slots[at].hash != hash)
        at = (at + 1) & (slot_count - 1);
    if (slots[at].hash) {
        give_suffix(names, slots[at].funcidx);
        give_suffix(names, funcidx);
    } else {
        slots[at] = (struct slot){hash, funcidx};
    }
}

struct profile_names *profile_names_create(const struct vm_module *module)
{
    uint32_t func_count = vm_module_func_count(module);
    size_t slot_count = 16;
    while (slot_count < (size_t)func_count * 2)
        slot_count *= 2;
    struct slot *slots = calloc(slot_count, sizeof *slots);
    struct profile_names *names = calloc(1, sizeof *names + func_count / 8 + 1);
    if (!slots || !names) {
        free(slots);
        free(names);
        return NULL;
    }
    names->module = module;
    /* The seed differs from run to run, so nobody can prepare names that fill the table with collisions. */
    uint64_t seed = ((uint64_t)(uintptr_t)slots >> 12) * 0x9e3779b97f4a7c15u;
    char name[PROFILE_NAME_BYTES + 1];
    for (uint32_t funcidx = 0; funcidx < func_count; funcidx++) {
        bool needs_suffix;
        size_t length = base_name(module, funcidx, name, &needs_suffix);
        if (needs_suffix)
            give_suffix(names, funcidx);
        else
            note_name(names, slots, slot_count, funcidx, hash_name(name, length, seed));
    }
    free(slots);
    return names;
}

void profile_names_destroy(struct profile_names *names)
{
    free(names);
}
