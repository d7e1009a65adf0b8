/* `glassbox dump --code`: bytecode, operand stream and region side by side.
 *
 *     0x000235      local.get 0                        bytecode, as far as it was translated together
 *     0x000237      call $heavy
 *        +0x0010  18 00 00 00 00 00 00 00      +0x003a  movl 8(%rbx), %eax
 *        +0x0018  40 2c 81 f7 a3 7f 00 00      +0x003d  addl %ecx, %eax
 *                 operand stream                        region: machine code, in AT&T's syntax, as in perf annotate
 *
 * The VM's table of positions says where each piece of either begins. Instructions that it does not name were folded
 * into the next one's operands or left nothing behind. A build without regions shows the stream alone.
 */
#include "cli/dump.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

#define STREAM_ROW_BYTES 8

/* One row of the operand stream, padded to the width of a full one. Returns where the next row begins. */
static uint32_t print_stream_row(const uint8_t *stream, uint32_t at, uint32_t end)
{
    uint32_t bytes = end - at < STREAM_ROW_BYTES ? end - at : STREAM_ROW_BYTES;
    if (bytes > 0) {
        printf("    +0x%04" PRIx32 " ", at);
    } else {
        printf("            ");
    }
    for (uint32_t i = 0; i < STREAM_ROW_BYTES; i++) {
        if (i < bytes) {
            printf(" %02x", stream[at + i]);
        } else {
            printf("   ");
        }
    }
    return at + bytes;
}

/* Both columns of one piece: the stream's bytes [stream_at, stream_end) and the region's [region_at, region_end). */
static void print_piece(const struct dump *dump, const struct code_body *body, struct code_position at,
                        struct code_position end)
{
    uint32_t in_stream = at.stream_offset;
    uint32_t in_region = at.region_offset;
    while (in_stream < end.stream_offset || in_region < end.region_offset) {
        in_stream = print_stream_row(body->stream, in_stream, end.stream_offset);
        if (in_region < end.region_offset) {
            char text[CLI_DISASSEMBLER_TEXT_BYTES];
            printf("    +0x%04" PRIx32 "  ", in_region);
            in_region += cli_disassemble(dump->disassembler, body->region + in_region, end.region_offset - in_region,
                                         in_region, text);
            fputs(text, stdout);
        }
        putchar('\n');
    }
}

bool cli_dump_code(const struct dump *dump, uint32_t funcidx)
{
    struct code_body *body = &dump->module->program.bodies[funcidx - dump->wasm->imported_func_count];
    int status = code_translate(body);
    if (status != 0) {
        cli_error("%s: function %" PRIu32 ": cannot be translated: %s", dump->file.path, funcidx, strerror(-status));
        return false;
    }
    printf("  operand stream %" PRIu32 " bytes, region %" PRIu32 " bytes\n", body->stream_bytes, body->region_bytes);

    const struct wasm_expr *code = &dump->wasm->funcs[funcidx].body;
    const struct code_position end = {body->stream_bytes, body->region_bytes, code->offset + code->size_bytes};
    uint32_t offset = code->offset;
    unsigned depth = 1;
    for (uint32_t i = 0; i < body->position_count; i++) {
        struct code_position at = body->positions[i];
        struct code_position next = i + 1 < body->position_count ? body->positions[i + 1] : end;
        while (offset <= at.bytecode_offset) {
            offset = cli_dump_instruction(dump, offset, &depth);
        }
        print_piece(dump, body, at, next);
    }
    while (offset < end.bytecode_offset) {
        offset = cli_dump_instruction(dump, offset, &depth);
    }
    return true;
}
