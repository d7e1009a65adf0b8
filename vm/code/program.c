/* What a module needs to be run, once for all its instances: where their cells are, its types' engine-wide numbers, and
 * a body for each function, which starts out pointing at the translator. */
#include "vm/code/program.h"

#include <stdlib.h>

#include "vm/code/engine.h"
#include "vm/run/entry.h"
#include "vm/run/instance.h"

int code_program_init(struct code_program *program, struct err *err)
{
    const struct wasm_module *wasm = program->wasm;
    uint32_t defined = wasm->func_count - wasm->imported_func_count;
    program->bodies = calloc(defined + 1, sizeof *program->bodies);
    program->types = calloc(wasm->type_count + 1, sizeof *program->types);
    if (!program->bodies || !program->types)
        return err_set(err, ERR_RESOURCE, 0, "no memory for %u functions", defined);
    for (uint32_t i = 0; i < defined; i++) {
        struct code_body *body = &program->bodies[i];
        atomic_init(&body->entry, run_translate_code);
        body->program = program;
        body->funcidx = wasm->imported_func_count + i;
    }
    for (uint32_t i = 0; i < wasm->type_count; i++) {
        const struct wasm_functype *type = &wasm->types[i];
        program->types[i] =
            code_engine_type(program->engine, type->params, type->param_count, type->results, type->result_count);
        if (program->types[i] == UINT32_MAX)
            return err_set(err, ERR_RESOURCE, 0, "no memory for %u types", wasm->type_count);
    }
    program->func_cells = sizeof(struct vm_instance);
    program->table_cells = program->func_cells + 8 * wasm->imported_func_count;
    program->global_cells = program->table_cells + 8 * wasm->table_count;
    program->instance_bytes = program->global_cells + 8 * wasm->global_count;
    return 0;
}

void code_program_fini(struct code_program *program)
{
    uint32_t defined = program->wasm->func_count - program->wasm->imported_func_count;
    if (program->bodies) {
        code_engine_forget(program->engine, program->bodies, defined);
        for (uint32_t i = 0; i < defined; i++) {
            free((void *)program->bodies[i].stream);
            free(program->bodies[i].positions);
            free(program->bodies[i].blocks);
        }
    }
    free(program->bodies);
    free(program->types);
}

/* The last position for which the condition holds of `at`; positions ascend. */
#define LAST_POSITION(condition)                                   \
    uint32_t low = 0, high = body->position_count;                 \
    while (low < high) {                                           \
        uint32_t middle = low + (high - low) / 2;                  \
        const struct code_position *at = &body->positions[middle]; \
        if (condition)                                             \
            low = middle + 1;                                      \
        else                                                       \
            high = middle;                                         \
    }                                                              \
    return low ? body->positions[low - 1].bytecode_offset : 0

/* In a region the stream stands at the first operand, which an instruction without operands shares with the next; those
 * cannot trap or call. In place it stands behind the handler's address, and perhaps behind the operands too. */
uint32_t code_position_of_stream(const struct code_body *body, const uint8_t *stream)
{
    uintptr_t offset = (uintptr_t)stream - (uintptr_t)body->stream;
    bool in_place = !body->region;
    LAST_POSITION(in_place ? at->stream_offset < offset : at->stream_offset <= offset);
}

uint32_t code_position_of_address(const struct code_body *body, const void *address)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)body->region;
    LAST_POSITION(at->region_offset <= offset);
}

uint32_t code_instructions_between(const struct wasm_module *wasm, uint32_t first, uint32_t end)
{
    uint32_t count = 0;
    while (first < end) {
        struct wasm_instruction instruction;
        first = wasm_decode(wasm, first, &instruction);
        count += instruction.opcode != WASM_OP_end && instruction.opcode != WASM_OP_else;
    }
    return count;
}

uint32_t code_instructions_after(const struct code_body *body, uint32_t bytecode_offset)
{
    uint32_t low = 0, high = body->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (body->blocks[middle].bytecode_offset <= bytecode_offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct code_block *block = &body->blocks[low - 1];
    return block->count - code_instructions_between(body->program->wasm, block->bytecode_offset, bytecode_offset + 1);
}
