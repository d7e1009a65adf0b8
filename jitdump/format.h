/* The layouts of a jitdump file, native endian, as Linux perf reads them (docs/formats/jitdump.md draws them). */
#ifndef JITDUMP_FORMAT_H
#define JITDUMP_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define JITDUMP_MAGIC 0x4a695444u /* "JiTD" */
#define JITDUMP_VERSION 1u

enum jitdump_record_id {
    JITDUMP_LOAD = 0,
    JITDUMP_MOVE = 1,
    JITDUMP_DEBUG_INFO = 2,
    JITDUMP_CLOSE = 3,
    JITDUMP_UNWINDING_INFO = 4,
};

struct jitdump_file_header {
    uint32_t magic;
    uint32_t version;
    uint32_t total_size;
    uint32_t elf_mach;
    uint32_t pad;
    uint32_t pid;
    uint64_t timestamp;
    uint64_t flags;
};
static_assert(sizeof(struct jitdump_file_header) == 40, "file header");

struct jitdump_prefix {
    uint32_t id;
    uint32_t total_size;
    uint64_t timestamp;
};
static_assert(sizeof(struct jitdump_prefix) == 16, "record prefix");

/* Then the name, its NUL, and the code, which ends the record. */
struct jitdump_load_record {
    struct jitdump_prefix prefix;
    uint32_t pid;
    uint32_t tid;
    uint64_t vma;
    uint64_t code_addr;
    uint64_t code_size;
    uint64_t code_index;
};
static_assert(sizeof(struct jitdump_load_record) == 56, "load");

struct jitdump_move_record {
    struct jitdump_prefix prefix;
    uint32_t pid;
    uint32_t tid;
    uint64_t vma;
    uint64_t old_code_addr;
    uint64_t new_code_addr;
    uint64_t code_size;
    uint64_t code_index;
};
static_assert(sizeof(struct jitdump_move_record) == 64, "move");

/* Then nr_entry entries. */
struct jitdump_debug_info_record {
    struct jitdump_prefix prefix;
    uint64_t code_addr;
    uint64_t nr_entry;
};
static_assert(sizeof(struct jitdump_debug_info_record) == 32, "debug info");

/* Then the file's name and its NUL; so the next entry may stand at any byte. */
struct jitdump_debug_entry {
    uint64_t code_addr;
    uint32_t line;
    uint32_t discriminator;
};
static_assert(sizeof(struct jitdump_debug_entry) == 16, "debug entry");

/* Then .eh_frame and .eh_frame_hdr, in this order. */
struct jitdump_unwinding_info_record {
    struct jitdump_prefix prefix;
    uint64_t unwinding_size;
    uint64_t eh_frame_hdr_size;
    uint64_t mapped_size;
};
static_assert(sizeof(struct jitdump_unwinding_info_record) == 40, "unwinding info");

#endif
