/* Instantiation (§4.7.3): link, allocate, evaluate globals, copy active segments, start. */
#include "vm/run/instance.h"

#include <errno.h>
#include <string.h>

#include "vm/code/engine.h"
#include "vm/run/entry.h"
#include "vm/run/objects.h"

static const char *const kind_names[] = {"function", "table", "memory", "global"};

/* An import's limits match where what is given is at least as large and cannot grow further (§3.5.2). */
static bool limits_match(uint64_t size, uint64_t max, const struct wasm_limits *wanted)
{
    return size >= wanted->min && (!wanted->has_max || max <= wanted->max);
}

static bool import_matches(const struct code_program *program, const struct wasm_import *import,
                           const struct vm_extern *given)
{
    const struct wasm_module *wasm = program->wasm;
    switch (import->kind) {
    case WASM_EXTERN_FUNC: return given->func->type == program->types[wasm->funcs[import->index].typeidx];
    case WASM_EXTERN_TABLE: {
        const struct wasm_tabletype *type = &wasm->tables[import->index].type;
        return given->table->reftype == type->reftype &&
               limits_match(given->table->count, given->table->max, &type->limits);
    }
    case WASM_EXTERN_MEMORY:
        return limits_match(given->memory->size_pages, given->memory->max_pages, &wasm->memories[import->index].limits);
    default: {
        const struct wasm_globaltype *type = &wasm->globals[import->index].type;
        return given->global->valtype == type->valtype && given->global->is_mutable == type->is_mutable;
    }
    }
}

static int link_imports(struct vm_instance *instance, const struct vm_extern *imports, size_t import_count,
                        struct err *err)
{
    const struct code_program *program = code_program_of(instance->module);
    const struct wasm_module *wasm = program->wasm;
    if (import_count != wasm->import_count)
        return err_set(err, ERR_UNLINKABLE, 0, "%u imports wanted, %zu given", wasm->import_count, import_count);
    for (uint32_t i = 0; i < wasm->import_count; i++) {
        const struct wasm_import *import = &wasm->imports[i];
        const struct vm_extern *given = &imports[i];
        if ((uint32_t)given->kind != (uint32_t)import->kind || !import_matches(program, import, given))
            return err_set(err, ERR_UNLINKABLE, 0, "incompatible import type: %s \"%.*s\" \"%.*s\"",
                           kind_names[import->kind], (int)import->module.size_bytes, import->module.bytes,
                           (int)import->name.size_bytes, import->name.bytes);
        switch (import->kind) {
        case WASM_EXTERN_FUNC:
            *(struct vm_func **)instance_cell(instance, program->func_cells + 8 * import->index) = given->func;
            break;
        case WASM_EXTERN_TABLE:
            *(struct vm_table **)instance_cell(instance, program->table_cells + 8 * import->index) = given->table;
            break;
        case WASM_EXTERN_MEMORY: instance->memories[import->index] = given->memory; break;
        case WASM_EXTERN_GLOBAL:
            *(union vm_slot **)instance_cell(instance, program->global_cells + 8 * import->index) =
                given->global->value;
            break;
        }
    }
    return 0;
}

static struct vm_instance *allocate(struct vm_store *store, struct vm_module *module)
{
    const struct code_program *program = code_program_of(module);
    const struct wasm_module *wasm = program->wasm;
    uint32_t defined = wasm->func_count - wasm->imported_func_count;
    struct vm_instance *instance = calloc(1, program->instance_bytes);
    if (!instance)
        return NULL;
    instance->context = &store->context;
    instance->trap = (void *)run_trap_code;
    instance->store = store;
    instance->module = module;
    instance->memories = calloc(wasm->memory_count + 1, sizeof *instance->memories);
    instance->funcs = calloc(defined + 1, sizeof *instance->funcs);
    instance->dropped_elems = calloc(wasm->elem_count + 1, 1);
    instance->dropped_datas = calloc(wasm->data_count + 1, 1);
    instance->next = store->instances;
    store->instances = instance; /* from here on the store frees it */
    if (!instance->memories || !instance->funcs || !instance->dropped_elems || !instance->dropped_datas)
        return NULL;
    for (uint32_t i = 0; i < defined; i++) {
        instance->funcs[i] = (struct vm_func){
            .body = &program->bodies[i],
            .instance = instance,
            .type = program->types[wasm->funcs[wasm->imported_func_count + i].typeidx],
            .engine = store->engine,
        };
    }
    return instance;
}

