/* Handlers that make, leave and cross frames, for aarch64, and the two ways between C and the guest.
 *
 * A guest call is one native call, with this frame (offsets from x29):
 *
 *     +8   return address        into the caller's region
 *      0   the caller's x29      so frame-pointer call chains are exact
 *     -8   operand stream        while this function calls: the call's operands; a backtrace reads it
 *    -16   instance              while this function calls through an import or a table
 *
 * The frame record stands above the two words, not below, so that x29 plays the same part as x86-64's rbp and C code
 * need not know which machine it is on. sp is always a multiple of 16. x30 is dead once it is in the frame record.
 *
 * At a region's first instruction: x26 = struct code_body, x27 = struct vm_func where the call came through one, x22 =
 * the operand stream, x23 = the arguments. Everything else but x20, x21, x29, x30 is dead. A single result comes back
 * in x24 or v0, several in the slots.
 *
 * The entry is loaded with acquire, and the stream after it: a translation stores the stream first and the entry with
 * release. That orders data. The machine code itself was made visible to every core's instruction fetch by
 * __builtin___clear_cache, and no core can hold older instructions of the place, since an arena never uses one twice.
 */
#include "vm/run/layout.h"
#include "vm/run/trap_numbers.h"

#define instance x20
#define memory   x21
#define stream   x22
#define frame    x23
#define r0       x24
#define body     x26
#define func     x27

    .macro handler name
    .section .text.run_op_\name\()_n_n_n, "ax", @progbits
    .globl run_op_\name\()_n_n_n
    .hidden run_op_\name\()_n_n_n
    .type run_op_\name\()_n_n_n, @function
    .p2align 4
