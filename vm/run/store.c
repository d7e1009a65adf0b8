/* A store owns everything that is made in it and lets go of it all at once: functions, tables and globals refer to one
 * another freely across instances, so nothing less can be freed safely. */
#include <string.h>

#include "vm/code/engine.h"
#include "vm/run/instance.h"
#include "vm/run/objects.h"
#include "vm/run/observe.h"

struct vm_store *vm_store_create(struct vm_engine *engine)
{
    struct vm_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->engine = engine;
    run_context_init(&store->context, store);
    run_install_fault_handler();
    return store;
}

#define DESTROY_ALL(type, list, destroy)          \
    for (struct type *object = (list); object;) { \
        struct type *next = object->next;         \
        destroy(object);                          \
        object = next;                            \
    }

static void instance_destroy(struct vm_instance *instance)
{
    free(instance->memories);
    free(instance->funcs);
    free(instance->dropped_elems);
    free(instance->dropped_datas);
    free(instance);
}

static void host_func_destroy(struct host_func *host)
{
    free((void *)host->body.stream);
    free(host->body.positions);
    free(host->observed);
    free(host->name);
    free(host);
}

void vm_store_destroy(struct vm_store *store)
{
    if (!store)
        return;
    run_observe_end(&store->context);
    DESTROY_ALL(vm_instance, store->instances, instance_destroy)
    DESTROY_ALL(host_func, store->host_funcs, host_func_destroy)
    DESTROY_ALL(vm_table, store->tables, run_table_destroy)
    DESTROY_ALL(vm_memory, store->memories, run_memory_destroy)
    DESTROY_ALL(vm_global, store->globals, free)
    run_context_fini(&store->context);
    free(store);
}

struct vm_func *vm_func_create(struct vm_store *store, const struct vm_functype *type, const char *name, vm_host_fn run,
                               void *user)
{
    struct host_func *host = calloc(1, sizeof *host);
    if (!host)
        return NULL;
    uint32_t slots = type->param_count > type->result_count ? type->param_count : type->result_count;
    host->func = (struct vm_func){
        .body = &host->body,
        .type = code_engine_type(store->engine, type->params, type->param_count, type->results, type->result_count),
        .slots_bytes = 8 * (slots ? slots : 1),
        .host = run,
        .user = user,
        .engine = store->engine,
    };
    host->store = store;
    host->name = strdup(name ? name : "host");
    if (host->func.type == UINT32_MAX || !host->name || !run_observe_host(host) ||
        code_host_body(store->engine, &host->body, type, host->name) != 0) {
        free(host->observed);
        free(host->name);
        free(host);
        return NULL;
    }
    host->next = store->host_funcs;
    store->host_funcs = host;
    return &host->func;
}

struct vm_functype vm_func_type(const struct vm_func *func)
{
    return code_engine_functype(func->engine, func->type);
}

struct vm_global *vm_global_create(struct vm_store *store, uint32_t valtype, bool is_mutable, union vm_slot value)
{
    struct vm_global *global = calloc(1, sizeof *global);
    if (!global)
        return NULL;
    *global = (struct vm_global){.own = value, .valtype = valtype, .is_mutable = is_mutable, .next = store->globals};
    if (valtype == VM_I32 || valtype == VM_F32)
        global->own.i64 = value.i32; /* translated code expects zeros above */
    global->value = &global->own;
    store->globals = global;
    return global;
}

union vm_slot vm_global_get(const struct vm_global *global)
{
    return *global->value;
}
