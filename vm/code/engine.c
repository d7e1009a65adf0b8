/* Types are numbered engine-wide, so that an indirect call compares one integer whatever modules caller and callee come
 * from. They are found by hash: a module may bring a million. */
#include "vm/code/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "vm/code/handlers.h"
#include "vm/code/translator.h"

#ifdef GLASSBOX_REGIONS
#define HAS_REGIONS true
#else
#define HAS_REGIONS false
#endif

bool vm_has_regions(void)
{
    return HAS_REGIONS;
}

int vm_engine_create(const struct vm_config *config, struct vm_engine **created, struct err *err)
{
    *created = NULL;
    struct vm_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return err_set(err, ERR_RESOURCE, 0, "no memory for an engine");
    if (config)
        engine->config = *config;
    else
        engine->config.dispatch = HAS_REGIONS ? VM_DISPATCH_REGION : VM_DISPATCH_SHARED;
    if (engine->config.dispatch == VM_DISPATCH_REGION && !HAS_REGIONS) {
        free(engine);
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "this build has no regions: its handlers are instrumented; use shared dispatch");
    }
    if (engine->config.stack_bytes == 0)
        engine->config.stack_bytes = 4u << 20;
    pthread_mutex_init(&engine->lock, NULL);
    engine->types = VEC_INIT(sizeof(struct code_type));
    engine->bodies = VEC_INIT(sizeof(struct code_body *));
    code_arena_init(&engine->arena, engine->config.hooks, engine->config.hooks_user);
    *created = engine;
    return 0;
}

