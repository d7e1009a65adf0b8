/* objects: making, growing and destroying what a store owns. Internal to vm/run. */
#ifndef GLASSBOX_VM_RUN_OBJECTS_H
#define GLASSBOX_VM_RUN_OBJECTS_H

#include <stdlib.h>

#include "vm/run/instance.h"

void run_memory_destroy(struct vm_memory *memory);
/* The size before, in pages, or UINT32_MAX where the memory cannot grow so far. */
uint32_t run_memory_grow(struct vm_memory *memory, uint64_t pages);

void run_table_destroy(struct vm_table *table);
/* The same, in elements; new ones are `element`. */
uint32_t run_table_grow(struct vm_table *table, uint64_t count, void *element);

void run_context_init(struct run_context *context, struct vm_store *store);
void run_context_fini(struct run_context *context);

/* A trap of that kind, without frames yet. */
void run_fill_trap(struct vm_trap *trap, enum vm_trap_kind kind);

/* One that a host function, or a call that it made, has filled in: what it left out. */
void run_complete_trap(struct vm_trap *trap);

/* Puts the handler of faults in guest memory first in line. */
void run_install_fault_handler(void);

/* The value of a constant expression. False: no memory. */
bool run_constant(struct vm_instance *instance, struct wasm_expr expr, union vm_slot *value);

/* table.init and memory.init for segments, also active ones at instantiation: enum vm_trap_kind. */
uint32_t run_table_init(struct vm_instance *instance, uint32_t elemidx, uint32_t tableidx, uint64_t to, uint64_t from,
                        uint64_t count);
uint32_t run_memory_init(struct vm_instance *instance, uint32_t dataidx, uint32_t memidx, uint64_t to, uint64_t from,
                         uint64_t count);

#endif
