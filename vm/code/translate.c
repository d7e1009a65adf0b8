/* One pass over a validated body, from its first instruction to its last `end`.
 *
 * A comparison or test that a br_if or `if` follows is fused with it. At a label all values are in their slots and no
 * register holds anything; between labels they are wherever values.c put them. Code that cannot be reached emits nothing.
 *
 * The frame of a function, in 8-byte slots: its parameters, its other locals (at least FRAME_LEAST_SLOTS together, so that
 * a guest call always takes at least as much value stack as native stack, and one limit bounds both), then the operand stack.
 * Arguments are evaluated into the slots where the callee will have its parameters: its frame begins there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/code/translator.h"
#include "vm/run/entry.h"
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

/* ---- conditions ---- */

/* What a fused branch tests: register `first` against `second` of the given kind. */
struct condition {
    uint32_t when_true;  /* handler that branches where it holds */
    uint32_t when_false; /* where it does not */
    struct value second; /* what the operand stream needs */
};

static void emit_branch(struct code_translator *t, const struct condition *condition, bool sense, uint32_t label)
{
    emit(t, sense ? condition->when_true : condition->when_false);
    operand_emit(t, &condition->second);
    emit_target(t, label);
}

/* eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u: what holds where each does not, and with the operands exchanged. */
static const uint8_t inverse[10] = {1, 0, 8, 9, 6, 7, 4, 5, 2, 3};
static const uint8_t mirrored[10] = {0, 1, 4, 5, 2, 3, 8, 9, 6, 7};

static uint32_t integer_comparison(enum wasm_opcode opcode, bool *is_64)
{
    *is_64 = opcode >= WASM_OP_i64_eq;
    return opcode - (*is_64 ? WASM_OP_i64_eq : WASM_OP_i32_eq);
}

static bool is_float_comparison(enum wasm_opcode opcode)
{
    return opcode >= WASM_OP_f32_eq && opcode <= WASM_OP_f64_ge;
}

static void compare_integers(struct code_translator *t, enum wasm_opcode opcode, struct value *first,
                             struct value *second, uint32_t *which, bool *is_64)
{
    *which = integer_comparison(opcode, is_64);
    if (first->place == PLACE_CONST && second->place != PLACE_CONST) {
        struct value exchanged = *first;
        *first = *second;
        *second = exchanged;
        *which = mirrored[*which];
    }
}

static struct condition integer_condition(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = pop(t), first = pop(t);
    uint32_t which;
    bool is_64;
    compare_integers(t, opcode, &first, &second, &which, &is_64);
    uint8_t kind = kind_rsi(t, &second);
    uint32_t member = use_integer(t, &first) * COUNT_RSI + kind;
    uint32_t base = is_64 ? CODE_br_i64_eq : CODE_br_i32_eq;
    return (struct condition){base + which * SHAPE_COUNT_R_RSI + member,
                              base + inverse[which] * SHAPE_COUNT_R_RSI + member, second};
}

/* eq ne lt gt le ge, as offsets of families from br_f32_eq or br_f64_eq; gt and ge exchange their operands. */
static const uint8_t float_true[6] = {0, 1, 2, 2, 4, 4};
static const uint8_t float_false[6] = {1, 0, 3, 3, 5, 5};

static bool float_exchanges(uint32_t which)
{
    return which == 3 || which == 5;
}

static struct condition float_condition(struct code_translator *t, enum wasm_opcode opcode)
{
    bool is_64 = opcode >= WASM_OP_f64_eq;
    uint32_t which = opcode - (is_64 ? WASM_OP_f64_eq : WASM_OP_f32_eq);
    struct value second = pop(t), first = pop(t);
    if (float_exchanges(which)) {
        struct value exchanged = first;
        first = second;
        second = exchanged;
    }
    uint8_t kind = kind_fs(t, &second);
    uint32_t member = use_float(t, &first) * COUNT_FS + kind;
    uint32_t base = is_64 ? CODE_br_f64_eq : CODE_br_f32_eq;
    return (struct condition){base + float_true[which] * SHAPE_COUNT_F_FS + member,
                              base + float_false[which] * SHAPE_COUNT_F_FS + member, second};
}

