/* types: the binary format of types (§5.3) and what validation asks of them (§3.2, §3.3). Internal to vm/wasm; errors
 * as in cursor.h. */
#ifndef GLASSBOX_VM_WASM_TYPES_H
#define GLASSBOX_VM_WASM_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/wasm/cursor.h"
#include "vm/wasm/module.h"

/* The type of an operand that unreachable code never made; it matches every type (§A.3). Not in the binary format. */
#define WASM_BOTTOM 0u

/* "i32", "funcref", ...: a static string. */
const char *wasm_valtype_name(uint32_t valtype);
bool wasm_is_reference(uint32_t valtype);

/* A vector of this one type that lives for ever: the results of a short block type. */
const uint32_t *wasm_valtype_alone(uint32_t valtype);

int wasm_read_valtype(struct wasm_cursor *in, uint32_t *valtype);
int wasm_read_reftype(struct wasm_cursor *in, uint32_t *reftype);

/* `ref.null`'s operand: the reference type that it makes. */
int wasm_read_heaptype(struct wasm_cursor *in, uint32_t *reftype);

/* As struct wasm_instruction has it; an index is not yet checked to exist. */
int wasm_read_blocktype(struct wasm_cursor *in, int64_t *blocktype);

int wasm_read_tabletype(struct wasm_cursor *in, struct wasm_tabletype *type);
int wasm_read_memtype(struct wasm_cursor *in, struct wasm_memtype *type);
int wasm_read_globaltype(struct wasm_cursor *in, struct wasm_globaltype *type);

#endif
