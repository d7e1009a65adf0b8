/* From the host into the guest, and out again by a trap.
 *
 * Each store has one value stack, mapped at the first call. A call from the host starts at its bottom, or, where the
 * guest has called the host and the host calls back, above what the guest uses. Guest frames take at least as much of
 * it as of the native stack, so its limit bounds both, as long as there is that much native stack left: where there is
 * less (a thread with a small stack, deep host recursion) the limit is drawn in. A tail call into another instance,
 * whose frame stays without taking any value stack, draws it in by as much itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vm/code/engine.h"
#include "vm/run/entry.h"
#include "vm/run/fault.h"
#include "vm/run/instance.h"
#include "vm/run/objects.h"
#include "vm/run/observe.h"
#include "vm/run/trap_numbers.h"

static_assert(TRAP_NONE == VM_TRAP_NONE, "trap_numbers.h");
static_assert(TRAP_UNDEFINED_ELEMENT == VM_TRAP_UNDEFINED_ELEMENT, "trap_numbers.h");
static_assert(TRAP_UNINITIALIZED_ELEMENT == VM_TRAP_UNINITIALIZED_ELEMENT, "trap_numbers.h");
static_assert(TRAP_INDIRECT_TYPE_MISMATCH == VM_TRAP_INDIRECT_TYPE_MISMATCH, "trap_numbers.h");
static_assert(TRAP_STACK_EXHAUSTED == VM_TRAP_STACK_EXHAUSTED, "trap_numbers.h");
static_assert(TRAP_OUT_OF_MEMORY == VM_TRAP_OUT_OF_MEMORY, "trap_numbers.h");

/* Kept free on the native stack for host functions, the translator and signal handlers. */
#define NATIVE_RESERVE_BYTES (256u << 10)
#define LEAST_FRAME_BYTES 64
/* Where nobody says how much is left. */
#define UNKNOWN_STACK_BYTES (1u << 20)

static const char *const trap_texts[VM_TRAP_COUNT] = {
#define TRAP(ident, text) [VM_TRAP_##ident] = text,
#include "vm/traps.def"
};

const char *vm_trap_text(enum vm_trap_kind kind)
{
    return trap_texts[kind];
}

void run_context_init(struct run_context *context, struct vm_store *store)
{
    context->store = store;
}

void run_context_fini(struct run_context *context)
{
    if (context->stack)
        munmap(context->stack, context->stack_bytes);
}

static bool map_stack(struct run_context *context, size_t size_bytes)
{
    void *stack = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    context->stack = context->frame = stack;
    context->stack_bytes = size_bytes;
    return true;
}

/* The lowest address of this thread's native stack that may be used. */
static uint8_t *native_bottom(void)
{
    static _Thread_local uint8_t *bottom;
    if (!bottom) {
        pthread_attr_t attributes;
        void *address = (uint8_t *)__builtin_frame_address(0) - UNKNOWN_STACK_BYTES;
        size_t size_bytes;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) { /* it reads /proc, which may not be there */
            pthread_attr_getstack(&attributes, &address, &size_bytes);
            pthread_attr_destroy(&attributes);
        }
        bottom = (uint8_t *)address + NATIVE_RESERVE_BYTES;
    }
    return bottom;
}

/* Sets the limits for a call whose frame begins at context->frame. False: there is no room. */
static bool set_limits(struct run_context *context, size_t need_bytes)
{
    uint8_t *here = __builtin_frame_address(0), *bottom = native_bottom();
    if (here <= bottom)
        return false;
    size_t native = (size_t)(here - bottom);
    size_t value = (size_t)(context->stack + context->stack_bytes - context->frame);
    size_t usable = native < value ? native : value;
    context->stack_limit = context->frame + usable;
    return need_bytes + LEAST_FRAME_BYTES <= usable;
}

void run_fill_trap(struct vm_trap *trap, enum vm_trap_kind kind)
{
    memset(trap, 0, offsetof(struct vm_trap, frames));
    trap->kind = kind;
    snprintf(trap->message, sizeof trap->message, "%s", vm_trap_text(kind));
}

void run_complete_trap(struct vm_trap *trap)
{
    if (trap->kind == VM_TRAP_NONE)
        trap->kind = VM_TRAP_HOST;
    if (!trap->message[0])
        snprintf(trap->message, sizeof trap->message, "%s", vm_trap_text(trap->kind));
}

static bool trap_now(struct vm_trap *trap, enum vm_trap_kind kind)
{
    run_fill_trap(trap, kind);
    return false;
}

bool vm_call(struct vm_func *func, union vm_slot *slots, struct vm_trap *trap)
{
    memset(trap, 0, offsetof(struct vm_trap, frames));
    if (!func->instance) {
        bool is_done = func->host(func->user, NULL, slots, trap);
        if (!is_done)
            run_complete_trap(trap);
        return is_done;
    }
    struct vm_functype type = vm_func_type(func);
    struct run_context *context = func->instance->context, saved;
    if (!context->stack && !map_stack(context, func->engine->config.stack_bytes))
        return trap_now(trap, VM_TRAP_OUT_OF_MEMORY);
    run_observe_begin(context);
    saved = *context;
    size_t slots_bytes = 8 * (size_t)(type.param_count > type.result_count ? type.param_count : type.result_count);
    if (!set_limits(context, slots_bytes)) {
        *context = saved;
        return trap_now(trap, VM_TRAP_STACK_EXHAUSTED);
    }
    context->trap = trap;
    uint8_t *frame = context->frame;
    union vm_slot *values = (union vm_slot *)frame;
    for (uint32_t i = 0; i < type.param_count; i++)
        values[i].i64 = type.params[i] == VM_I32 || type.params[i] == VM_F32 ? slots[i].i32 : slots[i].i64;
    struct run_context *outer = run_fault_enter(context);
    int status = run_enter(context, func->instance, func->body, frame);
    run_fault_leave(outer);
    if (status == 0 && type.result_count == 1) {
        if (type.results[0] == VM_F32 || type.results[0] == VM_F64)
            memcpy(slots, context->f0, sizeof *slots);
        else
            slots[0].i64 = context->r0;
        if (type.results[0] == VM_F32)
            slots[0].i64 = slots[0].i32;
    } else if (status == 0 && type.result_count) {
        memcpy(slots, values, 8 * type.result_count);
    }
    saved.instructions = context->instructions;
    *context = saved;
    return status == 0;
}
