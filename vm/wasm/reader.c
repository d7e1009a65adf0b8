/* A module is read once, from its first byte to its last, and each expression is validated where it stands: the order
 * of sections (§5.5.2) is such that everything an expression may refer to has been read by then, but for the number of
 * data segments, for which the format has the data count section.
 *
 * Every count is compared with the bytes that are left before anything of that size is allocated, so memory stays in
 * proportion to the input; only the arrays that imports and definitions fill together grow. A first pass that counts
 * everything was rejected: it reads the bytes twice to save a few reallocations.
 *
 * The module owns its arrays from the moment they exist (see keep()), so that a failure anywhere is one destroy.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "vm/wasm/cursor.h"
#include "vm/wasm/features.h"
#include "vm/wasm/module.h"
#include "vm/wasm/names.h"
#include "vm/wasm/types.h"
#include "vm/wasm/validate.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (try_rc)                                                                                                    \
            return try_rc;                                                                                             \
    } while (0)

enum section_order {
    BEFORE_ALL,
#define SECTION(ident, id) ORDER_##ident,
#include "vm/wasm/sections.def"
};

struct reader {
    struct wasm_module *module;
    struct wasm_validator validator;
    enum section_order last; /* of the sections read so far */
    uint32_t body_count;     /* code entries */
    struct vec funcs;
    struct vec tables;
    struct vec memories;
    struct vec globals;
    struct vec customs;
    struct vec local_runs;
};

/* Lets the module see, and own, what the growing arrays hold. */
static void keep(struct reader *r)
{
    struct wasm_module *module = r->module;
    module->funcs = r->funcs.data;
    module->func_count = (uint32_t)r->funcs.count;
    module->tables = r->tables.data;
    module->table_count = (uint32_t)r->tables.count;
    module->memories = r->memories.data;
    module->memory_count = (uint32_t)r->memories.count;
    module->globals = r->globals.data;
    module->global_count = (uint32_t)r->globals.count;
    module->customs = r->customs.data;
    module->custom_count = (uint32_t)r->customs.count;
    module->local_runs = r->local_runs.data;
}

static int append(struct reader *r, struct wasm_cursor *in, struct vec *vec, const void *element)
{
    bool appended = vec_append(vec, element, 1);
    keep(r);
    return appended ? 0 : wasm_no_memory(in);
}

/* An array of exactly `count` zeroed elements for the module; NULL is right where count is 0. */
static int allocate(struct wasm_cursor *in, uint32_t count, size_t element_bytes, void *array_pointer)
{
    void *array = count ? calloc(count, element_bytes) : NULL;
    memcpy(array_pointer, &array, sizeof array);
    return array || !count ? 0 : wasm_no_memory(in);
}

static int read_index(struct wasm_cursor *in, uint32_t count, const char *what, uint32_t *index)
{
    const uint8_t *where = in->at;
    TRY(wasm_cursor_u32(in, index));
    if (*index >= count)
        return wasm_invalid(in, where, "unknown %s %u", what, *index);
    return 0;
}

/* ---- types (§5.5.4) ---- */

static int read_valtypes(struct wasm_cursor *in, enum wasm_limit limit, uint32_t **pool, const uint32_t **valtypes,
                         uint32_t *count)
{
    TRY(wasm_cursor_count(in, limit, count));
    *valtypes = *pool;
    for (uint32_t i = 0; i < *count; i++)
        TRY(wasm_read_valtype(in, (*pool)++));
    return 0;
}

/* All parameters and results share one array: there are fewer than the section has bytes. */
static int read_type_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    uint32_t count, *pool;
    TRY(wasm_cursor_count(in, WASM_LIMIT_TYPES, &count));
    TRY(allocate(in, count, sizeof *module->types, &module->types));
    TRY(allocate(in, (uint32_t)wasm_cursor_left(in), sizeof *pool, &module->storage));
    pool = module->storage;
    for (; module->type_count < count; module->type_count++) {
        struct wasm_functype *type = &module->types[module->type_count];
        const uint8_t *where = in->at;
        uint8_t form;
        TRY(wasm_cursor_byte(in, &form));
        const char *feature = wasm_feature_of(WASM_PLACE_TYPEFORM, form);
        if (feature)
            return wasm_unsupported(in, where, "%s: type form 0x%02x", feature, form);
        if (form & 0x80)
            return wasm_malformed(in, where, "integer representation too long");
        if (form != 0x60)
            return wasm_malformed(in, where, "malformed type form 0x%02x", form);
        TRY(read_valtypes(in, WASM_LIMIT_PARAMS, &pool, &type->params, &type->param_count));
        TRY(read_valtypes(in, WASM_LIMIT_RESULTS, &pool, &type->results, &type->result_count));
    }
    return 0;
}

