/* layout: the head of an image file, byte by byte (docs/formats/elf-image.md; ELF-64 object file format; LSB 5.0 for
 * .eh_frame_hdr; DWARF 4 §6.4 and §7 for CFI and abbreviations).
 *
 *     0        struct image_head: everything that is constant, and the section header tables
 *     64 KiB   .text, as long as the capacity; a hole where nothing was reserved
 *     then     the tables, each in a place of its own, moved when it has to grow
 *
 * Virtual addresses are file offsets, so no tool has to add a bias. */
#ifndef ELFIMAGE_LAYOUT_H
#define ELFIMAGE_LAYOUT_H

#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* A multiple of every page size that Linux has on x86-64 and aarch64. */
#define IMAGE_GRAIN ((uint64_t)64 << 10)

#define IMAGE_TEXT_OFFSET IMAGE_GRAIN

enum section {
    SECTION_NULL,
#define HEAD_SECTION(ident, ...) SECTION_##ident,
#define TEXT_SECTION HEAD_SECTION
#define TABLE_SECTION HEAD_SECTION
#include "elfimage/sections.def"
#undef HEAD_SECTION
#undef TEXT_SECTION
#undef TABLE_SECTION
    SECTION_COUNT
};

enum segment { SEGMENT_LOAD, SEGMENT_NOTE, SEGMENT_EH_FRAME, SEGMENT_STACK, SEGMENT_COUNT };

#define BUILD_ID_BYTES 20

struct build_id_note {
    Elf64_Nhdr header;
    char owner[4]; /* "GNU" */
    uint8_t id[BUILD_ID_BYTES];
};

/* A search table of one entry. Offsets count from this structure's first byte, frame_offset from itself. */
struct eh_frame_hdr {
    uint8_t version;
    uint8_t frame_encoding;
    uint8_t count_encoding;
    uint8_t table_encoding;
    int32_t frame_offset;
    uint32_t fde_count;
    int32_t text_offset;
    int32_t fde_offset;
};

struct eh_frame_cie {
    uint32_t length;
    uint32_t id;
    uint8_t version;
    char augmentation[3]; /* "zR" */
    uint8_t code_alignment;
    uint8_t data_alignment;
    uint8_t return_register;
    uint8_t augmentation_bytes;
    uint8_t address_encoding;
    uint8_t rule[7];
};

struct eh_frame_fde {
    uint32_t length;
    uint32_t cie_offset; /* back from this field */
    int32_t text_offset; /* from this field */
    uint32_t text_bytes;
    uint8_t augmentation_bytes;
    uint8_t nop[7];
};

struct eh_frame {
    struct eh_frame_cie cie;
    struct eh_frame_fde fde;
    uint32_t end;
};

struct debug_abbrev {
    uint8_t code;
    uint8_t tag;
    uint8_t has_children;
    uint8_t attributes[4][2]; /* name, form; the last is 0, 0 */
    uint8_t end;
};

struct shstrtab {
    char null[1];
#define HEAD_SECTION(ident, name, ...) char ident[sizeof(name)];
#define TEXT_SECTION HEAD_SECTION
#define TABLE_SECTION HEAD_SECTION
#include "elfimage/sections.def"
#undef HEAD_SECTION
#undef TEXT_SECTION
#undef TABLE_SECTION
};

/* Two section header tables, of which ehdr.e_shoff names the one in use: a change of several fields is written into the
 * other one and takes effect by one aligned 8-byte store. */
struct image_head {
    Elf64_Ehdr ehdr;
    Elf64_Phdr phdrs[SEGMENT_COUNT];
    Elf64_Shdr shdrs[2][SECTION_COUNT];
    struct eh_frame eh_frame;
    struct build_id_note build_id;
    struct eh_frame_hdr eh_frame_hdr;
    struct debug_abbrev debug_abbrev;
    struct shstrtab shstrtab;
};

static_assert(sizeof(struct build_id_note) == 36, "note without padding");
static_assert(sizeof(struct eh_frame_hdr) == 20, "LSB 5.0 §10.6.2");
static_assert(sizeof(struct eh_frame_cie) == 24 && sizeof(struct eh_frame_fde) == 24, "CIE and FDE without padding");
static_assert(sizeof(struct debug_abbrev) == 12, "abbreviation without padding");
static_assert(offsetof(struct image_head, shdrs) % 8 == 0, "sh_size is stored at once");
static_assert(offsetof(struct image_head, eh_frame) % 8 == 0, ".eh_frame is aligned");
static_assert(offsetof(struct image_head, eh_frame) == 1824, "docs/formats/elf-image.md");
static_assert(offsetof(struct image_head, shstrtab) == 1944, "docs/formats/elf-image.md");
static_assert(sizeof(struct image_head) <= 4096, "the head is one page");

/* Fills `head`, which is zeroed, for an image without functions and without tables. */
void elfimage_layout_init(struct image_head *head, uint64_t capacity_bytes, const uint8_t build_id[BUILD_ID_BYTES]);

/* The section header table in use, and the other one. */
Elf64_Shdr *elfimage_layout_shdrs(struct image_head *head);
Elf64_Shdr *elfimage_layout_spare_shdrs(struct image_head *head);

/* Puts the spare table to use. */
void elfimage_layout_flip(struct image_head *head);

#endif
