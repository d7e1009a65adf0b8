/* module: a WebAssembly module, read and validated. Immutable once loaded; any number of threads may read it.
 *
 * Everything points into the bytes the embedder lent (names, bodies, segments), so those must outlive the module.
 * Offsets are from the first byte of the module. Index spaces list imports first (§2.5.1).
 */
#ifndef GLASSBOX_VM_WASM_MODULE_H
#define GLASSBOX_VM_WASM_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Value types: the binary format's byte in the low 8 bits (§5.3.1). For (ref ht) and (ref null ht) with an index, which
 * 2.0 does not have, the heap type goes into the upper 24 bits; a valtype is compared as a whole. */
enum wasm_valtype {
    WASM_I32 = 0x7f,
    WASM_I64 = 0x7e,
    WASM_F32 = 0x7d,
    WASM_F64 = 0x7c,
    WASM_V128 = 0x7b,
    WASM_FUNCREF = 0x70,
    WASM_EXTERNREF = 0x6f,
};

enum wasm_immediate {
    WASM_IMM_NONE,
    WASM_IMM_BLOCKTYPE,
    WASM_IMM_LABEL,
    WASM_IMM_LABELS, /* vec(labelidx) labelidx */
    WASM_IMM_FUNC,
    WASM_IMM_TYPE_TABLE, /* typeidx tableidx */
    WASM_IMM_VALTYPES,
    WASM_IMM_LOCAL,
    WASM_IMM_GLOBAL,
    WASM_IMM_TABLE,
    WASM_IMM_TABLE_TABLE,
    WASM_IMM_ELEM,
    WASM_IMM_ELEM_TABLE, /* elemidx tableidx */
    WASM_IMM_MEMORY,
    WASM_IMM_MEMORY_MEMORY,
    WASM_IMM_DATA,
    WASM_IMM_DATA_MEMORY, /* dataidx memidx */
    WASM_IMM_MEMARG1,     /* align offset; the number is the natural width in bytes */
    WASM_IMM_MEMARG2,
    WASM_IMM_MEMARG4,
    WASM_IMM_MEMARG8,
    WASM_IMM_I32,
    WASM_IMM_I64,
    WASM_IMM_F32,
    WASM_IMM_F64,
    WASM_IMM_HEAPTYPE,
};

enum wasm_lowering {
    WASM_LOWER_SPECIAL,
    WASM_LOWER_CONST,
    WASM_LOWER_UNARY,
    WASM_LOWER_BINARY,
    WASM_LOWER_TEST,
    WASM_LOWER_COMPARE,
    WASM_LOWER_CONVERT,
    WASM_LOWER_LOAD,
    WASM_LOWER_STORE,
};

enum wasm_opcode {
#define OP(ident, text, prefix, code, immediate, signature, lowering, feature) WASM_OP_##ident,
#include "vm/wasm/opcodes.def"
    WASM_OPCODE_COUNT
};

struct wasm_opcode_info {
    const char *text;
    uint8_t prefix;
    uint8_t code;
    uint8_t immediate; /* enum wasm_immediate */
    uint8_t lowering;  /* enum wasm_lowering */
    const char *signature;
};

extern const struct wasm_opcode_info wasm_opcodes[WASM_OPCODE_COUNT];

/* Not NUL-terminated; valid UTF-8 in names that the format requires to be so. */
struct wasm_name {
    const char *bytes;
    uint32_t size_bytes;
};

struct wasm_functype {
    const uint32_t *params;  /* param_count valtypes */
    const uint32_t *results; /* result_count valtypes */
    uint32_t param_count;
    uint32_t result_count;
};

struct wasm_limits {
    uint64_t min;
    uint64_t max; /* UINT64_MAX where there is none */
    bool has_max;
    bool is_64;
    bool is_shared;
};

struct wasm_tabletype {
    uint32_t reftype;
    struct wasm_limits limits; /* in elements */
};

struct wasm_memtype {
    struct wasm_limits limits; /* in pages of 64 KiB */
};

struct wasm_globaltype {
    uint32_t valtype;
    bool is_mutable;
};

/* The binary format's byte of each kind (§5.5.5, §5.5.10). */
enum wasm_externkind {
    WASM_EXTERN_FUNC = 0,
    WASM_EXTERN_TABLE = 1,
    WASM_EXTERN_MEMORY = 2,
    WASM_EXTERN_GLOBAL = 3,
};

struct wasm_import {
    struct wasm_name module;
    struct wasm_name name;
    enum wasm_externkind kind;
    uint32_t index; /* in the index space of its kind, where its type stands */
};

struct wasm_export {
    struct wasm_name name;
    enum wasm_externkind kind;
    uint32_t index;
};

/* A constant expression or a function body: [offset, offset + size_bytes) of the module, with its `end`. */
struct wasm_expr {
    uint32_t offset;
    uint32_t size_bytes;
};

struct wasm_local_run {
    uint32_t count;
    uint32_t valtype;
};

struct wasm_func {
    uint32_t typeidx;
    uint32_t import; /* index into imports, or UINT32_MAX for a defined function */
    /* Of a defined function: */
    struct wasm_expr body; /* the instructions, after the local declarations */
    uint32_t entry_offset; /* of the code entry: after its size, at the local declarations */
    uint32_t first_run;    /* its local declarations: module->local_runs[first_run .. +run_count] */
    uint32_t run_count;
    uint32_t local_count; /* parameters included */
};

