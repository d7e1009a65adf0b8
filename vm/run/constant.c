/* Constant expressions (§3.4.13), validated before: a little stack machine, since extended constants nest. */
#include "base/vec.h"
#include "vm/run/instance.h"
#include "vm/run/objects.h"

static uint64_t combine(enum wasm_opcode opcode, uint64_t a, uint64_t b)
{
    switch (opcode) {
    case WASM_OP_i32_add: return (uint32_t)(a + b);
    case WASM_OP_i32_sub: return (uint32_t)(a - b);
    case WASM_OP_i32_mul: return (uint32_t)(a * b);
    case WASM_OP_i64_add: return a + b;
    case WASM_OP_i64_sub: return a - b;
    default: return a * b;
    }
}

bool run_constant(struct vm_instance *instance, struct wasm_expr expr, union vm_slot *value)
{
    const struct wasm_module *wasm = code_program_of(instance->module)->wasm;
    struct vec stack = VEC_INIT(sizeof(union vm_slot)); /* below *value, which is the top */
    bool is_first = true, is_complete = true;
    struct wasm_instruction instruction;
    value->i64 = 0;
    for (uint32_t offset = wasm_decode(wasm, expr.offset, &instruction); instruction.opcode != WASM_OP_end;
         offset = wasm_decode(wasm, offset, &instruction)) {
        if (wasm_opcodes[instruction.opcode].lowering == WASM_LOWER_BINARY) {
            union vm_slot *below = vec_at(&stack, --stack.count);
            value->i64 = combine(instruction.opcode, below->i64, value->i64);
            continue;
        }
        if (!is_first && !vec_append(&stack, value, 1)) {
            is_complete = false;
            break;
        }
        is_first = false;
        if (instruction.opcode == WASM_OP_global_get)
            *value = *instance_global(instance, instruction.index);
        else if (instruction.opcode == WASM_OP_ref_func)
            value->funcref = instance_func(instance, instruction.index);
        else
            value->i64 = instruction.immediate; /* a constant; ref.null has 0 */
    }
    vec_fini(&stack);
    return is_complete;
}
