/* features: which proposal an encoding that this build does not have belongs to (features.def). */
#ifndef GLASSBOX_VM_WASM_FEATURES_H
#define GLASSBOX_VM_WASM_FEATURES_H

#include <stdint.h>

/* Where in the binary format a code was read. */
enum wasm_place {
    WASM_PLACE_OPCODE,
    WASM_PLACE_VALTYPE, /* value, reference and abstract heap types share one space of codes */
    WASM_PLACE_TYPEFORM,
    WASM_PLACE_LIMITS,
    WASM_PLACE_SECTION,
    WASM_PLACE_EXTERN,
};

/* "simd", "gc", ...: a static string; NULL where `code` is no known proposal's, and so malformed. */
const char *wasm_feature_of(enum wasm_place place, uint32_t code);

#endif
