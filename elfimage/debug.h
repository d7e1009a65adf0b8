/* debug: the debugging information of one function, a compilation unit of its own (DWARF 4 §3.1.1, §6.1.2, §6.2). */
#ifndef ELFIMAGE_DEBUG_H
#define ELFIMAGE_DEBUG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "elfimage/elfimage.h"

/* .debug_info: a compilation unit, one entry by the abbreviation of layout.c. */
struct __attribute__((packed)) debug_unit {
    uint32_t unit_length;
    uint16_t version;
    uint32_t debug_abbrev_offset;
    uint8_t address_size;
    uint8_t abbrev_code;
    uint32_t stmt_list;
    uint64_t low_pc;
    uint32_t high_pc; /* from low_pc */
};

/* .debug_aranges: which addresses that unit covers. */
struct __attribute__((packed)) debug_arange {
    uint32_t unit_length;
    uint16_t version;
    uint32_t debug_info_offset;
    uint8_t address_size;
    uint8_t segment_size;
    uint32_t padding;
    uint64_t address;
    uint64_t length;
    uint64_t end[2];
};

static_assert(sizeof(struct debug_unit) == 28, "DWARF 4 §7.5.1.1");
static_assert(sizeof(struct debug_arange) == 48, "DWARF 4 §7.20");

struct debug_unit elfimage_debug_unit(uint64_t address, uint32_t size_bytes, uint32_t stmt_list);
struct debug_arange elfimage_debug_arange(uint64_t address, uint64_t size_bytes, uint32_t debug_info_offset);

/* Writes the unit's line number program (.debug_line) into `bytes` and returns its length, also where that is more than
 * `capacity`; then what is in `bytes` is of no use. `lines` is valid as elfimage_add() says. */
size_t elfimage_debug_line(uint8_t *bytes, size_t capacity, uint64_t address, uint64_t size_bytes,
                           const struct elfimage_line *lines, size_t line_count);

#endif
