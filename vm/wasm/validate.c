/* One pass over the bytes of each expression decodes and validates at once: the operand stack holds types, the control
 * stack the open blocks, and after a branch a block is unreachable, where popping an operand that is not there gives
 * one of any type (WASM_BOTTOM). Both stacks belong to the validator and are used again for each function, so the
 * number of allocations does not grow with the number of functions. Nothing recurs: nesting is the control stack.
 *
 * Three quarters of opcodes.def have a fixed signature, spelled as a string there and turned into steps when the
 * validator is made. They need no code of their own: see the end of check_instruction(). Where operands depend on
 * context, the instruction has a function below. Constant expressions are bodies that may use few instructions, and go
 * the same way.
 *
 * To add an instruction of fixed signature, add its line to opcodes.def; of another, also a case here. Dispatch is on
 * the kind of immediate, which keeps the cases few; a case an opcode was tried and is no faster.
 */
#include "vm/wasm/validate.h"

#include <stdlib.h>
#include <string.h>

#include "vm/wasm/features.h"
#include "vm/wasm/opcodes.h"
#include "vm/wasm/types.h"

/* Every check leaves at its first failure. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (__builtin_expect(try_rc != 0, 0))                                                                          \
            return try_rc;                                                                                             \
    } while (0)

/* Report at the current instruction. */
#define INVALID(v, ...) wasm_invalid(&(v)->in, (v)->instruction, __VA_ARGS__)
#define MALFORMED(v, ...) wasm_malformed(&(v)->in, (v)->instruction, __VA_ARGS__)

/* ---- making and unmaking ---- */

static uint8_t letter_valtype(char letter)
{
    switch (letter) {
#define VALTYPE(ident, byte, text, letter, is_reference)                                                               \
    case letter:                                                                                                       \
        return byte;
#include "vm/wasm/valtypes.def"
    default: /* 'a', an address; memory64 will have to ask which memory */
        return WASM_I32;
    }
}

static struct wasm_step make_step(const struct wasm_opcode_info *info)
{
    const char *letter = info->signature;
    struct wasm_step step = {.immediate = info->immediate, .is_fixed = *letter != '*'};
    for (; *letter != ':' && *letter != '*'; letter++)
        step.params[step.param_count++] = letter_valtype(*letter);
    if (*letter == ':' && letter[1]) {
        step.result_count = 1;
        step.result = letter_valtype(letter[1]);
    }
    return step;
}

void wasm_validator_init(struct wasm_validator *v, struct wasm_module *module)
{
    *v = (struct wasm_validator){.module = module, .far_runs = VEC_INIT(sizeof(struct wasm_far_run))};
    for (size_t i = 0; i < WASM_OPCODE_COUNT; i++)
        v->steps[i] = make_step(&wasm_opcodes[i]);
}

void wasm_validator_fini(struct wasm_validator *v)
{
    free(v->operands);
    free(v->blocks);
    free(v->declared);
    vec_fini(&v->far_runs);
}

int wasm_validator_declare(struct wasm_validator *v, struct wasm_cursor *in, uint32_t funcidx)
{
    if (!v->declared && !(v->declared = calloc(v->module->func_count, sizeof *v->declared)))
        return wasm_no_memory(in);
    v->declared[funcidx] = true;
    return 0;
}

/* ---- the operand stack ---- */

static struct wasm_block *innermost(struct wasm_validator *v)
{
    return &v->blocks[v->depth - 1];
}

/* Room for `count` more. */
static __attribute__((noinline)) int grow_operands(struct wasm_validator *v, uint32_t count)
{
    TRY(wasm_check_limit(&v->in, v->instruction, WASM_LIMIT_OPERANDS, (uint64_t)v->height + count));
    uint32_t capacity = v->operand_capacity ? v->operand_capacity : 256;
    while (capacity - v->height < count)
        capacity *= 2;
    uint32_t *operands = realloc(v->operands, capacity * sizeof *operands);
    if (!operands)
        return wasm_no_memory(&v->in);
    v->operands = operands;
    v->operand_capacity = capacity;
    return 0;
}

