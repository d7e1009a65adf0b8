/* spectest: the print functions print nothing.
 *
 * What a script expects is in its assertions; output of the print functions would only hide failures. The list of
 * exports is spectest.def, but for the table and the memory, of which there is one each. The 64-bit table and the
 * shared memory are absent as long as the VM has no such types: a script that imports them stands in skip.txt.
 */
#include "spectest.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT_CAPACITY 32

struct export {
    const char *name;
    struct vm_extern external;
};

struct spectest {
    struct export exports[EXPORT_CAPACITY];
    size_t count;
};

static bool print_nothing(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    return true;
}

static void add(struct spectest *spectest, const char *name, struct vm_extern external)
{
    spectest->exports[spectest->count++] = (struct export){name, external};
}

static bool add_print(struct spectest *spectest, struct vm_store *store, const char *name, const uint32_t *params,
                      size_t param_count)
{
    struct vm_functype type = {.params = params, .param_count = (uint32_t)param_count};
    struct vm_func *func = vm_func_create(store, &type, name, print_nothing, NULL);
    add(spectest, name, (struct vm_extern){.kind = VM_EXTERN_FUNC, .func = func});
    return func != NULL;
}

static bool add_global(struct spectest *spectest, struct vm_store *store, const char *name, uint32_t valtype,
                       union vm_slot value)
{
    struct vm_global *global = vm_global_create(store, valtype, false, value);
    add(spectest, name, (struct vm_extern){.kind = VM_EXTERN_GLOBAL, .global = global});
    return global != NULL;
}

static bool add_all(struct spectest *spectest, struct vm_store *store)
{
    bool ok = true;
#define PRINT(name, ...)                                                                                            \
    {                                                                                                               \
        static const uint32_t params[] = {0, ##__VA_ARGS__};                                                        \
        ok &= add_print(spectest, store, name, params + 1, sizeof(params) / sizeof(params[0]) - 1);                 \
    }
#define GLOBAL(name, valtype, member, number)                                                                       \
    ok &= add_global(spectest, store, name, valtype, (union vm_slot){.member = number});
#include "spectest.def"
    struct vm_memory *memory = vm_memory_create(store, (struct vm_limits){.min = 1, .max = 2}, NULL);
    struct vm_table *table = vm_table_create(store, VM_FUNCREF, (struct vm_limits){.min = 10, .max = 20}, NULL);
    add(spectest, "memory", (struct vm_extern){.kind = VM_EXTERN_MEMORY, .memory = memory});
    add(spectest, "table", (struct vm_extern){.kind = VM_EXTERN_TABLE, .table = table});
    return ok && memory && table;
}

struct spectest *spectest_create(struct vm_store *store)
{
    struct spectest *spectest = calloc(1, sizeof(*spectest));
    if (spectest && !add_all(spectest, store)) {
        free(spectest);
        return NULL;
    }
    return spectest;
}

void spectest_destroy(struct spectest *spectest)
{
    free(spectest);
}

bool spectest_export(const struct spectest *spectest, const char *name, size_t name_bytes, struct vm_extern *found)
{
    for (size_t i = 0; i < spectest->count; i++) {
        const struct export *export = &spectest->exports[i];
        if (strlen(export->name) == name_bytes && memcmp(export->name, name, name_bytes) == 0) {
            *found = export->external;
            return true;
        }
    }
    return false;
}
