/* Linear memory. 8 GiB of address space are reserved for each, of which what the guest has is accessible: a 32-bit
 * address plus a 32-bit offset cannot leave them, so an access needs no check, and the base never moves when the
 * memory grows. */
#include <sys/mman.h>

#include "vm/run/instance.h"
#include "vm/run/objects.h"

struct vm_memory *vm_memory_create(struct vm_store *store, struct vm_limits pages, struct err *err)
{
    if (pages.min > MEMORY_MAX_PAGES) {
        err_set(err, ERR_RESOURCE, 0, "a memory of %llu pages is larger than 4 GiB", (unsigned long long)pages.min);
        return NULL;
    }
    struct vm_memory *memory = calloc(1, sizeof *memory);
    void *base = memory
                     ? mmap(NULL, MEMORY_RESERVED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                     : MAP_FAILED;
    if (base == MAP_FAILED) {
        free(memory);
        err_set(err, ERR_RESOURCE, 0, "cannot reserve 8 GiB of address space for a memory (ulimit -v?)");
        return NULL;
    }
    memory->base = base;
    memory->max_pages = pages.max;
    memory->next = store->memories;
    store->memories = memory;
    if (pages.min && run_memory_grow(memory, pages.min) == UINT32_MAX) {
        err_set(err, ERR_RESOURCE, 0, "no memory for %llu pages", (unsigned long long)pages.min);
        return NULL;
    }
    return memory;
}

void run_memory_destroy(struct vm_memory *memory)
{
    munmap(memory->base, MEMORY_RESERVED_BYTES);
    free(memory);
}

uint8_t *vm_memory_data(struct vm_memory *memory)
{
    return memory->base;
}

size_t vm_memory_size_bytes(const struct vm_memory *memory)
{
    return memory->size_pages * PAGE_BYTES;
}

uint32_t run_memory_grow(struct vm_memory *memory, uint64_t pages)
{
    uint64_t limit = memory->max_pages < MEMORY_MAX_PAGES ? memory->max_pages : MEMORY_MAX_PAGES;
    uint64_t before = memory->size_pages;
    if (pages > limit - before)
        return UINT32_MAX;
    if (pages && mprotect(memory->base + before * PAGE_BYTES, pages * PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return UINT32_MAX;
    memory->size_pages += pages;
    return (uint32_t)before;
}