static inline int push(struct wasm_validator *v, uint32_t valtype)
{
    if (v->height == v->operand_capacity)
        TRY(grow_operands(v, 1));
    v->operands[v->height++] = valtype;
    return 0;
}

/* A type may have 1,000 parameters and a call of it is two bytes, so longer lists than these go as memory. */
#define SHORT_LIST 8

static int push_all(struct wasm_validator *v, const uint32_t *valtypes, uint32_t count)
{
    if (count <= SHORT_LIST) {
        for (uint32_t i = 0; i < count; i++)
            TRY(push(v, valtypes[i]));
        return 0;
    }
    if (v->operand_capacity - v->height < count)
        TRY(grow_operands(v, count));
    memcpy(v->operands + v->height, valtypes, count * sizeof *valtypes);
    v->height += count;
    return 0;
}

/* WASM_BOTTOM where the block is unreachable and has no operand left. */
static int pop_any(struct wasm_validator *v, uint32_t *valtype)
{
    struct wasm_block *block = innermost(v);
    if (v->height > block->height) {
        *valtype = v->operands[--v->height];
        return 0;
    }
    if (!block->is_unreachable)
        return INVALID(v, "type mismatch: %s needs an operand, the stack is empty", wasm_opcodes[v->opcode].text);
    *valtype = WASM_BOTTOM;
    return 0;
}

static __attribute__((noinline)) int pop_other(struct wasm_validator *v, uint32_t expected)
{
    struct wasm_block *block = innermost(v);
    const char *text = wasm_opcodes[v->opcode].text;
    if (v->height == block->height) {
        if (block->is_unreachable)
            return 0;
        return INVALID(v, "type mismatch: %s expects %s, the stack is empty", text, wasm_valtype_name(expected));
    }
    uint32_t actual = v->operands[--v->height];
    if (actual == expected || actual == WASM_BOTTOM || expected == WASM_BOTTOM)
        return 0;
    return INVALID(v, "type mismatch: %s expects %s, found %s", text, wasm_valtype_name(expected),
                   wasm_valtype_name(actual));
}

static inline int pop(struct wasm_validator *v, uint32_t expected)
{
    if (__builtin_expect(v->height > innermost(v)->height && v->operands[v->height - 1] == expected, 1)) {
        v->height--;
        return 0;
    }
    return pop_other(v, expected);
}

/* Pops operands that are these types exactly, or the last of them where unreachable code lacks the others. */
static bool pop_equal(struct wasm_validator *v, const uint32_t *valtypes, uint32_t count)
{
    const struct wasm_block *block = innermost(v);
    uint32_t available = v->height - block->height;
    if (available < count && !block->is_unreachable)
        return false;
    if (available > count)
        available = count;
    if (memcmp(v->operands + v->height - available, valtypes + count - available, available * sizeof *valtypes) != 0)
        return false;
    v->height -= available;
    return true;
}

static int pop_all(struct wasm_validator *v, const uint32_t *valtypes, uint32_t count)
{
    if (count > SHORT_LIST && pop_equal(v, valtypes, count))
        return 0;
    while (count > 0)
        TRY(pop(v, valtypes[--count]));
    return 0;
}

/* The operands are those of `valtypes`, and stay as they are. */
static int check_top(struct wasm_validator *v, const uint32_t *valtypes, uint32_t count)
{
    uint32_t height = v->height;
    TRY(pop_all(v, valtypes, count));
    v->height = height;
    return 0;
}

static void set_unreachable(struct wasm_validator *v)
{
    struct wasm_block *block = innermost(v);
    v->height = block->height;
    block->is_unreachable = true;
}

/* ---- blocks and branches (§3.4.12) ---- */

