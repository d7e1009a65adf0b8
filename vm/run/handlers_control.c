/* Handlers for control that C can express: the definitions that vm/code/handlers_control.def names. */
#include "vm/run/handler.h"

#define BRANCH(name, n1, n2, n3, args) \
    HANDLER(name##_n_n_n)              \
    {                                  \
        TAKE(0);                       \
    }

/* Operands: how many targets, then the targets, then the default. */
#define BRANCH_TABLE(name, i, n2, n3, args)         \
    HANDLER(name##_##i##_n_n)                       \
    {                                               \
        u32 index = GET(u32, i), count = U32(0);    \
        u64 chosen = index < count ? index : count; \
        TAKE(4 + chosen * TARGET_BYTES);            \
    }

#define UNREACHABLE(name, n1, n2, n3, args) \
    HANDLER(name##_n_n_n)                   \
    {                                       \
        TRAP(VM_TRAP_UNREACHABLE);          \
    }

/* Operands: the first slot, how many pairs of slots. The empty asm keeps this from becoming a call of memset. */
#define ZERO_SLOTS(name, n1, n2, n3, args)                         \
    HANDLER(name##_n_n_n)                                          \
    {                                                              \
        uint8_t *slot = SLOT(0), *end = slot + (u64)U32(4) * 16;   \
        do {                                                       \
            STORE_AT(float_register, slot, ((float_register){0})); \
            slot += 16;                                            \
            __asm__ volatile("" : "+r"(slot));                     \
        } while (slot != end);                                     \
        NEXT(8);                                                   \
    }

/* Calls a C function of the VM (runtime.h). Operands: its address, the slot of its first argument and result, two
 * immediates. It takes and leaves everything in slots, so no register is live. */
typedef u32 (*runtime_fn)(struct vm_instance *instance, void *slots, u32 first, u32 second);
#define RUNTIME(name, n1, n2, n3, args)                                       \
    HANDLER(name##_n_n_n)                                                     \
    {                                                                         \
        u64 trap = ((runtime_fn)U64(0))(instance, SLOT(8), U32(12), U32(16)); \
        if (UNLIKELY(trap))                                                   \
            TRAP(trap);                                                       \
        stream += 20;                                                         \
        JUMP_DEAD(run_next, trap);                                            \
    }

#define CONTEXT LOAD_AT(uint8_t *, (uint8_t *)instance + INSTANCE_CONTEXT)
#define IN_CONTEXT(type, offset) LOAD_AT(type, CONTEXT + (offset))

/* Operand: how many bytecode instructions the basic block that begins here has. */
#define COUNT(name, n1, n2, n3, args)                                                                  \
    HANDLER(name##_n_n_n)                                                                              \
    {                                                                                                  \
        STORE_AT(u64, CONTEXT + CONTEXT_INSTRUCTIONS, IN_CONTEXT(u64, CONTEXT_INSTRUCTIONS) + U32(0)); \
        NEXT(4);                                                                                       \
    }

/* Operands: what stands for the function; why it is left. Nothing is live in registers. */
typedef void (*observe_enter_fn)(void *thread, void *function);
#define OBSERVE_ENTER(name, n1, n2, n3, args)                   \
    HANDLER(name##_n_n_n)                                       \
    {                                                           \
        IN_CONTEXT(observe_enter_fn, CONTEXT_OBSERVE_ENTER)     \
        (IN_CONTEXT(void *, CONTEXT_OBSERVER), (void *)U64(0)); \
        stream += 8;                                            \
        u64 nothing_live;                                       \
        JUMP_DEAD(run_next, nothing_live);                      \
    }
typedef void (*observe_leave_fn)(void *thread, void *function, u32 why);
#define OBSERVE_LEAVE(name, n1, n2, n3, args)                           \
    HANDLER(name##_n_n_n)                                               \
    {                                                                   \
        IN_CONTEXT(observe_leave_fn, CONTEXT_OBSERVE_LEAVE)             \
        (IN_CONTEXT(void *, CONTEXT_OBSERVER), (void *)U64(0), U32(8)); \
        stream += 12;                                                   \
        u64 nothing_live;                                               \
        JUMP_DEAD(run_next, nothing_live);                              \
    }

#define ASSEMBLY(name, n1, n2, n3, args)

#define HANDLERS DEFINE_FAMILY
#include "vm/code/handlers_control.def"
