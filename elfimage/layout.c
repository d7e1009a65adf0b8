/* layout: writes the head of an image.
 *
 * The head is one C structure whose members are the ELF header, program headers, section headers and all sections that
 * never change, so that offsets are offsetof() and the compiler does the arithmetic. It lies inside the executable
 * mapping on purpose: perf's unwinder reads .eh_frame_hdr and .eh_frame at their *addresses*, and finds a file for an
 * address only if an executable mapping covers it.
 *
 * libelf's writer was rejected: it lays out and writes a file as a whole (elf_update), whereas this one grows by single
 * stores while others read it and must be right after each. The types and constants are those of <elf.h> and <dwarf.h>;
 * the tests read images with libelf, libdw, eu-elflint and readelf.
 *
 * One CIE and one FDE are enough because every function has the same frame: after its prologue CFA = frame pointer +
 * 16, the caller's frame pointer at CFA - 16, the return address at CFA - 8. Before the prologue is done and after the
 * epilogue has popped the frame the rule is wrong; exact rules would cost an FDE a function and a search table that has
 * to stay sorted while it grows. A profiler's sample hits those few instructions rarely and then loses one caller. */
#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "elfimage/layout.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define FRAME_REGISTER 6 /* rbp */
#define RETURN_REGISTER 16
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define FRAME_REGISTER 29
#define RETURN_REGISTER 30
#else
#error "libelfimage knows the frames of x86-64 and aarch64 only"
#endif

#define DATA_ALIGNMENT_MINUS_8 0x78 /* SLEB128 */

static int32_t distance(size_t from, size_t to)
{
    return (int32_t)((int64_t)to - (int64_t)from);
}

static void write_eh_frame(struct image_head *head, uint64_t capacity_bytes)
{
    const size_t cie_at = offsetof(struct image_head, eh_frame.cie);
    const size_t fde_at = offsetof(struct image_head, eh_frame.fde);
    const size_t hdr_at = offsetof(struct image_head, eh_frame_hdr);

    head->eh_frame.cie = (struct eh_frame_cie){
        .length = sizeof(struct eh_frame_cie) - sizeof(uint32_t),
        .version = 1,
        .augmentation = "zR",
        .code_alignment = 1,
        .data_alignment = DATA_ALIGNMENT_MINUS_8,
        .return_register = RETURN_REGISTER,
        .augmentation_bytes = 1,
        .address_encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
        .rule = {DW_CFA_def_cfa, FRAME_REGISTER, 16,       /* CFA = frame pointer + 16 */
                 DW_CFA_offset | FRAME_REGISTER, 2,        /* caller's frame pointer at CFA - 2 * 8 */
                 DW_CFA_offset | RETURN_REGISTER, 1},      /* return address at CFA - 1 * 8 */
    };
    head->eh_frame.fde = (struct eh_frame_fde){
        .length = sizeof(struct eh_frame_fde) - sizeof(uint32_t),
        .cie_offset = (uint32_t)distance(cie_at, fde_at + offsetof(struct eh_frame_fde, cie_offset)),
        .text_offset = distance(fde_at + offsetof(struct eh_frame_fde, text_offset), IMAGE_TEXT_OFFSET),
        .text_bytes = (uint32_t)capacity_bytes,
    };
    head->eh_frame_hdr = (struct eh_frame_hdr){
        .version = 1,
        .frame_encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
        .count_encoding = DW_EH_PE_udata4,
        .table_encoding = DW_EH_PE_datarel | DW_EH_PE_sdata4,
        .frame_offset = distance(hdr_at + offsetof(struct eh_frame_hdr, frame_offset), cie_at),
        .fde_count = 1,
        .text_offset = distance(hdr_at, IMAGE_TEXT_OFFSET),
        .fde_offset = distance(hdr_at, fde_at),
    };
}

