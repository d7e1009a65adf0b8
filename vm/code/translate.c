/* One pass over a validated body, from its first instruction to its last `end`.
 *
 * A comparison or test that a br_if or `if` follows is fused with it. At a label all values are in their slots and no
 * register holds anything; between labels they are wherever values.c put them. Code that cannot be reached emits
 * nothing.
 *
 * The frame of a function, in 8-byte slots: its parameters, its other locals (at least FRAME_LEAST_SLOTS together, so
 * that a guest call always takes at least as much value stack as native stack, and one limit bounds both), then the
 * operand stack. Arguments are evaluated into the slots where the callee will have its parameters: its frame begins
 * there. */
#include <string.h>

#include "vm/code/translator.h"
#include "vm/run/runtime.h"

#define FRAME_LEAST_SLOTS 4

/* Instructions that share a family whose name is not theirs. */
enum {
    CODE_i32_load8_u = CODE_load8_u,
    CODE_i32_load16_u = CODE_load16_u,
    CODE_i64_load8_u = CODE_load8_u,
    CODE_i64_load16_u = CODE_load16_u,
    CODE_i64_load32_u = CODE_i32_load,
    CODE_i32_store = CODE_store32,
    CODE_i32_store8 = CODE_store8,
    CODE_i32_store16 = CODE_store16,
    CODE_i64_store = CODE_store64,
    CODE_i64_store8 = CODE_store8,
    CODE_i64_store16 = CODE_store16,
    CODE_i64_store32 = CODE_store32,
    /* With the operands exchanged. */
    CODE_f32_gt = CODE_f32_lt,
    CODE_f32_ge = CODE_f32_le,
    CODE_f64_gt = CODE_f64_lt,
    CODE_f64_ge = CODE_f64_le,
    CODE_i64_extend_i32_s = CODE_i64_extend32_s,
    CODE_i64_extend_i32_u = CODE_i32_wrap_i64,
    CODE_i32_reinterpret_f32 = CODE_reinterpret_f32,
    CODE_i64_reinterpret_f64 = CODE_reinterpret_f64,
    CODE_f32_reinterpret_i32 = CODE_reinterpret_int,
    CODE_f64_reinterpret_i64 = CODE_reinterpret_int,
};

