/* Control flow of a translation: conditions that branches are fused with, labels, and the values that cross them.
 *
 * At a label that is branched to, every value is in its own slot and no register holds anything. A conditional branch
 * whose label takes values moves them only where they do not stand there already, on the taken path alone. */
#include "vm/code/translator.h"

/* ---- conditions ---- */

static void emit_branch(struct code_translator *t, const struct condition *condition, bool sense, uint32_t label)
{
    code_emit(t, sense ? condition->when_true : condition->when_false);
    code_operand_emit(t, &condition->second);
    code_emit_target(t, label);
}

/* eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u: what holds where each does not, and with the operands exchanged. */
static const uint8_t inverse[10] = {1, 0, 8, 9, 6, 7, 4, 5, 2, 3};
static const uint8_t mirrored[10] = {0, 1, 4, 5, 2, 3, 8, 9, 6, 7};

static uint32_t integer_comparison(enum wasm_opcode opcode, bool *is_64)
{
    *is_64 = opcode >= WASM_OP_i64_eq;
    return opcode - (*is_64 ? WASM_OP_i64_eq : WASM_OP_i32_eq);
}

bool code_is_float_comparison(enum wasm_opcode opcode)
{
    return opcode >= WASM_OP_f32_eq && opcode <= WASM_OP_f64_ge;
}

void code_compare_integers(enum wasm_opcode opcode, struct value *first, struct value *second, uint32_t *which,
                           bool *is_64)
{
    *which = integer_comparison(opcode, is_64);
    if (first->place == PLACE_CONST && second->place != PLACE_CONST) {
        struct value exchanged = *first;
        *first = *second;
        *second = exchanged;
        *which = mirrored[*which];
    }
}

struct condition code_integer_condition(struct code_translator *t, enum wasm_opcode opcode)
{
    struct value second = code_pop(t), first = code_pop(t);
    uint32_t which;
    bool is_64;
    code_compare_integers(opcode, &first, &second, &which, &is_64);
    uint8_t kind = code_kind_rsi(t, &second);
    uint32_t member = code_use_integer(t, &first) * COUNT_RSI + kind;
    uint32_t base = is_64 ? CODE_br_i64_eq : CODE_br_i32_eq;
    return (struct condition){base + which * SHAPE_COUNT_R_RSI + member,
                              base + inverse[which] * SHAPE_COUNT_R_RSI + member, second};
}

/* eq ne lt gt le ge, as offsets of families from br_f32_eq or br_f64_eq; gt and ge exchange their operands. */
static const uint8_t float_true[6] = {0, 1, 2, 2, 4, 4};
static const uint8_t float_false[6] = {1, 0, 3, 3, 5, 5};

bool code_float_exchanges(uint32_t which)
{
    return which == 3 || which == 5;
}

struct condition code_float_condition(struct code_translator *t, enum wasm_opcode opcode)
{
    bool is_64 = opcode >= WASM_OP_f64_eq;
    uint32_t which = opcode - (is_64 ? WASM_OP_f64_eq : WASM_OP_f32_eq);
    struct value second = code_pop(t), first = code_pop(t);
    if (code_float_exchanges(which)) {
        struct value exchanged = first;
        first = second;
        second = exchanged;
    }
    uint8_t kind = code_kind_fs(t, &second);
    uint32_t member = code_use_float(t, &first) * COUNT_FS + kind;
    uint32_t base = is_64 ? CODE_br_f64_eq : CODE_br_f32_eq;
    return (struct condition){base + float_true[which] * SHAPE_COUNT_F_FS + member,
                              base + float_false[which] * SHAPE_COUNT_F_FS + member, second};
}

struct condition code_zero_condition(struct code_translator *t, bool is_64)
{
    struct value value = code_pop(t);
    uint8_t kind = is_64 ? code_use_integer(t, &value) : code_kind_rs(t, &value);
    if (kind == INTEGER_SLOT)
        return (struct condition){CODE_br_i32_zero_slot, CODE_br_i32_nonzero_slot, value};
    value.place = PLACE_INTEGER;
    return (struct condition){(is_64 ? CODE_br_i64_zero : CODE_br_i32_zero) + kind,
                              (is_64 ? CODE_br_i64_nonzero : CODE_br_i32_nonzero) + kind, value};
}

void code_invert(struct condition *condition)
{
    uint32_t when_true = condition->when_true;
    condition->when_true = condition->when_false;
    condition->when_false = when_true;
}

/* An i32 on the stack, as a condition. */
struct condition code_popped_condition(struct code_translator *t)
{
    struct condition condition = code_zero_condition(t, false);
    code_invert(&condition);
    return condition;
}

/* ---- control ---- */

static struct control *control_at(struct code_translator *t, uint32_t depth)
{
    return vec_at(&t->controls, t->controls.count - 1 - depth);
}

struct control *code_push_control(struct code_translator *t, enum wasm_opcode opcode)
{
    struct control *control = vec_push(&t->controls);
    if (!control) {
        t->failed = true;
        return NULL;
    }
    control->opcode = opcode;
    control->label = code_emit_label(t);
    control->was_reachable = t->is_reachable;
    return control;
}

/* How many values a branch to the label takes along. */
static uint32_t branch_count(const struct control *control)
{
    return control->opcode == WASM_OP_loop ? control->start_count : control->end_count;
}