static int push_block(struct wasm_validator *v, enum wasm_opcode opcode, const struct wasm_functype *type)
{
    if (v->depth == v->block_capacity) {
        uint32_t capacity = v->block_capacity ? 2 * v->block_capacity : 32;
        struct wasm_block *blocks = realloc(v->blocks, capacity * sizeof *blocks);
        if (!blocks)
            return wasm_no_memory(&v->in);
        v->blocks = blocks;
        v->block_capacity = capacity;
    }
    v->blocks[v->depth++] = (struct wasm_block){
        .params = type->params,
        .results = type->results,
        .param_count = type->param_count,
        .result_count = type->result_count,
        .height = v->height,
        .opcode = (uint16_t)opcode,
    };
    return push_all(v, type->params, type->param_count);
}

/* The block's results are all that is left of its operands. */
static int close_block(struct wasm_validator *v, struct wasm_block *block)
{
    TRY(pop_all(v, block->results, block->result_count));
    if (v->height != block->height)
        return INVALID(v, "type mismatch: %u more operands on the stack than the block has results",
                       v->height - block->height);
    return 0;
}

static int check_block(struct wasm_validator *v, enum wasm_opcode opcode)
{
    int64_t blocktype;
    TRY(wasm_read_blocktype(&v->in, &blocktype));
    struct wasm_functype type = {0};
    if (blocktype >= 0) {
        if (blocktype >= v->module->type_count)
            return INVALID(v, "unknown type %lld", (long long)blocktype);
        type = v->module->types[blocktype];
    } else if (blocktype != -64) {
        type.results = wasm_valtype_alone((uint32_t)(blocktype & 0x7f));
        type.result_count = 1;
    }
    if (opcode == WASM_OP_if)
        TRY(pop(v, WASM_I32));
    TRY(pop_all(v, type.params, type.param_count));
    return push_block(v, opcode, &type);
}

static int check_else(struct wasm_validator *v)
{
    struct wasm_block *block = innermost(v);
    if (block->opcode != WASM_OP_if)
        return MALFORMED(v, "END opcode expected: else without if");
    TRY(close_block(v, block));
    block->opcode = WASM_OP_else;
    block->is_unreachable = false;
    return push_all(v, block->params, block->param_count);
}

static bool gives_what_it_takes(const struct wasm_block *block)
{
    uint32_t count = block->param_count;
    return count == block->result_count &&
           (count == 0 || memcmp(block->params, block->results, count * sizeof *block->params) == 0);
}

static int check_end(struct wasm_validator *v)
{
    struct wasm_block *block = innermost(v);
    if (block->opcode == WASM_OP_if && !gives_what_it_takes(block))
        return INVALID(v, "type mismatch: an if without else must have results like its parameters");
    TRY(close_block(v, block));
    if (--v->depth == 0)
        return 0;
    return push_all(v, block->results, block->result_count);
}

/* The types that a branch to `label` carries. */
static int label_types(struct wasm_validator *v, uint32_t label, const uint32_t **valtypes, uint32_t *count)
{
    if (label >= v->depth)
        return INVALID(v, "unknown label %u", label);
    const struct wasm_block *block = &v->blocks[v->depth - 1 - label];
    bool is_loop = block->opcode == WASM_OP_loop;
    *valtypes = is_loop ? block->params : block->results;
    *count = is_loop ? block->param_count : block->result_count;
    return 0;
}

static int check_br(struct wasm_validator *v, bool is_conditional)
{
    uint32_t label, count;
    const uint32_t *valtypes;
    TRY(wasm_cursor_u32(&v->in, &label));
    TRY(label_types(v, label, &valtypes, &count));
    if (is_conditional)
        TRY(pop(v, WASM_I32));
    TRY(pop_all(v, valtypes, count));
    if (is_conditional)
        return push_all(v, valtypes, count);
    set_unreachable(v);
    return 0;
}

