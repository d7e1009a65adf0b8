/* Where the operand stack's values are while a function is translated.
 *
 * local.get and constants emit nothing: they are noted, and the instruction that uses them folds them in, as a slot of
 * the frame or an immediate. Results stay in registers until they are used, or until something else needs the register,
 * and then go to the slot that is theirs by their position on the stack. After local.set the register goes on holding a
 * copy of the local, so a use soon after costs nothing. Registers mean nothing across a label that is branched to.
 *
 * The allocator takes what it gets: a register that holds nothing, else the copy that was made longest ago, else the
 * value deepest in the stack goes to its slot. It is linear in the code and never looks ahead. */
#include "vm/code/translator.h"

static struct local_state *local_state(struct code_translator *t, uint32_t local)
{
    return vec_at(&t->local_state, local);
}
static uint8_t local_type(const struct code_translator *t, uint32_t local)
{
    return *(uint8_t *)vec_at(&t->local_types, local);
}
static struct register_file *file_of(struct code_translator *t, uint8_t type)
{
    return is_float(type) ? &t->floats : &t->integers;
}
static struct value *at(struct code_translator *t, uint32_t position)
{
    return vec_at(&t->values, position);
}

void code_values_begin(struct code_translator *t)
{
    t->values.count = 0;
    t->max_height = t->flushed = 0;
    t->integers = (struct register_file){.states = t->integer_states, .count = INTEGER_REGISTERS};
    t->floats = (struct register_file){.states = t->float_states, .count = FLOAT_REGISTERS};
    for (int i = 0; i < INTEGER_REGISTERS; i++)
        t->integer_states[i] = (struct register_state){NO_OWNER, NO_LOCAL};
    for (int i = 0; i < FLOAT_REGISTERS; i++)
        t->float_states[i] = (struct register_state){NO_OWNER, NO_LOCAL};
}

void code_values_fini(struct code_translator *t)
{
    vec_fini(&t->values);
    vec_fini(&t->local_types);
    vec_fini(&t->local_state);
}

/* ---- registers ---- */

static void forget_copy(struct code_translator *t, struct register_file *file, uint8_t reg)
{
    if (file->states[reg].local != NO_LOCAL) {
        local_state(t, file->states[reg].local)->reg = NO_REGISTER;
        file->states[reg].local = NO_LOCAL;
    }
}

static void make_copy(struct code_translator *t, struct register_file *file, uint8_t reg, uint32_t local)
{
    struct local_state *state = local_state(t, local);
    if (state->reg != NO_REGISTER)
        forget_copy(t, file, state->reg);
    forget_copy(t, file, reg);
    file->states[reg].local = local;
    state->reg = reg;
}

/* Sends the value that owns the register to its slot. */
static void spill(struct code_translator *t, struct register_file *file, uint8_t reg)
{
    struct value *value = at(t, file->states[reg].owner);
    code_store_value(t, value, stack_slot(t, value->position));
    value->place = PLACE_SLOT;
    file->states[reg].owner = NO_OWNER;
}

static bool find_free(const struct register_file *file, uint8_t *reg)
{
    for (uint8_t i = 0; i < file->count; i++) {
        if (!(file->pinned >> i & 1) && file->states[i].owner == NO_OWNER && file->states[i].local == NO_LOCAL) {
            *reg = i;
            return true;
        }
    }
    return false;
}

static uint8_t take_register(struct code_translator *t, struct register_file *file)
{
    uint8_t reg = 0;
    if (find_free(file, &reg))
        goto found;
    for (uint8_t i = 0; i < file->count; i++) {
        reg = (uint8_t)((file->victim + i) % file->count);
        if (!(file->pinned >> reg & 1) && file->states[reg].owner == NO_OWNER) {
            file->victim = (uint8_t)((reg + 1) % file->count);
            forget_copy(t, file, reg);
            goto found;
        }
    }
    /* An instruction pins at most three registers, fewer than either file has. */
    uint32_t deepest = UINT32_MAX;
    for (uint8_t i = 0; i < file->count; i++) {
        if (!(file->pinned >> i & 1) && file->states[i].owner < deepest) {
            deepest = file->states[i].owner;
            reg = i;
        }
    }
    spill(t, file, reg);
found:
    file->pinned |= (uint8_t)(1u << reg);
    return reg;
}

uint8_t code_new_integer(struct code_translator *t)
{
    return take_register(t, &t->integers);
}
uint8_t code_new_float(struct code_translator *t)
{
    return take_register(t, &t->floats);
}