/* ---- what imports and definitions share ---- */

static int add_func(struct reader *r, struct wasm_cursor *in, uint32_t import)
{
    struct wasm_func func = {.import = import};
    TRY(read_index(in, r->module->type_count, "type", &func.typeidx));
    TRY(wasm_check_limit(in, in->at, WASM_LIMIT_FUNCS, r->funcs.count + 1));
    return append(r, in, &r->funcs, &func);
}

static int add_table(struct reader *r, struct wasm_cursor *in, struct wasm_table *table)
{
    TRY(wasm_check_limit(in, in->at, WASM_LIMIT_TABLES, r->tables.count + 1));
    return append(r, in, &r->tables, table);
}

static int add_memory(struct reader *r, struct wasm_cursor *in)
{
    const uint8_t *where = in->at;
    struct wasm_memtype memory;
    TRY(wasm_read_memtype(in, &memory));
    if (r->memories.count > 0)
        return wasm_unsupported(in, where, "multi-memory: a second memory");
    return append(r, in, &r->memories, &memory);
}

static int add_global(struct reader *r, struct wasm_cursor *in, const struct wasm_global *global)
{
    TRY(wasm_check_limit(in, in->at, WASM_LIMIT_GLOBALS, r->globals.count + 1));
    return append(r, in, &r->globals, global);
}

/* ---- imports (§5.5.5) ---- */

static int read_import_type(struct reader *r, struct wasm_cursor *in, const uint8_t *where, struct wasm_import *import)
{
    struct wasm_module *module = r->module;
    struct wasm_table table = {0};
    struct wasm_global global = {0};
    switch (import->kind) {
    case WASM_EXTERN_FUNC:
        import->index = module->imported_func_count++;
        return add_func(r, in, module->import_count);
    case WASM_EXTERN_TABLE:
        import->index = module->imported_table_count++;
        TRY(wasm_read_tabletype(in, &table.type));
        return add_table(r, in, &table);
    case WASM_EXTERN_MEMORY:
        import->index = module->imported_memory_count++;
        return add_memory(r, in);
    case WASM_EXTERN_GLOBAL:
        import->index = module->imported_global_count++;
        TRY(wasm_read_globaltype(in, &global.type));
        return add_global(r, in, &global);
    }
    return wasm_malformed(in, where, "malformed import kind 0x%02x", import->kind);
}

static int read_extern_kind(struct wasm_cursor *in, enum wasm_externkind *kind)
{
    const uint8_t *where = in->at;
    uint8_t byte;
    TRY(wasm_cursor_byte(in, &byte));
    const char *feature = wasm_feature_of(WASM_PLACE_EXTERN, byte);
    if (feature)
        return wasm_unsupported(in, where, "%s: external kind 0x%02x", feature, byte);
    *kind = byte;
    return 0;
}

static int read_import_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_IMPORTS, &count));
    TRY(allocate(in, count, sizeof *module->imports, &module->imports));
    for (; module->import_count < count; module->import_count++) {
        struct wasm_import *import = &module->imports[module->import_count];
        TRY(wasm_cursor_name(in, &import->module));
        TRY(wasm_cursor_name(in, &import->name));
        const uint8_t *where = in->at;
        TRY(read_extern_kind(in, &import->kind));
        TRY(read_import_type(r, in, where, import));
    }
    return 0;
}

/* ---- functions, tables, memories, globals (§5.5.6 to §5.5.9) ---- */

static int read_function_section(struct reader *r, struct wasm_cursor *in)
{
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_FUNCS, &count));
    for (uint32_t i = 0; i < count; i++)
        TRY(add_func(r, in, UINT32_MAX));
    return 0;
}