/* The default label comes last; any label may set the arity that all must have. */
static int check_br_table(struct wasm_validator *v)
{
    uint32_t label_count, arity = 0;
    TRY(wasm_cursor_count(&v->in, WASM_LIMIT_BR_TABLE, &label_count));
    TRY(pop(v, WASM_I32));
    for (uint32_t i = 0; i <= label_count; i++) {
        uint32_t label, count;
        const uint32_t *valtypes;
        TRY(wasm_cursor_u32(&v->in, &label));
        TRY(label_types(v, label, &valtypes, &count));
        if (i == 0)
            arity = count;
        if (count != arity)
            return INVALID(v, "type mismatch: br_table's label %u carries %u operands, others %u", label, count, arity);
        TRY(check_top(v, valtypes, count));
    }
    set_unreachable(v);
    return 0;
}

static int check_return(struct wasm_validator *v)
{
    TRY(pop_all(v, v->blocks[0].results, v->blocks[0].result_count));
    set_unreachable(v);
    return 0;
}

/* ---- calls ---- */

/* Operands to results, or for a tail call to the results of this function. */
static int apply_call(struct wasm_validator *v, const struct wasm_functype *type, bool is_tail)
{
    TRY(pop_all(v, type->params, type->param_count));
    if (!is_tail)
        return push_all(v, type->results, type->result_count);
    TRY(push_all(v, type->results, type->result_count));
    if (type->result_count != v->blocks[0].result_count)
        return INVALID(v, "type mismatch: %s of a function with %u results from one with %u",
                       wasm_opcodes[v->opcode].text, type->result_count, v->blocks[0].result_count);
    return check_return(v);
}

static int check_funcidx(struct wasm_validator *v, uint32_t *funcidx)
{
    TRY(wasm_cursor_u32(&v->in, funcidx));
    if (*funcidx >= v->module->func_count)
        return INVALID(v, "unknown function %u", *funcidx);
    return 0;
}

static int check_call(struct wasm_validator *v, bool is_tail)
{
    uint32_t funcidx;
    TRY(check_funcidx(v, &funcidx));
    return apply_call(v, &v->module->types[v->module->funcs[funcidx].typeidx], is_tail);
}

static int check_tableidx(struct wasm_validator *v, uint32_t *reftype)
{
    uint32_t tableidx;
    TRY(wasm_cursor_u32(&v->in, &tableidx));
    if (tableidx >= v->module->table_count)
        return INVALID(v, "unknown table %u", tableidx);
    *reftype = v->module->tables[tableidx].type.reftype;
    return 0;
}

static int check_call_indirect(struct wasm_validator *v, bool is_tail)
{
    uint32_t typeidx, reftype;
    TRY(wasm_cursor_u32(&v->in, &typeidx));
    TRY(check_tableidx(v, &reftype));
    if (typeidx >= v->module->type_count)
        return INVALID(v, "unknown type %u", typeidx);
    if (reftype != WASM_FUNCREF)
        return INVALID(v, "type mismatch: %s through a table of %s", wasm_opcodes[v->opcode].text,
                       wasm_valtype_name(reftype));
    TRY(pop(v, WASM_I32));
    return apply_call(v, &v->module->types[typeidx], is_tail);
}

/* ---- parametric and variables (§3.4.7 to §3.4.9) ---- */

static int check_select(struct wasm_validator *v)
{
    uint32_t first, second;
    TRY(pop(v, WASM_I32));
    TRY(pop_any(v, &second));
    TRY(pop_any(v, &first));
    if (wasm_is_reference(first) || wasm_is_reference(second))
        return INVALID(v, "type mismatch: select of references needs a type");
    if (first != second && first != WASM_BOTTOM && second != WASM_BOTTOM)
        return INVALID(v, "type mismatch: select of %s and %s", wasm_valtype_name(first), wasm_valtype_name(second));
    return push(v, first == WASM_BOTTOM ? second : first);
}

static int check_select_typed(struct wasm_validator *v)
{
    uint32_t count, valtype = WASM_BOTTOM;
    TRY(wasm_cursor_u32(&v->in, &count));
    if (count != 1)
        return INVALID(v, "invalid result arity: select with %u types", count);
    TRY(wasm_read_valtype(&v->in, &valtype));
    TRY(pop(v, WASM_I32));
    TRY(pop(v, valtype));
    TRY(pop(v, valtype));
    return push(v, valtype);
}