void code_claim_integer0(struct code_translator *t)
{
    if (t->integers.states[0].owner != NO_OWNER)
        spill(t, &t->integers, 0);
    forget_copy(t, &t->integers, 0);
    t->integers.pinned |= 1;
}

void code_values_release(struct code_translator *t)
{
    t->integers.pinned = t->floats.pinned = 0;
}

/* ---- the stack ---- */

static struct value *push(struct code_translator *t, struct value value)
{
    value.position = (uint32_t)t->values.count;
    struct value *pushed = vec_append(&t->values, &value, 1);
    if (!pushed)
        t->failed = true;
    else if (t->values.count > t->max_height)
        t->max_height = (uint32_t)t->values.count;
    return pushed;
}

void code_push_slot(struct code_translator *t, uint8_t type)
{
    push(t, (struct value){.place = PLACE_SLOT, .type = type});
}

void code_push_slots(struct code_translator *t, const uint32_t *types, uint32_t count)
{
    uint32_t position = (uint32_t)t->values.count;
    struct value *pushed = vec_append(&t->values, NULL, count);
    if (!pushed) {
        t->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        pushed[i] = (struct value){.place = PLACE_SLOT, .type = (uint8_t)types[i], .position = position + i};
    if (t->values.count > t->max_height)
        t->max_height = (uint32_t)t->values.count;
    t->flushed = (uint32_t)t->values.count;
}

void code_push_local(struct code_translator *t, uint32_t local)
{
    if (push(t, (struct value){.place = PLACE_LOCAL, .type = local_type(t, local), .local = local}))
        local_state(t, local)->pending++;
}

void code_push_const(struct code_translator *t, uint8_t type, uint64_t bits)
{
    push(t, (struct value){.place = PLACE_CONST, .type = type, .bits = bits});
}

void code_push_register(struct code_translator *t, uint8_t type, uint8_t reg)
{
    struct register_file *file = file_of(t, type);
    forget_copy(t, file, reg);
    struct value *value =
        push(t, (struct value){.place = is_float(type) ? PLACE_FLOAT : PLACE_INTEGER, .type = type, .reg = reg});
    if (value)
        file->states[reg].owner = value->position;
}

struct value code_pop(struct code_translator *t)
{
    if (t->values.count == 0) /* only after a failure */
        return (struct value){.place = PLACE_CONST, .type = WASM_I32};
    struct value value = *at(t, (uint32_t)--t->values.count);
    if (value.place == PLACE_INTEGER || value.place == PLACE_FLOAT) {
        struct register_file *file = file_of(t, value.type);
        file->states[value.reg].owner = NO_OWNER;
        file->pinned |= (uint8_t)(1u << value.reg);
    } else if (value.place == PLACE_LOCAL) {
        struct local_state *state = local_state(t, value.local);
        state->pending--;
        if (state->reg != NO_REGISTER)
            file_of(t, value.type)->pinned |= (uint8_t)(1u << state->reg);
    }
    if (t->flushed > t->values.count)
        t->flushed = (uint32_t)t->values.count;
    return value;
}

void code_values_truncate(struct code_translator *t, uint32_t height)
{
    while (t->values.count > height && t->values.count > t->flushed)
        code_pop(t);
    if (t->values.count > height) /* what is left is in slots, which nobody keeps an account of */
        t->values.count = t->flushed = height;
    code_values_release(t);
}

/* ---- moving values ---- */

static bool in_copy(struct code_translator *t, const struct value *value, uint8_t *reg)
{
    if (value->place != PLACE_LOCAL || local_state(t, value->local)->reg == NO_REGISTER)
        return false;
    *reg = local_state(t, value->local)->reg;
    return true;
}

static uint32_t slot_of(const struct code_translator *t, const struct value *value)
{
    return value->place == PLACE_LOCAL ? local_slot(value->local) : stack_slot(t, value->position);
}

void code_store_value(struct code_translator *t, const struct value *value, uint32_t slot)
{
    uint8_t reg = value->reg;
    if (value->place == PLACE_CONST) {
        bool is_short = value->bits <= UINT32_MAX;
        code_emit(t, is_short ? CODE_const32_slot : CODE_const64_slot);
        code_emit_u32(t, slot);
        if (is_short)
            code_emit_u32(t, (uint32_t)value->bits);
        else
            code_emit_u64(t, value->bits);
    } else if (value->place == PLACE_INTEGER || value->place == PLACE_FLOAT || in_copy(t, value, &reg)) {
        code_emit(t, (is_float(value->type) ? CODE_float_store_slot : CODE_store_slot) + reg);
        code_emit_u32(t, slot);
    } else if (slot_of(t, value) != slot) {
        code_emit(t, CODE_copy_slot);
        code_emit_u32(t, slot);
        code_emit_u32(t, slot_of(t, value));
    }
}

void code_load_value(struct code_translator *t, const struct value *value, uint8_t reg)
{
    bool floating = is_float(value->type);
    uint8_t from = value->reg;
    if (value->place == PLACE_INTEGER || value->place == PLACE_FLOAT || in_copy(t, value, &from)) {
        if (from != reg)
            code_emit(t, floating ? CODE_float_copy + reg * FLOAT_REGISTERS + from
                                  : CODE_copy + reg * INTEGER_REGISTERS + from);
    } else if (value->place != PLACE_CONST) {
        code_emit(t, (floating ? CODE_float_load_slot : CODE_load_slot) + reg);
        code_emit_u32(t, slot_of(t, value));
    } else if (floating || value->bits > UINT32_MAX) {
        code_emit(t, (floating ? CODE_float_const : CODE_const64) + reg);
        code_emit_u64(t, value->bits);
    } else {
        code_emit(t, CODE_const32 + reg);
        code_emit_u32(t, (uint32_t)value->bits);
    }
}

static uint8_t own(struct code_translator *t, struct value *value)
{
    if (value->place == PLACE_INTEGER || value->place == PLACE_FLOAT)
        return value->reg;
    uint8_t reg = take_register(t, file_of(t, value->type));
    code_load_value(t, value, reg);
    return reg;
}

static uint8_t use(struct code_translator *t, struct value *value)
{
    uint8_t reg;
    if (in_copy(t, value, &reg))
        return reg;
    reg = own(t, value);
    if (value->place == PLACE_LOCAL)
        make_copy(t, file_of(t, value->type), reg, value->local);
    return reg;
}

uint8_t code_own_integer(struct code_translator *t, struct value *value)
{
    return own(t, value);
}
uint8_t code_own_float(struct code_translator *t, struct value *value)
{
    return own(t, value);
}
uint8_t code_use_integer(struct code_translator *t, struct value *value)
{
    return use(t, value);
}
uint8_t code_use_float(struct code_translator *t, struct value *value)
{
    return use(t, value);
}

/* A local is read from its slot only where loading it into a register, to be found there again, would push something
 * out. */
static bool wants_slot(struct code_translator *t, const struct value *value)
{
    uint8_t reg;
    if (value->place == PLACE_SLOT)
        return true;
    return value->place == PLACE_LOCAL && !in_copy(t, value, &reg) && !find_free(file_of(t, value->type), &reg);
}

static bool fits_immediate(const struct value *value)
{
    return value->place == PLACE_CONST && !is_float(value->type) &&
           (value->type == WASM_I32 || (int64_t)value->bits == (int32_t)value->bits);
}

uint8_t code_kind_rsi(struct code_translator *t, struct value *value)
{
    if (fits_immediate(value))
        return INTEGER_IMMEDIATE;
    if (wants_slot(t, value))
        return INTEGER_SLOT;
    value->reg = use(t, value);
    value->place = PLACE_INTEGER;
    return value->reg;
}

uint8_t code_kind_rs(struct code_translator *t, struct value *value)
{
    if (wants_slot(t, value))
        return INTEGER_SLOT;
    value->reg = use(t, value);
    value->place = PLACE_INTEGER;
    return value->reg;
}

uint8_t code_kind_fs(struct code_translator *t, struct value *value)
{
    if (wants_slot(t, value))
        return FLOAT_SLOT;
    value->reg = use(t, value);
    value->place = PLACE_FLOAT;
    return value->reg;
}

void code_operand_emit(struct code_translator *t, const struct value *value)
{
    if (value->place == PLACE_CONST)
        code_emit_u32(t, (uint32_t)value->bits);
    else if (value->place == PLACE_SLOT || value->place == PLACE_LOCAL)
        code_emit_u32(t, slot_of(t, value));
}

/* ---- locals ---- */

#define SETTLE_SEARCH_MAX 64

/* Values of the stack that stand for the local's present value, before it changes. The first takes over the register
 * that holds a copy, if there is one. */
static void settle_pending(struct code_translator *t, uint32_t local)
{
    struct local_state *state = local_state(t, local);
    struct register_file *file = file_of(t, local_type(t, local));
    if (state->pending && t->values.count - t->flushed > SETTLE_SEARCH_MAX)
        code_flush(t); /* all of them, so that no later local.set has to search the same values again */
    for (uint32_t i = (uint32_t)t->values.count; state->pending && i-- > t->flushed;) {
        struct value *value = at(t, i);
        if (value->place != PLACE_LOCAL || value->local != local)
            continue;
        uint8_t reg = state->reg;
        if (reg != NO_REGISTER && !(file->pinned >> reg & 1)) {
            forget_copy(t, file, reg);
            file->states[reg].owner = i;
            value->place = is_float(value->type) ? PLACE_FLOAT : PLACE_INTEGER;
            value->reg = reg;
        } else {
            code_store_value(t, value, stack_slot(t, i));
            value->place = PLACE_SLOT;
        }
        state->pending--;
    }
}

void code_set_local(struct code_translator *t, uint32_t local)
{
    struct value value = code_pop(t);
    struct local_state *state = local_state(t, local);
    if (value.place == PLACE_LOCAL && value.local == local) {
        code_values_release(t);
        return;
    }
    settle_pending(t, local);
    struct register_file *file = file_of(t, local_type(t, local));
    uint8_t reg;
    if (value.place == PLACE_LOCAL && !in_copy(t, &value, &reg) && find_free(file, &reg))
        use(t, &value);
    code_store_value(t, &value, local_slot(local));
    if (value.place == PLACE_INTEGER || value.place == PLACE_FLOAT)
        make_copy(t, file, value.reg, local);
    else if (state->reg != NO_REGISTER)
        forget_copy(t, file, state->reg);
    code_values_release(t);
}

/* ---- at the edges of basic blocks ---- */

static void settle(struct code_translator *t, struct value *value)
{
    code_store_value(t, value, stack_slot(t, value->position));
    if (value->place == PLACE_INTEGER || value->place == PLACE_FLOAT)
        file_of(t, value->type)->states[value->reg].owner = NO_OWNER;
    else if (value->place == PLACE_LOCAL)
        local_state(t, value->local)->pending--;
    value->place = PLACE_SLOT;
}

void code_flush(struct code_translator *t)
{
    for (uint32_t i = t->flushed; i < t->values.count; i++)
        settle(t, at(t, i));
    t->flushed = (uint32_t)t->values.count;
}

void code_flush_top(struct code_translator *t, uint32_t count)
{
    if (count > CODE_MOVES_MAX) {
        code_flush(t); /* so that the next branch with as many finds nothing to do */
        return;
    }
    for (uint32_t i = (uint32_t)t->values.count - count; i < t->values.count; i++)
        settle(t, at(t, i));
}

void code_move_top(struct code_translator *t, uint32_t count, uint32_t slot)
{
    uint32_t first = (uint32_t)t->values.count - count, from = stack_slot(t, first);
    if (count <= CODE_MOVES_MAX) {
        for (uint32_t i = 0; i < count; i++)
            code_store_value(t, at(t, first + i), slot + 8 * i);
    } else if (from != slot) {
        code_emit(t, CODE_copy_slots);
        code_emit_u32(t, slot);
        code_emit_u32(t, from);
        code_emit_u32(t, count);
    }
}

static void forget_file(struct code_translator *t, struct register_file *file)
{
    for (uint8_t i = 0; i < file->count; i++)
        forget_copy(t, file, i);
}

void code_forget_registers(struct code_translator *t)
{
    forget_file(t, &t->integers);
    forget_file(t, &t->floats);
}

void code_remember_locals(struct code_translator *t, struct control *control)
{
    for (int i = 0; i < INTEGER_REGISTERS; i++)
        control->integer_locals[i] = t->integer_states[i].local;
    for (int i = 0; i < FLOAT_REGISTERS; i++)
        control->float_locals[i] = t->float_states[i].local;
}

void code_restore_locals(struct code_translator *t, const struct control *control)
{
    code_forget_registers(t);
    for (uint8_t i = 0; i < INTEGER_REGISTERS; i++)
        if (control->integer_locals[i] != NO_LOCAL)
            make_copy(t, &t->integers, i, control->integer_locals[i]);
    for (uint8_t i = 0; i < FLOAT_REGISTERS; i++)
        if (control->float_locals[i] != NO_LOCAL)
            make_copy(t, &t->floats, i, control->float_locals[i]);
}