/* 0x40 0x00 tabletype expr: a table with an initial element. */
static int read_table_section(struct reader *r, struct wasm_cursor *in)
{
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_TABLES, &count));
    for (uint32_t i = 0; i < count; i++) {
        struct wasm_table table = {.has_init = wasm_cursor_left(in) >= 2 && in->at[0] == 0x40 && in->at[1] == 0x00};
        if (table.has_init)
            in->at += 2;
        TRY(wasm_read_tabletype(in, &table.type));
        if (table.has_init)
            TRY(wasm_validate_constant(&r->validator, in, table.type.reftype, &table.init));
        TRY(add_table(r, in, &table));
    }
    return 0;
}

static int read_memory_section(struct reader *r, struct wasm_cursor *in)
{
    uint32_t count;
    TRY(wasm_cursor_u32(in, &count));
    for (uint32_t i = 0; i < count; i++)
        TRY(add_memory(r, in));
    return 0;
}

/* A global's initial value may use the globals before it. */
static int read_global_section(struct reader *r, struct wasm_cursor *in)
{
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_GLOBALS, &count));
    for (uint32_t i = 0; i < count; i++) {
        struct wasm_global global = {0};
        TRY(wasm_read_globaltype(in, &global.type));
        TRY(wasm_validate_constant(&r->validator, in, global.type.valtype, &global.init));
        TRY(add_global(r, in, &global));
    }
    return 0;
}

/* ---- exports and the start function (§5.5.10, §5.5.11) ---- */

static int read_export_index(struct reader *r, struct wasm_cursor *in, const uint8_t *where, struct wasm_export *export)
{
    const struct wasm_module *module = r->module;
    switch (export->kind) {
    case WASM_EXTERN_FUNC:
        TRY(read_index(in, module->func_count, "function", &export->index));
        return wasm_validator_declare(&r->validator, in, export->index);
    case WASM_EXTERN_TABLE:
        return read_index(in, module->table_count, "table", &export->index);
    case WASM_EXTERN_MEMORY:
        return read_index(in, module->memory_count, "memory", &export->index);
    case WASM_EXTERN_GLOBAL:
        return read_index(in, module->global_count, "global", &export->index);
    }
    return wasm_malformed(in, where, "malformed export kind 0x%02x", export->kind);
}

static int compare_names(const void *left, const void *right)
{
    const struct wasm_name *a = left, *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return memcmp(a->bytes, b->bytes, a->size_bytes);
}

/* By sorting: a hash table's worst case would be quadratic, and the names are the attacker's. */
static int check_export_names(struct reader *r, struct wasm_cursor *in)
{
    const struct wasm_module *module = r->module;
    struct wasm_name *names;
    TRY(allocate(in, module->export_count, sizeof *names, &names));
    for (uint32_t i = 0; i < module->export_count; i++)
        names[i] = module->exports[i].name;
    if (names)
        qsort(names, module->export_count, sizeof *names, compare_names);
    int rc = 0;
    for (uint32_t i = 1; !rc && i < module->export_count; i++)
        if (compare_names(&names[i - 1], &names[i]) == 0)
            rc = wasm_invalid(in, (const uint8_t *)names[i].bytes, "duplicate export name");
    free(names);
    return rc;
}

static int read_export_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_EXPORTS, &count));
    TRY(allocate(in, count, sizeof *module->exports, &module->exports));
    for (; module->export_count < count; module->export_count++) {
        struct wasm_export *export = &module->exports[module->export_count];
        TRY(wasm_cursor_name(in, &export->name));
        const uint8_t *where = in->at;
        TRY(read_extern_kind(in, &export->kind));
        TRY(read_export_index(r, in, where, export));
    }
    return check_export_names(r, in);
}

static int read_start_section(struct reader *r, struct wasm_cursor *in)
{
    const struct wasm_module *module = r->module;
    const uint8_t *where = in->at;
    TRY(read_index(in, module->func_count, "function", &r->module->start));
    const struct wasm_functype *type = &module->types[module->funcs[module->start].typeidx];
    if (type->param_count || type->result_count)
        return wasm_invalid(in, where, "start function must have neither parameters nor results");
    return 0;
}

/* ---- element segments (§5.5.12) ---- */

enum {
    ELEM_NOT_ACTIVE = 1, /* passive, or declared with ELEM_EXPLICIT */
    ELEM_EXPLICIT = 2,   /* a table index stands there; the kind or type too */
    ELEM_EXPRS = 4,
};

