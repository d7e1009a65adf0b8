/* Handlers that make, leave and cross frames, for x86-64, and the two ways between C and the guest.
 *
 * A guest call is one native call, with this frame (offsets from rbp):
 *
 *     +8   return address        into the caller's region
 *      0   the caller's rbp      so frame-pointer call chains are exact
 *     -8   operand stream        while this function calls: the call's operands; a backtrace reads it
 *    -16   instance              while this function calls through an import or a table
 *
 * `call` leaves rsp a multiple of 16 at the callee's first instruction, so that after `push rbp` and the two words
 * every handler sees rsp as a C function expects it at its own first instruction (8 modulo 16). Calls out of a handler
 * written here subtract 8 more.
 *
 * At a region's first instruction: rdx = struct code_body, rcx = struct vm_func where the call came through one,
 * r14 = the operand stream, r15 = the arguments. Everything else but r12, r13, rbp is dead. A single result comes back
 * in rdi or xmm0, several in the slots.
 */
#include "vm/run/layout.h"
#include "vm/run/trap_numbers.h"

#define instance r12
#define memory   r13
#define stream   r14
#define frame    r15

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
    mov $\kind, %edi
    jmp *INSTANCE_TRAP(%instance)
    .endm

/* enter: bytes of this function's frame:4 */
handler enter
    push %rbp
    mov %rsp, %rbp
    sub $16, %rsp
    mov (%stream), %eax
    mov INSTANCE_CONTEXT(%instance), %rcx
    add %frame, %rax
    cmp CONTEXT_STACK_LIMIT(%rcx), %rax
    jbe 1f
    trap TRAP_STACK_EXHAUSTED
1:  add $4, %stream
    jmp run_next
end enter

handler leave
    leave
    ret
end leave

/* call: from the caller's frame to the callee's:4, struct code_body:8. The entry is read before the stream, since a
 * translation stores them the other way round. */
handler call
    mov %stream, -8(%rbp)
    mov (%stream), %eax
    mov 4(%stream), %rdx
    add %rax, %frame
    mov BODY_ENTRY(%rdx), %rax
    mov BODY_STREAM(%rdx), %stream
    call *%rax
    mov -8(%rbp), %stream
    mov (%stream), %eax
    sub %rax, %frame
    add $12, %stream
    jmp run_next
end call

/* Calls the struct vm_func in rcx, whoever's it is. A host function runs with its caller's instance. */
    .macro call_func
    mov (%stream), %eax
    add %rax, %frame
    mov %instance, -16(%rbp)
    mov FUNC_INSTANCE(%rcx), %rax
    test %rax, %rax
    cmovne %rax, %instance
    mov FUNC_BODY(%rcx), %rdx
    mov INSTANCE_MEMORY(%instance), %memory
    mov BODY_ENTRY(%rdx), %rax
    mov BODY_STREAM(%rdx), %stream
    call *%rax
    mov -16(%rbp), %instance
    mov INSTANCE_MEMORY(%instance), %memory
    mov -8(%rbp), %stream
    mov (%stream), %eax
    sub %rax, %frame
    .endm

/* Finds in rcx the struct vm_func at index edi of the table named at 4(stream), of the type at 8(stream). */
    .macro find_func
    mov 4(%stream), %eax
    mov (%instance,%rax), %rcx
    mov %edi, %eax
    cmp TABLE_COUNT(%rcx), %rax
    jb 1f
    trap TRAP_UNDEFINED_ELEMENT
1:  mov TABLE_ELEMENTS(%rcx), %rcx
    mov (%rcx,%rax,8), %rcx
    test %rcx, %rcx
    jne 2f
    trap TRAP_UNINITIALIZED_ELEMENT
2:  mov 8(%stream), %eax
    cmp %eax, FUNC_TYPE(%rcx)
    je 3f
    trap TRAP_INDIRECT_TYPE_MISMATCH
3:
    .endm

/* call_import: frame:4, cell of the struct vm_func pointer in the instance:4 */
handler call_import
    mov %stream, -8(%rbp)
    mov 4(%stream), %eax
    mov (%instance,%rax), %rcx
    call_func
    add $8, %stream
    jmp run_next
end call_import

/* call_indirect: frame:4, cell of the struct vm_table pointer:4, type:4; the index is in r0 */
handler call_indirect
    mov %stream, -8(%rbp)
    find_func
    call_func
    add $12, %stream
    jmp run_next
end call_indirect

/* The tail calls find their arguments moved to the frame's first slots. */

/* return_call: nothing:4, struct code_body:8 */
handler return_call
    mov 4(%stream), %rdx
    mov BODY_ENTRY(%rdx), %rax
    mov BODY_STREAM(%rdx), %stream
    leave
    jmp *%rax
end return_call

