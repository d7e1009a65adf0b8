/* validate: instruction sequences (§3.4, §3.5, with the algorithm of appendix A.3). Internal to vm/wasm.
 *
 * A validator serves one module, expression after expression, while the reader reads it: what the module says before
 * the expression is what the expression may refer to. Errors as in cursor.h.
 */
#ifndef GLASSBOX_VM_WASM_VALIDATE_H
#define GLASSBOX_VM_WASM_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "vm/wasm/cursor.h"
#include "vm/wasm/module.h"

/* An instruction's line of opcodes.def, ready to apply. */
struct wasm_step {
    uint8_t immediate; /* enum wasm_immediate */
    bool is_fixed;     /* the signature below is all there is to its operands */
    uint8_t param_count;
    uint8_t result_count;
    uint8_t params[3];
    uint8_t result;
};

/* A block that is open. */
struct wasm_block {
    const uint32_t *params;
    const uint32_t *results;
    uint32_t param_count;
    uint32_t result_count;
    uint32_t height;      /* operands below belong to the blocks around it */
    uint16_t opcode;      /* enum wasm_opcode: block, loop, if, else; block for a whole body */
    bool is_unreachable;  /* after a branch: the operand stack has any operands one likes */
};

/* The types of a function's first locals stand in a table, so that most local indices cost one load; the others are
 * searched among the runs. A table of all of them would cost 50,000 stores for a function of ten bytes. */
#define WASM_NEAR_LOCALS 128

/* Locals up to `end` that no run before has, parameters apart. */
struct wasm_far_run {
    uint32_t end;
    uint32_t valtype;
};

struct wasm_validator {
    struct wasm_module *module;
    struct wasm_cursor in;
    const uint8_t *instruction; /* the current one: where errors point */
    enum wasm_opcode opcode;
    bool is_constant;

    uint32_t *operands; /* types */
    uint32_t height;
    uint32_t operand_capacity;

    struct wasm_block *blocks; /* blocks[depth - 1] is the innermost */
    uint32_t depth;
    uint32_t block_capacity;

    const struct wasm_functype *func_type;
    uint32_t local_count;
    uint32_t near_locals[WASM_NEAR_LOCALS];
    struct vec far_runs; /* struct wasm_far_run */

    bool *declared; /* functions that `ref.func` may name (C.refs); NULL: none so far */
    bool has_data_count;
    uint32_t data_count;

    struct wasm_step steps[WASM_OPCODE_COUNT];
};

void wasm_validator_init(struct wasm_validator *validator, struct wasm_module *module);
void wasm_validator_fini(struct wasm_validator *validator);

/* `funcidx` occurs outside of function bodies, so bodies may take its reference. Once all functions are known. */
int wasm_validator_declare(struct wasm_validator *validator, struct wasm_cursor *in, uint32_t funcidx);

/* Reads and validates one constant expression (§3.4.15) that must have the type `result`. */
int wasm_validate_constant(struct wasm_validator *validator, struct wasm_cursor *in, uint32_t result,
                           struct wasm_expr *expr);

/* Reads and validates the instructions of `func`, whose locals are known, up to in->end. */
int wasm_validate_body(struct wasm_validator *validator, struct wasm_cursor *in, struct wasm_func *func);

#endif