static int read_elem_mode(struct reader *r, struct wasm_cursor *in, uint32_t flags, struct wasm_elem *elem)
{
    if (flags & ELEM_NOT_ACTIVE) {
        elem->mode = flags & ELEM_EXPLICIT ? WASM_SEGMENT_DECLARED : WASM_SEGMENT_PASSIVE;
        return 0;
    }
    elem->mode = WASM_SEGMENT_ACTIVE;
    const uint8_t *where = in->at;
    if (flags & ELEM_EXPLICIT)
        TRY(wasm_cursor_u32(in, &elem->tableidx));
    if (elem->tableidx >= r->module->table_count)
        return wasm_invalid(in, where, "unknown table %u", elem->tableidx);
    return wasm_validate_constant(&r->validator, in, WASM_I32, &elem->offset);
}

static int read_elem_type(struct wasm_cursor *in, uint32_t flags, struct wasm_elem *elem)
{
    elem->reftype = WASM_FUNCREF;
    elem->is_exprs = flags & ELEM_EXPRS;
    if (!(flags & (ELEM_NOT_ACTIVE | ELEM_EXPLICIT)))
        return 0;
    if (elem->is_exprs)
        return wasm_read_reftype(in, &elem->reftype);
    const uint8_t *where = in->at;
    uint8_t kind;
    TRY(wasm_cursor_byte(in, &kind));
    if (kind != 0)
        return wasm_malformed(in, where, "malformed element kind 0x%02x", kind);
    return 0;
}

static int read_elem_item(struct reader *r, struct wasm_cursor *in, const struct wasm_elem *elem)
{
    if (elem->is_exprs)
        return wasm_validate_constant(&r->validator, in, elem->reftype, &(struct wasm_expr){0});
    uint32_t funcidx;
    TRY(read_index(in, r->module->func_count, "function", &funcidx));
    return wasm_validator_declare(&r->validator, in, funcidx);
}

static int read_elem(struct reader *r, struct wasm_cursor *in, struct wasm_elem *elem)
{
    const uint8_t *where = in->at;
    uint32_t flags;
    TRY(wasm_cursor_u32(in, &flags));
    if (flags > (ELEM_NOT_ACTIVE | ELEM_EXPLICIT | ELEM_EXPRS))
        return wasm_malformed(in, where, "malformed elements segment kind %u", flags);
    TRY(read_elem_mode(r, in, flags, elem));
    TRY(read_elem_type(in, flags, elem));
    if (elem->mode == WASM_SEGMENT_ACTIVE && r->module->tables[elem->tableidx].type.reftype != elem->reftype)
        return wasm_invalid(in, where, "type mismatch: a segment of %s for a table of %s",
                            wasm_valtype_name(elem->reftype),
                            wasm_valtype_name(r->module->tables[elem->tableidx].type.reftype));
    TRY(wasm_cursor_count(in, WASM_LIMIT_ELEMS, &elem->count));
    elem->items.offset = wasm_cursor_offset(in, in->at);
    for (uint32_t i = 0; i < elem->count; i++)
        TRY(read_elem_item(r, in, elem));
    elem->items.size_bytes = wasm_cursor_offset(in, in->at) - elem->items.offset;
    return 0;
}

static int read_element_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_ELEMS, &count));
    TRY(allocate(in, count, sizeof *module->elems, &module->elems));
    for (; module->elem_count < count; module->elem_count++)
        TRY(read_elem(r, in, &module->elems[module->elem_count]));
    return 0;
}

/* ---- code (§5.5.13) ---- */

static int read_data_count_section(struct reader *r, struct wasm_cursor *in)
{
    r->validator.has_data_count = true;
    return wasm_cursor_u32(in, &r->validator.data_count);
}

static int read_locals(struct reader *r, struct wasm_cursor *in, struct wasm_func *func)
{
    const uint8_t *where = in->at;
    uint64_t local_count = r->module->types[func->typeidx].param_count;
    func->first_run = (uint32_t)r->local_runs.count;
    TRY(wasm_cursor_u32(in, &func->run_count));
    for (uint32_t i = 0; i < func->run_count; i++) {
        struct wasm_local_run run;
        TRY(wasm_cursor_u32(in, &run.count));
        local_count += run.count;
        if (local_count > UINT32_MAX)
            return wasm_malformed(in, where, "too many locals");
        TRY(wasm_read_valtype(in, &run.valtype));
        TRY(append(r, in, &r->local_runs, &run));
    }
    func->local_count = (uint32_t)local_count;
    return wasm_check_limit(in, where, WASM_LIMIT_LOCALS, local_count);
}