static struct condition zero_condition(struct code_translator *t, bool is_64)
{
    struct value value = pop(t);
    uint8_t kind = is_64 ? use_integer(t, &value) : kind_rs(t, &value);
    if (kind == INTEGER_SLOT)
        return (struct condition){CODE_br_i32_zero_slot, CODE_br_i32_nonzero_slot, value};
    value.place = PLACE_INTEGER;
    return (struct condition){(is_64 ? CODE_br_i64_zero : CODE_br_i32_zero) + kind,
                              (is_64 ? CODE_br_i64_nonzero : CODE_br_i32_nonzero) + kind, value};
}

static void invert(struct condition *condition)
{
    uint32_t when_true = condition->when_true;
    condition->when_true = condition->when_false;
    condition->when_false = when_true;
}

/* An i32 on the stack, as a condition. */
static struct condition popped_condition(struct code_translator *t)
{
    struct condition condition = zero_condition(t, false);
    invert(&condition);
    return condition;
}

/* ---- control ---- */

static struct control *control_at(struct code_translator *t, uint32_t depth)
{
    return vec_at(&t->controls, t->controls.count - 1 - depth);
}

static struct control *push_control(struct code_translator *t, enum wasm_opcode opcode)
{
    struct control *control = vec_push(&t->controls);
    if (!control) {
        t->failed = true;
        return NULL;
    }
    control->opcode = opcode;
    control->label = emit_label(t);
    control->was_reachable = t->is_reachable;
    return control;
}

static void branch_counts(const struct control *control, uint32_t *count)
{
    *count = control->opcode == WASM_OP_loop ? control->start_count : control->end_count;
}

/* True where the topmost `count` values already stand where the label expects them. */
static bool is_in_place(const struct code_translator *t, const struct control *control, uint32_t count)
{
    return t->values.count - count == control->height;
}

/* Moves the topmost `count` values to the label's slots, changing nothing that the translator knows. */
static void move_to_label(struct code_translator *t, const struct control *control, uint32_t count)
{
    uint32_t first = (uint32_t)t->values.count - count;
    for (uint32_t i = 0; i < count; i++)
        store_value(t, vec_at(&t->values, first + i), stack_slot(t, control->height + i));
}

static void emit_return(struct code_translator *t)
{
    uint32_t count = t->type->result_count;
    if (count == 1) {
        struct value value = pop(t);
        load_value(t, &value, 0);
    } else if (count > 1) {
        flush_top(t, count);
        uint32_t first = (uint32_t)t->values.count - count;
        for (uint32_t i = 0; i < count; i++)
            store_value(t, vec_at(&t->values, first + i), i * 8);
    }
    emit(t, CODE_leave);
    t->is_reachable = false;
}

static void branch(struct code_translator *t, uint32_t depth)
{
    struct control *control = control_at(t, depth);
    uint32_t count;
    if (depth + 1 == t->controls.count) {
        emit_return(t);
        return;
    }
    branch_counts(control, &count);
    move_to_label(t, control, count);
    emit(t, CODE_br);
    emit_target(t, control->label);
    control->is_branched_to = true;
    t->is_reachable = false;
}

static void branch_if(struct code_translator *t, const struct condition *condition, uint32_t depth)
{
    struct control *control = control_at(t, depth);
    uint32_t count;
    branch_counts(control, &count);
    control->is_branched_to = true;
    if (is_in_place(t, control, count)) {
        flush_top(t, count);
        emit_branch(t, condition, true, control->label);
    } else if (count == 0) {
        emit_branch(t, condition, true, control->label);
    } else {
        uint32_t skip = emit_label(t);
        emit_branch(t, condition, false, skip);
        move_to_label(t, control, count);
        emit(t, CODE_br);
        emit_target(t, control->label);
        emit_bind(t, skip);
    }
}

