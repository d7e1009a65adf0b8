/* observe: what the VM does for an observer of calls (hooks.h) where translated code does not do it itself. */
#ifndef GLASSBOX_VM_RUN_OBSERVE_H
#define GLASSBOX_VM_RUN_OBSERVE_H

#include "vm/run/instance.h"

/* The thread of the context is about to run guest code; tells the observer the first time. */
void run_observe_begin(struct run_context *context);
/* It never will again. */
void run_observe_end(struct run_context *context);

/* A trap takes away the frame of `body`, which stands at an instruction: takes back what its basic block counted
 * ahead, and says that the function is left. */
void run_observe_unwind(struct run_context *context, const struct code_body *body, uint32_t bytecode_offset);
/* True for a frame that trapped before it had told anybody that it exists: the stack ran out, in the stream's first
 * instruction (`enter`), whose handler's address stands before its operands where it runs in place. */
bool run_is_entering(const struct code_body *body, const void *at);

/* Puts the observer, if it wants to see the host function, between the guest and it. False: no memory. */
bool run_observe_host(struct host_func *host);

#endif
