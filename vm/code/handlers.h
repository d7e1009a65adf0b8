/* handlers: the numbering of the handlers, and what is known of each.
 *
 * A handler is a family and a member: CODE_i32_add + first * COUNT_RSI + second is the handler that adds to register
 * `first` what the second operand kind names (a register's number, INTEGER_SLOT or INTEGER_IMMEDIATE).
 */
#ifndef GLASSBOX_VM_CODE_HANDLERS_H
#define GLASSBOX_VM_CODE_HANDLERS_H

#include <stdint.h>

#include "vm/code/shapes.h"

enum code_handler {
#define HANDLERS(name, shape, definition, args) CODE_##name, CODE_##name##_last = CODE_##name + SHAPE_COUNT_##shape - 1,
#include "vm/code/handlers.def"
    CODE_HANDLER_COUNT
};

/* Where the kinds that are not registers stand among the members of a shape: RS, RSI and FS, RI. */
#define INTEGER_SLOT INTEGER_REGISTERS
#define INTEGER_IMMEDIATE (INTEGER_REGISTERS + 1)
#define INTEGER_IMMEDIATE_RI INTEGER_REGISTERS
#define FLOAT_SLOT FLOAT_REGISTERS

/* The machine code of one handler, its final jump cut off, for copying into a region. */
struct code_stencil {
    uint32_t offset; /* into code_stencil_bytes */
    uint32_t size_bytes;
};

/* Made at build time from the handlers' object files by stencil_tool; absent in builds without regions. */
extern const struct code_stencil code_stencils[CODE_HANDLER_COUNT];
extern const uint8_t code_stencil_bytes[];

/* The handlers in place, and their names, by enum code_handler. */
extern const void *const run_handlers[CODE_HANDLER_COUNT];
extern const char *const code_handler_names[CODE_HANDLER_COUNT];

#endif
