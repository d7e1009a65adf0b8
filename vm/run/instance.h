/* instance: the VM's objects as they stand in memory. Internal to vm/.
 *
 * An instance is followed by its cells, 8 bytes each, which translated code reaches as instance + offset; the offsets
 * are the same for every instance of a module (code/program.h), so instances share code:
 *
 *     struct vm_instance | imported functions | tables | globals
 *                          struct vm_func *     *table    the value itself where the module defines it, else a pointer
 */
#ifndef GLASSBOX_VM_RUN_INSTANCE_H
#define GLASSBOX_VM_RUN_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/vec.h"
#include "vm/code/program.h"
#include "vm/glassbox.h"
#include "vm/run/layout.h"

/* One thread's execution state; a store has one. What assembly reads comes first. */
struct run_context {
    uint8_t *stack_limit; /* a frame must end at or below */
    void *entry_sp;       /* of the innermost run_enter */
    uint8_t *frame;       /* free value stack above the innermost host call */
    struct vm_trap *trap; /* where a trap is reported */
    uint64_t r0;          /* the single result of run_enter */
    double f0[2];
    uint64_t instructions; /* executed, as far as functions count them */
    void *observer;        /* what the hooks made of this thread; NULL: not yet, or nobody observes */
    void (*observe_enter)(void *thread, void *function);
    void (*observe_leave)(void *thread, void *function, enum vm_leave why);
    uint8_t *stack; /* the value stack, mapped at the first call */
    size_t stack_bytes;
    struct vm_store *store;
    /* A fault in guest memory, from the signal handler to run_fault. */
    void *fault_pc;
    const uint8_t *fault_stream;
    void *fault_rbp;
};

struct vm_instance {
    uint8_t *memory_base; /* of memory 0 */
    struct run_context *context;
    void *trap; /* run_trap, for handlers */
    struct vm_store *store;
    struct vm_module *module;
    struct vm_memory **memories;
    struct vm_func *funcs;  /* of the defined functions, in order */
    uint8_t *dropped_elems; /* one a segment */
    uint8_t *dropped_datas;
    struct vm_instance *next; /* in the store */
    union vm_slot cells[];
};

struct vm_func {
    struct code_body *body;
    struct vm_instance *instance; /* NULL: a host function */
    uint32_t type;                /* engine-wide number of its type */
    uint32_t slots_bytes;         /* of a host function: what its arguments and results take */
    vm_host_fn host;
    void *user;
    struct vm_engine *engine;
};

struct vm_table {
    struct vm_func **elements; /* or externref pointers */
    uint64_t count;
    uint64_t max; /* UINT64_MAX: none declared */
    uint32_t reftype;
    struct vm_store *store;
    struct vm_table *next;
};

struct vm_memory {
    uint8_t *base; /* MEMORY_RESERVED_BYTES reserved, size_pages accessible */
    uint64_t size_pages;
    uint64_t max_pages; /* UINT64_MAX: none declared */
    struct vm_memory *next;
};

struct vm_global {
    union vm_slot *value; /* &own, or a cell of the instance that defines it */
    union vm_slot own;
    uint32_t valtype;
    bool is_mutable;
    struct vm_global *next;
};

/* A host function and the region that calls it. */
struct host_func {
    struct vm_func func;
    struct code_body body;
    char *name;
    struct vm_store *store;
    struct observed_host *observed; /* observe.c; NULL: it is not */
    struct host_func *next;
};

struct vm_store {
    struct vm_engine *engine;
    struct run_context context;
    struct vm_instance *instances;
    struct vm_table *tables;
    uint64_t table_elements; /* of all of them, at most TABLE_MAX_ELEMENTS */
    struct vm_memory *memories;
    struct vm_global *globals;
    struct host_func *host_funcs;
};

#define PAGE_BYTES 65536u
#define MEMORY_MAX_PAGES 65536u
/* Any 32-bit address plus any 32-bit offset, and the widest access after it. */
#define MEMORY_RESERVED_BYTES ((8ull << 30) + PAGE_BYTES)
#define TABLE_MAX_ELEMENTS 10000000u

static inline void *instance_cell(struct vm_instance *instance, uint32_t offset)
{
    return (uint8_t *)instance + offset;
}
static inline struct vm_func *instance_func(struct vm_instance *instance, uint32_t funcidx)
{
    const struct code_program *program = code_program_of(instance->module);
    uint32_t imported = program->wasm->imported_func_count;
    if (funcidx < imported)
        return *(struct vm_func **)instance_cell(instance, program->func_cells + 8 * funcidx);
    return &instance->funcs[funcidx - imported];
}
static inline struct vm_table *instance_table(struct vm_instance *instance, uint32_t tableidx)
{
    return *(struct vm_table **)instance_cell(instance, code_program_of(instance->module)->table_cells + 8 * tableidx);
}
static inline union vm_slot *instance_global(struct vm_instance *instance, uint32_t globalidx)
{
    const struct code_program *program = code_program_of(instance->module);
    union vm_slot *cell = instance_cell(instance, program->global_cells + 8 * globalidx);
    return globalidx < program->wasm->imported_global_count ? cell->externref : cell;
}

static_assert(offsetof(struct vm_instance, memory_base) == INSTANCE_MEMORY, "layout.h");
static_assert(offsetof(struct vm_instance, context) == INSTANCE_CONTEXT, "layout.h");
static_assert(offsetof(struct vm_instance, trap) == INSTANCE_TRAP, "layout.h");
static_assert(offsetof(struct run_context, stack_limit) == CONTEXT_STACK_LIMIT, "layout.h");
static_assert(offsetof(struct run_context, entry_sp) == CONTEXT_ENTRY_SP, "layout.h");
static_assert(offsetof(struct run_context, frame) == CONTEXT_FRAME, "layout.h");
static_assert(offsetof(struct run_context, trap) == CONTEXT_TRAP, "layout.h");
static_assert(offsetof(struct run_context, r0) == CONTEXT_R0, "layout.h");
static_assert(offsetof(struct run_context, f0) == CONTEXT_F0, "layout.h");
static_assert(offsetof(struct run_context, instructions) == CONTEXT_INSTRUCTIONS, "layout.h");
static_assert(offsetof(struct run_context, observer) == CONTEXT_OBSERVER, "layout.h");
static_assert(offsetof(struct run_context, observe_enter) == CONTEXT_OBSERVE_ENTER, "layout.h");
static_assert(offsetof(struct run_context, observe_leave) == CONTEXT_OBSERVE_LEAVE, "layout.h");
static_assert(offsetof(struct vm_func, body) == FUNC_BODY, "layout.h");
static_assert(offsetof(struct vm_func, instance) == FUNC_INSTANCE, "layout.h");
static_assert(offsetof(struct vm_func, type) == FUNC_TYPE, "layout.h");
static_assert(offsetof(struct vm_func, slots_bytes) == FUNC_SLOTS_BYTES, "layout.h");
static_assert(offsetof(struct vm_func, host) == FUNC_HOST, "layout.h");
static_assert(offsetof(struct vm_func, user) == FUNC_USER, "layout.h");
static_assert(offsetof(struct vm_table, elements) == TABLE_ELEMENTS, "layout.h");
static_assert(offsetof(struct vm_table, count) == TABLE_COUNT, "layout.h");

#endif
