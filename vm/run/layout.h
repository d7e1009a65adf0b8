/* layout: offsets that the assembly and the handlers share with the structs in instance.h, which asserts each. */
#ifndef GLASSBOX_VM_RUN_LAYOUT_H
#define GLASSBOX_VM_RUN_LAYOUT_H

#define INSTANCE_MEMORY 0
#define INSTANCE_CONTEXT 8
#define INSTANCE_TRAP 16

#define CONTEXT_STACK_LIMIT 0
#define CONTEXT_ENTRY_SP 8
#define CONTEXT_FRAME 16
#define CONTEXT_TRAP 24
#define CONTEXT_R0 32
#define CONTEXT_F0 40
#define CONTEXT_INSTRUCTIONS 56
#define CONTEXT_OBSERVER 64
#define CONTEXT_OBSERVE_ENTER 72
#define CONTEXT_OBSERVE_LEAVE 80

/* What a guest's frame takes of the native stack, return address and all. */
#define NATIVE_FRAME_BYTES 32

#define FUNC_BODY 0
#define FUNC_INSTANCE 8
#define FUNC_TYPE 16
#define FUNC_SLOTS_BYTES 20
#define FUNC_HOST 24
#define FUNC_USER 32

#define BODY_ENTRY 0
#define BODY_STREAM 8

#define TABLE_ELEMENTS 0
#define TABLE_COUNT 8

#endif
