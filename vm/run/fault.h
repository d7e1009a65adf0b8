/* fault: an access outside linear memory faults in its reserved pages; the signal handler turns that into a trap. */
#ifndef GLASSBOX_VM_RUN_FAULT_H
#define GLASSBOX_VM_RUN_FAULT_H

struct run_context;

/* This thread runs guest code of the context, until run_fault_leave is given what run_fault_enter returned. */
struct run_context *run_fault_enter(struct run_context *context);
void run_fault_leave(struct run_context *outer);

/* Where the signal handler sends a thread that faulted in guest memory: on its own stack, out of the signal. */
_Noreturn void run_fault(struct run_context *context);

#endif
