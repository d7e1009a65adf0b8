/* Trap kinds for assembly. call.c asserts each against traps.def. */
#ifndef GLASSBOX_VM_RUN_TRAP_NUMBERS_H
#define GLASSBOX_VM_RUN_TRAP_NUMBERS_H
#define TRAP_NONE 0
#define TRAP_UNDEFINED_ELEMENT 7
#define TRAP_UNINITIALIZED_ELEMENT 8
#define TRAP_INDIRECT_TYPE_MISMATCH 9
#define TRAP_STACK_EXHAUSTED 10
#define TRAP_OUT_OF_MEMORY 11
#endif
