/* entry: where C goes into the guest and out of it: the addresses that assembly and handlers define. */
#ifndef GLASSBOX_VM_RUN_ENTRY_H
#define GLASSBOX_VM_RUN_ENTRY_H

#include <stdint.h>

struct run_context;
struct vm_instance;
struct code_body;

/* Machine code that C only takes the address of; the handlers' calling convention is none of its business. */
extern const char run_next_code[] __asm__("run_next");
extern const char run_translate_code[] __asm__("run_translate");
extern const char run_trap_code[] __asm__("run_trap");

/* Runs a body; the arguments are at `frame`. 0, or what run_leave was given. */
int run_enter(struct run_context *context, struct vm_instance *instance, const struct code_body *body, uint8_t *frame);
/* Makes the innermost run_enter of the context return `status`. */
_Noreturn void run_leave(struct run_context *context, int status);

/* Where run_enter's frame pointer is, from the entry_sp that it noted. */
#if defined(__x86_64__)
#define RUN_ENTER_FRAME 56
#elif defined(__aarch64__)
#define RUN_ENTER_FRAME 0
#endif

#endif