static void branch_table(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value index = pop(t);
    uint8_t reg = use_integer(t, &index);
    flush(t);
    emit(t, CODE_br_table + reg);
    emit_u32(t, instruction->count);
    const uint8_t *at = instruction->list;
    uint32_t targets = instruction->count + 1;
    uint32_t *stubs = calloc(targets, sizeof *stubs); /* 1 + label of a stub that moves the values, or 0 */
    if (!stubs) {
        t->failed = true;
        return;
    }
    for (uint32_t i = 0; i < targets; i++) {
        struct control *control = control_at(t, wasm_leb_u32(&at));
        uint32_t count;
        branch_counts(control, &count);
        control->is_branched_to = true;
        if (count && !is_in_place(t, control, count))
            stubs[i] = 1 + emit_label(t);
        emit_target(t, stubs[i] ? stubs[i] - 1 : control->label);
    }
    at = instruction->list;
    for (uint32_t i = 0; i < targets; i++) {
        struct control *control = control_at(t, wasm_leb_u32(&at));
        uint32_t count;
        branch_counts(control, &count);
        if (!stubs[i])
            continue;
        emit_bind(t, stubs[i] - 1);
        move_to_label(t, control, count);
        emit(t, CODE_br);
        emit_target(t, control->label);
    }
    free(stubs);
    t->is_reachable = false;
}

static struct control *begin_block(struct code_translator *t, const struct wasm_instruction *instruction)
{
    flush(t);
    struct control *control = push_control(t, instruction->opcode);
    if (!control)
        return NULL;
    struct wasm_functype type = wasm_blocktype(t->wasm, instruction->blocktype, &control->short_type);
    control->start_count = type.param_count;
    control->start_types = type.params;
    control->end_count = type.result_count;
    control->is_short = type.results == &control->short_type;
    control->end_types = type.results;
    control->height = (uint32_t)t->values.count - type.param_count;
    return control;
}

static void begin_loop(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct control *control = begin_block(t, instruction);
    if (!control)
        return;
    forget_registers(t);
    emit_bind(t, control->label);
}

static void begin_if(struct code_translator *t, const struct wasm_instruction *instruction, const struct condition *condition)
{
    struct control *control = begin_block(t, instruction);
    if (!control)
        return;
    control->else_label = emit_label(t);
    remember_locals(t, control);
    emit_branch(t, condition, false, control->else_label);
}

static void push_slots(struct code_translator *t, const uint32_t *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        push_slot(t, (uint8_t)types[i]);
    t->flushed = (uint32_t)t->values.count;
}

static void begin_else(struct code_translator *t)
{
    struct control *control = control_at(t, 0);
    if (t->is_reachable) {
        flush_top(t, control->end_count);
        emit(t, CODE_br);
        emit_target(t, control->label);
        control->is_branched_to = true;
    }
    values_truncate(t, control->height);
    push_slots(t, control->start_types, control->start_count);
    emit_bind(t, control->else_label);
    restore_locals(t, control);
    control->opcode = WASM_OP_else;
    t->is_reachable = control->was_reachable;
}

static void end_block(struct code_translator *t)
{
    struct control control = *control_at(t, 0);
    bool has_else_edge = control.opcode == WASM_OP_if; /* an `if` without else: its condition may skip it */
    bool is_merge = control.opcode != WASM_OP_loop && (control.is_branched_to || has_else_edge);
    const uint32_t *types = control.is_short ? &control.short_type : control.end_types;
    if (is_merge || !t->is_reachable) {
        if (t->is_reachable)
            flush_top(t, control.end_count);
        values_truncate(t, control.height);
        push_slots(t, types, control.end_count);
    }
    if (is_merge) {
        if (has_else_edge)
            emit_bind(t, control.else_label);
        emit_bind(t, control.label);
        forget_registers(t);
        t->is_reachable = true;
    }
    t->controls.count--;
}

/* ---- calls ---- */

static const struct wasm_functype *func_type(struct code_translator *t, uint32_t funcidx)
{
    return &t->wasm->types[t->wasm->funcs[funcidx].typeidx];
}

/* All values are in slots; the callee's results replace its arguments. */
static void end_call(struct code_translator *t, const struct wasm_functype *type)
{
    values_truncate(t, (uint32_t)t->values.count - type->param_count);
    forget_registers(t);
    if (type->result_count == 1)
        push_register(t, (uint8_t)type->results[0], 0);
    else
        push_slots(t, type->results, type->result_count);
}