/* True where the topmost `count` values already stand where the label expects them. */
static bool is_in_place(const struct code_translator *t, const struct control *control, uint32_t count)
{
    return t->values.count - count == control->height;
}

/* Moves the topmost `count` values to the label's slots, changing nothing that the translator knows, and goes there. */
static void branch_with(struct code_translator *t, const struct control *control, uint32_t count)
{
    code_move_top(t, count, stack_slot(t, control->height));
    code_emit(t, CODE_br);
    code_emit_target(t, control->label);
}

void code_emit_return(struct code_translator *t)
{
    uint32_t count = t->type->result_count;
    if (count > 1 || (count && t->observed))
        code_flush_top(t, count); /* the slots below may be theirs; an observer leaves nothing in registers */
    if (count > 1)
        code_move_top(t, count, 0);
    code_observe_leave(t, VM_LEAVE_RETURN);
    if (count == 1) {
        struct value value = code_pop(t);
        code_load_value(t, &value, 0);
    }
    code_emit(t, CODE_leave);
    t->is_reachable = false;
}

void code_branch(struct code_translator *t, uint32_t depth)
{
    struct control *control = control_at(t, depth);
    if (depth + 1 == t->controls.count) {
        code_emit_return(t);
        return;
    }
    uint32_t count = branch_count(control);
    if (count > CODE_MOVES_MAX)
        code_flush_top(t, count);
    branch_with(t, control, count);
    control->is_branched_to = true;
    t->is_reachable = false;
}

void code_branch_if(struct code_translator *t, const struct condition *condition, uint32_t depth)
{
    struct control *control = control_at(t, depth);
    uint32_t count = branch_count(control);
    bool in_place = is_in_place(t, control, count);
    control->is_branched_to = true;
    if (in_place || count > CODE_MOVES_MAX)
        code_flush_top(t, count);
    if (in_place || count == 0) {
        emit_branch(t, condition, true, control->label);
        t->is_block_start = true;
    } else {
        uint32_t skip = code_emit_label(t);
        emit_branch(t, condition, false, skip);
        branch_with(t, control, count);
        code_emit_bind(t, skip);
    }
}

void code_branch_table(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct value index = code_pop(t);
    uint8_t reg = code_use_integer(t, &index);
    code_flush(t);
    code_emit(t, CODE_br_table + reg);
    code_emit_u32(t, instruction->count);
    const uint8_t *at = instruction->list;
    for (uint32_t i = 0; i <= instruction->count; i++) {
        struct control *control = control_at(t, wasm_leb_u32(&at));
        uint32_t count = branch_count(control);
        bool needs_stub = count && !is_in_place(t, control, count);
        control->is_branched_to = true;
        if (needs_stub && !control->stub)
            control->stub = 1 + code_emit_label(t);
        code_emit_target(t, needs_stub ? control->stub - 1 : control->label);
    }
    at = instruction->list;
    for (uint32_t i = 0; i <= instruction->count; i++) {
        struct control *control = control_at(t, wasm_leb_u32(&at));
        if (control->stub) {
            code_emit_bind(t, control->stub - 1);
            branch_with(t, control, branch_count(control));
            control->stub = 0;
        }
    }
    t->is_reachable = false;
}

struct control *code_begin_block(struct code_translator *t, const struct wasm_instruction *instruction)
{
    code_flush(t);
    struct control *control = code_push_control(t, instruction->opcode);
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

void code_begin_loop(struct code_translator *t, const struct wasm_instruction *instruction)
{
    struct control *control = code_begin_block(t, instruction);
    if (!control)
        return;
    code_forget_registers(t);
    code_emit_bind(t, control->label);
}

void code_begin_if(struct code_translator *t, const struct wasm_instruction *instruction,
                   const struct condition *condition)
{
    struct control *control = code_begin_block(t, instruction);
    if (!control)
        return;
    control->else_label = code_emit_label(t);
    code_remember_locals(t, control);
    emit_branch(t, condition, false, control->else_label);
    t->is_block_start = true;
}

void code_begin_else(struct code_translator *t)
{
    struct control *control = control_at(t, 0);
    if (t->is_reachable) {
        code_flush_top(t, control->end_count);
        code_emit(t, CODE_br);
        code_emit_target(t, control->label);
        control->is_branched_to = true;
    }
    code_values_truncate(t, control->height);
    code_push_slots(t, control->start_types, control->start_count);
    code_emit_bind(t, control->else_label);
    code_restore_locals(t, control);
    control->opcode = WASM_OP_else;
    t->is_reachable = control->was_reachable;
}

void code_end_block(struct code_translator *t)
{
    struct control control = *control_at(t, 0);
    bool has_else_edge = control.opcode == WASM_OP_if; /* an `if` without else: its condition may skip it */
    bool is_merge = control.opcode != WASM_OP_loop && (control.is_branched_to || has_else_edge);
    const uint32_t *types = control.is_short ? &control.short_type : control.end_types;
    if (is_merge || !t->is_reachable) {
        if (t->is_reachable)
            code_flush_top(t, control.end_count);
        code_values_truncate(t, control.height);
        code_push_slots(t, types, control.end_count);
    }
    if (is_merge) {
        if (has_else_edge)
            code_emit_bind(t, control.else_label);
        code_emit_bind(t, control.label);
        code_forget_registers(t);
        t->is_reachable = true;
    }
    t->controls.count--;
}
