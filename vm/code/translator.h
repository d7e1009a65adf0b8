/* translator: the state of one translation, shared by the files that make it up:
 *
 *   translator.c from a body's first call to its publication
 *   translate.c  what each instruction becomes
 *   control.c    conditions, labels, branches
 *   values.c     where the operand stack's values are: registers, constants, locals, slots
 *   emit.c       the operand stream, the region, positions and branch targets
 *
 * Out of memory is noted in `failed` and everything after it does nothing useful but safe things.
 */
#ifndef GLASSBOX_VM_CODE_TRANSLATOR_H
#define GLASSBOX_VM_CODE_TRANSLATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "vm/code/engine.h"
#include "vm/code/handlers.h"
#include "vm/code/program.h"
#include "vm/wasm/module.h"

/* ---- values ---- */

enum place {
    PLACE_SLOT,  /* in its own slot */
    PLACE_LOCAL, /* a local.get not yet carried out */
    PLACE_CONST,
    PLACE_INTEGER, /* in an integer register, which it owns */
    PLACE_FLOAT,   /* in a float register, which it owns */
};

struct value {
    uint8_t place;
    uint8_t type; /* wasm_valtype */
    uint8_t reg;
    uint32_t position; /* on the operand stack */
    uint32_t local;
    uint64_t bits; /* of a constant */
};

#define NO_LOCAL UINT32_MAX
#define NO_OWNER UINT32_MAX

/* A register holds a value of the operand stack (owner), or a copy of a local that its slot holds too (local), or
 * nothing. Owned registers never are copies. */
struct register_state {
    uint32_t owner; /* position */
    uint32_t local;
};

struct register_file {
    struct register_state *states;
    uint8_t count;
    uint8_t pinned; /* bits: in use by the instruction at hand */
    uint8_t victim; /* the next copy to give up */
};

/* ---- control ---- */

struct label {
    uint32_t stream_offset;
    uint32_t region_offset;
};

struct fixup {
    uint32_t stream_offset; /* where the target stands in the stream */
    uint32_t label;
};

struct control {
    enum wasm_opcode opcode; /* block, loop, if, else */
    uint32_t label;          /* where a branch to it goes */
    uint32_t else_label;     /* of an `if` without its else yet */
    uint32_t stub;           /* while a br_table is translated: 1 + the label of what moves its values here, or 0 */
    uint32_t height;         /* of the operand stack below its parameters */
    uint32_t end_count;      /* results */
    const uint32_t *end_types;
    uint32_t start_count; /* parameters */
    const uint32_t *start_types;
    uint32_t short_type; /* the one result of the short form, */
    bool is_short;       /* which end_types cannot point at: the control stack moves */
    bool is_branched_to;
    bool was_reachable;
    uint32_t integer_locals[INTEGER_REGISTERS]; /* copies that registers held at an `if` */
    uint32_t float_locals[FLOAT_REGISTERS];
};

struct code_translator {
    struct vm_engine *engine;
    struct code_program *program;
    const struct wasm_module *wasm;
    const struct wasm_func *func;
    const struct wasm_functype *type;
    bool is_region;
    bool failed;

    /* emit.c */
    struct vec stream;    /* bytes */
    struct vec region;    /* bytes */
    struct vec positions; /* struct code_position */
    struct vec labels;    /* struct label */
    struct vec fixups;    /* struct fixup */
    uint32_t bytecode_offset;

    /* Observation, in translate.c: basic blocks count their instructions, the function says that it begins and ends. */
    bool counts;
    void *observed;
    bool is_block_start; /* the next instruction begins a basic block */
    uint32_t count_at;   /* the operand of the block's count */
    struct vec blocks;   /* struct code_block */

    /* values.c */
    struct vec values;      /* struct value */
    struct vec local_types; /* uint8_t valtype of each local */
    struct vec local_state; /* struct local_state of each local */
    struct register_state integer_states[INTEGER_REGISTERS];
    struct register_state float_states[FLOAT_REGISTERS];
    struct register_file integers;
    struct register_file floats;
    uint32_t stack_base; /* slot of position 0 */
    uint32_t max_height;
    uint32_t flushed; /* positions below are all PLACE_SLOT */

    /* translate.c */
    struct vec controls; /* struct control */
    bool is_reachable;
};

struct local_state {
    uint32_t pending; /* PLACE_LOCAL values of it on the stack */
    uint8_t reg;      /* of its file, that holds a copy, or NO_REGISTER */
};
#define NO_REGISTER 0xff

/* ---- translate.c ---- */

/* Says that the function is left, where it is observed; nothing is live in registers. */
void code_observe_leave(struct code_translator *t, enum vm_leave why);
/* Translates t->func: all of it, or until memory runs out. */
void code_translate_function(struct code_translator *t);

/* ---- translator.c ---- */

void code_translator_destroy(struct code_translator *t);

/* ---- emit.c ---- */

void code_emit_begin(struct code_translator *t);
/* The handler, then its operands, in order. */
void code_emit(struct code_translator *t, uint32_t handler);
void code_emit_u32(struct code_translator *t, uint32_t value);
void code_emit_u64(struct code_translator *t, uint64_t value);
void code_emit_target(struct code_translator *t, uint32_t label);
uint32_t code_emit_label(struct code_translator *t);
void code_emit_bind(struct code_translator *t, uint32_t label);
/* Where the next operand goes, for code_emit_patch_u32. */
uint32_t code_emit_here(const struct code_translator *t);
void code_emit_patch_u32(struct code_translator *t, uint32_t at, uint32_t value);
/* Lays stream and region into memory that stays and fills in the body. 0 or a negative errno. */
int code_emit_end(struct code_translator *t, struct code_body *body);
void code_emit_fini(struct code_translator *t);