#define FAMILY_SPECIAL(ident) 0
#define FAMILY_CONST(ident) 0
#define FAMILY_UNARY(ident) CODE_##ident
#define FAMILY_BINARY(ident) CODE_##ident
#define FAMILY_TEST(ident) CODE_##ident
#define FAMILY_COMPARE(ident) CODE_##ident
#define FAMILY_CONVERT(ident) CODE_##ident
#define FAMILY_LOAD(ident) CODE_##ident
#define FAMILY_STORE(ident) CODE_##ident
static const uint16_t families[WASM_OPCODE_COUNT] = {
#define OP(ident, text, prefix, code, immediate, signature, lowering, feature) \
    [WASM_OP_##ident] = FAMILY_##lowering(ident),
#include "vm/wasm/opcodes.def"
};

static uint8_t type_of_letter(char letter)
{
    switch (letter) {
    case 'I': return WASM_I64;
    case 'f': return WASM_F32;
    case 'F': return WASM_F64;
    default: return WASM_I32;
    }
}

/* The single result of an instruction with a fixed signature. */
static uint8_t result_type(enum wasm_opcode opcode)
{
    return type_of_letter(strchr(wasm_opcodes[opcode].signature, ':')[1]);
}

/* ---- calls ---- */

static const struct wasm_functype *func_type(struct code_translator *t, uint32_t funcidx)
{
    return &t->wasm->types[t->wasm->funcs[funcidx].typeidx];
}

/* All values are in slots; the callee's results replace its arguments. */
static void end_call(struct code_translator *t, const struct wasm_functype *type)
{
    code_values_truncate(t, (uint32_t)t->values.count - type->param_count);
    code_forget_registers(t);
    if (type->result_count == 1)
        code_push_register(t, (uint8_t)type->results[0], 0);
    else
        code_push_slots(t, type->results, type->result_count);
}

static void call(struct code_translator *t, uint32_t funcidx)
{
    const struct wasm_functype *type = func_type(t, funcidx);
    uint32_t imported = t->wasm->imported_func_count;
    code_flush(t);
    code_emit(t, funcidx < imported ? CODE_call_import : CODE_call);
    code_emit_u32(t, stack_slot(t, (uint32_t)t->values.count - type->param_count));
    if (funcidx < imported)
        code_emit_u32(t, t->program->func_cells + 8 * funcidx);
    else
        code_emit_u64(t, (uint64_t)(uintptr_t)&t->program->bodies[funcidx - imported]);
    end_call(t, type);
}

/* The index of an indirect call goes to integer register 0, everything else to its slot. */
static void load_index(struct code_translator *t)
{
    struct value index = code_pop(t);
    code_flush(t);
    code_load_value(t, &index, 0);
}

static void call_indirect(struct code_translator *t, uint32_t typeidx, uint32_t tableidx)
{
    const struct wasm_functype *type = &t->wasm->types[typeidx];
    load_index(t);
    code_emit(t, CODE_call_indirect);
    code_emit_u32(t, stack_slot(t, (uint32_t)t->values.count - type->param_count));
    code_emit_u32(t, t->program->table_cells + 8 * tableidx);
    code_emit_u32(t, t->program->types[typeidx]);
    end_call(t, type);
}

static void return_call(struct code_translator *t, uint32_t funcidx)
{
    uint32_t imported = t->wasm->imported_func_count;
    code_flush(t);
    code_move_top(t, func_type(t, funcidx)->param_count, 0);
    code_observe_leave(t, VM_LEAVE_TAIL_CALL);
    code_emit(t, funcidx < imported ? CODE_return_call_import : CODE_return_call);
    code_emit_u32(t, 0);
    if (funcidx < imported)
        code_emit_u32(t, t->program->func_cells + 8 * funcidx);
    else
        code_emit_u64(t, (uint64_t)(uintptr_t)&t->program->bodies[funcidx - imported]);
    t->is_reachable = false;
}

static void return_call_indirect(struct code_translator *t, uint32_t typeidx, uint32_t tableidx)
{
    load_index(t);
    code_move_top(t, t->wasm->types[typeidx].param_count, 0);
    if (t->observed) {
        uint32_t slot = stack_slot(t, (uint32_t)t->values.count); /* where the index was; no argument goes there */
        code_emit(t, CODE_store_slot);
        code_emit_u32(t, slot);
        code_observe_leave(t, VM_LEAVE_TAIL_CALL);
        code_emit(t, CODE_load_slot);
        code_emit_u32(t, slot);
    }
    code_emit(t, CODE_return_call_indirect);
    code_emit_u32(t, 0);
    code_emit_u32(t, t->program->table_cells + 8 * tableidx);
    code_emit_u32(t, t->program->types[typeidx]);
    t->is_reachable = false;
}

/* An instruction that a C function of the VM carries out on slots. */
static void call_runtime(struct code_translator *t, run_runtime_fn function, uint32_t operands, uint32_t first,
                         uint32_t second)
{
    code_flush(t);
    code_emit(t, CODE_runtime);
    code_emit_u64(t, (uint64_t)(uintptr_t)function);
    code_emit_u32(t, stack_slot(t, (uint32_t)t->values.count - operands));
    code_emit_u32(t, first);
    code_emit_u32(t, second);
    code_values_truncate(t, (uint32_t)t->values.count - operands);
    code_forget_registers(t);
}

/* ---- instructions ---- */

static bool is_commutative(enum wasm_opcode opcode)
{
    switch (opcode) {
    case WASM_OP_i32_add:
    case WASM_OP_i32_mul:
    case WASM_OP_i32_and:
    case WASM_OP_i32_or:
    case WASM_OP_i32_xor:
    case WASM_OP_i64_add:
    case WASM_OP_i64_mul:
    case WASM_OP_i64_and:
    case WASM_OP_i64_or:
    case WASM_OP_i64_xor: return true;
    default: return false;
    }
}

static bool is_division(enum wasm_opcode opcode)
{
    return (opcode >= WASM_OP_i32_div_s && opcode <= WASM_OP_i32_rem_u) ||
           (opcode >= WASM_OP_i64_div_s && opcode <= WASM_OP_i64_rem_u);
}

static void binary(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = code_pop(t), first = code_pop(t);
    uint8_t type = result_type(opcode);
    if (is_float(type)) {
        uint8_t kind = code_kind_fs(t, &second), reg = code_own_float(t, &first);
        code_emit(t, families[opcode] + reg * COUNT_FS + kind);
        code_operand_emit(t, &second);
        code_push_register(t, type, reg);
        return;
    }
    if (is_commutative(opcode) && first.place != PLACE_INTEGER &&
        (second.place == PLACE_INTEGER || first.place == PLACE_CONST)) {
        struct value exchanged = first;
        first = second;
        second = exchanged;
    }
    uint8_t kind = code_kind_rsi(t, &second), reg = code_own_integer(t, &first);
    code_emit(t, families[opcode] + reg * COUNT_RSI + kind);
    code_operand_emit(t, &second);
    if (is_division(opcode))
        code_emit_u32(t, 0);
    code_push_register(t, type, reg);
}

static void unary(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value value = code_pop(t);
    uint8_t type = result_type(opcode);
    uint8_t reg = is_float(type) ? code_own_float(t, &value) : code_own_integer(t, &value);
    code_emit(t, families[opcode] + reg);
    code_push_register(t, type, reg);
}

static void compare(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = code_pop(t), first = code_pop(t);
    if (code_is_float_comparison(opcode)) {
        bool is_64 = opcode >= WASM_OP_f64_eq;
        bool exchanges = code_float_exchanges(opcode - (is_64 ? WASM_OP_f64_eq : WASM_OP_f32_eq));
        uint8_t a = code_use_float(t, exchanges ? &second : &first),
                b = code_use_float(t, exchanges ? &first : &second);
        code_claim_integer0(t);
        code_emit(t, families[opcode] + a * COUNT_F + b);
        code_push_register(t, WASM_I32, 0);
        return;
    }
    uint32_t which;
    bool is_64;
    code_compare_integers(opcode, &first, &second, &which, &is_64);
    uint8_t kind = code_kind_rsi(t, &second), reg = code_own_integer(t, &first);
    code_emit(t, (is_64 ? CODE_i64_eq : CODE_i32_eq) + which * SHAPE_COUNT_R_RSI + reg * COUNT_RSI + kind);
    code_operand_emit(t, &second);
    code_push_register(t, WASM_I32, reg);
}

static void convert(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value value = code_pop(t);
    uint8_t from = value.type, to = result_type(opcode);
    uint32_t family = families[opcode];
    if (is_float(from) && is_float(to)) {
        uint8_t reg = code_own_float(t, &value);
        code_emit(t, family + reg);
        code_push_register(t, to, reg);
    } else if (is_float(from)) {
        uint8_t source = code_use_float(t, &value), reg = code_new_integer(t);
        code_emit(t, family + reg * COUNT_F + source);
        if (opcode >= WASM_OP_i32_trunc_f32_s && opcode <= WASM_OP_i64_trunc_f64_u)
            code_emit_u32(t, 0);
        code_push_register(t, to, reg);
    } else if (is_float(to)) {
        uint8_t source = code_use_integer(t, &value), reg = code_new_float(t);
        code_emit(t, family + reg * COUNT_R + source);
        code_push_register(t, to, reg);
    } else if (opcode == WASM_OP_i64_extend_i32_u && value.place == PLACE_INTEGER) {
        code_push_register(t, to, value.reg); /* an i32 in a register has zeros above */
    } else {
        uint8_t reg = code_own_integer(t, &value);
        code_emit(t, family + reg);
        code_push_register(t, to, reg);
    }
}

static void load(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value address = code_pop(t);
    uint8_t type = result_type(instruction->opcode);
    bool is_dead = address.place == PLACE_INTEGER; /* its register may take the result */
    uint8_t kind = code_kind_rs(t, &address), reg;
    if (is_float(type)) {
        reg = code_new_float(t);
    } else {
        reg = is_dead ? kind : code_new_integer(t);
    }
    code_emit(t, families[instruction->opcode] + reg * COUNT_RS + kind);
    code_operand_emit(t, &address);
    code_emit_u32(t, (uint32_t)instruction->immediate);
    code_push_register(t, type, reg);
}

static void store(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value value = code_pop(t), address = code_pop(t);
    enum wasm_opcode opcode = instruction->opcode;
    if (is_float(value.type)) {
        uint8_t reg = code_use_float(t, &value), kind = code_kind_rs(t, &address);
        uint32_t family = opcode == WASM_OP_f32_store ? CODE_f32_store : CODE_f64_store;
        code_emit(t, family + kind * COUNT_F + reg);
        code_operand_emit(t, &address);
        code_emit_u32(t, (uint32_t)instruction->immediate);
        return;
    }
    bool is_short =
        value.place == PLACE_CONST && (value.type == WASM_I32 || (int64_t)value.bits == (int32_t)value.bits);
    uint8_t reg = is_short ? INTEGER_IMMEDIATE_RI : code_use_integer(t, &value), kind = code_kind_rs(t, &address);
    code_emit(t, families[opcode] + kind * COUNT_RI + reg);
    code_operand_emit(t, &address);
    code_emit_u32(t, (uint32_t)instruction->immediate);
    if (is_short)
        code_emit_u32(t, (uint32_t)value.bits);
}

static void global_access(struct code_translator *t, uint32_t globalidx, bool is_set)
{
    uint8_t type = (uint8_t)t->wasm->globals[globalidx].type.valtype, reg;
    bool imported = globalidx < t->wasm->imported_global_count;
    uint32_t family;
    if (is_float(type))
        family = imported ? (is_set ? CODE_global_set_float_import : CODE_global_get_float_import)
                          : (is_set ? CODE_global_set_float : CODE_global_get_float);
    else
        family = imported ? (is_set ? CODE_global_set_import : CODE_global_get_import)
                          : (is_set ? CODE_global_set : CODE_global_get);
    if (is_set) {
        struct value value = code_pop(t);
        reg = is_float(type) ? code_use_float(t, &value) : code_use_integer(t, &value);
    } else {
        reg = is_float(type) ? code_new_float(t) : code_new_integer(t);
    }
    code_emit(t, family + reg);
    code_emit_u32(t, t->program->global_cells + 8 * globalidx);
    if (!is_set)
        code_push_register(t, type, reg);
}

static void select_value(struct code_translator *t)
{
    struct value condition = code_pop(t), second = code_pop(t), first = code_pop(t);
    uint8_t type = first.type;
    uint8_t tested = code_use_integer(t, &condition);
    if (is_float(type)) {
        uint8_t other = code_use_float(t, &second), reg = code_own_float(t, &first);
        code_emit(t, CODE_float_select + (reg * COUNT_F + other) * COUNT_R + tested);
        code_push_register(t, type, reg);
    } else {
        uint8_t other = code_use_integer(t, &second), reg = code_own_integer(t, &first);
        code_emit(t, CODE_select + (reg * COUNT_R + other) * COUNT_R + tested);
        code_push_register(t, type, reg);
    }
}

/* A comparison or test: fused with the br_if or `if` after it (across one i32.eqz), else to a value. Returns where to
 * go on. */
static uint32_t condition(struct code_translator *t, const struct wasm_instruction *instruction, uint32_t next)
{
    bool is_test = wasm_opcodes[instruction->opcode].lowering == WASM_LOWER_TEST;
    struct wasm_instruction follower;
    uint32_t after = wasm_decode(t->wasm, next, &follower);
    bool is_inverted = false;
    if (follower.opcode == WASM_OP_i32_eqz) {
        is_inverted = true;
        after = wasm_decode(t->wasm, after, &follower);
    }
    if (follower.opcode != WASM_OP_br_if && follower.opcode != WASM_OP_if) {
        if (is_test)
            unary(t, instruction->opcode);
        else
            compare(t, instruction->opcode);
        return next;
    }
    struct condition condition;
    if (is_test)
        condition = code_zero_condition(t, instruction->opcode == WASM_OP_i64_eqz);
    else if (code_is_float_comparison(instruction->opcode))
        condition = code_float_condition(t, instruction->opcode);
    else
        condition = code_integer_condition(t, instruction->opcode);
    if (is_inverted)
        code_invert(&condition);
    if (follower.opcode == WASM_OP_br_if)
        code_branch_if(t, &condition, follower.index);
    else
        code_begin_if(t, &follower, &condition);
    return after;
}

static void special(struct code_translator *t, const struct wasm_instruction *instruction)
{
    uint32_t index = instruction->index, index2 = instruction->index2;
    switch (instruction->opcode) {
    case WASM_OP_nop: break;
    case WASM_OP_unreachable:
        code_emit(t, CODE_unreachable);
        code_emit_u32(t, 0);
        t->is_reachable = false;
        break;
    case WASM_OP_block: code_begin_block(t, instruction); break;
    case WASM_OP_loop: code_begin_loop(t, instruction); break;
    case WASM_OP_if: {
        struct condition popped = code_popped_condition(t);
        code_begin_if(t, instruction, &popped);
        break;
    }
    case WASM_OP_br: code_branch(t, index); break;
    case WASM_OP_br_if: {
        struct condition popped = code_popped_condition(t);
        code_branch_if(t, &popped, index);
        break;
    }
    case WASM_OP_br_table: code_branch_table(t, instruction); break;
    case WASM_OP_return: code_emit_return(t); break;
    case WASM_OP_call: call(t, index); break;
    case WASM_OP_call_indirect: call_indirect(t, index, index2); break;
    case WASM_OP_return_call: return_call(t, index); break;
    case WASM_OP_return_call_indirect: return_call_indirect(t, index, index2); break;
    case WASM_OP_drop: code_pop(t); break;
    case WASM_OP_select:
    case WASM_OP_select_t: select_value(t); break;
    case WASM_OP_local_get: code_push_local(t, index); break;
    case WASM_OP_local_set: code_set_local(t, index); break;
    case WASM_OP_local_tee:
        code_set_local(t, index);
        code_push_local(t, index);
        break;
    case WASM_OP_global_get: global_access(t, index, false); break;
    case WASM_OP_global_set: global_access(t, index, true); break;
    case WASM_OP_ref_null: code_push_const(t, (uint8_t)index, 0); break;
    case WASM_OP_ref_is_null: unary(t, WASM_OP_i64_eqz); break;
    case WASM_OP_ref_func:
        call_runtime(t, run_exec_ref_func, 0, index, 0);
        code_push_slot(t, WASM_FUNCREF);
        break;
    case WASM_OP_table_get:
        call_runtime(t, run_exec_table_get, 1, index, 0);
        code_push_slot(t, (uint8_t)t->wasm->tables[index].type.reftype);
        break;
    case WASM_OP_table_set: call_runtime(t, run_exec_table_set, 2, index, 0); break;
    case WASM_OP_table_size:
        call_runtime(t, run_exec_table_size, 0, index, 0);
        code_push_slot(t, WASM_I32);
        break;
    case WASM_OP_table_grow:
        call_runtime(t, run_exec_table_grow, 2, index, 0);
        code_push_slot(t, WASM_I32);
        break;
    case WASM_OP_table_fill: call_runtime(t, run_exec_table_fill, 3, index, 0); break;
    case WASM_OP_table_copy: call_runtime(t, run_exec_table_copy, 3, index, index2); break;
    case WASM_OP_table_init: call_runtime(t, run_exec_table_init, 3, index, index2); break;
    case WASM_OP_elem_drop: call_runtime(t, run_exec_elem_drop, 0, index, 0); break;
    case WASM_OP_memory_size:
        call_runtime(t, run_exec_memory_size, 0, index, 0);
        code_push_slot(t, WASM_I32);
        break;
    case WASM_OP_memory_grow:
        call_runtime(t, run_exec_memory_grow, 1, index, 0);
        code_push_slot(t, WASM_I32);
        break;
    case WASM_OP_memory_fill: call_runtime(t, run_exec_memory_fill, 3, index, 0); break;
    case WASM_OP_memory_copy: call_runtime(t, run_exec_memory_copy, 3, index, index2); break;
    case WASM_OP_memory_init: call_runtime(t, run_exec_memory_init, 3, index, index2); break;
    case WASM_OP_data_drop: call_runtime(t, run_exec_data_drop, 0, index, 0); break;
    default: t->failed = true; /* validation lets no other instruction through */
    }
}

/* Returns where to go on. */
static uint32_t translate_instruction(struct code_translator *t, const struct wasm_instruction *instruction,
                                      uint32_t next)
{
    switch ((enum wasm_lowering)wasm_opcodes[instruction->opcode].lowering) {
    case WASM_LOWER_SPECIAL: special(t, instruction); break;
    case WASM_LOWER_CONST: code_push_const(t, result_type(instruction->opcode), instruction->immediate); break;
    case WASM_LOWER_UNARY: unary(t, instruction->opcode); break;
    case WASM_LOWER_BINARY: binary(t, instruction->opcode); break;
    case WASM_LOWER_TEST:
    case WASM_LOWER_COMPARE: next = condition(t, instruction, next); break;
    case WASM_LOWER_CONVERT: convert(t, instruction->opcode); break;
    case WASM_LOWER_LOAD: load(t, instruction); break;
    case WASM_LOWER_STORE: store(t, instruction); break;
    }
    code_values_release(t);
    return next;
}

/* The same, and counts it (and those that are fused with it) in its basic block. */
static uint32_t count_instruction(struct code_translator *t, const struct wasm_instruction *instruction, uint32_t next)
{
    if (t->is_block_start) {
        struct code_block *block = vec_push(&t->blocks);
        if (!block) {
            t->failed = true;
            return next;
        }
        block->bytecode_offset = instruction->offset;
        code_emit(t, CODE_count);
        t->count_at = code_emit_here(t);
        code_emit_u32(t, 0);
        t->is_block_start = false;
    }
    struct code_block *block = vec_at(&t->blocks, t->blocks.count - 1);
    uint32_t count_at = t->count_at;
    next = translate_instruction(t, instruction, next);
    block->count += code_instructions_between(t->wasm, instruction->offset, next);
    code_emit_patch_u32(t, count_at, block->count);
    return next;
}

/* Skips code that cannot be reached, up to the `else` or `end` that makes it reachable again. Returns its offset. */
static uint32_t skip_unreachable(struct code_translator *t, uint32_t offset)
{
    struct wasm_instruction instruction;
    for (uint32_t depth = 0;;) {
        uint32_t next = wasm_decode(t->wasm, offset, &instruction);
        if (instruction.opcode == WASM_OP_block || instruction.opcode == WASM_OP_loop ||
            instruction.opcode == WASM_OP_if)
            depth++;
        else if (instruction.opcode == WASM_OP_end && depth > 0)
            depth--;
        else if (depth == 0 && (instruction.opcode == WASM_OP_end || instruction.opcode == WASM_OP_else))
            return offset;
        offset = next;
    }
}

static void begin_locals(struct code_translator *t)
{
    for (uint32_t i = 0; i < t->type->param_count; i++) {
        uint8_t *type = vec_push(&t->local_types);
        if (type)
            *type = (uint8_t)t->type->params[i];
    }
    for (uint32_t i = 0; i < t->func->run_count; i++) {
        const struct wasm_local_run *run = &t->wasm->local_runs[t->func->first_run + i];
        uint8_t *types = vec_append(&t->local_types, NULL, run->count);
        if (types)
            memset(types, (int)run->valtype, run->count);
    }
    struct local_state *states = vec_append(&t->local_state, NULL, t->func->local_count);
    if (!states || t->local_types.count != t->func->local_count) {
        t->failed = true;
        return;
    }
    for (uint32_t i = 0; i < t->func->local_count; i++)
        states[i].reg = NO_REGISTER;
    t->stack_base = t->func->local_count < FRAME_LEAST_SLOTS ? FRAME_LEAST_SLOTS : t->func->local_count;
}

void code_observe_leave(struct code_translator *t, enum vm_leave why)
{
    if (!t->observed)
        return;
    code_emit(t, CODE_observe_leave);
    code_emit_u64(t, (uint64_t)(uintptr_t)t->observed);
    code_emit_u32(t, why);
}

void code_translate_function(struct code_translator *t)
{
    t->bytecode_offset = t->func->body.offset;
    begin_locals(t);
    if (t->failed)
        return;
    code_emit(t, CODE_enter);
    uint32_t frame_bytes_at = code_emit_here(t);
    code_emit_u32(t, 0);
    uint32_t zeroed = t->func->local_count - t->type->param_count;
    if (zeroed) {
        code_emit(t, CODE_zero_slots);
        code_emit_u32(t, local_slot(t->type->param_count));
        code_emit_u32(t, (zeroed + 1) / 2);
    }
    if (t->observed) {
        code_emit(t, CODE_observe_enter);
        code_emit_u64(t, (uint64_t)(uintptr_t)t->observed);
    }
    t->is_block_start = true;
    struct control *function = code_push_control(t, WASM_OP_block);
    if (!function)
        return;
    function->end_count = t->type->result_count;
    function->end_types = t->type->results;
    t->is_reachable = true;
    for (uint32_t offset = t->func->body.offset; !t->failed;) {
        if (!t->is_reachable)
            offset = skip_unreachable(t, offset);
        struct wasm_instruction instruction;
        uint32_t next = wasm_decode(t->wasm, offset, &instruction);
        t->bytecode_offset = offset;
        if (instruction.opcode == WASM_OP_end && t->controls.count == 1) {
            code_end_block(t);
            if (t->is_reachable)
                code_emit_return(t);
            break;
        }
        if (instruction.opcode == WASM_OP_end)
            code_end_block(t);
        else if (instruction.opcode == WASM_OP_else)
            code_begin_else(t);
        else if (t->counts)
            next = count_instruction(t, &instruction, next);
        else
            next = translate_instruction(t, &instruction, next);
        offset = next;
    }
    /* One slot more: locals are zeroed in pairs. */
    uint32_t slots = t->stack_base + t->max_height + 1;
    if (slots < t->type->result_count)
        slots = t->type->result_count;
    code_emit_patch_u32(t, frame_bytes_at, slots * 8);
}