static void write_sections(struct image_head *head, uint64_t capacity_bytes)
{
    Elf64_Shdr *shdrs = head->shdrs[0];
    uint64_t addr;

#define HEAD_SECTION(ident, name, type, flags, align, member)                                                          \
    addr = (flags)&SHF_ALLOC ? offsetof(struct image_head, member) : 0;                                                \
    shdrs[SECTION_##ident] = (Elf64_Shdr){offsetof(struct shstrtab, ident), type, flags, addr,                         \
        offsetof(struct image_head, member), sizeof(head->member), 0, 0, align, 0};                                    \
    memcpy(head->shstrtab.ident, name, sizeof(name));
#define TEXT_SECTION(ident, name, type, flags, align)                                                                  \
    shdrs[SECTION_##ident] = (Elf64_Shdr){offsetof(struct shstrtab, ident), type, flags, IMAGE_TEXT_OFFSET,            \
        IMAGE_TEXT_OFFSET, capacity_bytes, 0, 0, align, 0};                                                            \
    memcpy(head->shstrtab.ident, name, sizeof(name));
#define TABLE_SECTION(ident, name, type, entry_bytes, align, link)                                                     \
    shdrs[SECTION_##ident] = (Elf64_Shdr){offsetof(struct shstrtab, ident), type, 0, 0, 0, 0, link,                    \
        (type) == SHT_SYMTAB ? 1 : 0, align, entry_bytes};                                                             \
    memcpy(head->shstrtab.ident, name, sizeof(name));
#include "elfimage/sections.def"
#undef HEAD_SECTION
#undef TEXT_SECTION
#undef TABLE_SECTION
}

static void write_segments(struct image_head *head, uint64_t capacity_bytes)
{
    const Elf64_Shdr *note = &head->shdrs[0][SECTION_BUILD_ID];
    const Elf64_Shdr *hdr = &head->shdrs[0][SECTION_EH_FRAME_HDR];
    const uint64_t load_bytes = IMAGE_TEXT_OFFSET + capacity_bytes;

    head->phdrs[SEGMENT_LOAD] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, 0, 0, load_bytes, load_bytes, IMAGE_GRAIN};
    head->phdrs[SEGMENT_NOTE] = (Elf64_Phdr){PT_NOTE, PF_R, note->sh_offset, note->sh_addr, note->sh_addr,
                                             note->sh_size, note->sh_size, note->sh_addralign};
    head->phdrs[SEGMENT_EH_FRAME] = (Elf64_Phdr){PT_GNU_EH_FRAME, PF_R, hdr->sh_offset, hdr->sh_addr, hdr->sh_addr,
                                                 hdr->sh_size, hdr->sh_size, hdr->sh_addralign};
    head->phdrs[SEGMENT_STACK] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
}

void elfimage_layout_init(struct image_head *head, uint64_t capacity_bytes, const uint8_t build_id[BUILD_ID_BYTES])
{
    head->ehdr = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE},
        .e_type = ET_DYN,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_phoff = offsetof(struct image_head, phdrs),
        .e_shoff = offsetof(struct image_head, shdrs),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = SEGMENT_COUNT,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SECTION_SHSTRTAB,
    };
    head->build_id = (struct build_id_note){
        .header = {.n_namesz = sizeof(head->build_id.owner), .n_descsz = BUILD_ID_BYTES, .n_type = NT_GNU_BUILD_ID},
        .owner = ELF_NOTE_GNU,
    };
    memcpy(head->build_id.id, build_id, BUILD_ID_BYTES);
    head->debug_abbrev = (struct debug_abbrev){
        .code = 1,
        .tag = DW_TAG_compile_unit,
        .has_children = DW_CHILDREN_no,
        .attributes = {{DW_AT_stmt_list, DW_FORM_sec_offset},
                       {DW_AT_low_pc, DW_FORM_addr},
                       {DW_AT_high_pc, DW_FORM_data4}},
    };
    write_eh_frame(head, capacity_bytes);
    write_sections(head, capacity_bytes);
    write_segments(head, capacity_bytes);
}

Elf64_Shdr *elfimage_layout_shdrs(struct image_head *head)
{
    return head->shdrs[head->ehdr.e_shoff == offsetof(struct image_head, shdrs[1])];
}

Elf64_Shdr *elfimage_layout_spare_shdrs(struct image_head *head)
{
    return head->shdrs[head->ehdr.e_shoff == offsetof(struct image_head, shdrs[0])];
}

/* Release: whoever sees the new offset, in this process or through the file, sees the table it points to. */
void elfimage_layout_flip(struct image_head *head)
{
    uint64_t shoff = (uint64_t)((char *)elfimage_layout_spare_shdrs(head) - (char *)head);
    __atomic_store_n(&head->ehdr.e_shoff, shoff, __ATOMIC_RELEASE);
}