static uint32_t far_local(const struct wasm_validator *v, uint32_t localidx)
{
    if (localidx < v->func_type->param_count)
        return v->func_type->params[localidx];
    size_t first = 0, last = v->far_runs.count - 1; /* the run that holds localidx is in [first, last] */
    while (first < last) {
        size_t middle = (first + last) / 2;
        const struct wasm_far_run *run = vec_at(&v->far_runs, middle);
        if (localidx < run->end)
            last = middle;
        else
            first = middle + 1;
    }
    return ((const struct wasm_far_run *)vec_at(&v->far_runs, first))->valtype;
}

static inline int check_localidx(struct wasm_validator *v, uint32_t *valtype)
{
    uint32_t localidx;
    TRY(wasm_cursor_u32(&v->in, &localidx));
    if (localidx >= v->local_count)
        return INVALID(v, "unknown local %u", localidx);
    *valtype = localidx < WASM_NEAR_LOCALS ? v->near_locals[localidx] : far_local(v, localidx);
    return 0;
}

static inline int check_local(struct wasm_validator *v, enum wasm_opcode opcode)
{
    uint32_t valtype;
    TRY(check_localidx(v, &valtype));
    if (opcode != WASM_OP_local_get)
        TRY(pop(v, valtype));
    return opcode == WASM_OP_local_set ? 0 : push(v, valtype);
}

static int check_global(struct wasm_validator *v, bool is_set)
{
    uint32_t globalidx;
    TRY(wasm_cursor_u32(&v->in, &globalidx));
    if (globalidx >= v->module->global_count)
        return INVALID(v, "unknown global %u", globalidx);
    const struct wasm_globaltype *type = &v->module->globals[globalidx].type;
    if (!is_set) {
        if (v->is_constant && type->is_mutable)
            return INVALID(v, "constant expression required: global %u is mutable", globalidx);
        return push(v, type->valtype);
    }
    if (!type->is_mutable)
        return INVALID(v, "immutable global %u", globalidx);
    return pop(v, type->valtype);
}

/* ---- references, tables and memories (§3.4.6, §3.4.10, §3.4.11) ---- */

static int check_ref_null(struct wasm_validator *v)
{
    uint32_t reftype;
    TRY(wasm_read_heaptype(&v->in, &reftype));
    return push(v, reftype);
}

static int check_ref_is_null(struct wasm_validator *v)
{
    uint32_t actual;
    TRY(pop_any(v, &actual));
    if (actual != WASM_BOTTOM && !wasm_is_reference(actual))
        return INVALID(v, "type mismatch: ref.is_null expects a reference, found %s", wasm_valtype_name(actual));
    return push(v, WASM_I32);
}

static int check_ref_func(struct wasm_validator *v)
{
    uint32_t funcidx;
    TRY(check_funcidx(v, &funcidx));
    if (v->is_constant)
        TRY(wasm_validator_declare(v, &v->in, funcidx));
    else if (!v->declared || !v->declared[funcidx])
        return INVALID(v, "undeclared function reference %u", funcidx);
    return push(v, WASM_FUNCREF);
}

static int check_elem(struct wasm_validator *v, uint32_t elemidx, uint32_t *reftype)
{
    if (elemidx >= v->module->elem_count)
        return INVALID(v, "unknown elem segment %u", elemidx);
    *reftype = v->module->elems[elemidx].reftype;
    return 0;
}

static int check_same_reftype(struct wasm_validator *v, uint32_t to, uint32_t from)
{
    if (to != from)
        return INVALID(v, "type mismatch: %s of %s into a table of %s", wasm_opcodes[v->opcode].text,
                       wasm_valtype_name(from), wasm_valtype_name(to));
    return 0;
}

/* Three i32: where to, where from, how many. */
static int pop_range(struct wasm_validator *v)
{
    static const uint32_t range[] = {WASM_I32, WASM_I32, WASM_I32};
    return pop_all(v, range, 3);
}