static int read_code_entry(struct reader *r, struct wasm_cursor *in, struct wasm_func *func)
{
    const uint8_t *where = in->at, *entry;
    uint32_t size_bytes;
    TRY(wasm_cursor_u32(in, &size_bytes));
    TRY(wasm_cursor_bytes(in, size_bytes, &entry));
    TRY(wasm_check_limit(in, where, WASM_LIMIT_BODY_BYTES, size_bytes));
    func->entry_offset = wasm_cursor_offset(in, entry);
    struct wasm_cursor body = *in;
    body.at = entry;
    body.end = in->at;
    TRY(read_locals(r, &body, func));
    return wasm_validate_body(&r->validator, &body, func);
}

static int read_code_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    const uint8_t *where = in->at;
    module->code_offset = wasm_cursor_offset(in, in->at);
    module->code_size_bytes = (uint32_t)wasm_cursor_left(in);
    TRY(wasm_cursor_u32(in, &r->body_count));
    if (r->body_count != module->func_count - module->imported_func_count)
        return wasm_malformed(in, where, "function and code section have inconsistent lengths");
    for (uint32_t i = module->imported_func_count; i < module->func_count; i++)
        TRY(read_code_entry(r, in, &module->funcs[i]));
    return 0;
}

/* ---- data segments (§5.5.14) ---- */

static int read_data(struct reader *r, struct wasm_cursor *in, struct wasm_data *data)
{
    enum { ACTIVE, PASSIVE, ACTIVE_EXPLICIT };
    const uint8_t *where = in->at;
    uint32_t flags;
    TRY(wasm_cursor_u32(in, &flags));
    if (flags > ACTIVE_EXPLICIT)
        return wasm_malformed(in, where, "malformed data segment kind %u", flags);
    data->mode = flags == PASSIVE ? WASM_SEGMENT_PASSIVE : WASM_SEGMENT_ACTIVE;
    if (data->mode == WASM_SEGMENT_ACTIVE) {
        if (flags == ACTIVE_EXPLICIT)
            TRY(wasm_cursor_u32(in, &data->memidx));
        if (data->memidx >= r->module->memory_count)
            return wasm_invalid(in, where, "unknown memory %u", data->memidx);
        TRY(wasm_validate_constant(&r->validator, in, WASM_I32, &data->offset));
    }
    TRY(wasm_cursor_u32(in, &data->size_bytes));
    return wasm_cursor_bytes(in, data->size_bytes, &data->bytes);
}

static int read_data_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_module *module = r->module;
    uint32_t count;
    TRY(wasm_cursor_count(in, WASM_LIMIT_DATAS, &count));
    TRY(allocate(in, count, sizeof *module->datas, &module->datas));
    for (; module->data_count < count; module->data_count++)
        TRY(read_data(r, in, &module->datas[module->data_count]));
    return 0;
}

/* ---- the module ---- */

static const struct {
    uint8_t id;
    int (*read)(struct reader *r, struct wasm_cursor *in);
} sections[] = {
#define SECTION(ident, id) [ORDER_##ident] = {id, read_##ident##_section},
#include "vm/wasm/sections.def"
};

static int read_custom_section(struct reader *r, struct wasm_cursor *in)
{
    struct wasm_custom custom;
    TRY(wasm_cursor_name(in, &custom.name));
    custom.size_bytes = (uint32_t)wasm_cursor_left(in);
    TRY(wasm_cursor_bytes(in, custom.size_bytes, &custom.bytes));
    return append(r, in, &r->customs, &custom);
}

static int read_known_section(struct reader *r, struct wasm_cursor *in, const uint8_t *where, uint8_t id)
{
    for (enum section_order order = BEFORE_ALL + 1; order < sizeof sections / sizeof sections[0]; order++) {
        if (sections[order].id != id)
            continue;
        if (order <= r->last)
            return wasm_malformed(in, where, "unexpected content after last section: section %u out of order", id);
        r->last = order;
        return sections[order].read(r, in);
    }
    const char *feature = wasm_feature_of(WASM_PLACE_SECTION, id);
    if (feature)
        return wasm_unsupported(in, where, "%s: section %u", feature, id);
    return wasm_malformed(in, where, "malformed section id %u", id);
}

