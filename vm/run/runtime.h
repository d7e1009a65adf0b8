/* runtime: what handlers call C for. Every function takes its operands from consecutive slots, lowest first, leaves its
 * result in the first of them, and returns an enum vm_trap_kind, VM_TRAP_NONE where all went well. `first` and `second`
 * are the instruction's indices in the order of the binary format. */
#ifndef GLASSBOX_VM_RUN_RUNTIME_H
#define GLASSBOX_VM_RUN_RUNTIME_H

#include "vm/glassbox.h"

typedef uint32_t (*run_runtime_fn)(struct vm_instance *instance, union vm_slot *slots, uint32_t first, uint32_t second);

#define RUNTIME_FUNCTION(name) \
    uint32_t run_exec_##name(struct vm_instance *instance, union vm_slot *slots, uint32_t first, uint32_t second)

RUNTIME_FUNCTION(ref_func);    /* : ref */
RUNTIME_FUNCTION(table_get);   /* index : ref */
RUNTIME_FUNCTION(table_set);   /* index ref : */
RUNTIME_FUNCTION(table_size);  /* : count */
RUNTIME_FUNCTION(table_grow);  /* ref count : old count or -1 */
RUNTIME_FUNCTION(table_fill);  /* index ref count : */
RUNTIME_FUNCTION(table_copy);  /* to from count : ; tables: destination, source */
RUNTIME_FUNCTION(table_init);  /* to from count : ; segment, table */
RUNTIME_FUNCTION(elem_drop);   /* : ; segment */
RUNTIME_FUNCTION(memory_size); /* : pages */
RUNTIME_FUNCTION(memory_grow); /* pages : old pages or -1 */
RUNTIME_FUNCTION(memory_fill); /* to byte count : */
RUNTIME_FUNCTION(memory_copy); /* to from count : */
RUNTIME_FUNCTION(memory_init); /* to from count : ; segment, memory */
RUNTIME_FUNCTION(data_drop);   /* : ; segment */

#endif