static int check_table(struct wasm_validator *v, enum wasm_opcode opcode)
{
    uint32_t elemidx = 0, from, table;
    if (opcode == WASM_OP_table_init)
        TRY(wasm_cursor_u32(&v->in, &elemidx));
    TRY(check_tableidx(v, &table));
    switch (opcode) {
    case WASM_OP_table_get:
        TRY(pop(v, WASM_I32));
        return push(v, table);
    case WASM_OP_table_set:
        TRY(pop(v, table));
        return pop(v, WASM_I32);
    case WASM_OP_table_size:
        return push(v, WASM_I32);
    case WASM_OP_table_grow:
        TRY(pop(v, WASM_I32));
        TRY(pop(v, table));
        return push(v, WASM_I32);
    case WASM_OP_table_fill:
        TRY(pop(v, WASM_I32));
        TRY(pop(v, table));
        return pop(v, WASM_I32);
    case WASM_OP_table_copy:
        TRY(check_tableidx(v, &from));
        TRY(check_same_reftype(v, table, from));
        return pop_range(v);
    default: /* table.init */
        TRY(check_elem(v, elemidx, &from));
        TRY(check_same_reftype(v, table, from));
        return pop_range(v);
    }
}

static int check_memidx(struct wasm_validator *v)
{
    uint32_t memidx;
    TRY(wasm_cursor_u32(&v->in, &memidx));
    if (memidx >= v->module->memory_count)
        return INVALID(v, "unknown memory %u", memidx);
    return 0;
}

static int check_dataidx(struct wasm_validator *v, bool with_memory)
{
    uint32_t dataidx;
    TRY(wasm_cursor_u32(&v->in, &dataidx));
    if (!v->has_data_count)
        return MALFORMED(v, "data count section required");
    if (with_memory)
        TRY(check_memidx(v));
    if (dataidx >= v->data_count)
        return INVALID(v, "unknown data segment %u", dataidx);
    return 0;
}

/* §5.4.6: bit 6 of the flags says that a memory index follows; the bits below are the alignment's exponent. */
static int check_memarg(struct wasm_validator *v, unsigned natural)
{
    uint32_t flags, memidx = 0;
    uint64_t offset;
    TRY(wasm_cursor_u32(&v->in, &flags));
    if (flags >= 0x80)
        return MALFORMED(v, "malformed memop flags 0x%x", flags);
    if (flags & 0x40)
        TRY(wasm_cursor_u32(&v->in, &memidx));
    TRY(wasm_cursor_u64(&v->in, &offset));
    if (memidx >= v->module->memory_count)
        return INVALID(v, "unknown memory %u", memidx);
    if ((flags & 0x3f) > natural)
        return INVALID(v, "alignment must not be larger than natural: 2^%u, %s has 2^%u", flags & 0x3f,
                       wasm_opcodes[v->opcode].text, natural);
    if (offset > UINT32_MAX)
        return INVALID(v, "offset out of range: %llu", (unsigned long long)offset);
    return 0;
}

/* ---- instructions ---- */

static inline int apply_step(struct wasm_validator *v, const struct wasm_step *step)
{
    for (uint8_t i = step->param_count; i > 0; i--)
        TRY(pop(v, step->params[i - 1]));
    return step->result_count ? push(v, step->result) : 0;
}

/* No immediate, and operands that depend on context. */
static inline int check_bare(struct wasm_validator *v, enum wasm_opcode opcode)
{
    uint32_t ignored;
    switch (opcode) {
    case WASM_OP_unreachable:
        set_unreachable(v);
        return 0;
    case WASM_OP_else:
        return check_else(v);
    case WASM_OP_end:
        return check_end(v);
    case WASM_OP_return:
        return check_return(v);
    case WASM_OP_drop:
        return pop_any(v, &ignored);
    case WASM_OP_select:
        return check_select(v);
    case WASM_OP_ref_is_null:
        return check_ref_is_null(v);
    default: /* nop */
        return 0;
    }
}

