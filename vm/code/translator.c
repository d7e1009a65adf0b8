/* From a body's first call to its publication, under the engine's lock. The buffers of a translation belong to the
 * engine and are used again by the next, unless the body was so large that the next will hardly need them. The entry is
 * stored last: who sees it sees the stream and the region. */
#include <errno.h>
#include <stdlib.h>

#include "vm/code/translator.h"
#include "vm/run/entry.h"

static struct code_translator *translator_create(struct vm_engine *engine)
{
    struct code_translator *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->engine = engine;
    t->is_region = engine->config.dispatch == VM_DISPATCH_REGION;
    t->stream = VEC_INIT(1);
    t->region = VEC_INIT(1);
    t->positions = VEC_INIT(sizeof(struct code_position));
    t->labels = VEC_INIT(sizeof(struct label));
    t->fixups = VEC_INIT(sizeof(struct fixup));
    t->blocks = VEC_INIT(sizeof(struct code_block));
    t->values = VEC_INIT(sizeof(struct value));
    t->local_types = VEC_INIT(sizeof(uint8_t));
    t->local_state = VEC_INIT(sizeof(struct local_state));
    t->controls = VEC_INIT(sizeof(struct control));
    return t;
}

void code_translator_destroy(struct code_translator *t)
{
    if (!t)
        return;
    code_emit_fini(t);
    code_values_fini(t);
    vec_fini(&t->controls);
    free(t);
}

/* The engine's translator, ready for a translation. NULL: no memory. The lock is held. */
static struct code_translator *begin(struct vm_engine *engine)
{
    if (!engine->translator)
        engine->translator = translator_create(engine);
    if (engine->translator) {
        code_emit_begin(engine->translator);
        code_values_begin(engine->translator);
        engine->translator->counts = false;
        engine->translator->observed = NULL;
        engine->translator->controls.count = 0;
        engine->translator->local_types.count = engine->translator->local_state.count = 0;
    }
    return engine->translator;
}

static void publish(struct code_translator *t, const struct code_body *body, const char *host_name)
{
    const struct vm_hooks *hooks = t->engine->config.hooks;
    if (!t->is_region || !hooks || !hooks->code_published)
        return;
    struct vec positions = VEC_INIT(sizeof(struct vm_code_position));
    for (size_t i = 0; i < t->positions.count; i++) {
        const struct code_position *from = vec_at(&t->positions, i);
        struct vm_code_position *to = vec_push(&positions);
        if (to)
            *to = (struct vm_code_position){from->region_offset, from->bytecode_offset};
    }
    struct vm_code code = {
        .module = body->program ? body->program->module : NULL,
        .funcidx = body->funcidx,
        .host_name = host_name,
        .address = body->region,
        .size_bytes = body->region_bytes,
        .positions = positions.data,
        .position_count = positions.count,
    };
    hooks->code_published(t->engine->config.hooks_user, &code);
    vec_fini(&positions);
}

static int finish(struct code_translator *t, struct code_body *body, const char *host_name)
{
    int status = code_emit_end(t, body);
    if (status != 0)
        return status;
    publish(t, body, host_name);
    const void *entry = body->region ? (const void *)body->region : (const void *)run_next_code;
    atomic_store_explicit(&body->entry, entry, memory_order_release);
    return 0;
}

static void observe(struct code_translator *t, struct code_body *body)
{
    const struct vm_hooks *hooks = t->engine->config.hooks;
    t->counts = hooks && hooks->counts_instructions;
    if (hooks && hooks->observe_function)
        body->observed = hooks->observe_function(t->engine->config.hooks_user, t->program->module, body->funcidx, NULL);
    t->observed = body->observed;
}

/* finish, and the engine knows the body from then on. */
static int finish_known(struct code_translator *t, struct code_body *body)
{
    struct vm_engine *engine = t->engine;
    struct code_body **known = vec_push(&engine->bodies);
    int status = known ? finish(t, body, NULL) : -ENOMEM;
    if (status == 0) {
        *known = body;
        engine->bodies_are_sorted = false;
    } else if (known) {
        engine->bodies.count--;
    }
    return status;
}

#define KEPT_BODY_BYTES (256u << 10)

int code_translate(struct code_body *body)
{
    struct vm_engine *engine = body->program->engine;
    int status = 0;
    pthread_mutex_lock(&engine->lock);
    if (!body->stream) {
        struct code_translator *t = begin(engine);
        if (t) {
            t->program = body->program;
            t->wasm = body->program->wasm;
            t->func = &t->wasm->funcs[body->funcidx];
            t->type = &t->wasm->types[t->func->typeidx];
            observe(t, body);
            code_translate_function(t);
        }
        status = t ? finish_known(t, body) : -ENOMEM;
        if (t && t->func->body.size_bytes > KEPT_BODY_BYTES) {
            code_translator_destroy(t);
            engine->translator = NULL;
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static void load_integer(struct code_translator *t, uint32_t type, uint32_t slot)
{
    code_emit(t, CODE_load_slot);
    code_emit_u32(t, slot);
    if (type == VM_I32)
        code_emit(t, CODE_i32_wrap_i64);
}

/* What the host function wrote may have anything in the upper half of an i32, which translated code takes for zero. A
 * single result goes where a guest's would be, several stay in their slots. */
static void translate_host(struct code_translator *t, const struct vm_functype *type)
{
    code_emit(t, CODE_host_call);
    if (type->result_count == 1 && is_float((uint8_t)type->results[0])) {
        code_emit(t, CODE_float_load_slot);
        code_emit_u32(t, 0);
    } else if (type->result_count == 1) {
        load_integer(t, type->results[0], 0);
    } else {
        for (uint32_t i = 0; i < type->result_count; i++) {
            if (type->results[i] != VM_I32)
                continue;
            load_integer(t, VM_I32, local_slot(i));
            code_emit(t, CODE_store_slot);
            code_emit_u32(t, local_slot(i));
        }
    }
    code_emit(t, CODE_leave);
}

int code_host_body(struct vm_engine *engine, struct code_body *body, const struct vm_functype *type, const char *name)
{
    pthread_mutex_lock(&engine->lock);
    struct code_translator *t = begin(engine);
    if (t)
        translate_host(t, type);
    int status = t ? finish(t, body, name) : -ENOMEM;
    pthread_mutex_unlock(&engine->lock);
    return status;
}
