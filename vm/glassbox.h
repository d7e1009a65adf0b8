/* glassbox.h: run WebAssembly in Glassbox from C. The embedder's header of libglassbox.
 *
 *     engine ── modules       code, shared by every instance of a module
 *       └────── stores ── instances, functions, memories, tables, globals
 *
 * An engine outlives its modules and stores; a module outlives the stores that instantiate it; everything that a store
 * made lives until vm_store_destroy. Objects of one store are used by one thread at a time. Different stores of one
 * engine may run in different threads. After a fork the child may go on with what it had, unless another thread of the
 * parent was translating: then the child must leave that engine alone.
 *
 * Values cross the boundary as `union vm_slot`, 8 bytes each, arguments in order, results in order.
 */
#ifndef GLASSBOX_H
#define GLASSBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/hooks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vm_engine;
struct vm_module;
struct vm_store;
struct vm_instance;
struct vm_func;
struct vm_memory;
struct vm_table;
struct vm_global;

/* ---- values and types ---- */

/* Value types are the binary format's bytes (§5.3.1). */
enum vm_valtype {
    VM_I32 = 0x7f,
    VM_I64 = 0x7e,
    VM_F32 = 0x7d,
    VM_F64 = 0x7c,
    VM_FUNCREF = 0x70,
    VM_EXTERNREF = 0x6f,
};

/* A null reference is a NULL pointer. The upper half of an i32 or f32 is unspecified, whoever wrote it. */
union vm_slot {
    uint32_t i32;
    uint64_t i64;
    float f32;
    double f64;
    struct vm_func *funcref;
    void *externref;
};

struct vm_functype {
    const uint32_t *params; /* valtypes */
    const uint32_t *results;
    uint32_t param_count;
    uint32_t result_count;
};

enum vm_externkind { VM_EXTERN_FUNC, VM_EXTERN_TABLE, VM_EXTERN_MEMORY, VM_EXTERN_GLOBAL };

struct vm_limits {
    uint64_t min;
    uint64_t max; /* UINT64_MAX: none */
};

struct vm_externtype {
    enum vm_externkind kind;
    struct vm_functype func; /* VM_EXTERN_FUNC; borrowed from the module */
    uint32_t valtype;        /* VM_EXTERN_GLOBAL, and the element type of VM_EXTERN_TABLE */
    bool is_mutable;         /* VM_EXTERN_GLOBAL */
    struct vm_limits limits; /* VM_EXTERN_TABLE in elements, VM_EXTERN_MEMORY in pages of 64 KiB */
};

struct vm_extern {
    enum vm_externkind kind;
    union {
        struct vm_func *func;
        struct vm_table *table;
        struct vm_memory *memory;
        struct vm_global *global;
    };
};

/* ---- engine ---- */

enum vm_dispatch {
    VM_DISPATCH_REGION, /* each function has a code region of its own */
    VM_DISPATCH_SHARED, /* the handlers in place; needs no executable memory */
};

struct vm_config {
    enum vm_dispatch dispatch;
    size_t stack_bytes;           /* guest value stack of each store; 0: 4 MiB */
    const struct vm_hooks *hooks; /* NULL: nobody watches; must outlive the engine */
    void *hooks_user;             /* passed to every hook */
};

/* True where this build has VM_DISPATCH_REGION (sanitizer builds do not). */
bool vm_has_regions(void);

/* `config` may be NULL: regions where the build has them, no hooks. */
int vm_engine_create(const struct vm_config *config, struct vm_engine **engine, struct err *err)
    __attribute__((warn_unused_result));
void vm_engine_destroy(struct vm_engine *engine);

/* ---- modules ---- */

/* Reads and validates. `bytes` are borrowed until vm_module_destroy. `name` (copied; may be NULL) is what reports call
 * the module where it does not name itself: usually the file's base name. */
int vm_module_create(struct vm_engine *engine, const void *bytes, size_t size_bytes, const char *name,
                     struct vm_module **module, struct err *err) __attribute__((warn_unused_result));
void vm_module_destroy(struct vm_module *module);

