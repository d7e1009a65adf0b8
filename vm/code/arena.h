/* arena: memory that regions are laid into. Two views of the same pages: written through one, run through the other;
 * never writable and executable at one address, and nothing is remapped once announced. */
#ifndef GLASSBOX_VM_CODE_ARENA_H
#define GLASSBOX_VM_CODE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/hooks.h"

#define ARENA_CHUNKS_MAX 1024

struct arena_chunk;

struct code_arena {
    const struct vm_hooks *hooks;
    void *hooks_user;
    struct arena_chunk *chunks[ARENA_CHUNKS_MAX];
    _Atomic size_t chunk_count; /* stored after the chunk, so a signal handler may walk them */
};

void code_arena_init(struct code_arena *arena, const struct vm_hooks *hooks, void *hooks_user);
void code_arena_fini(struct code_arena *arena);

/* Copies `size_bytes` of machine code in and returns where it runs, or NULL where there is no memory. Aligned to 16. */
const uint8_t *code_arena_add(struct code_arena *arena, const uint8_t *code, size_t size_bytes);

/* True where the address is in the arena's memory. Signal-safe. */
bool code_arena_holds(const struct code_arena *arena, const void *address);

#endif