run_op_\name\()_n_n_n:
    .endm

    .macro end name
    .size run_op_\name\()_n_n_n, . - run_op_\name\()_n_n_n
    .endm

    .macro trap kind
    mov r0, #\kind
    ldr x8, [instance, #INSTANCE_TRAP]
    br x8
    .endm

    .macro make_frame
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    .endm

    .macro drop_frame
    mov sp, x29
    ldp x29, x30, [sp], #16
    .endm

/* Finds where `body` is entered, in x9, and sets the stream for it. */
    .macro find_entry
    ldar x9, [body]
    ldr stream, [body, #BODY_STREAM]
    .endm

/* enter: bytes of this function's frame:4 */
handler enter
    make_frame
    sub sp, sp, #16
    ldr x9, [instance, #INSTANCE_CONTEXT]
    ldr w8, [stream]
    ldr x9, [x9, #CONTEXT_STACK_LIMIT]
    add x8, x8, frame
    cmp x8, x9
    b.ls 1f
    trap TRAP_STACK_EXHAUSTED
1:  add stream, stream, #4
    b run_next
end enter

handler leave
    drop_frame
    ret
end leave

/* call: from the caller's frame to the callee's:4, struct code_body:8 */
handler call
    stur stream, [x29, #-8]
    ldr w8, [stream]
    ldur body, [stream, #4]
    add frame, frame, x8
    find_entry
    blr x9
    ldur stream, [x29, #-8]
    ldr w8, [stream]
    sub frame, frame, x8
    add stream, stream, #12
    b run_next
end call

/* Calls the struct vm_func in `func`, whoever's it is. A host function runs with its caller's instance. */
    .macro call_func
    stp instance, stream, [x29, #-16]
    ldr w8, [stream]
    add frame, frame, x8
    ldr x8, [func, #FUNC_INSTANCE]
    ldr body, [func, #FUNC_BODY]
    cmp x8, #0
    csel instance, x8, instance, ne
    ldr memory, [instance, #INSTANCE_MEMORY]
    find_entry
    blr x9
    ldp instance, stream, [x29, #-16]
    ldr memory, [instance, #INSTANCE_MEMORY]
    ldr w8, [stream]
    sub frame, frame, x8
    .endm

/* Finds in `func` the struct vm_func at index r0 of the table named at 4(stream), of the type at 8(stream). */
    .macro find_func
    ldr w8, [stream, #4]
    ldr x8, [instance, x8]
    ldr x9, [x8, #TABLE_COUNT]
    cmp x9, w24, uxtw
    b.hi 1f
    trap TRAP_UNDEFINED_ELEMENT
1:  ldr x8, [x8, #TABLE_ELEMENTS]
    ldr func, [x8, w24, uxtw #3]
    cbnz func, 2f
    trap TRAP_UNINITIALIZED_ELEMENT
2:  ldr w8, [stream, #8]
    ldr w9, [func, #FUNC_TYPE]
    cmp w8, w9
    b.eq 3f
    trap TRAP_INDIRECT_TYPE_MISMATCH
3:
    .endm

/* call_import: frame:4, cell of the struct vm_func pointer in the instance:4 */
handler call_import
    ldr w8, [stream, #4]
    ldr func, [instance, x8]
    call_func
    add stream, stream, #8
    b run_next
end call_import

/* call_indirect: frame:4, cell of the struct vm_table pointer:4, type:4; the index is in r0 */
handler call_indirect
    find_func
    call_func
    add stream, stream, #12
    b run_next
end call_indirect

/* The tail calls find their arguments moved to the frame's first slots. */

/* return_call: nothing:4, struct code_body:8 */
handler return_call
    ldur body, [stream, #4]
    find_entry
    drop_frame
    br x9
end return_call

/* Tail calls the struct vm_func in `func`. The caller of this function expects its instance back, so only a function of
 * the same instance takes this frame's place; another's is called. Since its arguments stand where this frame's slots
 * do, the value stack does not grow with it, and its limit is drawn in instead. */
    .macro return_call_func
    ldr x8, [func, #FUNC_INSTANCE]
    ldr body, [func, #FUNC_BODY]
    cmp x8, instance
    b.ne 4f
    find_entry
    drop_frame
    br x9
4:  ldr x9, [instance, #INSTANCE_CONTEXT]
    ldr x10, [x9, #CONTEXT_STACK_LIMIT]
    sub x10, x10, #NATIVE_FRAME_BYTES
    str x10, [x9, #CONTEXT_STACK_LIMIT]
    stp instance, stream, [x29, #-16]
    cmp x8, #0
    csel instance, x8, instance, ne
    ldr memory, [instance, #INSTANCE_MEMORY]
    find_entry
    blr x9
    ldur instance, [x29, #-16]
    ldr memory, [instance, #INSTANCE_MEMORY]
    ldr x9, [instance, #INSTANCE_CONTEXT]
    ldr x10, [x9, #CONTEXT_STACK_LIMIT]
    add x10, x10, #NATIVE_FRAME_BYTES
    str x10, [x9, #CONTEXT_STACK_LIMIT]
    drop_frame
    ret
    .endm

/* return_call_import: nothing:4, cell of the struct vm_func pointer:4 */
handler return_call_import
    ldr w8, [stream, #4]
    ldr func, [instance, x8]
    return_call_func
end return_call_import

/* return_call_indirect: nothing:4, cell of the struct vm_table pointer:4, type:4; the index is in r0 */
handler return_call_indirect
    find_func
    return_call_func
end return_call_indirect

/* A host function's region begins with this, which calls it: bool host(user, caller, slots, trap), and goes on to load
 * the result. C preserves instance, stream and frame. */
handler host_call
    make_frame
    ldr x8, [instance, #INSTANCE_CONTEXT]
    ldr w9, [func, #FUNC_SLOTS_BYTES]
    ldr x10, [x8, #CONTEXT_STACK_LIMIT]
    add x9, x9, frame
    cmp x9, x10
    b.ls 1f
    trap TRAP_STACK_EXHAUSTED
1:  str x9, [x8, #CONTEXT_FRAME]
    ldr x0, [func, #FUNC_USER]
    mov x1, instance
    mov x2, frame
    ldr x3, [x8, #CONTEXT_TRAP]
    ldr x9, [func, #FUNC_HOST]
    blr x9
    tbnz w0, #0, 2f
    trap TRAP_NONE
2:  b run_next
end host_call

/* ---- not stencils ---- */

/* Where a function's entry points until it is translated. The stub's frame is gone before the function's own is made. C
 * preserves the registers of both. */
    .section .text.run_translate, "ax", @progbits
    .globl run_translate
    .hidden run_translate
    .type run_translate, @function
    .p2align 4
run_translate:
    .cfi_startproc
    make_frame
    .cfi_def_cfa w29, 16
    .cfi_offset w30, -8
    .cfi_offset w29, -16
    mov x0, body
    bl code_translate
    drop_frame
    .cfi_def_cfa wsp, 0
    .cfi_restore w30
    .cfi_restore w29
    cbnz w0, 1f
    find_entry
    br x9
1:  ldur stream, [x29, #-8]
    trap TRAP_OUT_OF_MEMORY
    .cfi_endproc
    .size run_translate, . - run_translate

/* int run_enter(context, instance, body, frame): runs a translated or untranslated body. 0, or what run_leave was
 * given. The single result, whichever it is, is left in the context. Its frame (offsets from sp, which is x29):
 *
 *       0  x29, x30     16  context     32  x19 .. x28     112  d8 .. d15     (176 bytes)
 */
    .text
    .globl run_enter
    .hidden run_enter
    .type run_enter, @function
    .p2align 4
run_enter:
    .cfi_startproc
    stp x29, x30, [sp, #-176]!
    .cfi_def_cfa_offset 176
    .cfi_offset w30, -168
    .cfi_offset w29, -176
    mov x29, sp
    .cfi_def_cfa_register w29
    str x0, [sp, #16]
    stp x19, x20, [sp, #32]
    stp x21, x22, [sp, #48]
    stp x23, x24, [sp, #64]
    stp x25, x26, [sp, #80]
    stp x27, x28, [sp, #96]
    stp d8, d9, [sp, #112]
    stp d10, d11, [sp, #128]
    stp d12, d13, [sp, #144]
    stp d14, d15, [sp, #160]
    .cfi_offset w19, -144
    .cfi_offset w20, -136
    .cfi_offset w21, -128
    .cfi_offset w22, -120
    .cfi_offset w23, -112
    .cfi_offset w24, -104
    .cfi_offset w25, -96
    .cfi_offset w26, -88
    .cfi_offset w27, -80
    .cfi_offset w28, -72
    .cfi_offset b8, -64
    .cfi_offset b9, -56
    .cfi_offset b10, -48
    .cfi_offset b11, -40
    .cfi_offset b12, -32
    .cfi_offset b13, -24
    .cfi_offset b14, -16
    .cfi_offset b15, -8
    str x29, [x0, #CONTEXT_ENTRY_SP]
    mov instance, x1
    mov body, x2
    mov frame, x3
    ldr memory, [instance, #INSTANCE_MEMORY]
    find_entry
    blr x9
    ldr x8, [sp, #16]
    str r0, [x8, #CONTEXT_R0]
    str q0, [x8, #CONTEXT_F0]
    mov w0, #0
run_out:
    ldp d14, d15, [sp, #160]
    ldp d12, d13, [sp, #144]
    ldp d10, d11, [sp, #128]
    ldp d8, d9, [sp, #112]
    ldp x27, x28, [sp, #96]
    ldp x25, x26, [sp, #80]
    ldp x23, x24, [sp, #64]
    ldp x21, x22, [sp, #48]
    ldp x19, x20, [sp, #32]
    ldp x29, x30, [sp], #176
    .cfi_def_cfa wsp, 0
    ret
    .cfi_endproc
    .size run_enter, . - run_enter

/* _Noreturn void run_leave(context, status): makes the innermost run_enter return status. */
    .globl run_leave
    .hidden run_leave
    .type run_leave, @function
    .p2align 4
run_leave:
    .cfi_startproc
    ldr x29, [x0, #CONTEXT_ENTRY_SP]
    mov sp, x29
    .cfi_def_cfa w29, 176
    .cfi_offset w30, -168
    .cfi_offset w29, -176
    mov w0, w1
    b run_out
    .cfi_endproc
    .size run_leave, . - run_leave

    .section .note.GNU-stack, "", @progbits
