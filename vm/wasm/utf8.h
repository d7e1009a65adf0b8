/* utf8: is a string of bytes well-formed UTF-8 (Unicode §3.9, table 3-7)? */
#ifndef GLASSBOX_VM_WASM_UTF8_H
#define GLASSBOX_VM_WASM_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No overlong forms, no surrogates, nothing above U+10FFFF. NUL is a character like any other. */
bool wasm_utf8_valid(const uint8_t *bytes, size_t size_bytes);

#endif