static void call(struct code_translator *t, uint32_t funcidx)
{
    const struct wasm_functype *type = func_type(t, funcidx);
    uint32_t imported = t->wasm->imported_func_count;
    flush(t);
    emit(t, funcidx < imported ? CODE_call_import : CODE_call);
    emit_u32(t, stack_slot(t, (uint32_t)t->values.count - type->param_count));
    if (funcidx < imported)
        emit_u32(t, t->program->func_cells + 8 * funcidx);
    else
        emit_u64(t, (uint64_t)(uintptr_t)&t->program->bodies[funcidx - imported]);
    end_call(t, type);
}

/* The index of an indirect call goes to integer register 0, everything else to its slot. */
static void load_index(struct code_translator *t)
{
    struct value index = pop(t);
    flush(t);
    load_value(t, &index, 0);
}

static void call_indirect(struct code_translator *t, uint32_t typeidx, uint32_t tableidx)
{
    const struct wasm_functype *type = &t->wasm->types[typeidx];
    load_index(t);
    emit(t, CODE_call_indirect);
    emit_u32(t, stack_slot(t, (uint32_t)t->values.count - type->param_count));
    emit_u32(t, t->program->table_cells + 8 * tableidx);
    emit_u32(t, t->program->types[typeidx]);
    end_call(t, type);
}

static void move_arguments(struct code_translator *t, const struct wasm_functype *type)
{
    uint32_t first = (uint32_t)t->values.count - type->param_count;
    for (uint32_t i = 0; i < type->param_count; i++)
        store_value(t, vec_at(&t->values, first + i), i * 8);
}

static void return_call(struct code_translator *t, uint32_t funcidx)
{
    uint32_t imported = t->wasm->imported_func_count;
    flush(t);
    move_arguments(t, func_type(t, funcidx));
    emit(t, funcidx < imported ? CODE_return_call_import : CODE_return_call);
    emit_u32(t, 0);
    if (funcidx < imported)
        emit_u32(t, t->program->func_cells + 8 * funcidx);
    else
        emit_u64(t, (uint64_t)(uintptr_t)&t->program->bodies[funcidx - imported]);
    t->is_reachable = false;
}

static void return_call_indirect(struct code_translator *t, uint32_t typeidx, uint32_t tableidx)
{
    load_index(t);
    move_arguments(t, &t->wasm->types[typeidx]);
    emit(t, CODE_return_call_indirect);
    emit_u32(t, 0);
    emit_u32(t, t->program->table_cells + 8 * tableidx);
    emit_u32(t, t->program->types[typeidx]);
    t->is_reachable = false;
}

/* An instruction that a C function of the VM carries out on slots. */
static void call_runtime(struct code_translator *t, run_runtime_fn function, uint32_t operands, uint32_t first,
                         uint32_t second)
{
    flush(t);
    emit(t, CODE_runtime);
    emit_u64(t, (uint64_t)(uintptr_t)function);
    emit_u32(t, stack_slot(t, (uint32_t)t->values.count - operands));
    emit_u32(t, first);
    emit_u32(t, second);
    values_truncate(t, (uint32_t)t->values.count - operands);
    forget_registers(t);
}

/* ---- instructions ---- */

static bool is_commutative(enum wasm_opcode opcode)
{
    switch (opcode) {
    case WASM_OP_i32_add: case WASM_OP_i32_mul: case WASM_OP_i32_and: case WASM_OP_i32_or: case WASM_OP_i32_xor:
    case WASM_OP_i64_add: case WASM_OP_i64_mul: case WASM_OP_i64_and: case WASM_OP_i64_or: case WASM_OP_i64_xor:
        return true;
    default:
        return false;
    }
}

static bool is_division(enum wasm_opcode opcode)
{
    return (opcode >= WASM_OP_i32_div_s && opcode <= WASM_OP_i32_rem_u) ||
           (opcode >= WASM_OP_i64_div_s && opcode <= WASM_OP_i64_rem_u);
}

