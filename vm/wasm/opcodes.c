/* The table of instructions, and decoding of code that validation has accepted. Decoding trusts the bytes: it is what
 * the translator and the listing run, after validate.c has read the same bytes with every check. That the two agree on
 * where an instruction ends is what the fuzzer looks at.
 */
#include "vm/wasm/opcodes.h"

#include <string.h>

#include "vm/wasm/types.h"

const struct wasm_opcode_info wasm_opcodes[WASM_OPCODE_COUNT] = {
#define OP(ident, text, prefix, code, immediate, signature, lowering, feature)                                         \
    {text, prefix, code, WASM_IMM_##immediate, WASM_LOWER_##lowering, signature},
#include "vm/wasm/opcodes.def"
};

const uint16_t wasm_opcode_index[WASM_OPCODE_PAGES][WASM_OPCODE_PAGE_CODES] = {
#define OP(ident, text, prefix, code, immediate, signature, lowering, feature)                                         \
    [WASM_OPCODE_PAGE(prefix)][code] = WASM_OP_##ident + 1,
#include "vm/wasm/opcodes.def"
};

static uint64_t leb_u64(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static int64_t leb_s64(const uint8_t **at)
{
    const uint8_t *start = *at;
    uint64_t value = leb_u64(at);
    unsigned bits = 7 * (unsigned)(*at - start);
    return bits < 64 ? (int64_t)(value << (64 - bits)) >> (64 - bits) : (int64_t)value;
}

uint32_t wasm_leb_u32(const uint8_t **at)
{
    if (**at < 0x80)
        return *(*at)++;
    return (uint32_t)leb_u64(at);
}

static void decode_memarg(const uint8_t **at, struct wasm_instruction *instruction)
{
    uint32_t flags = wasm_leb_u32(at);
    instruction->align = flags & 0x3f;
    if (flags & 0x40)
        instruction->index2 = wasm_leb_u32(at);
    instruction->immediate = leb_u64(at);
}

static void decode_list(const uint8_t **at, struct wasm_instruction *instruction, uint32_t after)
{
    instruction->count = wasm_leb_u32(at);
    instruction->list = *at;
    for (uint32_t i = 0; i < instruction->count + after; i++)
        wasm_leb_u32(at);
}

static void decode_float(const uint8_t **at, struct wasm_instruction *instruction, size_t size_bytes)
{
    memcpy(&instruction->immediate, *at, size_bytes); /* little-endian, as both machines are */
    *at += size_bytes;
}

static void decode_immediate(const uint8_t **at, struct wasm_instruction *instruction)
{
    switch ((enum wasm_immediate)wasm_opcodes[instruction->opcode].immediate) {
    case WASM_IMM_NONE:
        break;
    case WASM_IMM_BLOCKTYPE:
        instruction->blocktype = leb_s64(at);
        break;
    case WASM_IMM_LABEL:
    case WASM_IMM_FUNC:
    case WASM_IMM_LOCAL:
    case WASM_IMM_GLOBAL:
    case WASM_IMM_TABLE:
    case WASM_IMM_ELEM:
    case WASM_IMM_MEMORY:
    case WASM_IMM_DATA:
        instruction->index = wasm_leb_u32(at);
        break;
    case WASM_IMM_TYPE_TABLE:
    case WASM_IMM_TABLE_TABLE:
    case WASM_IMM_ELEM_TABLE:
    case WASM_IMM_MEMORY_MEMORY:
    case WASM_IMM_DATA_MEMORY:
        instruction->index = wasm_leb_u32(at);
        instruction->index2 = wasm_leb_u32(at);
        break;
    case WASM_IMM_LABELS:
        decode_list(at, instruction, 1);
        break;
    case WASM_IMM_VALTYPES:
        decode_list(at, instruction, 0);
        break;
    case WASM_IMM_MEMARG1:
    case WASM_IMM_MEMARG2:
    case WASM_IMM_MEMARG4:
    case WASM_IMM_MEMARG8:
        decode_memarg(at, instruction);
        break;
    case WASM_IMM_I32:
        instruction->immediate = (uint32_t)leb_s64(at);
        break;
    case WASM_IMM_I64:
        instruction->immediate = (uint64_t)leb_s64(at);
        break;
    case WASM_IMM_F32:
        decode_float(at, instruction, sizeof(float));
        break;
    case WASM_IMM_F64:
        decode_float(at, instruction, sizeof(double));
        break;
    case WASM_IMM_HEAPTYPE:
        instruction->index = (uint32_t)(leb_s64(at) & 0x7f);
        break;
    }
}

uint32_t wasm_decode(const struct wasm_module *module, uint32_t offset, struct wasm_instruction *instruction)
{
    const uint8_t *at = module->bytes + offset;
    uint8_t prefix = 0;
    uint32_t code = *at++;
    if (code >= 0xfb) {
        prefix = (uint8_t)code;
        code = wasm_leb_u32(&at);
    }
    *instruction = (struct wasm_instruction){
        .opcode = wasm_opcode_index[WASM_OPCODE_PAGE(prefix)][code] - 1,
        .offset = offset,
    };
    decode_immediate(&at, instruction);
    uint32_t next = (uint32_t)(at - module->bytes);
    instruction->size_bytes = next - offset;
    return next;
}

struct wasm_functype wasm_blocktype(const struct wasm_module *module, int64_t blocktype, uint32_t *scratch)
{
    if (blocktype >= 0)
        return module->types[blocktype];
    if (blocktype == -64)
        return (struct wasm_functype){0};
    *scratch = (uint32_t)(blocktype & 0x7f);
    return (struct wasm_functype){.results = scratch, .result_count = 1};
}
