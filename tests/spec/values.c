/* values: bits in, bits compared.
 *
 * The scripts write every number as the decimal of its bits, floats too, so a value never passes through a float parser
 * and -0, subnormals and NaN payloads are compared exactly. Only the two nan patterns are looser: canonical allows
 * either sign, arithmetic any payload with the quiet bit (§4.3.3).
 *
 * A host reference is a number in the script. It becomes a pointer that nobody follows: the number plus one, so that
 * reference 0 is not null.
 */
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *value, const char *key)
{
    const char *text = json_string_value(json_object_get(value, key));
    return text ? text : "";
}

static uint64_t number_of(const char *text)
{
    return strtoull(text, NULL, 10);
}

static bool is_reference(const char *type)
{
    return strstr(type, "ref") != NULL;
}

bool value_read(const json_t *value, union vm_slot *slot)
{
    const char *type = text_of(value, "type");
    const char *text = text_of(value, "value");
    *slot = (union vm_slot){.i64 = 0};
    if (strcmp(type, "i32") == 0 || strcmp(type, "f32") == 0) {
        slot->i32 = (uint32_t)number_of(text);
        return true;
    }
    if (strcmp(type, "i64") == 0 || strcmp(type, "f64") == 0) {
        slot->i64 = number_of(text);
        return true;
    }
    if (strcmp(type, "externref") == 0) {
        slot->externref = (void *)(uintptr_t)(number_of(text) + 1);
        return true;
    }
    return strcmp(type, "refnull") == 0;
}

static bool nan_matches(const char *pattern, uint64_t bits, uint64_t exponent, uint64_t quiet)
{
    uint64_t mantissa = bits & (2 * quiet - 1);
    if ((bits & exponent) != exponent) return false;
    return strcmp(pattern, "nan:canonical") == 0 ? mantissa == quiet : (mantissa & quiet) != 0;
}

static bool either_matches(const json_t *patterns, uint32_t valtype, union vm_slot actual)
{
    size_t index;
    json_t *pattern;
    json_array_foreach(patterns, index, pattern) {
        if (value_matches(pattern, valtype, actual)) return true;
    }
    return false;
}

static bool reference_matches(const json_t *pattern, const char *type, uint32_t valtype, union vm_slot actual)
{
    if (valtype != VM_FUNCREF && valtype != VM_EXTERNREF) return false;
    if (strcmp(type, "refnull") == 0) return actual.externref == NULL;
    if (strcmp(type, valtype == VM_FUNCREF ? "funcref" : "externref") != 0 || !actual.externref) return false;
    const json_t *value = json_object_get(pattern, "value");
    return json_is_null(value) || (uintptr_t)actual.externref == number_of(json_string_value(value)) + 1;
}

bool value_matches(const json_t *pattern, uint32_t valtype, union vm_slot actual)
{
    const char *type = text_of(pattern, "type");
    const char *text = text_of(pattern, "value");
    bool is_nan = strncmp(text, "nan:", 4) == 0;
    if (strcmp(type, "either") == 0) return either_matches(json_object_get(pattern, "values"), valtype, actual);
    if (is_reference(type)) return reference_matches(pattern, type, valtype, actual);
    if (strcmp(type, "i32") == 0) return valtype == VM_I32 && actual.i32 == number_of(text);
    if (strcmp(type, "i64") == 0) return valtype == VM_I64 && actual.i64 == number_of(text);
    if (strcmp(type, "f32") == 0) {
        if (is_nan) return valtype == VM_F32 && nan_matches(text, actual.i32, 0x7f800000, 0x400000);
        return valtype == VM_F32 && actual.i32 == number_of(text);
    }
    if (strcmp(type, "f64") == 0) {
        if (is_nan) return valtype == VM_F64 && nan_matches(text, actual.i64, 0x7ff0000000000000, 0x8000000000000);
        return valtype == VM_F64 && actual.i64 == number_of(text);
    }
    return false;
}

void value_describe(uint32_t valtype, union vm_slot slot, char *text, size_t capacity)
{
    switch (valtype) {
    case VM_I32: snprintf(text, capacity, "i32 %" PRIu32, slot.i32); break;
    case VM_I64: snprintf(text, capacity, "i64 %" PRIu64, slot.i64); break;
    case VM_F32: snprintf(text, capacity, "f32 0x%08" PRIx32 " (%g)", slot.i32, slot.f32); break;
    case VM_F64: snprintf(text, capacity, "f64 0x%016" PRIx64 " (%g)", slot.i64, slot.f64); break;
    case VM_FUNCREF: snprintf(text, capacity, "funcref %s", slot.funcref ? "set" : "null"); break;
    case VM_EXTERNREF: snprintf(text, capacity, "externref %" PRIdPTR, (intptr_t)slot.externref - 1); break;
    default: snprintf(text, capacity, "valtype 0x%02" PRIx32, valtype); break;
    }
}
