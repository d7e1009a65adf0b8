/* stencil_tool OUTPUT.c OBJECT...: makes stencils of handlers, at build time.
 *
 * Reads the handlers' object files with libelf, takes from each the machine code of every handler of handlers.def,
 * checks that the code means the same wherever it is copied, and writes the C file that defines code_stencils and
 * code_stencil_bytes.
 *
 * A stencil may hold one kind of relocation: of a jump to run_next. If that jump is the last instruction it is cut off;
 * elsewhere it is bound, here, to the end of the stencil, where the next one will stand. Anything else (a constant in
 * memory, a call of a function, a jump table) would be relative to where the handler was linked: the tool names the
 * handler and what it refers to, and fails. Every handler must have a section of its own (-ffunction-sections), since
 * the assembler resolves references within a section without leaving a relocation to see.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/code/handlers.h"

#define TEXT(name, i, j, k, args) "run_op_" #name "_" #i "_" #j "_" #k,
static const char *const symbol_names[CODE_HANDLER_COUNT] = {
#define HANDLERS(name, shape, definition, args) SHAPE_EACH_##shape(TEXT, name, args)
#include "vm/code/handlers.def"
};

struct stencil {
    uint8_t *code;
    size_t size_bytes;
};

static struct stencil stencils[CODE_HANDLER_COUNT];
static bool failed;

static void complain(const char *handler, const char *reason, const char *detail)
{
    fprintf(stderr, "stencil_tool: %s: %s%s\n", handler, reason, detail);
    failed = true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(symbol_names[*(const uint32_t *)a], symbol_names[*(const uint32_t *)b]);
}

/* The handlers' numbers in the order of their names. */
static uint32_t sorted[CODE_HANDLER_COUNT];

static int find_handler(const char *symbol)
{
    size_t low = 0, high = CODE_HANDLER_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(symbol, symbol_names[sorted[middle]]);
        if (order == 0)
            return (int)sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* Binds or cuts one jump to run_next whose operand is at `at`. Returns false where the bytes are not a jump. */
static bool bind_jump(struct stencil *stencil, GElf_Rela *relocation, uint16_t machine, size_t *jumps_to_end,
                      size_t *count)
{
    size_t at = relocation->r_offset;
    if (machine == EM_X86_64) {
        uint32_t type = GELF_R_TYPE(relocation->r_info);
        if ((type != R_X86_64_PLT32 && type != R_X86_64_PC32) || relocation->r_addend != -4 || at < 1)
            return false;
        bool plain = stencil->code[at - 1] == 0xe9;
        bool conditional = at >= 2 && stencil->code[at - 2] == 0x0f && (stencil->code[at - 1] & 0xf0) == 0x80;
        if (!plain && !conditional)
            return false;
        if (plain && at + 4 == stencil->size_bytes) {
            stencil->size_bytes = at - 1;
            return true;
        }
    } else {
        if (GELF_R_TYPE(relocation->r_info) != R_AARCH64_JUMP26 || relocation->r_addend != 0)
            return false;
        if (at + 4 == stencil->size_bytes) {
            stencil->size_bytes = at;
            return true;
        }
    }
    jumps_to_end[(*count)++] = at;
    return true;
}

static void write_displacement(struct stencil *stencil, size_t at, uint16_t machine)
{
    int64_t distance = (int64_t)stencil->size_bytes - (int64_t)at;
    if (machine == EM_X86_64) {
        int32_t displacement = (int32_t)(distance - 4);
        memcpy(stencil->code + at, &displacement, 4);
    } else {
        uint32_t instruction = 0x14000000u | ((uint32_t)(distance / 4) & 0x03ffffffu);
        memcpy(stencil->code + at, &instruction, 4);
    }
}

static void take_stencil(Elf *elf, uint16_t machine, int handler, GElf_Sym *symbol, Elf_Data *symbols, size_t strings)
{
    const char *name = symbol_names[handler];
    struct stencil *stencil = &stencils[handler];
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    Elf_Data *text = elf_getdata(section, NULL);
    if (stencil->code) {
        complain(name, "defined twice", "");
        return;
    }
    if (!text || symbol->st_size == 0 || symbol->st_value != 0) {
        complain(name, "has no code, or no section of its own", "");
        return;
    }
    stencil->size_bytes = symbol->st_size;
    stencil->code = malloc(symbol->st_size);
    if (!stencil->code) {
        complain(name, "out of memory", "");
        return;
    }
    memcpy(stencil->code, text->d_buf, symbol->st_size);

    size_t jumps_to_end[64], jump_count = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        gelf_getshdr(scn, &header);
        if (header.sh_type != SHT_RELA || header.sh_info != symbol->st_shndx)
            continue;
        Elf_Data *relocations = elf_getdata(scn, NULL);
        size_t count = header.sh_size / header.sh_entsize;
        /* From the last, so that the cut comes before the jumps that are bound to it. */
        for (size_t i = count; i-- > 0;) {
            GElf_Rela relocation;
            GElf_Sym target;
            gelf_getrela(relocations, (int)i, &relocation);
            if (relocation.r_offset >= symbol->st_size)
                continue;
            gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &target);
            const char *target_name = elf_strptr(elf, strings, target.st_name);
            if (!target_name || strcmp(target_name, "run_next") != 0)
                complain(name, "refers to ", target_name && *target_name ? target_name : "data of its object file");
            else if (jump_count == 64 || !bind_jump(stencil, &relocation, machine, jumps_to_end, &jump_count))
                complain(name, "refers to run_next, but not by a jump", "");
        }
    }
    for (size_t i = 0; i < jump_count; i++)
        write_displacement(stencil, jumps_to_end[i], machine);
}

