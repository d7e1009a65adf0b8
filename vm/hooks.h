/* hooks: what a profiler may observe of the VM, and the one thing it may provide: memory for code.
 *
 * The VM knows no profiler. `profile/` fills a struct vm_hooks; any member may be NULL. Hooks are called from the
 * thread that translates, one at a time for each engine. A hook cannot fail: a profiler that cannot go on says so
 * itself and does nothing from then on.
 */
#ifndef GLASSBOX_VM_HOOKS_H
#define GLASSBOX_VM_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vm_module;

/* Where one bytecode instruction's machine code begins in its region. Ascending in region_offset. */
struct vm_code_position {
    uint32_t region_offset;   /* from the region's first byte */
    uint32_t bytecode_offset; /* from the module's first byte */
};

/* A finished region. Never written, moved or freed before vm_hooks.code_discarded. `module` is NULL for a host
 * function's region (a stub of a few bytes that calls it), whose `host_name` is set instead. */
struct vm_code {
    const struct vm_module *module;
    uint32_t funcidx;
    const char *host_name;
    const void *address; /* where it runs: readable and executable */
    size_t size_bytes;
    const struct vm_code_position *positions; /* borrowed for the call */
    size_t position_count;
};

/* A piece of memory with two views of the same pages: `write` is readable and writable, `execute` readable and
 * executable. They are never the same address. */
struct vm_code_memory {
    void *write;
    const void *execute;
    size_t size_bytes;
    void *owner; /* the provider's */
};

enum vm_leave { VM_LEAVE_RETURN, VM_LEAVE_TAIL_CALL, VM_LEAVE_UNWIND };

struct vm_hooks {
    /* Provides at least `size_bytes` (a multiple of the page) of code memory; false: the VM uses memory of its own
     * (shared anonymous, aliased by mremap). */
    bool (*code_memory_create)(void *user, size_t size_bytes, struct vm_code_memory *memory);
    void (*code_memory_destroy)(void *user, struct vm_code_memory *memory);

    /* A region is complete and is about to be run for the first time. */
    void (*code_published)(void *user, const struct vm_code *code);

    /* The module is about to go: nothing that was learnt of it may be kept under its address. */
    void (*module_destroyed)(void *user, const struct vm_module *module);

    /* ---- observation: laid into a function's code when it is translated, and only where asked for ---- */

    /* Asked once for each function, host functions included (`module` NULL, `host_name` set), before it is translated.
     * Returns what stands for the function in enter and leave, or NULL: this function is not observed. */
    void *(*observe_function)(void *user, const struct vm_module *module, uint32_t funcidx, const char *host_name);
    /* A thread (a store) runs guest code for the first time. `instructions` is where the VM counts the bytecode
     * instructions that the thread has executed, exact whenever a hook is called; it is good until thread_end. Returns
     * what stands for the thread in enter and leave. */
    void *(*thread_begin)(void *user, const uint64_t *instructions);
    void (*thread_end)(void *thread);
    /* An observed function has begun, and has ended: by returning, by a tail call (the callee's enter follows), or by a
     * trap or exit that unwinds it (innermost first). Pairs nest. Called on the guest's stack in the guest's thread. */
    void (*enter)(void *thread, void *function);
    void (*leave)(void *thread, void *function, enum vm_leave why);
    /* Whether functions count the instructions they execute: all of a module or none. */
    bool counts_instructions;
};

/* ---- what reports need to know of a module; all read-only, any thread ---- */

const void *vm_module_bytes(const struct vm_module *module, size_t *size_bytes);
/* The module's own name, else the one given at vm_module_create, else "module". NUL-terminated, raw: escape it. */
const char *vm_module_name(const struct vm_module *module);
uint32_t vm_module_func_count(const struct vm_module *module);
/* From the name section; NULL where there is none. Not NUL-terminated, raw bytes. */
const char *vm_module_func_name(const struct vm_module *module, uint32_t funcidx, size_t *size_bytes);
/* False: an import. Offsets from the module's first byte: the code entry's locals up to after its `end`. */
bool vm_module_func_range(const struct vm_module *module, uint32_t funcidx, uint32_t *begin, uint32_t *end);
/* Contents of a custom section, or NULL. */
const void *vm_module_custom(const struct vm_module *module, const char *name, size_t *size_bytes);
/* DWARF addresses count from here. */
uint32_t vm_module_code_offset(const struct vm_module *module);

/* Writes the instruction at `bytecode_offset` as WAT-like text ("i32.add", "local.get 3", "br_if 1"), NUL-terminated,
 * cut at `capacity`, and returns the offset of the next instruction. */
uint32_t vm_module_listing(const struct vm_module *module, uint32_t bytecode_offset, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