static int read_section(struct reader *r, struct wasm_cursor *in)
{
    const uint8_t *where = in->at;
    uint8_t id = *in->at++;
    uint32_t size_bytes;
    TRY(wasm_cursor_u32(in, &size_bytes));
    if (size_bytes > wasm_cursor_left(in))
        return wasm_malformed(in, where, "length out of bounds: section %u of %u bytes, %zu are left", id, size_bytes,
                              wasm_cursor_left(in));
    struct wasm_cursor section = *in;
    section.end = in->at += size_bytes;
    section.in_section = true;
    TRY(id == 0 ? read_custom_section(r, &section) : read_known_section(r, &section, where, id));
    if (section.at != section.end)
        return wasm_malformed(in, section.at, "section size mismatch: %zu bytes too many in section %u",
                              wasm_cursor_left(&section), id);
    return 0;
}

static int read_header(struct wasm_cursor *in)
{
    static const uint8_t magic[] = {0x00, 0x61, 0x73, 0x6d}, version[] = {0x01, 0x00, 0x00, 0x00};
    const uint8_t *where = in->at, *bytes;
    TRY(wasm_cursor_bytes(in, sizeof magic, &bytes));
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return wasm_malformed(in, where, "magic header not detected");
    where = in->at;
    TRY(wasm_cursor_bytes(in, sizeof version, &bytes));
    if (memcmp(bytes, version, sizeof version) != 0)
        return wasm_malformed(in, where, "unknown binary version");
    return 0;
}

static int read_module(struct reader *r, struct wasm_cursor *in)
{
    const struct wasm_module *module = r->module;
    TRY(wasm_check_limit(in, in->at, WASM_LIMIT_MODULE_BYTES, module->size_bytes));
    TRY(read_header(in));
    while (in->at < in->end)
        TRY(read_section(r, in));
    if (r->body_count != module->func_count - module->imported_func_count)
        return wasm_malformed(in, in->at, "function and code section have inconsistent lengths");
    if (r->validator.has_data_count && r->validator.data_count != module->data_count)
        return wasm_malformed(in, in->at, "data count and data section have inconsistent lengths");
    return wasm_read_names(r->module, in->err);
}

int wasm_module_create(const uint8_t *bytes, size_t size_bytes, struct wasm_module **module, struct err *err)
{
    struct wasm_cursor in = {.base = bytes, .at = bytes, .end = bytes + size_bytes, .err = err};
    *module = calloc(1, sizeof **module);
    if (!*module)
        return wasm_no_memory(&in);
    (*module)->bytes = bytes;
    (*module)->size_bytes = size_bytes;
    (*module)->start = UINT32_MAX;

    struct reader r = {
        .module = *module,
        .funcs = VEC_INIT(sizeof(struct wasm_func)),
        .tables = VEC_INIT(sizeof(struct wasm_table)),
        .memories = VEC_INIT(sizeof(struct wasm_memtype)),
        .globals = VEC_INIT(sizeof(struct wasm_global)),
        .customs = VEC_INIT(sizeof(struct wasm_custom)),
        .local_runs = VEC_INIT(sizeof(struct wasm_local_run)),
    };
    wasm_validator_init(&r.validator, *module);
    int rc = read_module(&r, &in);
    wasm_validator_fini(&r.validator);
    if (rc) {
        wasm_module_destroy(*module);
        *module = NULL;
    }
    return rc;
}

void wasm_module_destroy(struct wasm_module *module)
{
    if (!module)
        return;
    free(module->types);
    free(module->imports);
    free(module->funcs);
    free(module->tables);
    free(module->memories);
    free(module->globals);
    free(module->exports);
    free(module->elems);
    free(module->datas);
    free(module->customs);
    free(module->local_runs);
    free(module->func_names);
    free(module->storage);
    free(module);
}

const struct wasm_custom *wasm_module_custom(const struct wasm_module *module, const char *name)
{
    size_t size_bytes = strlen(name);
    for (uint32_t i = 0; i < module->custom_count; i++) {
        const struct wasm_custom *custom = &module->customs[i];
        if (custom->name.size_bytes == size_bytes && memcmp(custom->name.bytes, name, size_bytes) == 0)
            return custom;
    }
    return NULL;
}
