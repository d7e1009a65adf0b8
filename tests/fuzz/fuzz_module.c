/* libFuzzer: any bytes through the reader and the validator; what they accept is decoded and listed to its last
 * instruction, and the decoder, which checks nothing, must come to each expression's end exactly where the validator
 * did.
 *
 * The bytes are the fuzzer's own block, of exactly their size, so a read beyond them is found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm/wasm/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* `count` expressions back to back. */
static void list_expressions(const struct wasm_module *module, struct wasm_expr expr, uint32_t count)
{
    uint32_t offset = expr.offset;
    while (count > 0) {
        struct wasm_instruction instruction;
        char text[64];
        uint32_t next = wasm_decode(module, offset, &instruction);
        require(next > offset && next <= expr.offset + expr.size_bytes);
        require(wasm_listing(module, offset, text, sizeof text) == next);
        for (size_t i = 0; i < strlen(text); i++)
            require(text[i] >= ' ' && text[i] < 0x7f);
        static const uint8_t blocks[WASM_OPCODE_COUNT] = {
            [WASM_OP_block] = 1, [WASM_OP_loop] = 1, [WASM_OP_if] = 1};
        count += blocks[instruction.opcode];
        count -= instruction.opcode == WASM_OP_end;
        offset = next;
    }
    require(offset == expr.offset + expr.size_bytes);
}

static void list_elem_indices(const struct wasm_module *module, const struct wasm_elem *elem)
{
    const uint8_t *at = module->bytes + elem->items.offset;
    for (uint32_t i = 0; i < elem->count; i++)
        require(wasm_leb_u32(&at) < module->func_count);
    require(at == module->bytes + elem->items.offset + elem->items.size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct wasm_module *module;
    struct err err = {0};
    if (wasm_module_create(bytes, size_bytes, &module, &err)) {
        require(!module && err.kind != ERR_NONE && err.offset <= size_bytes && err.message[0]);
        return 0;
    }
    for (uint32_t i = module->imported_func_count; i < module->func_count; i++)
        list_expressions(module, module->funcs[i].body, 1);
    for (uint32_t i = module->imported_global_count; i < module->global_count; i++)
        list_expressions(module, module->globals[i].init, 1);
    for (uint32_t i = 0; i < module->table_count; i++)
        if (module->tables[i].has_init)
            list_expressions(module, module->tables[i].init, 1);
    for (uint32_t i = 0; i < module->elem_count; i++) {
        const struct wasm_elem *elem = &module->elems[i];
        if (elem->mode == WASM_SEGMENT_ACTIVE)
            list_expressions(module, elem->offset, 1);
        if (elem->is_exprs)
            list_expressions(module, elem->items, elem->count);
        else
            list_elem_indices(module, elem);
    }
    for (uint32_t i = 0; i < module->data_count; i++)
        if (module->datas[i].mode == WASM_SEGMENT_ACTIVE)
            list_expressions(module, module->datas[i].offset, 1);
    wasm_module_destroy(module);
    return 0;
}
