/* reader: see the header. */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/elfimage/reader.h"

struct reader {
    int fd;
    Elf *elf;
    Dwarf *dwarf; /* NULL where there is no debugging information yet */
    Elf_Data *symbols;
    size_t strings; /* section index */
};

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;)
        if (gelf_getshdr(section, shdr) != NULL && strcmp(elf_strptr(elf, names, shdr->sh_name), name) == 0)
            return section;
    return NULL;
}

struct reader *reader_open(const char *path)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    GElf_Shdr shdr;

    elf_version(EV_CURRENT);
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    reader->elf = elf_begin(reader->fd, ELF_C_READ, NULL);
    Elf_Scn *section = reader->elf ? find_section(reader->elf, ".symtab", &shdr) : NULL;
    reader->symbols = section ? elf_getdata(section, NULL) : NULL;
    reader->strings = shdr.sh_link;
    if (reader->symbols == NULL) {
        fprintf(stderr, "%s: %s\n", path, elf_errmsg(-1));
        reader_close(reader);
        return NULL;
    }
    if (reader_section_bytes(reader, ".debug_info") > 0) {
        reader->dwarf = dwarf_begin_elf(reader->elf, DWARF_C_READ, NULL);
        if (reader->dwarf == NULL) {
            fprintf(stderr, "%s: %s\n", path, dwarf_errmsg(-1));
            reader_close(reader);
            return NULL;
        }
    }
    return reader;
}

void reader_close(struct reader *reader)
{
    dwarf_end(reader->dwarf);
    elf_end(reader->elf);
    close(reader->fd);
    free(reader);
}

size_t reader_symbol_count(const struct reader *reader)
{
    return reader->symbols->d_size / sizeof(Elf64_Sym) - 1;
}

struct reader_symbol reader_symbol(const struct reader *reader, size_t index)
{
    GElf_Sym symbol = {0};
    gelf_getsym(reader->symbols, (int)index + 1, &symbol);
    return (struct reader_symbol){elf_strptr(reader->elf, reader->strings, symbol.st_name), symbol.st_value,
                                  symbol.st_size};
}

bool reader_find(const struct reader *reader, const char *name, struct reader_symbol *symbol)
{
    for (size_t i = 0; i < reader_symbol_count(reader); i++) {
        *symbol = reader_symbol(reader, i);
        if (symbol->name != NULL && strcmp(symbol->name, name) == 0)
            return true;
    }
    return false;
}

size_t reader_rows(struct reader *reader, uint64_t address, struct reader_row *rows, size_t capacity)
{
    Dwarf_Die unit;
    Dwarf_Lines *lines;
    size_t count;

    if (dwarf_addrdie(reader->dwarf, address, &unit) == NULL || dwarf_getsrclines(&unit, &lines, &count) != 0)
        return 0;
    for (size_t i = 0; i < count && i < capacity; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr at;
        dwarf_lineaddr(line, &at);
        dwarf_lineno(line, &rows[i].line);
        dwarf_lineendsequence(line, &rows[i].is_end);
        rows[i].address = at;
        rows[i].file = dwarf_linesrc(line, NULL, NULL);
    }
    return count;
}

bool reader_debug_is_whole(struct reader *reader)
{
    if (reader->dwarf == NULL)
        return true;

    size_t header_bytes;
    Dwarf_Off next;
    for (Dwarf_Off at = 0; dwarf_nextcu(reader->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0; at = next) {
        Dwarf_Die unit;
        Dwarf_Lines *lines;
        size_t count;
        if (dwarf_offdie(reader->dwarf, at + header_bytes, &unit) == NULL ||
            dwarf_getsrclines(&unit, &lines, &count) != 0 || count < 2)
            return false;
    }

    Dwarf_Aranges *aranges;
    size_t count;
    if (dwarf_getaranges(reader->dwarf, &aranges, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Addr start;
        Dwarf_Word length;
        Dwarf_Off offset;
        Dwarf_Die unit;
        if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) != 0 ||
            dwarf_offdie(reader->dwarf, offset, &unit) == NULL)
            return false;
    }
    return true;
}

uint64_t reader_section_bytes(const struct reader *reader, const char *name)
{
    GElf_Shdr shdr;
    return find_section(reader->elf, name, &shdr) ? shdr.sh_size : 0;
}
