/* Code memory of the VM's own is shared anonymous memory mapped R-X, aliased RW by mremap with an old size of 0: perf
 * takes it for anonymous memory ("/dev/zero"), and so consults its map for it, which it would not for a memfd; and no
 * mprotect ever flips a page that other threads run in. A hook may provide other memory (an ELF image).
 *
 * A chunk is 64 MiB of address space, touched as it fills; memory that a hook provides may cost its whole size at once
 * (a file on a disk that must not run full), so there the first chunk is 1 MiB and each is twice the one before. Chunks
 * are never given back before the engine ends: code that was announced stays where it was announced.
 *
 * Where mremap does not alias (qemu-user refuses an old size of 0) a memfd is mapped twice instead; perf does not look
 * into its map for that.
 *
 * Rejected: one RWX mapping (hostile guests), mprotect flips (a new MMAP2 event each, and other threads fault).
 *
 * Shared pages stay shared across fork: a forked child must not translate into its parent's chunks. So a chunk
 * remembers who made it and a child starts one of its own. */
#include "vm/code/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)64 << 20)
#define FIRST_HOOKED_CHUNK_BYTES ((size_t)1 << 20)
#define ALIGNMENT 16

/* Left free behind each region. A profiler that describes a region to perf in a jitdump has perf place the region's
 * unwinding data there (at the next multiple of 8, 68 bytes); where the next region begins sooner, perf unwinds through
 * none but the last. */
#define GAP_BYTES 80

struct arena_chunk {
    struct vm_code_memory memory;
    size_t used;
    pid_t owner;
    bool is_hooked;
};

void code_arena_init(struct code_arena *arena, const struct vm_hooks *hooks, void *hooks_user)
{
    *arena = (struct code_arena){.hooks = hooks, .hooks_user = hooks_user};
}

static bool map_anonymous(size_t size_bytes, void **execute, void **write)
{
    *execute = mmap(NULL, size_bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*execute == MAP_FAILED)
        return false;
    *write = mremap(*execute, 0, size_bytes, MREMAP_MAYMOVE);
    if (*write != MAP_FAILED && mprotect(*write, size_bytes, PROT_READ | PROT_WRITE) == 0)
        return true;
    if (*write != MAP_FAILED)
        munmap(*write, size_bytes);
    munmap(*execute, size_bytes);
    return false;
}

static bool map_memfd(size_t size_bytes, void **execute, void **write)
{
    int fd = memfd_create("glassbox", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    *execute = *write = MAP_FAILED;
    if (ftruncate(fd, (off_t)size_bytes) == 0) {
        *execute = mmap(NULL, size_bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE, fd, 0);
        *write = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
    close(fd);
    if (*execute != MAP_FAILED && *write != MAP_FAILED)
        return true;
    if (*execute != MAP_FAILED)
        munmap(*execute, size_bytes);
    if (*write != MAP_FAILED)
        munmap(*write, size_bytes);
    return false;
}

static bool map_chunk(size_t size_bytes, struct vm_code_memory *memory)
{
    void *execute, *write;
    if (!map_anonymous(size_bytes, &execute, &write) && !map_memfd(size_bytes, &execute, &write))
        return false;
    *memory = (struct vm_code_memory){.write = write, .execute = execute, .size_bytes = size_bytes};
    return true;
}

void code_arena_fini(struct code_arena *arena)
{
    for (size_t i = 0; i < arena->chunk_count; i++) {
        struct arena_chunk *chunk = arena->chunks[i];
        if (chunk->is_hooked) {
            arena->hooks->code_memory_destroy(arena->hooks_user, &chunk->memory);
        } else {
            munmap(chunk->memory.write, chunk->memory.size_bytes);
            munmap((void *)chunk->memory.execute, chunk->memory.size_bytes);
        }
        free(chunk);
    }
    arena->chunk_count = 0;
}

static size_t at_least(size_t size_bytes, size_t need_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return need_bytes > size_bytes ? (need_bytes + page - 1) & ~(page - 1) : size_bytes;
}

static bool map_hooked(struct code_arena *arena, size_t need_bytes, struct vm_code_memory *memory)
{
    if (!arena->hooks || !arena->hooks->code_memory_create)
        return false;
    size_t size_bytes = FIRST_HOOKED_CHUNK_BYTES;
    for (size_t i = 0; i < arena->chunk_count && size_bytes < CHUNK_BYTES; i++)
        size_bytes *= 2;
    return arena->hooks->code_memory_create(arena->hooks_user, at_least(size_bytes, need_bytes), memory);
}

static struct arena_chunk *add_chunk(struct code_arena *arena, size_t need_bytes)
{
    struct arena_chunk *chunk = arena->chunk_count < ARENA_CHUNKS_MAX ? calloc(1, sizeof *chunk) : NULL;
    if (!chunk)
        return NULL;
    chunk->owner = getpid();
    chunk->is_hooked = map_hooked(arena, need_bytes, &chunk->memory);
    if (!chunk->is_hooked && !map_chunk(at_least(CHUNK_BYTES, need_bytes), &chunk->memory)) {
        free(chunk);
        return NULL;
    }
    arena->chunks[arena->chunk_count] = chunk;
    atomic_fetch_add_explicit(&arena->chunk_count, 1, memory_order_release);
    return chunk;
}

const uint8_t *code_arena_add(struct code_arena *arena, const uint8_t *code, size_t size_bytes)
{
    struct arena_chunk *chunk = arena->chunk_count ? arena->chunks[arena->chunk_count - 1] : NULL;
    if (!chunk || chunk->memory.size_bytes - chunk->used < size_bytes || chunk->owner != getpid())
        chunk = add_chunk(arena, size_bytes);
    if (!chunk)
        return NULL;
    uint8_t *write = (uint8_t *)chunk->memory.write + chunk->used;
    const uint8_t *execute = (const uint8_t *)chunk->memory.execute + chunk->used;
    memcpy(write, code, size_bytes);
    __builtin___clear_cache((char *)execute, (char *)execute + size_bytes);
    chunk->used += (size_bytes + GAP_BYTES + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (chunk->used > chunk->memory.size_bytes)
        chunk->used = chunk->memory.size_bytes;
    return execute;
}

bool code_arena_holds(const struct code_arena *arena, const void *address)
{
    size_t count = atomic_load_explicit(&arena->chunk_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++) {
        const struct vm_code_memory *memory = &arena->chunks[i]->memory;
        if ((uintptr_t)address - (uintptr_t)memory->execute < memory->size_bytes)
            return true;
    }
    return false;
}