static void binary(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = pop(t), first = pop(t);
    uint8_t type = result_type(opcode);
    if (is_float(type)) {
        uint8_t kind = kind_fs(t, &second), reg = own_float(t, &first);
        emit(t, families[opcode] + reg * COUNT_FS + kind);
        operand_emit(t, &second);
        push_register(t, type, reg);
        return;
    }
    if (is_commutative(opcode) && first.place != PLACE_INTEGER &&
        (second.place == PLACE_INTEGER || first.place == PLACE_CONST)) {
        struct value exchanged = first;
        first = second;
        second = exchanged;
    }
    uint8_t kind = kind_rsi(t, &second), reg = own_integer(t, &first);
    emit(t, families[opcode] + reg * COUNT_RSI + kind);
    operand_emit(t, &second);
    if (is_division(opcode))
        emit_u32(t, 0);
    push_register(t, type, reg);
}

static void unary(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value value = pop(t);
    uint8_t type = result_type(opcode);
    uint8_t reg = is_float(type) ? own_float(t, &value) : own_integer(t, &value);
    emit(t, families[opcode] + reg);
    push_register(t, type, reg);
}

static void compare(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = pop(t), first = pop(t);
    if (is_float_comparison(opcode)) {
        bool is_64 = opcode >= WASM_OP_f64_eq;
        bool exchanges = float_exchanges(opcode - (is_64 ? WASM_OP_f64_eq : WASM_OP_f32_eq));
        uint8_t a = use_float(t, exchanges ? &second : &first), b = use_float(t, exchanges ? &first : &second);
        claim_integer0(t);
        emit(t, families[opcode] + a * COUNT_F + b);
        push_register(t, WASM_I32, 0);
        return;
    }
    uint32_t which;
    bool is_64;
    compare_integers(t, opcode, &first, &second, &which, &is_64);
    uint8_t kind = kind_rsi(t, &second), reg = own_integer(t, &first);
    emit(t, (is_64 ? CODE_i64_eq : CODE_i32_eq) + which * SHAPE_COUNT_R_RSI + reg * COUNT_RSI + kind);
    operand_emit(t, &second);
    push_register(t, WASM_I32, reg);
}

static void convert(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value value = pop(t);
    uint8_t from = value.type, to = result_type(opcode);
    uint32_t family = families[opcode];
    if (is_float(from) && is_float(to)) {
        uint8_t reg = own_float(t, &value);
        emit(t, family + reg);
        push_register(t, to, reg);
    } else if (is_float(from)) {
        uint8_t source = use_float(t, &value), reg = new_integer(t);
        emit(t, family + reg * COUNT_F + source);
        if (opcode >= WASM_OP_i32_trunc_f32_s && opcode <= WASM_OP_i64_trunc_f64_u)
            emit_u32(t, 0);
        push_register(t, to, reg);
    } else if (is_float(to)) {
        uint8_t source = use_integer(t, &value), reg = new_float(t);
        emit(t, family + reg * COUNT_R + source);
        push_register(t, to, reg);
    } else if (opcode == WASM_OP_i64_extend_i32_u && value.place == PLACE_INTEGER) {
        push_register(t, to, value.reg); /* an i32 in a register has zeros above */
    } else {
        uint8_t reg = own_integer(t, &value);
        emit(t, family + reg);
        push_register(t, to, reg);
    }
}

static void load(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value address = pop(t);
    uint8_t type = result_type(instruction->opcode);
    bool is_dead = address.place == PLACE_INTEGER; /* its register may take the result */
    uint8_t kind = kind_rs(t, &address), reg;
    if (is_float(type)) {
        reg = new_float(t);
    } else {
        reg = is_dead ? kind : new_integer(t);
    }
    emit(t, families[instruction->opcode] + reg * COUNT_RS + kind);
    operand_emit(t, &address);
    emit_u32(t, (uint32_t)instruction->immediate);
    push_register(t, type, reg);
}

