/* handler: what every handler is: its arguments, which are the interpreter's registers, and how it ends.
 *
 *     x86-64            aarch64         argument  holds
 *     r12               x20             instance  struct vm_instance of the running function
 *     r13               x21             memory    first byte of its memory 0
 *     r14               x22             stream    the operand stream, at this instruction's operands
 *     r15               x23             frame     the running function's slots: parameters, locals, operand stack
 *     rdi rsi r8 r9 r11 x24 x25 x28 x0 x1  r0 .. r4: values that the translator keeps in registers
 *     xmm0 .. xmm5      v0 .. v5        f0 .. f5
 *     rdx rcx           x26 x27         nothing: at a call they carry callee and function; x86-64 divides and shifts
 *                                       with them
 *
 * (preserve_none gives arguments in this order.) An i32 in r0..r4 has zeros above. Handlers leave the frame pointer
 * (rbp, x29) and the stack pointer as they find them: the frame pointer is that of the guest call, set by `enter`.
 *
 * A handler ends in a tail jump to run_next (NEXT), to a branch target (TAKE) or to the trap routine (TRAP). In a
 * region the jump to run_next is cut off and the next stencil follows; run in place, run_next fetches the next
 * handler's address from the operand stream. That is the only difference between the two dispatch modes.
 *
 * What would break it: a constant in memory, a call to a function by name, a jump table: all are relative to where the
 * handler was linked. stencil_tool refuses them. Slow paths are reached through the instance.
 */
#ifndef GLASSBOX_VM_RUN_HANDLER_H
#define GLASSBOX_VM_RUN_HANDLER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "vm/code/shapes.h"
#include "vm/run/layout.h"
#include "vm/glassbox.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef float f32;
typedef double f64;
/* A float register holds an f32 or an f64 in its lowest lane. */
typedef f32 float_register __attribute__((vector_size(16)));
typedef f64 double_register __attribute__((vector_size(16)));

struct vm_instance;

#define HANDLER_ARGUMENTS                                                                                             \
    struct vm_instance *instance, uint8_t *memory, const uint8_t *stream, uint8_t *frame, u64 r0, u64 r1, u64 spare0, \
        u64 spare1, u64 r2, u64 r3, u64 r4, float_register f0, float_register f1, float_register f2,                  \
        float_register f3, float_register f4, float_register f5

typedef __attribute__((preserve_none)) void (*handler_fn)(HANDLER_ARGUMENTS);

#define HANDLER(name) __attribute__((preserve_none, visibility("hidden"))) void run_op_##name(HANDLER_ARGUMENTS)

__attribute__((preserve_none, visibility("hidden"))) void run_next(HANDLER_ARGUMENTS);

/* The spare registers are passed on undefined, which costs no instruction; so are the value registers of DEAD jumps,
 * after which the translator expects nothing in them. */
#define JUMP(target)                                                                                                 \
    do {                                                                                                             \
        u64 undefined;                                                                                               \
        __attribute__((musttail)) return (target)(instance, memory, stream, frame, r0, r1, undefined, undefined, r2, \
                                                  r3, r4, f0, f1, f2, f3, f4, f5);                                   \
    } while (0)
#define JUMP_DEAD(target, value)                                                                                \
    do {                                                                                                        \
        u64 undefined;                                                                                          \
        float_register nothing;                                                                                 \
        __attribute__((musttail)) return (target)(instance, memory, stream, frame, value, undefined, undefined, \
                                                  undefined, undefined, undefined, undefined, nothing, nothing, \
                                                  nothing, nothing, nothing, nothing);                          \
    } while (0)

#define NEXT(operand_bytes)        \
    do {                           \
        stream += (operand_bytes); \
        JUMP(run_next);            \
    } while (0)

/* Jumps to the branch target {stream, code} that stands `at` bytes into the operands. */
#define TAKE(at)                                       \
    do {                                               \
        handler_fn target = (handler_fn)U64((at) + 8); \
        stream = (const uint8_t *)U64(at);             \
        JUMP(target);                                  \
    } while (0)
#define TARGET_BYTES 16

