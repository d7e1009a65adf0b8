/* engine: what all modules and stores of an engine share: configuration, types, code memory, the lock. Internal to vm/.
 */
#ifndef GLASSBOX_VM_CODE_ENGINE_H
#define GLASSBOX_VM_CODE_ENGINE_H

#include <pthread.h>

#include "vm/code/arena.h"
#include "vm/code/program.h"

struct code_type {
    uint32_t *valtypes; /* parameters, then results */
    uint32_t param_count;
    uint32_t result_count;
};

struct vm_engine {
    struct vm_config config;
    pthread_mutex_t lock; /* guards all below, and every translation */
    struct vec types;     /* struct code_type, by number */
    uint32_t *type_table; /* hash table over them */
    size_t type_table_capacity;
    struct code_arena arena;
    struct vec bodies;      /* struct code_body * of modules, translated: for finding one by code or stream */
    bool bodies_are_sorted; /* by stream, which is what each frame of a backtrace is found by */
    struct code_translator *translator; /* buffers that translations reuse */
};

/* The engine-wide number of a function type: equal types have equal numbers. UINT32_MAX: no memory. Takes the lock. */
uint32_t code_engine_type(struct vm_engine *engine, const uint32_t *params, uint32_t param_count,
                          const uint32_t *results, uint32_t result_count);

/* The translated body of a module whose stream or region holds the address, or NULL. Takes the lock. By stream it is
 * quick: a trap may take 100,000 frames away. */
struct code_body *code_engine_find(struct vm_engine *engine, const void *stream_or_code);

/* The bodies are about to go. Takes the lock. */
void code_engine_forget(struct vm_engine *engine, const struct code_body *first, size_t count);

/* The type of that number; good as long as the engine. */
struct vm_functype code_engine_functype(struct vm_engine *engine, uint32_t number);

#endif