static void store(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value value = pop(t), address = pop(t);
    enum wasm_opcode opcode = instruction->opcode;
    if (is_float(value.type)) {
        uint8_t reg = use_float(t, &value), kind = kind_rs(t, &address);
        uint32_t family = opcode == WASM_OP_f32_store ? CODE_f32_store : CODE_f64_store;
        emit(t, family + kind * COUNT_F + reg);
        operand_emit(t, &address);
        emit_u32(t, (uint32_t)instruction->immediate);
        return;
    }
    bool is_short = value.place == PLACE_CONST &&
                    (value.type == WASM_I32 || (int64_t)value.bits == (int32_t)value.bits);
    uint8_t reg = is_short ? INTEGER_IMMEDIATE_RI : use_integer(t, &value), kind = kind_rs(t, &address);
    emit(t, families[opcode] + kind * COUNT_RI + reg);
    operand_emit(t, &address);
    emit_u32(t, (uint32_t)instruction->immediate);
    if (is_short)
        emit_u32(t, (uint32_t)value.bits);
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
        struct value value = pop(t);
        reg = is_float(type) ? use_float(t, &value) : use_integer(t, &value);
    } else {
        reg = is_float(type) ? new_float(t) : new_integer(t);
    }
    emit(t, family + reg);
    emit_u32(t, t->program->global_cells + 8 * globalidx);
    if (!is_set)
        push_register(t, type, reg);
}

static void select_value(struct code_translator *t)
{
    struct value condition = pop(t), second = pop(t), first = pop(t);
    uint8_t type = first.type;
    uint8_t tested = use_integer(t, &condition);
    if (is_float(type)) {
        uint8_t other = use_float(t, &second), reg = own_float(t, &first);
        emit(t, CODE_float_select + (reg * COUNT_F + other) * COUNT_R + tested);
        push_register(t, type, reg);
    } else {
        uint8_t other = use_integer(t, &second), reg = own_integer(t, &first);
        emit(t, CODE_select + (reg * COUNT_R + other) * COUNT_R + tested);
        push_register(t, type, reg);
    }
}

/* A comparison or test: fused with the br_if or `if` after it (across one i32.eqz), else to a value. Returns where to go on. */
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
        condition = zero_condition(t, instruction->opcode == WASM_OP_i64_eqz);
    else if (is_float_comparison(instruction->opcode))
        condition = float_condition(t, instruction->opcode);
    else
        condition = integer_condition(t, instruction->opcode);
    if (is_inverted)
        invert(&condition);
    if (follower.opcode == WASM_OP_br_if)
        branch_if(t, &condition, follower.index);
    else
        begin_if(t, &follower, &condition);
    return after;
}

static void special(struct code_translator *t, const struct wasm_instruction *instruction)
{
    uint32_t index = instruction->index, index2 = instruction->index2;
    switch (instruction->opcode) {
    case WASM_OP_nop:
        break;
    case WASM_OP_unreachable:
        emit(t, CODE_unreachable);
        emit_u32(t, 0);
        t->is_reachable = false;
        break;
    case WASM_OP_block:
        begin_block(t, instruction);
        break;
    case WASM_OP_loop:
        begin_loop(t, instruction);
        break;
    case WASM_OP_if: {
        struct condition popped = popped_condition(t);
        begin_if(t, instruction, &popped);
        break;
    }
    case WASM_OP_br:
        branch(t, index);
        break;
    case WASM_OP_br_if: {
        struct condition popped = popped_condition(t);
        branch_if(t, &popped, index);
        break;
    }
    case WASM_OP_br_table:
        branch_table(t, instruction);
        break;
    case WASM_OP_return:
        emit_return(t);
        break;
    case WASM_OP_call:
        call(t, index);
        break;
    case WASM_OP_call_indirect:
        call_indirect(t, index, index2);
        break;
    case WASM_OP_return_call:
        return_call(t, index);
        break;
    case WASM_OP_return_call_indirect:
        return_call_indirect(t, index, index2);
        break;
    case WASM_OP_drop:
        pop(t);
        break;
    case WASM_OP_select:
    case WASM_OP_select_t:
        select_value(t);
        break;
    case WASM_OP_local_get:
        push_local(t, index);
        break;
    case WASM_OP_local_set:
        set_local(t, index);
        break;
    case WASM_OP_local_tee:
        set_local(t, index);
        push_local(t, index);
        break;
    case WASM_OP_global_get:
        global_access(t, index, false);
        break;
    case WASM_OP_global_set:
        global_access(t, index, true);
        break;
    case WASM_OP_ref_null:
        push_const(t, (uint8_t)index, 0);
        break;
    case WASM_OP_ref_is_null:
        unary(t, WASM_OP_i64_eqz);
        break;
    case WASM_OP_ref_func:
        call_runtime(t, runtime_ref_func, 0, index, 0);
        push_slot(t, WASM_FUNCREF);
        break;
    case WASM_OP_table_get:
        call_runtime(t, runtime_table_get, 1, index, 0);
        push_slot(t, (uint8_t)t->wasm->tables[index].type.reftype);
        break;
    case WASM_OP_table_set:
        call_runtime(t, runtime_table_set, 2, index, 0);
        break;
    case WASM_OP_table_size:
        call_runtime(t, runtime_table_size, 0, index, 0);
        push_slot(t, WASM_I32);
        break;
    case WASM_OP_table_grow:
        call_runtime(t, runtime_table_grow, 2, index, 0);
        push_slot(t, WASM_I32);
        break;
    case WASM_OP_table_fill:
        call_runtime(t, runtime_table_fill, 3, index, 0);
        break;
    case WASM_OP_table_copy:
        call_runtime(t, runtime_table_copy, 3, index, index2);
        break;
    case WASM_OP_table_init:
        call_runtime(t, runtime_table_init, 3, index, index2);
        break;
    case WASM_OP_elem_drop:
        call_runtime(t, runtime_elem_drop, 0, index, 0);
        break;
    case WASM_OP_memory_size:
        call_runtime(t, runtime_memory_size, 0, index, 0);
        push_slot(t, WASM_I32);
        break;
    case WASM_OP_memory_grow:
        call_runtime(t, runtime_memory_grow, 1, index, 0);
        push_slot(t, WASM_I32);
        break;
    case WASM_OP_memory_fill:
        call_runtime(t, runtime_memory_fill, 3, index, 0);
        break;
    case WASM_OP_memory_copy:
        call_runtime(t, runtime_memory_copy, 3, index, index2);
        break;
    case WASM_OP_memory_init:
        call_runtime(t, runtime_memory_init, 3, index, index2);
        break;
    case WASM_OP_data_drop:
        call_runtime(t, runtime_data_drop, 0, index, 0);
        break;
    default:
        t->failed = true; /* validation lets no other instruction through */
    }
}