/* What an instruction's immediate is says nearly all of what it needs; where that is not enough, its opcode does. */
static inline int check_instruction(struct wasm_validator *v, enum wasm_opcode opcode)
{
    const struct wasm_step *step = &v->steps[opcode];
    uint32_t index;
    int32_t s32;
    int64_t s64;
    const uint8_t *bytes;
    switch ((enum wasm_immediate)step->immediate) {
    case WASM_IMM_NONE:
        if (!step->is_fixed)
            return check_bare(v, opcode);
        break;
    case WASM_IMM_BLOCKTYPE:
        return check_block(v, opcode);
    case WASM_IMM_LABEL:
        return check_br(v, opcode == WASM_OP_br_if);
    case WASM_IMM_LABELS:
        return check_br_table(v);
    case WASM_IMM_FUNC:
        return opcode == WASM_OP_ref_func ? check_ref_func(v) : check_call(v, opcode == WASM_OP_return_call);
    case WASM_IMM_TYPE_TABLE:
        return check_call_indirect(v, opcode == WASM_OP_return_call_indirect);
    case WASM_IMM_VALTYPES:
        return check_select_typed(v);
    case WASM_IMM_LOCAL:
        return check_local(v, opcode);
    case WASM_IMM_GLOBAL:
        return check_global(v, opcode == WASM_OP_global_set);
    case WASM_IMM_TABLE:
    case WASM_IMM_TABLE_TABLE:
    case WASM_IMM_ELEM_TABLE:
        return check_table(v, opcode);
    case WASM_IMM_HEAPTYPE:
        return check_ref_null(v);
    case WASM_IMM_MEMARG1:
    case WASM_IMM_MEMARG2:
    case WASM_IMM_MEMARG4:
    case WASM_IMM_MEMARG8:
        TRY(check_memarg(v, step->immediate - WASM_IMM_MEMARG1));
        break;
    case WASM_IMM_MEMORY_MEMORY:
        TRY(check_memidx(v));
        TRY(check_memidx(v));
        break;
    case WASM_IMM_MEMORY:
        TRY(check_memidx(v));
        break;
    case WASM_IMM_DATA:
    case WASM_IMM_DATA_MEMORY:
        TRY(check_dataidx(v, step->immediate == WASM_IMM_DATA_MEMORY));
        break;
    case WASM_IMM_ELEM:
        TRY(wasm_cursor_u32(&v->in, &index));
        TRY(check_elem(v, index, &index));
        break;
    case WASM_IMM_I32:
        TRY(wasm_cursor_s32(&v->in, &s32));
        break;
    case WASM_IMM_I64:
        TRY(wasm_cursor_s64(&v->in, &s64));
        break;
    case WASM_IMM_F32:
        TRY(wasm_cursor_bytes(&v->in, sizeof(float), &bytes));
        break;
    case WASM_IMM_F64:
        TRY(wasm_cursor_bytes(&v->in, sizeof(double), &bytes));
        break;
    }
    return apply_step(v, step);
}

static bool is_constant(enum wasm_opcode opcode)
{
    switch (opcode) {
    case WASM_OP_i32_const:
    case WASM_OP_i64_const:
    case WASM_OP_f32_const:
    case WASM_OP_f64_const:
    case WASM_OP_i32_add:
    case WASM_OP_i32_sub:
    case WASM_OP_i32_mul:
    case WASM_OP_i64_add:
    case WASM_OP_i64_sub:
    case WASM_OP_i64_mul:
    case WASM_OP_global_get:
    case WASM_OP_ref_null:
    case WASM_OP_ref_func:
    case WASM_OP_end:
        return true;
    default:
        return false;
    }
}

