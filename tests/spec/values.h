/* values: the script's JSON values, as slots to pass and as patterns that a result must match. */
#ifndef GLASSBOX_TESTS_SPEC_VALUES_H
#define GLASSBOX_TESTS_SPEC_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "vm/glassbox.h"

/* False: a value that Glassbox cannot pass (v128, a reference of another kind). */
bool value_read(const json_t *value, union vm_slot *slot);

/* True where `actual`, of type `valtype`, is what `pattern` (a value, a nan pattern, a kind of reference, an either)
 * allows. */
bool value_matches(const json_t *pattern, uint32_t valtype, union vm_slot actual);

/* Writes "i32 7", "f64 0x7ff8000000000000", ... cut at `capacity`. */
void value_describe(uint32_t valtype, union vm_slot slot, char *text, size_t capacity);

#endif
