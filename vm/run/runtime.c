/* What handlers call C for (runtime.h). Every range is checked before anything is written: an instruction that traps
 * has done nothing. */
#include "vm/run/runtime.h"

#include <string.h>

#include "vm/run/instance.h"
#include "vm/run/objects.h"

/* [at, at + count) lies within size; no sum can wrap, since all three are below 2^33. */
static bool is_within(uint64_t at, uint64_t count, uint64_t size)
{
    return at <= size && count <= size - at;
}

RUNTIME_FUNCTION(ref_func)
{
    slots[0].funcref = instance_func(instance, first);
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_get)
{
    struct vm_table *table = instance_table(instance, first);
    if (slots[0].i32 >= table->count)
        return VM_TRAP_TABLE_OUT_OF_BOUNDS;
    slots[0].funcref = table->elements[slots[0].i32];
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_set)
{
    struct vm_table *table = instance_table(instance, first);
    if (slots[0].i32 >= table->count)
        return VM_TRAP_TABLE_OUT_OF_BOUNDS;
    table->elements[slots[0].i32] = slots[1].funcref;
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_size)
{
    slots[0].i64 = instance_table(instance, first)->count;
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_grow)
{
    slots[0].i64 = run_table_grow(instance_table(instance, first), slots[1].i32, slots[0].externref);
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_fill)
{
    struct vm_table *table = instance_table(instance, first);
    uint32_t at = slots[0].i32, count = slots[2].i32;
    if (!is_within(at, count, table->count))
        return VM_TRAP_TABLE_OUT_OF_BOUNDS;
    for (uint32_t i = 0; i < count; i++)
        table->elements[at + i] = slots[1].funcref;
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_copy)
{
    struct vm_table *destination = instance_table(instance, first), *source = instance_table(instance, second);
    uint32_t to = slots[0].i32, from = slots[1].i32, count = slots[2].i32;
    if (!is_within(to, count, destination->count) || !is_within(from, count, source->count))
        return VM_TRAP_TABLE_OUT_OF_BOUNDS;
    if (count)
        memmove(destination->elements + to, source->elements + from, count * sizeof *source->elements);
    return VM_TRAP_NONE;
}

uint32_t run_table_init(struct vm_instance *instance, uint32_t elemidx, uint32_t tableidx, uint64_t to, uint64_t from,
                        uint64_t count)
{
    const struct wasm_module *wasm = code_program_of(instance->module)->wasm;
    const struct wasm_elem *elem = &wasm->elems[elemidx];
    struct vm_table *table = instance_table(instance, tableidx);
    uint64_t available = instance->dropped_elems[elemidx] ? 0 : elem->count;
    if (!is_within(from, count, available) || !is_within(to, count, table->count))
        return VM_TRAP_TABLE_OUT_OF_BOUNDS;
    const uint8_t *at = wasm->bytes + elem->items.offset;
    for (uint64_t i = 0; i < from + count; i++) {
        union vm_slot element = {0};
        if (elem->is_exprs) {
            struct wasm_expr expr = {(uint32_t)(at - wasm->bytes), 0};
            struct wasm_instruction instruction;
            uint32_t next = expr.offset;
            do
                next = wasm_decode(wasm, next, &instruction);
            while (instruction.opcode != WASM_OP_end);
            at = wasm->bytes + next;
            if (i >= from && !run_constant(instance, expr, &element))
                return VM_TRAP_OUT_OF_MEMORY;
        } else {
            element.funcref = instance_func(instance, wasm_leb_u32(&at));
        }
        if (i >= from)
            table->elements[to + i - from] = element.funcref;
    }
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(table_init)
{
    return run_table_init(instance, first, second, slots[0].i32, slots[1].i32, slots[2].i32);
}

RUNTIME_FUNCTION(elem_drop)
{
    instance->dropped_elems[first] = 1;
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(memory_size)
{
    slots[0].i64 = instance->memories[first]->size_pages;
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(memory_grow)
{
    slots[0].i64 = run_memory_grow(instance->memories[first], slots[0].i32);
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(memory_fill)
{
    struct vm_memory *memory = instance->memories[first];
    if (!is_within(slots[0].i32, slots[2].i32, vm_memory_size_bytes(memory)))
        return VM_TRAP_MEMORY_OUT_OF_BOUNDS;
    memset(memory->base + slots[0].i32, (uint8_t)slots[1].i32, slots[2].i32);
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(memory_copy)
{
    struct vm_memory *destination = instance->memories[first], *source = instance->memories[second];
    uint32_t to = slots[0].i32, from = slots[1].i32, count = slots[2].i32;
    if (!is_within(to, count, vm_memory_size_bytes(destination)) ||
        !is_within(from, count, vm_memory_size_bytes(source)))
        return VM_TRAP_MEMORY_OUT_OF_BOUNDS;
    memmove(destination->base + to, source->base + from, count);
    return VM_TRAP_NONE;
}

uint32_t run_memory_init(struct vm_instance *instance, uint32_t dataidx, uint32_t memidx, uint64_t to, uint64_t from,
                         uint64_t count)
{
    const struct wasm_data *data = &code_program_of(instance->module)->wasm->datas[dataidx];
    struct vm_memory *memory = instance->memories[memidx];
    uint64_t available = instance->dropped_datas[dataidx] ? 0 : data->size_bytes;
    if (!is_within(from, count, available) || !is_within(to, count, vm_memory_size_bytes(memory)))
        return VM_TRAP_MEMORY_OUT_OF_BOUNDS;
    if (count)
        memcpy(memory->base + to, data->bytes + from, count);
    return VM_TRAP_NONE;
}

RUNTIME_FUNCTION(memory_init)
{
    return run_memory_init(instance, first, second, slots[0].i32, slots[1].i32, slots[2].i32);
}

RUNTIME_FUNCTION(data_drop)
{
    instance->dropped_datas[first] = 1;
    return VM_TRAP_NONE;
}