struct wasm_table {
    struct wasm_tabletype type;
    bool has_init;
    struct wasm_expr init; /* the initial element; absent: null */
};

struct wasm_global {
    struct wasm_globaltype type;
    struct wasm_expr init; /* of a defined global */
};

enum wasm_segment_mode { WASM_SEGMENT_PASSIVE, WASM_SEGMENT_ACTIVE, WASM_SEGMENT_DECLARED };

struct wasm_elem {
    enum wasm_segment_mode mode;
    uint32_t tableidx;
    struct wasm_expr offset; /* of an active segment */
    uint32_t reftype;
    uint32_t count;
    bool is_exprs; /* the items: `count` constant expressions back to back, else `count` LEB128 funcidx */
    struct wasm_expr items;
};

struct wasm_data {
    enum wasm_segment_mode mode;
    uint32_t memidx;
    struct wasm_expr offset; /* of an active segment */
    const uint8_t *bytes;
    uint32_t size_bytes;
};

struct wasm_custom {
    struct wasm_name name;
    const uint8_t *bytes;
    uint32_t size_bytes;
};

struct wasm_module {
    const uint8_t *bytes;
    size_t size_bytes;

    struct wasm_functype *types;
    struct wasm_import *imports;
    struct wasm_func *funcs;
    struct wasm_table *tables;
    struct wasm_memtype *memories;
    struct wasm_global *globals;
    struct wasm_export *exports;
    struct wasm_elem *elems;
    struct wasm_data *datas;
    struct wasm_custom *customs;
    struct wasm_local_run *local_runs;
    uint32_t type_count;
    uint32_t import_count;
    uint32_t func_count;
    uint32_t table_count;
    uint32_t memory_count;
    uint32_t global_count;
    uint32_t export_count;
    uint32_t elem_count;
    uint32_t data_count;
    uint32_t custom_count;

    /* How many of each index space are imports; they come first. */
    uint32_t imported_func_count;
    uint32_t imported_table_count;
    uint32_t imported_memory_count;
    uint32_t imported_global_count;

    uint32_t start; /* funcidx, or UINT32_MAX */

    /* DWARF's addresses in .debug_* sections count from here: the first byte of the Code section's contents. */
    uint32_t code_offset;
    uint32_t code_size_bytes;

    /* From the name section, up to where it may be damaged (§7.4.1); func_names is NULL where there is no such section,
     * func_names[funcidx].bytes where the function has no name. */
    struct wasm_name module_name;
    struct wasm_name *func_names;

    void *storage; /* what wasm_module_destroy frees; the reader's business */
};

/* Reads and validates all of `bytes`, which must outlive the module. On failure *module is NULL and `err` says where
 * and why: ERR_MALFORMED (§5), ERR_INVALID (§3), ERR_UNSUPPORTED (the message begins with the feature: "simd: ..."),
 * ERR_RESOURCE. Safe on any bytes; needs memory in proportion to size_bytes. */
int wasm_module_create(const uint8_t *bytes, size_t size_bytes, struct wasm_module **module, struct err *err)
    __attribute__((warn_unused_result));
void wasm_module_destroy(struct wasm_module *module);

/* The custom section called `name`, or NULL. */
const struct wasm_custom *wasm_module_custom(const struct wasm_module *module, const char *name);

/* One decoded instruction. Immediates that are lists (WASM_IMM_LABELS, WASM_IMM_VALTYPES) are left in the bytes: `list`
 * points at the first element's LEB128 and `count` says how many (labels: without the default, which follows them). */
struct wasm_instruction {
    enum wasm_opcode opcode;
    uint32_t offset;     /* of the opcode's first byte */
    uint32_t size_bytes; /* with its immediates */
    uint32_t index;      /* the first index: label, func, local, ...; of ref.null the reference type */
    uint32_t index2;     /* the second: table or memory (source for copies), or the memarg's memory index */
    uint64_t immediate;  /* const: its bits (i32 zero-extended); memarg: offset; block type: see blocktype */
    uint32_t align;      /* memarg: exponent */
    int64_t blocktype;   /* -64 = empty, other negatives = -128 + valtype byte as SLEB33 gives them, else typeidx */
    const uint8_t *list;
    uint32_t count;
};

/* Decodes the instruction at `offset` of code that has been validated: no checks. Returns the offset after it. */
uint32_t wasm_decode(const struct wasm_module *module, uint32_t offset, struct wasm_instruction *instruction);

/* Writes the instruction at `offset` of validated code as the text format has it ("i32.add", "local.get 3",
 * "i32.load offset=8", "call $fib"): one line of printable ASCII whatever the module's names are, NUL-terminated, cut
 * at `capacity`. Returns the offset after it. */
uint32_t wasm_listing(const struct wasm_module *module, uint32_t offset, char *text, size_t capacity);

/* LEB128 in validated bytes: advance *at. */
uint32_t wasm_leb_u32(const uint8_t **at);

/* The parameters and results of a block type; `scratch` holds the one result of the short form. */
struct wasm_functype wasm_blocktype(const struct wasm_module *module, int64_t blocktype, uint32_t *scratch);

#endif
