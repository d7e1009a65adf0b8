/* An observer sees functions begin and end by handlers that are laid into their code (translate.c). What is left to do
 * here: to tell it of threads, to end the frames that a trap takes away, and to stand around host functions, which have
 * no translated code.
 *
 * Instructions are counted by basic block, ahead. A frame that is unwound in the middle of one, because it trapped
 * there or called what trapped, gives back what it did not come to. */
#include "vm/run/observe.h"

#include <stdlib.h>

#include "vm/code/engine.h"

static const struct vm_hooks *hooks_of(const struct run_context *context)
{
    return context->store->engine->config.hooks;
}

void run_observe_begin(struct run_context *context)
{
    const struct vm_hooks *hooks = hooks_of(context);
    if (context->observer || !hooks || !hooks->thread_begin)
        return;
    context->observe_enter = hooks->enter;
    context->observe_leave = hooks->leave;
    context->observer = hooks->thread_begin(context->store->engine->config.hooks_user, &context->instructions);
}

void run_observe_end(struct run_context *context)
{
    if (context->observer && hooks_of(context)->thread_end)
        hooks_of(context)->thread_end(context->observer);
    context->observer = NULL;
}

/* A tail call says that its function is left before it finds out whether it can be carried out. */
static bool has_left(const struct code_body *body, uint32_t bytecode_offset)
{
    struct wasm_instruction instruction;
    wasm_decode(body->program->wasm, bytecode_offset, &instruction);
    return instruction.opcode == WASM_OP_return_call || instruction.opcode == WASM_OP_return_call_indirect;
}

void run_observe_unwind(struct run_context *context, const struct code_body *body, uint32_t bytecode_offset)
{
    if (body->blocks)
        context->instructions -= code_instructions_after(body, bytecode_offset);
    if (body->observed && !has_left(body, bytecode_offset))
        context->observe_leave(context->observer, body->observed, VM_LEAVE_UNWIND);
}

bool run_is_entering(const struct code_body *body, const void *at)
{
    return (const uint8_t *)at == body->stream + (body->region ? 0 : sizeof(void *));
}

/* What a host function that is observed is called through. */
struct observed_host {
    vm_host_fn host;
    void *user;
    void *function;
    struct run_context *context;
};

static bool call_observed_host(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    const struct observed_host *observed = user;
    struct run_context *context = observed->context;
    if (!context->observer)
        return observed->host(observed->user, caller, slots, trap);
    context->observe_enter(context->observer, observed->function);
    bool is_done = observed->host(observed->user, caller, slots, trap);
    context->observe_leave(context->observer, observed->function, is_done ? VM_LEAVE_RETURN : VM_LEAVE_UNWIND);
    return is_done;
}

bool run_observe_host(struct host_func *host)
{
    struct run_context *context = &host->store->context;
    const struct vm_hooks *hooks = hooks_of(context);
    if (!hooks || !hooks->observe_function)
        return true;
    void *function = hooks->observe_function(context->store->engine->config.hooks_user, NULL, UINT32_MAX, host->name);
    if (!function)
        return true;
    host->observed = malloc(sizeof *host->observed);
    if (!host->observed)
        return false;
    *host->observed = (struct observed_host){host->func.host, host->func.user, function, context};
    host->func.host = call_observed_host;
    host->func.user = host->observed;
    return true;
}
