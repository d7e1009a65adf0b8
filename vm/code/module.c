/* vm_module: the embedder's and the profiler's view of a module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/code/engine.h"
#include "vm/code/program.h"
#include "vm/hooks.h"

/* The module names itself, else it is called what the embedder called it. */
static char *copy_name(const struct wasm_module *wasm, const char *given)
{
    if (wasm->module_name.bytes && wasm->module_name.size_bytes)
        return strndup(wasm->module_name.bytes, wasm->module_name.size_bytes);
    return strdup(given && *given ? given : "module");
}

int vm_module_create(struct vm_engine *engine, const void *bytes, size_t size_bytes, const char *name,
                     struct vm_module **created, struct err *err)
{
    *created = NULL;
    struct wasm_module *wasm;
    int status = wasm_module_create(bytes, size_bytes, &wasm, err);
    if (status != 0)
        return status;
    struct vm_module *module = calloc(1, sizeof *module);
    if (!module) {
        wasm_module_destroy(wasm);
        return err_set(err, ERR_RESOURCE, 0, "no memory for a module");
    }
    module->program = (struct code_program){.engine = engine, .module = module, .wasm = wasm};
    module->name = copy_name(wasm, name);
    status =
        module->name ? code_program_init(&module->program, err) : err_set(err, ERR_RESOURCE, 0, "no memory for a name");
    if (status != 0) {
        vm_module_destroy(module);
        return status;
    }
    *created = module;
    return 0;
}

void vm_module_destroy(struct vm_module *module)
{
    if (!module)
        return;
    const struct vm_config *config = &module->program.engine->config;
    if (config->hooks && config->hooks->module_destroyed)
        config->hooks->module_destroyed(config->hooks_user, module);
    code_program_fini(&module->program);
    wasm_module_destroy(module->program.wasm);
    free(module->name);
    free(module);
}

static struct vm_limits limits_of(const struct wasm_limits *limits)
{
    return (struct vm_limits){limits->min, limits->has_max ? limits->max : UINT64_MAX};
}

static struct vm_externtype extern_type(const struct wasm_module *wasm, enum wasm_externkind kind, uint32_t index)
{
    switch (kind) {
    case WASM_EXTERN_FUNC: {
        const struct wasm_functype *type = &wasm->types[wasm->funcs[index].typeidx];
        return (struct vm_externtype){
            .kind = VM_EXTERN_FUNC,
            .func = {type->params, type->results, type->param_count, type->result_count},
        };
    }
    case WASM_EXTERN_TABLE:
        return (struct vm_externtype){
            .kind = VM_EXTERN_TABLE,
            .valtype = wasm->tables[index].type.reftype,
            .limits = limits_of(&wasm->tables[index].type.limits),
        };
    case WASM_EXTERN_MEMORY:
        return (struct vm_externtype){.kind = VM_EXTERN_MEMORY, .limits = limits_of(&wasm->memories[index].limits)};
    default:
        return (struct vm_externtype){
            .kind = VM_EXTERN_GLOBAL,
            .valtype = wasm->globals[index].type.valtype,
            .is_mutable = wasm->globals[index].type.is_mutable,
        };
    }
}

size_t vm_module_import_count(const struct vm_module *module)
{
    return module->program.wasm->import_count;
}

struct vm_import_info vm_module_import(const struct vm_module *module, size_t index)
{
    const struct wasm_import *import = &module->program.wasm->imports[index];
    return (struct vm_import_info){
        import->module.bytes,
        import->module.size_bytes,
        import->name.bytes,
        import->name.size_bytes,
        extern_type(module->program.wasm, import->kind, import->index),
    };
}

size_t vm_module_export_count(const struct vm_module *module)
{
    return module->program.wasm->export_count;
}

struct vm_export_info vm_module_export(const struct vm_module *module, size_t index)
{
    const struct wasm_export *export = &module->program.wasm->exports[index];
    return (struct vm_export_info){
        export->name.bytes,
        export->name.size_bytes,
        extern_type(module->program.wasm, export->kind, export->index),
    };
}

/* ---- hooks.h ---- */

const void *vm_module_bytes(const struct vm_module *module, size_t *size_bytes)
{
    *size_bytes = module->program.wasm->size_bytes;
    return module->program.wasm->bytes;
}

const char *vm_module_name(const struct vm_module *module)
{
    return module->name;
}

uint32_t vm_module_func_count(const struct vm_module *module)
{
    return module->program.wasm->func_count;
}

const char *vm_module_func_name(const struct vm_module *module, uint32_t funcidx, size_t *size_bytes)
{
    const struct wasm_module *wasm = module->program.wasm;
    *size_bytes = 0;
    if (!wasm->func_names || funcidx >= wasm->func_count || !wasm->func_names[funcidx].bytes)
        return NULL;
    *size_bytes = wasm->func_names[funcidx].size_bytes;
    return wasm->func_names[funcidx].bytes;
}

bool vm_module_func_range(const struct vm_module *module, uint32_t funcidx, uint32_t *begin, uint32_t *end)
{
    const struct wasm_module *wasm = module->program.wasm;
    if (funcidx < wasm->imported_func_count || funcidx >= wasm->func_count)
        return false;
    *begin = wasm->funcs[funcidx].entry_offset;
    *end = wasm->funcs[funcidx].body.offset + wasm->funcs[funcidx].body.size_bytes;
    return true;
}

const void *vm_module_custom(const struct vm_module *module, const char *name, size_t *size_bytes)
{
    const struct wasm_custom *custom = wasm_module_custom(module->program.wasm, name);
    *size_bytes = custom ? custom->size_bytes : 0;
    return custom ? custom->bytes : NULL;
}

uint32_t vm_module_code_offset(const struct vm_module *module)
{
    return module->program.wasm->code_offset;
}

uint32_t vm_module_listing(const struct vm_module *module, uint32_t bytecode_offset, char *text, size_t capacity)
{
    return wasm_listing(module->program.wasm, bytecode_offset, text, capacity);
}