/* Ends the guest's call; `stream` must still be at this instruction's operands, of which there must be at least one (a
 * position names the last instruction that begins at or before it). */
#define TRAP(kind) JUMP_DEAD((handler_fn)LOAD_AT(u64, (uint8_t *)instance + INSTANCE_TRAP), kind)

#define LOAD_AT(type, address)                                     \
    ({                                                             \
        type loaded_;                                              \
        memcpy(&loaded_, (const void *)(address), sizeof loaded_); \
        loaded_;                                                   \
    })
#define STORE_AT(type, address, value)                       \
    do {                                                     \
        type stored_ = (value);                              \
        memcpy((void *)(address), &stored_, sizeof stored_); \
    } while (0)

/* Operands in the stream. Slots are byte offsets from `frame`. */
#define U32(at) LOAD_AT(u32, stream + (at))
#define U64(at) LOAD_AT(u64, stream + (at))
#define SLOT(at) (frame + U32(at))

/* An integer operand of kind 0..4, S or I, and how many bytes of the stream it takes. */
#define GET(type, kind) GET_##kind(type)
#define GET_0(type) ((type)r0)
#define GET_1(type) ((type)r1)
#define GET_2(type) ((type)r2)
#define GET_3(type) ((type)r3)
#define GET_4(type) ((type)r4)
#define GET_S(type) LOAD_AT(type, SLOT(0))
#define GET_I(type) ((type)(i64)LOAD_AT(i32, stream))
#define BYTES(kind) BYTES_##kind
#define BYTES_0 0
#define BYTES_1 0
#define BYTES_2 0
#define BYTES_3 0
#define BYTES_4 0
#define BYTES_5 0
#define BYTES_S 4
#define BYTES_I 4
#define SET(kind, value) (r##kind = (value))

/* A float operand of kind 0..5 or S. What stands in the lanes above is nobody's business. */
#define GET_FLOAT(type, kind) GET_FLOAT_##kind(type)
#define GET_FLOAT_0(type) LANE_##type(f0)
#define GET_FLOAT_1(type) LANE_##type(f1)
#define GET_FLOAT_2(type) LANE_##type(f2)
#define GET_FLOAT_3(type) LANE_##type(f3)
#define GET_FLOAT_4(type) LANE_##type(f4)
#define GET_FLOAT_5(type) LANE_##type(f5)
#define GET_FLOAT_S(type) LOAD_AT(type, SLOT(0))
#define LANE_f32(reg) ((reg)[0])
#define LANE_f64(reg) (((double_register)(reg))[0])
#define SET_FLOAT(type, kind, value) (f##kind = WITH_##type(f##kind, value))

/* A value put into a register, and into a fresh one. Above it stands whatever costs nothing: x86-64's scalar
 * instructions keep the upper lanes and its loads (movss, movsd) clear them; aarch64's clear them all. */
#if defined(__x86_64__)
#define WITH_f32(reg, value)           \
    ({                                 \
        float_register lanes_ = (reg); \
        lanes_[0] = (value);           \
        lanes_;                        \
    })
#define WITH_f64(reg, value)                             \
    ({                                                   \
        double_register lanes_ = (double_register)(reg); \
        lanes_[0] = (value);                             \
        (float_register) lanes_;                         \
    })
#define NEW_f32(value) ((float_register){(value)})
#define NEW_f64(value) ((float_register)(double_register){(value)})
#elif defined(__aarch64__)
#define WITH_f32(reg, value) NEW_f32(value)
#define WITH_f64(reg, value) NEW_f64(value)
#define NEW_f32(value)         \
    ({                         \
        float_register lanes_; \
        lanes_[0] = (value);   \
        lanes_;                \
    })
#define NEW_f64(value)           \
    ({                           \
        double_register lanes_;  \
        lanes_[0] = (value);     \
        (float_register) lanes_; \
    })
#endif

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Expand a family: DEFINE is given the member's kinds and the family's arguments. */
#define DEFINE_FAMILY(name, shape, definition, args) SHAPE_EACH_##shape(definition, name, args)

#endif
