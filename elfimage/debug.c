/* debug: encodes what tools need in order to go from an address to a line.
 *
 * Each function is a compilation unit of its own, with a line number program of its own. So publishing a function only
 * appends, whole units are all that a reader ever sees, and a reader decodes the lines of the functions it asks for:
 * perf annotate and addr2line stay fast in an image of 20,000 functions. One unit for the whole image is smaller, but
 * its unit_length has to grow together with the section, which no single store can do, and every reader decodes all
 * lines.
 *
 * The version is DWARF 4 because there a line number program can name files as it goes (DW_LNE_define_file; DWARF 5 has
 * only the header's table): one pass over the lines, without a table to build first. There is no DW_AT_name, no
 * DW_AT_comp_dir and no DW_TAG_subprogram: names come from .symtab, and paths stand as they were given.
 *
 * .debug_aranges repeats the units' ranges for readers that look there only (libdw before 0.191). */
#include <dwarf.h>
#include <string.h>

#include "elfimage/debug.h"

#define DWARF_VERSION 4
#define ARANGES_VERSION 2

/* Followed by a length and a DW_LNE_* (§6.2.3). */
#define EXTENDED_OPCODE 0

/* A special opcode advances the address by 0..60 and the line by -1..2: bytecode listings advance by one line and a few
 * dozen bytes of machine code an entry, source lines go back and forth further and pay a DW_LNS_advance_line. */
#define OPCODE_BASE 10
#define LINE_BASE (-1)
#define LINE_RANGE 4
#define SPECIAL_ADVANCE_MAX ((255 - OPCODE_BASE) / LINE_RANGE - 1)

struct __attribute__((packed)) line_header {
    uint32_t unit_length;
    uint16_t version;
    uint32_t header_length;
    uint8_t minimum_instruction_length;
    uint8_t maximum_operations_per_instruction;
    uint8_t default_is_stmt;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    uint8_t standard_opcode_lengths[OPCODE_BASE - 1];
    uint8_t include_directories_end;
    uint8_t file_names_end;
};

static_assert(sizeof(struct line_header) == 27, "DWARF 4 §6.2.4");

/* Counts on where the room ends, so that the caller learns how much is needed. */
struct writer {
    uint8_t *bytes;
    size_t capacity;
    size_t size;
};

/* Paths named so far in this unit, by pointer. File numbers start at 1; number n is in slot n % FILES_REMEMBERED until
 * another takes the slot, and then its path is named once more. */
#define FILES_REMEMBERED 64

struct files {
    const char *paths[FILES_REMEMBERED];
    uint32_t numbers[FILES_REMEMBERED];
    uint32_t count;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    if (writer->size + size <= writer->capacity)
        memcpy(writer->bytes + writer->size, bytes, size);
    writer->size += size;
}

static void put_byte(struct writer *writer, uint8_t byte)
{
    put(writer, &byte, 1);
}

static void put_uleb128(struct writer *writer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(writer, (uint8_t)(value | 0x80));
    put_byte(writer, (uint8_t)value);
}

static void put_sleb128(struct writer *writer, int64_t value)
{
    for (; value < -0x40 || value >= 0x40; value >>= 7)
        put_byte(writer, (uint8_t)(value | 0x80));
    put_byte(writer, (uint8_t)(value & 0x7f));
}

static void put_define_file(struct writer *writer, const char *path)
{
    const size_t path_bytes = strlen(path) + 1;

    put_byte(writer, EXTENDED_OPCODE);
    put_uleb128(writer, 1 + path_bytes + 3);
    put_byte(writer, DW_LNE_define_file);
    put(writer, path, path_bytes);
    put(writer, (uint8_t[3]){0}, 3); /* directory, time and size: unknown */
}

static uint32_t file_number(struct files *files, struct writer *writer, const char *path)
{
    for (size_t i = 0; i < FILES_REMEMBERED; i++)
        if (files->paths[i] == path)
            return files->numbers[i];

    const uint32_t number = ++files->count;
    files->paths[number % FILES_REMEMBERED] = path;
    files->numbers[number % FILES_REMEMBERED] = number;
    put_define_file(writer, path);
    return number;
}

