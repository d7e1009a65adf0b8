/* values: WebAssembly values as text, for --invoke's arguments and results. */
#ifndef GLASSBOX_CLI_VALUES_H
#define GLASSBOX_CLI_VALUES_H

#include <stdbool.h>
#include <stdio.h>

#include "vm/glassbox.h"

/* "i32", "funcref", ...: a static string. */
const char *cli_valtype_name(uint32_t valtype);

/* "func", "table", "memory", "global": a static string. */
const char *cli_externkind_name(enum vm_externkind kind);

/* Reads all of `text` as a value of `valtype`; false where it is none or out of range.
 *   i32, i64   [+-]DECIMAL or [+-]0xHEX, in the signed or the unsigned range
 *   f32, f64   [+-]DECIMAL, [+-]0xHEX with p-exponent, [+-]inf, [+-]nan, [+-]nan:0xPAYLOAD
 *   references null */
bool cli_value_parse(uint32_t valtype, const char *text, union vm_slot *slot);

/* Writes what cli_value_parse reads: integers signed, floats with as few digits as bring the same value back.
 * References that are not null are written as their type. */
void cli_value_print(FILE *stream, uint32_t valtype, union vm_slot slot);

/* "(i32 i64) -> (f32)" */
void cli_functype_print(FILE *stream, const struct vm_functype *type);

#endif