/* Names are borrowed from the module and NUL-free UTF-8 of `*_bytes` bytes, not NUL-terminated. */
struct vm_import_info {
    const char *module;
    size_t module_bytes;
    const char *name;
    size_t name_bytes;
    struct vm_externtype type;
};
struct vm_export_info {
    const char *name;
    size_t name_bytes;
    struct vm_externtype type;
};

size_t vm_module_import_count(const struct vm_module *module);
struct vm_import_info vm_module_import(const struct vm_module *module, size_t index);
size_t vm_module_export_count(const struct vm_module *module);
struct vm_export_info vm_module_export(const struct vm_module *module, size_t index);

/* ---- traps ---- */

enum vm_trap_kind {
#define TRAP(ident, text) VM_TRAP_##ident,
#include "vm/traps.def"
    VM_TRAP_COUNT
};

/* One guest frame of a backtrace, innermost first. */
struct vm_trap_frame {
    const struct vm_module *module;
    uint32_t funcidx;
    uint32_t offset; /* of the instruction, from the module's first byte */
};

#define VM_TRAP_FRAMES 64

/* What ended a call early. Not an error: the guest did it. */
struct vm_trap {
    enum vm_trap_kind kind;
    int32_t exit_status;  /* VM_TRAP_EXIT */
    char message[128];    /* VM_TRAP_HOST: the host function's words; else the specification's */
    uint32_t frame_count; /* how many of `frames` are filled */
    uint64_t frame_total; /* how deep the stack was */
    struct vm_trap_frame frames[VM_TRAP_FRAMES];
};

/* "out of bounds memory access", ...: the specification's words, a static string. */
const char *vm_trap_text(enum vm_trap_kind kind);

/* ---- stores, and what lives in them ---- */

struct vm_store *vm_store_create(struct vm_engine *engine); /* NULL: no memory */
void vm_store_destroy(struct vm_store *store);

/* Called by the guest. slots[0..param_count) are the arguments; results are written to slots[0..result_count). `caller`
 * is the instance that called (its memory is where pointers point), NULL when called from the host. Returns true, or
 * false after filling `trap` (its kind VM_TRAP_HOST and a message, or VM_TRAP_EXIT and a status; or as a nested vm_call
 * left it), and then the guest is unwound. */
typedef bool (*vm_host_fn)(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap);

/* `name` (copied) is what perf and backtraces call it. The type is copied. NULL: no memory. */
struct vm_func *vm_func_create(struct vm_store *store, const struct vm_functype *type, const char *name, vm_host_fn run,
                               void *user);
struct vm_functype vm_func_type(const struct vm_func *func);

struct vm_memory *vm_memory_create(struct vm_store *store, struct vm_limits pages, struct err *err);
uint8_t *vm_memory_data(struct vm_memory *memory); /* stays where it is when the memory grows */
size_t vm_memory_size_bytes(const struct vm_memory *memory);

struct vm_table *vm_table_create(struct vm_store *store, uint32_t reftype, struct vm_limits elements, struct err *err);

struct vm_global *vm_global_create(struct vm_store *store, uint32_t valtype, bool is_mutable, union vm_slot value);
union vm_slot vm_global_get(const struct vm_global *global);

/* Links, runs active segments and the start function. `imports` are in the module's order, one each. Returns 0; a
 * negative errno with `err` (unlinkable, resource); or 1 with `trap` filled where a segment or the start function
 * trapped (the instance exists then all the same, since others may have got hold of its functions, but *instance is
 * NULL). */
int vm_instance_create(struct vm_store *store, struct vm_module *module, const struct vm_extern *imports,
                       size_t import_count, struct vm_instance **instance, struct vm_trap *trap, struct err *err)
    __attribute__((warn_unused_result));

/* False: there is no export of that name. */
bool vm_instance_export(struct vm_instance *instance, const char *name, size_t name_bytes, struct vm_extern *found);

/* The instance's memory 0, or NULL. */
struct vm_memory *vm_instance_memory(struct vm_instance *instance);

/* Runs `func`. `slots` holds the arguments and receives the results: room for the larger of the two counts, at least
 * one. Returns true, or false with `trap` filled. */
bool vm_call(struct vm_func *func, union vm_slot *slots, struct vm_trap *trap) __attribute__((warn_unused_result));

#ifdef __cplusplus
}
#endif
#endif