/* Adds one row to the matrix, `address_advance` and `line_advance` from the last. */
static void put_row(struct writer *writer, uint64_t address_advance, int64_t line_advance)
{
    if (line_advance < LINE_BASE || line_advance >= LINE_BASE + LINE_RANGE) {
        put_byte(writer, DW_LNS_advance_line);
        put_sleb128(writer, line_advance);
        line_advance = 0;
    }
    if (address_advance > SPECIAL_ADVANCE_MAX) {
        put_byte(writer, DW_LNS_advance_pc);
        put_uleb128(writer, address_advance);
        address_advance = 0;
    }
    put_byte(writer, (uint8_t)(OPCODE_BASE + (line_advance - LINE_BASE) + LINE_RANGE * (int64_t)address_advance));
}

static void put_sequence(struct writer *writer, uint64_t address, uint64_t size_bytes,
                         const struct elfimage_line *lines, size_t line_count)
{
    struct files files = {.count = 0};
    const char *path = NULL;
    uint32_t line = 1, offset = 0;

    put_byte(writer, EXTENDED_OPCODE);
    put_byte(writer, 1 + sizeof(address));
    put_byte(writer, DW_LNE_set_address);
    put(writer, &address, sizeof(address));

    for (size_t i = 0; i < line_count; i++) {
        if (i + 1 < line_count && lines[i + 1].offset == lines[i].offset)
            continue;
        if (lines[i].file != path) {
            path = lines[i].file;
            const uint32_t number = file_number(&files, writer, path);
            put_byte(writer, DW_LNS_set_file); /* also where it is 1, the initial value: binutils looks files up here */
            put_uleb128(writer, number);
        }
        put_row(writer, lines[i].offset - offset, (int64_t)lines[i].line - line);
        offset = lines[i].offset;
        line = lines[i].line;
    }

    put_byte(writer, DW_LNS_advance_pc);
    put_uleb128(writer, size_bytes - offset);
    put_byte(writer, EXTENDED_OPCODE);
    put_byte(writer, 1);
    put_byte(writer, DW_LNE_end_sequence);
}

size_t elfimage_debug_line(uint8_t *bytes, size_t capacity, uint64_t address, uint64_t size_bytes,
                           const struct elfimage_line *lines, size_t line_count)
{
    struct writer writer = {bytes, capacity, sizeof(struct line_header)};

    put_sequence(&writer, address, size_bytes, lines, line_count);
    if (writer.size <= capacity)
        *(struct line_header *)bytes = (struct line_header){
            .unit_length = (uint32_t)(writer.size - sizeof(uint32_t)),
            .version = DWARF_VERSION,
            .header_length = sizeof(struct line_header) - offsetof(struct line_header, minimum_instruction_length),
            .minimum_instruction_length = 1,
            .maximum_operations_per_instruction = 1,
            .default_is_stmt = 1,
            .line_base = LINE_BASE,
            .line_range = LINE_RANGE,
            .opcode_base = OPCODE_BASE,
            .standard_opcode_lengths = {0, 1, 1, 1, 1, 0, 0, 0, 1},
        };
    return writer.size;
}

struct debug_unit elfimage_debug_unit(uint64_t address, uint32_t size_bytes, uint32_t stmt_list)
{
    return (struct debug_unit){
        .unit_length = sizeof(struct debug_unit) - sizeof(uint32_t),
        .version = DWARF_VERSION,
        .address_size = sizeof(address),
        .abbrev_code = 1,
        .stmt_list = stmt_list,
        .low_pc = address,
        .high_pc = size_bytes,
    };
}

struct debug_arange elfimage_debug_arange(uint64_t address, uint64_t size_bytes, uint32_t debug_info_offset)
{
    return (struct debug_arange){
        .unit_length = sizeof(struct debug_arange) - sizeof(uint32_t),
        .version = ARANGES_VERSION,
        .debug_info_offset = debug_info_offset,
        .address_size = sizeof(address),
        .address = address,
        .length = size_bytes,
    };
}
