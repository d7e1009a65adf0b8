/* How a guest call ends early.
 *
 * A trap does not pass through C frames: it goes back to the innermost run_enter, whose vm_call returns false to the
 * host, which hands that on; the outer guest's frames are then added to the same backtrace. */
#include "vm/code/engine.h"
#include "vm/run/entry.h"
#include "vm/run/fault.h"
#include "vm/run/handler.h"
#include "vm/run/instance.h"
#include "vm/run/objects.h"
#include "vm/run/observe.h"

static void add_frame(struct vm_trap *trap, struct code_body *body, uint32_t offset)
{
    if (trap->frame_count < VM_TRAP_FRAMES)
        trap->frames[trap->frame_count++] = (struct vm_trap_frame){body->program->module, body->funcidx, offset};
}

/* Walks the guest's frames from `rbp` out to the innermost run_enter; `at` is where the innermost frame stands: a
 * stream pointer, or machine code. */
static void add_frames(struct run_context *context, struct vm_trap *trap, const void *at, void *const *rbp)
{
    void *const *outermost = (void *const *)((uint8_t *)context->entry_sp + RUN_ENTER_FRAME);
    for (; rbp != outermost; rbp = *rbp) {
        bool is_wanted = trap->frame_count < VM_TRAP_FRAMES || context->observer;
        struct code_body *body = is_wanted ? code_engine_find(context->store->engine, at) : NULL;
        if (body) { /* else a host function */
            bool in_region = (uintptr_t)at - (uintptr_t)body->region < body->region_bytes;
            uint32_t offset = in_region ? code_position_of_address(body, at) : code_position_of_stream(body, at);
            add_frame(trap, body, offset);
            if (context->observer && !run_is_entering(body, at))
                run_observe_unwind(context, body, offset);
        }
        trap->frame_total++;
        at = ((void *const *)*rbp)[-1]; /* the caller's saved stream pointer */
    }
}

static _Noreturn void end_call(struct run_context *context, enum vm_trap_kind kind, const void *at, void *const *rbp)
{
    struct vm_trap *trap = context->trap;
    if (kind != VM_TRAP_NONE)
        run_fill_trap(trap, kind);
    else
        run_complete_trap(trap);
    if (trap->kind != VM_TRAP_EXIT || context->observer)
        add_frames(context, trap, at, rbp);
    run_leave(context, 1);
}

/* Where handlers go to trap: r0 is the kind. rbp is still the guest frame's, saved by this function's own prologue. */
__attribute__((preserve_none)) void run_trap(HANDLER_ARGUMENTS);
__attribute__((preserve_none)) void run_trap(HANDLER_ARGUMENTS)
{
    void *const *own = __builtin_frame_address(0);
    end_call(instance->context, (enum vm_trap_kind)r0, stream, *own);
}

void run_fault(struct run_context *context)
{
    const void *at = context->fault_pc;
    if (!code_arena_holds(&context->store->engine->arena, at))
        at = context->fault_stream;
    end_call(context, VM_TRAP_MEMORY_OUT_OF_BOUNDS, at, context->fault_rbp);
}