static void read_object(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    GElf_Ehdr header;
    if (!elf || !gelf_getehdr(elf, &header)) {
        complain(path, "cannot be read as an object file: ", elf_errmsg(-1));
        return;
    }
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
        complain(path, "is for a machine this tool does not know", "");
        return;
    }
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr section;
        gelf_getshdr(scn, &section);
        if (section.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *symbols = elf_getdata(scn, NULL);
        size_t count = section.sh_size / section.sh_entsize;
        for (size_t i = 0; i < count; i++) {
            GElf_Sym symbol;
            gelf_getsym(symbols, (int)i, &symbol);
            const char *name = elf_strptr(elf, section.sh_link, symbol.st_name);
            int handler = name && symbol.st_shndx != SHN_UNDEF ? find_handler(name) : -1;
            if (handler >= 0)
                take_stencil(elf, header.e_machine, handler, &symbol, symbols, section.sh_link);
        }
    }
    elf_end(elf);
    close(fd);
}

static void write_output(FILE *output)
{
    uint32_t offset = 0;
    fprintf(output, "/* Made by stencil_tool from the handlers' object files. */\n#include \"vm/code/handlers.h\"\n\n"
                    "const struct code_stencil code_stencils[CODE_HANDLER_COUNT] = {\n");
    for (size_t i = 0; i < CODE_HANDLER_COUNT; i++) {
        fprintf(output, "{%u,%zu},\n", offset, stencils[i].size_bytes);
        offset += (uint32_t)stencils[i].size_bytes;
    }
    fprintf(output, "};\nconst uint8_t code_stencil_bytes[] = {\n");
    for (size_t i = 0; i < CODE_HANDLER_COUNT; i++) {
        for (size_t k = 0; k < stencils[i].size_bytes; k++)
            fprintf(output, "%u,", stencils[i].code[k]);
        fputc('\n', output);
    }
    fprintf(output, "0};\n");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: stencil_tool OUTPUT.c OBJECT...\n");
        return 2;
    }
    for (uint32_t i = 0; i < CODE_HANDLER_COUNT; i++)
        sorted[i] = i;
    qsort(sorted, CODE_HANDLER_COUNT, sizeof sorted[0], by_name);
    elf_version(EV_CURRENT);
    for (int i = 2; i < argc; i++)
        read_object(argv[i]);
    for (size_t i = 0; i < CODE_HANDLER_COUNT; i++)
        if (!stencils[i].code)
            complain(symbol_names[i], "not found in any object file", "");
    if (failed)
        return 1;
    FILE *output = fopen(argv[1], "w");
    if (!output) {
        perror(argv[1]);
        return 1;
    }
    write_output(output);
    if (fclose(output) != 0) {
        perror(argv[1]);
        unlink(argv[1]);
        return 1;
    }
    return 0;
}
