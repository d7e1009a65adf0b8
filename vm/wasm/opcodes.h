/* opcodes: from the bytes of an opcode to its line in opcodes.def. Internal to vm/wasm. */
#ifndef GLASSBOX_VM_WASM_OPCODES_H
#define GLASSBOX_VM_WASM_OPCODES_H

#include <stdint.h>

#include "vm/wasm/module.h"

/* One page for the one-byte opcodes and one for each of the prefixes 0xfb to 0xfe. */
#define WASM_OPCODE_PAGES 5
#define WASM_OPCODE_PAGE(prefix) ((prefix) == 0 ? 0 : (prefix) - 0xfa)
#define WASM_OPCODE_PAGE_CODES 512

/* wasm_opcode_index[page][code] is 1 + the enum wasm_opcode; 0: no instruction of this build. */
extern const uint16_t wasm_opcode_index[WASM_OPCODE_PAGES][WASM_OPCODE_PAGE_CODES];

#endif