/* Returns where to go on. */
static uint32_t translate_instruction(struct code_translator *t, const struct wasm_instruction *instruction, uint32_t next)
{
    switch ((enum wasm_lowering)wasm_opcodes[instruction->opcode].lowering) {
    case WASM_LOWER_SPECIAL:
        special(t, instruction);
        break;
    case WASM_LOWER_CONST:
        push_const(t, result_type(instruction->opcode), instruction->immediate);
        break;
    case WASM_LOWER_UNARY:
        unary(t, instruction->opcode);
        break;
    case WASM_LOWER_BINARY:
        binary(t, instruction->opcode);
        break;
    case WASM_LOWER_TEST:
    case WASM_LOWER_COMPARE:
        next = condition(t, instruction, next);
        break;
    case WASM_LOWER_CONVERT:
        convert(t, instruction->opcode);
        break;
    case WASM_LOWER_LOAD:
        load(t, instruction);
        break;
    case WASM_LOWER_STORE:
        store(t, instruction);
        break;
    }
    values_release(t);
    return next;
}

/* Skips code that cannot be reached, up to the `else` or `end` that makes it reachable again. Returns its offset. */
static uint32_t skip_unreachable(struct code_translator *t, uint32_t offset)
{
    struct wasm_instruction instruction;
    for (uint32_t depth = 0;;) {
        uint32_t next = wasm_decode(t->wasm, offset, &instruction);
        if (instruction.opcode == WASM_OP_block || instruction.opcode == WASM_OP_loop || instruction.opcode == WASM_OP_if)
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

static void translate_body(struct code_translator *t)
{
    emit(t, CODE_enter);
    uint32_t frame_bytes_at = emit_here(t);
    emit_u32(t, 0);
    uint32_t zeroed = t->func->local_count - t->type->param_count;
    if (zeroed) {
        emit(t, CODE_zero_slots);
        emit_u32(t, local_slot(t->type->param_count));
        emit_u32(t, (zeroed + 1) / 2);
    }
    struct control *function = push_control(t, WASM_OP_block);
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
            end_block(t);
            if (t->is_reachable)
                emit_return(t);
            break;
        }
        if (instruction.opcode == WASM_OP_end)
            end_block(t);
        else if (instruction.opcode == WASM_OP_else)
            begin_else(t);
        else
            next = translate_instruction(t, &instruction, next);
        offset = next;
    }
    /* One slot more: locals are zeroed in pairs. */
    uint32_t slots = t->stack_base + t->max_height + 1;
    if (slots < t->type->result_count)
        slots = t->type->result_count;
    emit_patch_u32(t, frame_bytes_at, slots * 8);
}