void vm_engine_destroy(struct vm_engine *engine)
{
    if (!engine)
        return;
    code_translator_destroy(engine->translator);
    code_arena_fini(&engine->arena);
    for (size_t i = 0; i < engine->types.count; i++)
        free(((struct code_type *)vec_at(&engine->types, i))->valtypes);
    vec_fini(&engine->types);
    vec_fini(&engine->bodies);
    free(engine->type_table);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

static uint64_t hash_type(const uint32_t *params, uint32_t param_count, const uint32_t *results, uint32_t result_count)
{
    uint64_t hash = 0xcbf29ce484222325u ^ param_count;
    for (uint32_t i = 0; i < param_count; i++)
        hash = (hash ^ params[i]) * 0x100000001b3u;
    hash = (hash ^ 0xffff) * 0x100000001b3u;
    for (uint32_t i = 0; i < result_count; i++)
        hash = (hash ^ results[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static bool are_equal(const uint32_t *a, const uint32_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static bool is_type(const struct code_type *type, const uint32_t *params, uint32_t param_count, const uint32_t *results,
                    uint32_t result_count)
{
    return type->param_count == param_count && type->result_count == result_count &&
           are_equal(type->valtypes, params, param_count) &&
           are_equal(type->valtypes + param_count, results, result_count);
}

/* The table holds 1 + number, 0 where empty, and is never more than half full. */
static bool grow_table(struct vm_engine *engine)
{
    size_t capacity = engine->type_table_capacity ? engine->type_table_capacity * 2 : 64;
    uint32_t *table = calloc(capacity, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < engine->types.count; i++) {
        const struct code_type *type = vec_at(&engine->types, i);
        uint64_t at =
            hash_type(type->valtypes, type->param_count, type->valtypes + type->param_count, type->result_count);
        while (table[at & (capacity - 1)])
            at++;
        table[at & (capacity - 1)] = (uint32_t)i + 1;
    }
    free(engine->type_table);
    engine->type_table = table;
    engine->type_table_capacity = capacity;
    return true;
}

static uint32_t add_type(struct vm_engine *engine, const uint32_t *params, uint32_t param_count,
                         const uint32_t *results, uint32_t result_count)
{
    if (engine->types.count * 2 >= engine->type_table_capacity && !grow_table(engine))
        return UINT32_MAX;
    uint64_t at = hash_type(params, param_count, results, result_count);
    uint32_t *entry;
    while (*(entry = &engine->type_table[at & (engine->type_table_capacity - 1)])) {
        if (is_type(vec_at(&engine->types, *entry - 1), params, param_count, results, result_count))
            return *entry - 1;
        at++;
    }
    uint32_t *valtypes = malloc((param_count + result_count + 1) * sizeof *valtypes);
    struct code_type *type = valtypes ? vec_push(&engine->types) : NULL;
    if (!type) {
        free(valtypes);
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < param_count; i++)
        valtypes[i] = params[i];
    for (uint32_t i = 0; i < result_count; i++)
        valtypes[param_count + i] = results[i];
    *type = (struct code_type){valtypes, param_count, result_count};
    *entry = (uint32_t)engine->types.count;
    return *entry - 1;
}

uint32_t code_engine_type(struct vm_engine *engine, const uint32_t *params, uint32_t param_count,
                          const uint32_t *results, uint32_t result_count)
{
    pthread_mutex_lock(&engine->lock);
    uint32_t number = add_type(engine, params, param_count, results, result_count);
    pthread_mutex_unlock(&engine->lock);
    return number;
}

struct vm_functype code_engine_functype(struct vm_engine *engine, uint32_t number)
{
    pthread_mutex_lock(&engine->lock);
    struct code_type type = *(struct code_type *)vec_at(&engine->types, number);
    pthread_mutex_unlock(&engine->lock);
    return (struct vm_functype){type.valtypes, type.valtypes + type.param_count, type.param_count, type.result_count};
}

static int by_stream(const void *a, const void *b)
{
    uintptr_t first = (uintptr_t)(*(struct code_body *const *)a)->stream;
    uintptr_t second = (uintptr_t)(*(struct code_body *const *)b)->stream;
    return (first > second) - (first < second);
}

/* The body whose stream begins last of those that begin at or before the address. A stream pointer may have moved past
 * the last operand. */
static struct code_body *find_by_stream(struct vm_engine *engine, const void *stream)
{
    struct code_body *const *bodies = engine->bodies.data;
    size_t low = 0, high = engine->bodies.count;
    if (!engine->bodies_are_sorted && high)
        qsort(engine->bodies.data, high, sizeof *bodies, by_stream);
    engine->bodies_are_sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)bodies[middle]->stream <= (uintptr_t)stream)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low && (uintptr_t)stream - (uintptr_t)bodies[low - 1]->stream <= bodies[low - 1]->stream_bytes;
    return is_found ? bodies[low - 1] : NULL;
}

static struct code_body *find_by_code(struct vm_engine *engine, const void *code)
{
    for (size_t i = 0; i < engine->bodies.count; i++) {
        struct code_body *body = *(struct code_body **)vec_at(&engine->bodies, i);
        if (body->region && (uintptr_t)code - (uintptr_t)body->region < body->region_bytes)
            return body;
    }
    return NULL;
}

struct code_body *code_engine_find(struct vm_engine *engine, const void *stream_or_code)
{
    pthread_mutex_lock(&engine->lock);
    struct code_body *found = code_arena_holds(&engine->arena, stream_or_code) ? find_by_code(engine, stream_or_code)
                                                                               : find_by_stream(engine, stream_or_code);
    pthread_mutex_unlock(&engine->lock);
    return found;
}

void code_engine_forget(struct vm_engine *engine, const struct code_body *first, size_t count)
{
    pthread_mutex_lock(&engine->lock);
    size_t kept = 0;
    for (size_t i = 0; i < engine->bodies.count; i++) {
        struct code_body *body = *(struct code_body **)vec_at(&engine->bodies, i);
        if (body < first || body >= first + count)
            *(struct code_body **)vec_at(&engine->bodies, kept++) = body;
    }
    engine->bodies.count = kept;
    pthread_mutex_unlock(&engine->lock);
}