/* ---- values.c ---- */

void code_values_begin(struct code_translator *t);
void code_values_fini(struct code_translator *t);

static inline bool is_float(uint8_t valtype)
{
    return valtype == WASM_F32 || valtype == WASM_F64;
}
static inline uint32_t local_slot(uint32_t local)
{
    return local * 8;
}
static inline uint32_t stack_slot(const struct code_translator *t, uint32_t position)
{
    return (t->stack_base + position) * 8;
}

/* Popping a value pins its register until code_values_release: it will not be given to another. */
struct value code_pop(struct code_translator *t);
void code_push_slot(struct code_translator *t, uint8_t type);
/* All values below are in slots, too. */
void code_push_slots(struct code_translator *t, const uint32_t *types, uint32_t count);
void code_push_local(struct code_translator *t, uint32_t local);
void code_push_const(struct code_translator *t, uint8_t type, uint64_t bits);
/* The value is in a register of the file its type says. */
void code_push_register(struct code_translator *t, uint8_t type, uint8_t reg);
/* The instruction is done with its operands. */
void code_values_release(struct code_translator *t);

/* Operands of popped values. `use`: a register that holds it, to be read. `own`: one that may be overwritten. `kind`:
 * the member of an RSI, RS or FS shape, whatever is cheapest; code_operand_emit then emits what the stream needs
 * for it. */
uint8_t code_use_integer(struct code_translator *t, struct value *value);
uint8_t code_use_float(struct code_translator *t, struct value *value);
uint8_t code_own_integer(struct code_translator *t, struct value *value);
uint8_t code_own_float(struct code_translator *t, struct value *value);
uint8_t code_kind_rsi(struct code_translator *t, struct value *value);
uint8_t code_kind_rs(struct code_translator *t, struct value *value);
uint8_t code_kind_fs(struct code_translator *t, struct value *value);
void code_operand_emit(struct code_translator *t, const struct value *value);
/* A register that holds nothing, for a result. */
uint8_t code_new_integer(struct code_translator *t);
uint8_t code_new_float(struct code_translator *t);
/* Integer register 0, for a result that can go nowhere else. */
void code_claim_integer0(struct code_translator *t);

/* Writes the value to a slot; changes no register. */
void code_store_value(struct code_translator *t, const struct value *value, uint32_t slot);
/* Loads it into a certain register; only where nothing else is live in registers. */
void code_load_value(struct code_translator *t, const struct value *value, uint8_t reg);

void code_set_local(struct code_translator *t, uint32_t local);
/* Every value of the operand stack into its own slot. */
void code_flush(struct code_translator *t);
/* The same for the topmost `count` values, at least. */
void code_flush_top(struct code_translator *t, uint32_t count);
/* Writes the topmost `count` values to `slot` and those after it, which are their own or lower ones. Changes nothing
 * that the translator knows. More than CODE_MOVES_MAX are moved as a block and must have been flushed: a branch is an
 * instruction of three bytes and may take 1,000 values along. */
void code_move_top(struct code_translator *t, uint32_t count, uint32_t slot);
#define CODE_MOVES_MAX 8
/* Registers hold nothing: after flush, at a label, after a call. */
void code_forget_registers(struct code_translator *t);
void code_remember_locals(struct code_translator *t, struct control *control);
void code_restore_locals(struct code_translator *t, const struct control *control);
/* Cuts the operand stack to `height`. */
void code_values_truncate(struct code_translator *t, uint32_t height);

/* ---- control.c ---- */

/* What a fused branch tests: register `first` against `second` of the given kind. */
struct condition {
    uint32_t when_true;  /* handler that branches where it holds */
    uint32_t when_false; /* where it does not */
    struct value second; /* what the operand stream needs */
};

struct condition code_integer_condition(struct code_translator *t, enum wasm_opcode opcode);
struct condition code_float_condition(struct code_translator *t, enum wasm_opcode opcode);
struct condition code_zero_condition(struct code_translator *t, bool is_64);
/* An i32 on the stack that is not zero. */
struct condition code_popped_condition(struct code_translator *t);
void code_invert(struct condition *condition);

/* What comparisons to a value share with those that are fused: which of the ten, of what width, constants second. */
void code_compare_integers(enum wasm_opcode opcode, struct value *first, struct value *second, uint32_t *which,
                           bool *is_64);
bool code_is_float_comparison(enum wasm_opcode opcode);
bool code_float_exchanges(uint32_t which);

struct control *code_push_control(struct code_translator *t, enum wasm_opcode opcode);
struct control *code_begin_block(struct code_translator *t, const struct wasm_instruction *instruction);
void code_begin_loop(struct code_translator *t, const struct wasm_instruction *instruction);
void code_begin_if(struct code_translator *t, const struct wasm_instruction *instruction,
                   const struct condition *condition);
void code_begin_else(struct code_translator *t);
void code_end_block(struct code_translator *t);
void code_branch(struct code_translator *t, uint32_t depth);
void code_branch_if(struct code_translator *t, const struct condition *condition, uint32_t depth);
void code_branch_table(struct code_translator *t, const struct wasm_instruction *instruction);
void code_emit_return(struct code_translator *t);

#endif