static struct code_translator *translator_create(struct vm_engine *engine)
{
    struct code_translator *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->engine = engine;
    t->is_region = engine->config.dispatch == VM_DISPATCH_REGION;
    t->stream = VEC_INIT(1);
    t->region = VEC_INIT(1);
    t->positions = VEC_INIT(sizeof(struct code_position));
    t->labels = VEC_INIT(sizeof(struct label));
    t->fixups = VEC_INIT(sizeof(struct fixup));
    t->values = VEC_INIT(sizeof(struct value));
    t->local_types = VEC_INIT(sizeof(uint8_t));
    t->local_state = VEC_INIT(sizeof(struct local_state));
    t->controls = VEC_INIT(sizeof(struct control));
    return t;
}

void code_translator_destroy(struct code_translator *t)
{
    if (!t)
        return;
    emit_fini(t);
    values_fini(t);
    vec_fini(&t->controls);
    free(t);
}

/* The engine's translator, ready for a translation. NULL: no memory. The lock is held. */
static struct code_translator *begin(struct vm_engine *engine)
{
    if (!engine->translator)
        engine->translator = translator_create(engine);
    if (engine->translator) {
        emit_begin(engine->translator);
        values_begin(engine->translator);
        engine->translator->controls.count = 0;
        engine->translator->local_types.count = engine->translator->local_state.count = 0;
    }
    return engine->translator;
}

static void publish(struct code_translator *t, const struct code_body *body, const char *host_name)
{
    const struct vm_hooks *hooks = t->engine->config.hooks;
    if (!t->is_region || !hooks || !hooks->code_published)
        return;
    struct vec positions = VEC_INIT(sizeof(struct vm_code_position));
    for (size_t i = 0; i < t->positions.count; i++) {
        const struct code_position *from = vec_at(&t->positions, i);
        struct vm_code_position *to = vec_push(&positions);
        if (to)
            *to = (struct vm_code_position){from->region_offset, from->bytecode_offset};
    }
    struct vm_code code = {
        .module = body->program ? body->program->module : NULL,
        .funcidx = body->funcidx,
        .host_name = host_name,
        .address = body->region,
        .size_bytes = body->region_bytes,
        .positions = positions.data,
        .position_count = positions.count,
    };
    hooks->code_published(t->engine->config.hooks_user, &code);
    vec_fini(&positions);
}

static int finish(struct code_translator *t, struct code_body *body, const char *host_name)
{
    int status = emit_end(t, body);
    if (status != 0)
        return status;
    struct code_body **known = vec_push(&t->engine->bodies);
    if (!known)
        return -ENOMEM;
    *known = body;
    publish(t, body, host_name);
    const void *entry = body->region ? (const void *)body->region : (const void *)run_next_code;
    atomic_store_explicit(&body->entry, entry, memory_order_release);
    return 0;
}

int code_translate(struct code_body *body)
{
    struct vm_engine *engine = body->program->engine;
    int status = 0;
    pthread_mutex_lock(&engine->lock);
    if (!body->stream) {
        struct code_translator *t = begin(engine);
        if (t) {
            t->program = body->program;
            t->wasm = body->program->wasm;
            t->func = &t->wasm->funcs[body->funcidx];
            t->type = &t->wasm->types[t->func->typeidx];
            t->bytecode_offset = t->func->body.offset;
            begin_locals(t);
            translate_body(t);
        }
        status = t ? finish(t, body, NULL) : -ENOMEM;
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

int code_host_body(struct vm_engine *engine, struct code_body *body, const char *name)
{
    pthread_mutex_lock(&engine->lock);
    struct code_translator *t = begin(engine);
    if (t)
        emit(t, CODE_host_call);
    int status = t ? finish(t, body, name) : -ENOMEM;
    pthread_mutex_unlock(&engine->lock);
    return status;
}
