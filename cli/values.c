/* Values as text. strtoull, strtof and strtod do the digits, but each accepts more than a value here should be (blanks
 * in front, "infinity", a NaN's payload in parentheses, a minus before an unsigned number that wraps), so the shape is
 * checked first. The float formats are written out one by one: rounding a decimal to double and then to float would
 * round twice. */
#include "cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cli_valtype_name(uint32_t valtype)
{
    switch (valtype) {
    case VM_I32: return "i32";
    case VM_I64: return "i64";
    case VM_F32: return "f32";
    case VM_F64: return "f64";
    case VM_FUNCREF: return "funcref";
    case VM_EXTERNREF: return "externref";
    default: return "unknown";
    }
}

const char *cli_externkind_name(enum vm_externkind kind)
{
    static const char *const names[] = {
        [VM_EXTERN_FUNC] = "func",
        [VM_EXTERN_TABLE] = "table",
        [VM_EXTERN_MEMORY] = "memory",
        [VM_EXTERN_GLOBAL] = "global",
    };
    return names[kind];
}

/* Digits without a sign, all of `text`, decimal or 0x-hexadecimal. */
static bool parse_magnitude(const char *text, uint64_t *value)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isxdigit((unsigned char)text[is_hex ? 2 : 0])) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    *value = strtoull(text, &end, is_hex ? 16 : 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool parse_integer(const char *text, unsigned bits, uint64_t *value)
{
    bool is_negative = text[0] == '-';
    uint64_t magnitude = 0;
    if (!parse_magnitude(text + (is_negative || text[0] == '+'), &magnitude)) {
        return false;
    }
    uint64_t most = is_negative ? UINT64_C(1) << (bits - 1) : UINT64_MAX >> (64 - bits);
    *value = is_negative ? -magnitude : magnitude;
    return magnitude <= most;
}

/* [+-]nan and [+-]nan:0xPAYLOAD, for a format whose significand has `significand_bits`; its bits go to *bits. */
static bool parse_nan(const char *text, unsigned significand_bits, unsigned width, uint64_t *bits)
{
    bool is_negative = text[0] == '-';
    text += is_negative || text[0] == '+';
    uint64_t payload = UINT64_C(1) << (significand_bits - 1);
    if (strncmp(text, "nan", 3) != 0 ||
        (text[3] != '\0' && (strncmp(text + 3, ":0x", 3) != 0 || !parse_magnitude(text + 4, &payload))) ||
        payload == 0 || payload >> significand_bits != 0) {
        return false;
    }
    uint64_t exponent = (UINT64_C(1) << (width - 1)) - (UINT64_C(1) << significand_bits);
    *bits = (is_negative ? UINT64_C(1) << (width - 1) : 0) | exponent | payload;
    return true;
}

static bool has_float_shape(const char *text)
{
    text += text[0] == '-' || text[0] == '+';
    return isdigit((unsigned char)text[0]) || (text[0] == '.' && isdigit((unsigned char)text[1])) ||
           strcmp(text, "inf") == 0;
}

/* strtof and strtod say "out of range" for a subnormal too, which is a value as good as any. */
static bool parse_f32(const char *text, float *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtof(text, &end);
    return has_float_shape(text) && *end == '\0' && !(errno == ERANGE && isinf(*value));
}

static bool parse_f64(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    return has_float_shape(text) && *end == '\0' && !(errno == ERANGE && isinf(*value));
}

bool cli_value_parse(uint32_t valtype, const char *text, union vm_slot *slot)
{
    *slot = (union vm_slot){.i64 = 0};
    switch (valtype) {
    case VM_I32: {
        uint64_t value = 0;
        bool is_valid = parse_integer(text, 32, &value);
        slot->i32 = (uint32_t)value;
        return is_valid;
    }
    case VM_I64: return parse_integer(text, 64, &slot->i64);
    case VM_F32: return parse_nan(text, 23, 32, &slot->i64) || parse_f32(text, &slot->f32);
    case VM_F64: return parse_nan(text, 52, 64, &slot->i64) || parse_f64(text, &slot->f64);
    default: return strcmp(text, "null") == 0;
    }
}

static void print_nan(FILE *stream, bool is_negative, uint64_t payload, unsigned significand_bits)
{
    fputs(is_negative ? "-nan" : "nan", stream);
    if (payload != UINT64_C(1) << (significand_bits - 1)) {
        fprintf(stream, ":0x%llx", (unsigned long long)payload);
    }
}

static void print_f32(FILE *stream, union vm_slot slot)
{
    if (isnan(slot.f32)) {
        print_nan(stream, slot.i32 >> 31, slot.i32 & 0x7fffff, 23);
        return;
    }
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)slot.f32);
        if (strtof(text, NULL) == slot.f32) {
            break;
        }
    }
    fputs(text, stream);
}

static void print_f64(FILE *stream, union vm_slot slot)
{
    if (isnan(slot.f64)) {
        print_nan(stream, slot.i64 >> 63, slot.i64 & 0xfffffffffffff, 52);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, slot.f64);
        if (strtod(text, NULL) == slot.f64) {
            break;
        }
    }
    fputs(text, stream);
}

void cli_value_print(FILE *stream, uint32_t valtype, union vm_slot slot)
{
    switch (valtype) {
    case VM_I32: fprintf(stream, "%d", (int32_t)slot.i32); break;
    case VM_I64: fprintf(stream, "%lld", (long long)slot.i64); break;
    case VM_F32: print_f32(stream, slot); break;
    case VM_F64: print_f64(stream, slot); break;
    default: fputs(slot.externref ? cli_valtype_name(valtype) : "null", stream);
    }
}

static void print_types(FILE *stream, const uint32_t *types, uint32_t count)
{
    fputc('(', stream);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stream, "%s%s", i > 0 ? " " : "", cli_valtype_name(types[i]));
    }
    fputc(')', stream);
}

void cli_functype_print(FILE *stream, const struct vm_functype *type)
{
    print_types(stream, type->params, type->param_count);
    fputs(" -> ", stream);
    print_types(stream, type->results, type->result_count);
}