static int define(struct vm_instance *instance, struct err *err)
{
    const struct code_program *program = code_program_of(instance->module);
    const struct wasm_module *wasm = program->wasm;
    for (uint32_t i = wasm->imported_global_count; i < wasm->global_count; i++) {
        union vm_slot value;
        if (!run_constant(instance, wasm->globals[i].init, &value))
            return err_set(err, ERR_RESOURCE, wasm->globals[i].init.offset, "no memory for a constant expression");
        *(union vm_slot *)instance_cell(instance, program->global_cells + 8 * i) = value;
    }
    for (uint32_t i = wasm->imported_table_count; i < wasm->table_count; i++) {
        const struct wasm_limits *limits = &wasm->tables[i].type.limits;
        struct vm_limits wanted = {limits->min, limits->has_max ? limits->max : UINT64_MAX};
        struct vm_table *table = vm_table_create(instance->store, wasm->tables[i].type.reftype, wanted, err);
        if (!table)
            return -ENOMEM;
        *(struct vm_table **)instance_cell(instance, program->table_cells + 8 * i) = table;
        union vm_slot first = {0};
        if (wasm->tables[i].has_init && !run_constant(instance, wasm->tables[i].init, &first))
            return err_set(err, ERR_RESOURCE, 0, "no memory for a constant expression");
        for (uint64_t k = 0; first.externref && k < table->count; k++)
            table->elements[k] = first.funcref;
    }
    for (uint32_t i = wasm->imported_memory_count; i < wasm->memory_count; i++) {
        const struct wasm_limits *limits = &wasm->memories[i].limits;
        struct vm_limits wanted = {limits->min, limits->has_max ? limits->max : UINT64_MAX};
        instance->memories[i] = vm_memory_create(instance->store, wanted, err);
        if (!instance->memories[i])
            return -ENOMEM;
    }
    if (wasm->memory_count)
        instance->memory_base = instance->memories[0]->base;
    return 0;
}

/* Active segments, in order; each is dropped when it is done, declared ones at once. enum vm_trap_kind. */
static uint32_t copy_segments(struct vm_instance *instance)
{
    const struct wasm_module *wasm = code_program_of(instance->module)->wasm;
    uint32_t trap = VM_TRAP_NONE;
    union vm_slot to;
    for (uint32_t i = 0; i < wasm->elem_count; i++) {
        const struct wasm_elem *elem = &wasm->elems[i];
        if (elem->mode == WASM_SEGMENT_ACTIVE) {
            if (!run_constant(instance, elem->offset, &to))
                return VM_TRAP_OUT_OF_MEMORY;
            trap = run_table_init(instance, i, elem->tableidx, to.i32, 0, elem->count);
            if (trap)
                return trap;
        }
        instance->dropped_elems[i] = elem->mode != WASM_SEGMENT_PASSIVE;
    }
    for (uint32_t i = 0; i < wasm->data_count; i++) {
        const struct wasm_data *data = &wasm->datas[i];
        if (data->mode == WASM_SEGMENT_ACTIVE) {
            if (!run_constant(instance, data->offset, &to))
                return VM_TRAP_OUT_OF_MEMORY;
            trap = run_memory_init(instance, i, data->memidx, to.i32, 0, data->size_bytes);
            if (trap)
                return trap;
        }
        instance->dropped_datas[i] = data->mode != WASM_SEGMENT_PASSIVE;
    }
    return VM_TRAP_NONE;
}

int vm_instance_create(struct vm_store *store, struct vm_module *module, const struct vm_extern *imports,
                       size_t import_count, struct vm_instance **created, struct vm_trap *trap, struct err *err)
{
    *created = NULL;
    struct vm_instance *instance = allocate(store, module);
    if (!instance)
        return err_set(err, ERR_RESOURCE, 0, "no memory for an instance");
    int status = link_imports(instance, imports, import_count, err);
    if (status == 0)
        status = define(instance, err);
    if (status != 0)
        return status;
    run_fill_trap(trap, copy_segments(instance));
    if (trap->kind != VM_TRAP_NONE)
        return 1;
    uint32_t start = code_program_of(module)->wasm->start;
    union vm_slot unused[1];
    if (start != UINT32_MAX && !vm_call(instance_func(instance, start), unused, trap))
        return 1;
    *created = instance;
    return 0;
}

bool vm_instance_export(struct vm_instance *instance, const char *name, size_t name_bytes, struct vm_extern *found)
{
    const struct code_program *program = code_program_of(instance->module);
    const struct wasm_module *wasm = program->wasm;
    for (uint32_t i = 0; i < wasm->export_count; i++) {
        const struct wasm_export *export = &wasm->exports[i];
        if (export->name.size_bytes != name_bytes || memcmp(export->name.bytes, name, name_bytes) != 0)
            continue;
        found->kind = (enum vm_externkind) export->kind;
        switch (export->kind) {
        case WASM_EXTERN_FUNC: found->func = instance_func(instance, export->index); break;
        case WASM_EXTERN_TABLE: found->table = instance_table(instance, export->index); break;
        case WASM_EXTERN_MEMORY: found->memory = instance->memories[export->index]; break;
        case WASM_EXTERN_GLOBAL: {
            const struct wasm_globaltype *type = &wasm->globals[export->index].type;
            found->global = vm_global_create(instance->store, type->valtype, type->is_mutable, (union vm_slot){0});
            if (!found->global)
                return false;
            found->global->value = instance_global(instance, export->index);
            break;
        }
        }
        return true;
    }
    return false;
}

struct vm_memory *vm_instance_memory(struct vm_instance *instance)
{
    return code_program_of(instance->module)->wasm->memory_count ? instance->memories[0] : NULL;
}