/* Tail calls the struct vm_func in rcx. The caller of this function expects its instance back, so only a function of
 * the same instance takes this frame's place; another's is called. Since its arguments stand where this frame's slots
 * do, the value stack does not grow with it, and its limit is drawn in instead. */
    .macro return_call_func
    mov FUNC_BODY(%rcx), %rdx
    mov BODY_ENTRY(%rdx), %rax
    cmp %instance, FUNC_INSTANCE(%rcx)
    jne 4f
    mov BODY_STREAM(%rdx), %stream
    leave
    jmp *%rax
4:  mov INSTANCE_CONTEXT(%instance), %rdi
    subq $NATIVE_FRAME_BYTES, CONTEXT_STACK_LIMIT(%rdi)
    mov %stream, -8(%rbp)
    mov %instance, -16(%rbp)
    mov FUNC_INSTANCE(%rcx), %rdi
    test %rdi, %rdi
    cmovne %rdi, %instance
    mov INSTANCE_MEMORY(%instance), %memory
    mov BODY_STREAM(%rdx), %stream
    call *%rax
    mov -16(%rbp), %instance
    mov INSTANCE_MEMORY(%instance), %memory
    mov INSTANCE_CONTEXT(%instance), %rax
    addq $NATIVE_FRAME_BYTES, CONTEXT_STACK_LIMIT(%rax)
    leave
    ret
    .endm

/* return_call_import: nothing:4, cell of the struct vm_func pointer:4 */
handler return_call_import
    mov 4(%stream), %eax
    mov (%instance,%rax), %rcx
    return_call_func
end return_call_import

/* return_call_indirect: nothing:4, cell of the struct vm_table pointer:4, type:4; the index is in r0 */
handler return_call_indirect
    find_func
    return_call_func
end return_call_indirect

/* A host function's region begins with this, which calls it: bool host(user, caller, slots, trap), and goes on to load
 * the result. rcx = struct vm_func. */
handler host_call
    push %rbp
    mov %rsp, %rbp
    sub $16, %rsp
    mov INSTANCE_CONTEXT(%instance), %rax
    mov FUNC_SLOTS_BYTES(%rcx), %edx
    add %frame, %rdx
    cmp CONTEXT_STACK_LIMIT(%rax), %rdx
    jbe 1f
    trap TRAP_STACK_EXHAUSTED
1:  mov %rdx, CONTEXT_FRAME(%rax)
    mov FUNC_USER(%rcx), %rdi
    mov %instance, %rsi
    mov %frame, %rdx
    mov FUNC_HOST(%rcx), %r8
    mov CONTEXT_TRAP(%rax), %rcx
    sub $8, %rsp
    call *%r8
    add $8, %rsp
    test %al, %al
    jne 2f
    trap TRAP_NONE
2:  jmp run_next
end host_call

/* ---- not stencils ---- */

/* Where a function's entry points until it is translated; the body is in rdx. The stub's frame is gone before the
 * function's own is made. */
    .section .text.run_translate, "ax", @progbits
    .globl run_translate
    .hidden run_translate
    .type run_translate, @function
    .p2align 4
run_translate:
    .cfi_startproc
    .cfi_def_cfa_offset 8
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $24, %rsp
    mov %rdx, -8(%rbp)
    mov %rcx, -16(%rbp)
    mov %rdx, %rdi
    call code_translate
    mov -8(%rbp), %rdx
    mov -16(%rbp), %rcx
    test %eax, %eax
    je 1f
    leave
    mov -8(%rbp), %stream
    sub $8, %rsp
    trap TRAP_OUT_OF_MEMORY
1:  leave
    .cfi_def_cfa %rsp, 8
    mov BODY_ENTRY(%rdx), %rax
    mov BODY_STREAM(%rdx), %stream
    jmp *%rax
    .cfi_endproc
    .size run_translate, . - run_translate

/* int run_enter(context, instance, body, frame): runs a translated or untranslated body. 0, or what run_leave was
 * given. The single result, whichever it is, is left in the context. */
    .text
    .globl run_enter
    .hidden run_enter
    .type run_enter, @function
    .p2align 4
run_enter:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    push %rdi
    sub $8, %rsp
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56
    mov %rsp, CONTEXT_ENTRY_SP(%rdi)
    mov %rsi, %instance
    mov %rcx, %frame
    mov INSTANCE_MEMORY(%instance), %memory
    mov BODY_ENTRY(%rdx), %rax
    mov BODY_STREAM(%rdx), %stream
    call *%rax
    mov 8(%rsp), %rax
    mov %rdi, CONTEXT_R0(%rax)
    movups %xmm0, CONTEXT_F0(%rax)
    xor %eax, %eax
run_out:
    add $16, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    .cfi_def_cfa %rsp, 8
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
    mov CONTEXT_ENTRY_SP(%rdi), %rsp
    lea 56(%rsp), %rbp
    .cfi_def_cfa %rbp, 16
    .cfi_offset %rbp, -16
    mov %esi, %eax
    jmp run_out
    .cfi_endproc
    .size run_leave, . - run_leave

    .section .note.GNU-stack, "", @progbits