/* An opcode that the one-byte page does not have. */
static __attribute__((noinline)) int read_rare_opcode(struct wasm_validator *v, uint8_t byte, enum wasm_opcode *opcode)
{
    uint32_t code = byte, key = byte;
    if (byte >= 0xfb && byte <= 0xfe) {
        TRY(wasm_cursor_u32(&v->in, &code));
        if (code < WASM_OPCODE_PAGE_CODES && wasm_opcode_index[WASM_OPCODE_PAGE(byte)][code]) {
            *opcode = wasm_opcode_index[WASM_OPCODE_PAGE(byte)][code] - 1;
            return 0;
        }
        if (code > UINT16_MAX)
            return MALFORMED(v, "illegal opcode %02x %u", byte, code);
        key = (uint32_t)byte << 16 | code;
    }
    const char *feature = wasm_feature_of(WASM_PLACE_OPCODE, key);
    if (feature)
        return wasm_unsupported(&v->in, v->instruction, "%s: opcode 0x%02x", feature, key);
    return MALFORMED(v, key == byte ? "illegal opcode %02x" : "illegal opcode %06x", key);
}

static inline int read_opcode(struct wasm_validator *v, enum wasm_opcode *opcode)
{
    uint8_t byte;
    TRY(wasm_cursor_byte(&v->in, &byte));
    uint32_t index = wasm_opcode_index[0][byte];
    if (index == 0)
        return read_rare_opcode(v, byte, opcode);
    *opcode = index - 1;
    return 0;
}

/* Up to the `end` of the outermost block, which has these results. */
static int check_expression(struct wasm_validator *v, const struct wasm_functype *type)
{
    v->height = 0;
    v->depth = 0;
    v->instruction = v->in.at;
    TRY(push_block(v, WASM_OP_block, type));
    do {
        v->instruction = v->in.at;
        TRY(read_opcode(v, &v->opcode));
        if (v->is_constant && !is_constant(v->opcode))
            return INVALID(v, "constant expression required, found %s", wasm_opcodes[v->opcode].text);
        TRY(check_instruction(v, v->opcode));
    } while (v->depth > 0);
    return 0;
}

int wasm_validate_constant(struct wasm_validator *v, struct wasm_cursor *in, uint32_t result, struct wasm_expr *expr)
{
    v->in = *in;
    v->is_constant = true;
    TRY(check_expression(v, &(struct wasm_functype){.results = &result, .result_count = 1}));
    *expr = (struct wasm_expr){
        .offset = wasm_cursor_offset(in, in->at),
        .size_bytes = (uint32_t)(v->in.at - in->at),
    };
    in->at = v->in.at;
    return 0;
}

/* ---- function bodies ---- */

static int set_locals(struct wasm_validator *v, const struct wasm_func *func)
{
    uint32_t next = v->func_type->param_count;
    for (uint32_t i = 0; i < next && i < WASM_NEAR_LOCALS; i++)
        v->near_locals[i] = v->func_type->params[i];
    v->local_count = func->local_count;
    v->far_runs.count = 0;
    for (uint32_t i = 0; i < func->run_count; i++) {
        const struct wasm_local_run *run = &v->module->local_runs[func->first_run + i];
        uint32_t end = next + run->count;
        for (; next < end && next < WASM_NEAR_LOCALS; next++)
            v->near_locals[next] = run->valtype;
        next = end;
        if (end > WASM_NEAR_LOCALS) {
            const struct wasm_far_run far = {.end = end, .valtype = run->valtype};
            if (!vec_append(&v->far_runs, &far, 1))
                return wasm_no_memory(&v->in);
        }
    }
    return 0;
}

int wasm_validate_body(struct wasm_validator *v, struct wasm_cursor *in, struct wasm_func *func)
{
    v->in = *in;
    v->is_constant = false;
    v->func_type = &v->module->types[func->typeidx];
    TRY(set_locals(v, func));
    const struct wasm_functype body = {.results = v->func_type->results, .result_count = v->func_type->result_count};
    TRY(check_expression(v, &body));
    if (v->in.at != v->in.end)
        return wasm_malformed(in, v->in.at, "section size mismatch: %zu bytes after the function's end",
                              wasm_cursor_left(&v->in));
    func->body = (struct wasm_expr){
        .offset = wasm_cursor_offset(in, in->at),
        .size_bytes = (uint32_t)(v->in.at - in->at),
    };
    in->at = v->in.at;
    return 0;
}
