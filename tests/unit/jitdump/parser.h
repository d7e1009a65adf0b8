/* A strict reader of jitdump files, for tests: what perf forgives, it does not.
 *
 * It knows the format from docs/formats/jitdump.md alone, by offsets, and shares nothing with the writer.
 */
#ifndef TESTS_UNIT_JITDUMP_PARSER_H
#define TESTS_UNIT_JITDUMP_PARSER_H

#include <stddef.h>
#include <stdint.h>

enum dump_id { DUMP_LOAD, DUMP_MOVE, DUMP_DEBUG_INFO, DUMP_CLOSE, DUMP_UNWINDING_INFO };

struct dump_header {
    uint32_t elf_mach;
    uint32_t pid;
    uint64_t timestamp;
};

struct dump_entry {
    uint64_t address;
    uint32_t line;
    uint32_t discriminator;
    const char *file;
};

/* Fields that a record does not have are 0. Pointers are into the file's bytes. */
struct dump_record {
    enum dump_id id;
    uint64_t timestamp;
    uint32_t pid;
    uint32_t tid;
    uint64_t vma;
    uint64_t code_addr; /* MOVE: the old one */
    uint64_t new_code_addr;
    uint64_t code_size;
    uint64_t code_index;
    const char *name;
    const uint8_t *code;
    struct dump_entry entries[8];
    size_t entry_count;
    const uint8_t *unwinding;
    uint64_t unwinding_size;
    uint64_t eh_frame_hdr_size;
    uint64_t mapped_size;
};

struct dump {
    struct dump_header header;
    struct dump_record *records; /* free() them */
    size_t count;
    size_t capacity;
};

/* Returns NULL, or what is wrong with the file; then `dump` needs no free. */
const char *dump_parse(const void *bytes, size_t size_bytes, struct dump *dump);

#endif
