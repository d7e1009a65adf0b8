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

#define ASSEMBLY(name, n1, n2, n3, args)

#define HANDLERS DEFINE_FAMILY
#include "vm/code/handlers_control.def"
