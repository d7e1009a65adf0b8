/* program: a module made runnable: its functions' bodies, translated one by one as they are first called.
 *
 * A program belongs to one module of one engine and is shared by all its instances. Translation takes the engine's
 * lock; a body's `entry` is stored last, so a thread that sees the new entry sees everything else.
 */
#ifndef GLASSBOX_VM_CODE_PROGRAM_H
#define GLASSBOX_VM_CODE_PROGRAM_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/vec.h"
#include "vm/glassbox.h"
#include "vm/run/layout.h"
#include "vm/wasm/module.h"

/* Where one bytecode instruction begins in the stream and the region. Ascending in all three. */
struct code_position {
    uint32_t stream_offset;
    uint32_t region_offset;
    uint32_t bytecode_offset;
};

/* A basic block of a function that counts: where it begins and how many bytecode instructions it has. Ascending. */
struct code_block {
    uint32_t bytecode_offset;
    uint32_t count;
};

/* One function's translation. Until then entry is run_translate. */
struct code_body {
    _Atomic(const void *) entry;
    const uint8_t *stream;
    struct code_program *program; /* NULL: a host function's region */
    uint32_t funcidx;
    uint32_t stream_bytes;
    const uint8_t *region; /* NULL in shared dispatch */
    uint32_t region_bytes;
    uint32_t position_count;
    struct code_position *positions;
    void *observed;            /* what the hooks made of the function; NULL: it is not observed */
    struct code_block *blocks; /* of a function that counts its instructions */
    uint32_t block_count;
};

static_assert(offsetof(struct code_body, entry) == BODY_ENTRY, "layout.h");
static_assert(offsetof(struct code_body, stream) == BODY_STREAM, "layout.h");

struct code_program {
    struct vm_engine *engine;
    struct vm_module *module;
    struct wasm_module *wasm;
    struct code_body *bodies; /* of the defined functions */
    uint32_t *types;          /* engine-wide number of each of the module's types */
    /* Offsets of an instance's cells from the instance. */
    uint32_t func_cells;
    uint32_t table_cells;
    uint32_t global_cells;
    uint32_t instance_bytes;
};

struct vm_module {
    struct code_program program;
    char *name;
};

static inline const struct code_program *code_program_of(const struct vm_module *module)
{
    return &module->program;
}

/* Lays out the cells and the bodies. `program->wasm`, `module` and `engine` are set. */
int code_program_init(struct code_program *program, struct err *err) __attribute__((warn_unused_result));
void code_program_fini(struct code_program *program);

/* Translates the body if nobody has yet and makes it runnable. 0 or a negative errno. Called by run_translate. */
int code_translate(struct code_body *body);

/* The region of a host function: it needs one, since perf shows it by name. */
int code_host_body(struct vm_engine *engine, struct code_body *body, const struct vm_functype *type, const char *name)
    __attribute__((warn_unused_result));

/* The instruction that the stream pointer or the machine code address stands in: offset in the module, or 0. */
uint32_t code_position_of_stream(const struct code_body *body, const uint8_t *stream);
uint32_t code_position_of_address(const struct code_body *body, const void *address);

/* How many instructions begin in [first, end) of a body; `else` and `end` only delimit, so they are none. */
uint32_t code_instructions_between(const struct wasm_module *wasm, uint32_t first, uint32_t end);

/* How many instructions of the basic block at a position are behind it: counted already, but not executed. */
uint32_t code_instructions_after(const struct code_body *body, uint32_t bytecode_offset);

#endif
