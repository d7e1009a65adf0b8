/* machine_code: two hand-written functions, position independent, which the tests copy into images.
 *
 *   spin(uint64_t count)                      a loop of a known cost a turn
 *   call(uint64_t argument, void (*)(uint64_t))   one frame that calls its second argument with its first
 *
 * Both make the frame that elfimage.h asks for. */
#ifndef MACHINE_CODE_H
#define MACHINE_CODE_H

#include <stdint.h>

#if defined(__x86_64__)
static const uint8_t spin_code[] = {
    0x55, 0x48, 0x89, 0xe5,             /*       push %rbp; mov %rsp, %rbp */
    0x48, 0x0f, 0xaf, 0xc0,             /* loop: imul %rax, %rax */
    0x48, 0x0f, 0xaf, 0xc0,             /*       imul %rax, %rax */
    0x48, 0x0f, 0xaf, 0xc0,             /*       imul %rax, %rax */
    0x48, 0x0f, 0xaf, 0xc0,             /*       imul %rax, %rax */
    0x48, 0xff, 0xcf, 0x75, 0xeb,       /*       dec %rdi; jnz loop */
    0x5d, 0xc3,                         /*       pop %rbp; ret */
};
enum { SPIN_LOOP = 4, SPIN_COUNT = 20, SPIN_LEAVE = 25 };

static const uint8_t call_code[] = {
    0x55, 0x48, 0x89, 0xe5,             /*       push %rbp; mov %rsp, %rbp */
    0xff, 0xd6,                         /*       call *%rsi */
    0x5d, 0xc3,                         /*       pop %rbp; ret */
};
#elif defined(__aarch64__)
static const uint32_t spin_code[] = {
    0xa9bf7bfd, 0x910003fd,             /*       stp x29, x30, [sp, #-16]!; mov x29, sp */
    0x9b017c21, 0x9b017c21,             /* loop: mul x1, x1, x1; mul x1, x1, x1 */
    0x9b017c21, 0x9b017c21,             /*       mul x1, x1, x1; mul x1, x1, x1 */
    0xf1000400, 0x54ffff61,             /*       subs x0, x0, #1; b.ne loop */
    0xa8c17bfd, 0xd65f03c0,             /*       ldp x29, x30, [sp], #16; ret */
};
enum { SPIN_LOOP = 8, SPIN_COUNT = 24, SPIN_LEAVE = 32 };

static const uint32_t call_code[] = {
    0xa9bf7bfd, 0x910003fd,             /*       stp x29, x30, [sp, #-16]!; mov x29, sp */
    0xd63f0020,                         /*       blr x1 */
    0xa8c17bfd, 0xd65f03c0,             /*       ldp x29, x30, [sp], #16; ret */
};
#endif

typedef void (*spin_fn)(uint64_t count);
typedef void (*call_fn)(uint64_t argument, spin_fn function);

#endif
