/* lines: a wasm module's DWARF, as one sorted table from bytecode offset to source line.
 *
 * A toolchain leaves DWARF in the module's custom sections `.debug_*`, byte for byte as it would in an ELF file, with
 * addresses that count from the start of the Code section's contents. So the sections are laid into an ELF image in
 * memory (a header, the sections, their headers) and elfutils' libdw reads them as any other:
 *
 *     custom sections ─ copy ─ elf_memory ─ libdw: units, line programs ─ flat rows, sorted ─ libdw closed
 *
 * Only the flat rows survive: 12 bytes each, found by binary search, so a lookup knows nothing of DWARF and the copy
 * and libdw's tables are gone before the guest runs. What was rejected: a line program reader of our own (five versions
 * of headers, and libdw has been fuzzed for years); asking libdw at each lookup (it finds a unit by address only
 * through .debug_aranges, which clang does not write for wasm); reading one unit at a time when a function of it is
 * first published (keeps the copy and libdw for the whole run, needs locks, and saves time only for guests of many
 * megabytes of DWARF: reading all costs 0.03 s for each megabyte of .debug_line, of which a 30 MB guest has three or
 * four).
 *
 * What a table says of code that is not there must not be believed: the linker leaves the line programs of functions it
 * has dropped in place, with their addresses set to 0 or to -1, -2 (tombstones). No instruction is at 0, where the Code
 * section has its count of functions, and sequences that begin outside the section are skipped whole. Rows with line 0
 * (code that belongs to no line) are left out: what stands before them reaches over them, since perf would show them as
 * nothing at all.
 */
#include "profile/lines.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define NO_FILE UINT32_MAX

/* From `address` on, up to the next row. file == NO_FILE: the end of a sequence, no line is known. */
struct row {
    uint32_t address; /* from the start of the Code section's contents */
    uint32_t line;
    uint32_t file; /* index into files */
};

struct profile_lines {
    struct vec rows;  /* of struct row, by address */
    struct vec files; /* of char *, each distinct */
    uint32_t code_offset;
};

/* ---- the ELF image ---- */

/* Those that a line table can refer to. DWARF 4 needs the first four, DWARF 5 the others too. */
#define DEBUG_SECTIONS(X)   \
    X(".debug_line")        \
    X(".debug_info")        \
    X(".debug_abbrev")      \
    X(".debug_str")         \
    X(".debug_line_str")    \
    X(".debug_str_offsets") \
    X(".debug_addr")

#define COUNT_SECTION(name) +1
#define NAME_SECTION(name) name "\0"
#define SIZE_SECTION(name) +sizeof(name)
enum { DEBUG_SECTION_COUNT = 0 DEBUG_SECTIONS(COUNT_SECTION) };
static const char section_names[] = "\0" DEBUG_SECTIONS(NAME_SECTION) ".shstrtab";

/*     Elf32_Ehdr │ .shstrtab │ .debug_… │ … │ Elf32_Shdr[1 + DEBUG_SECTION_COUNT + 1]
 *
 * ELFCLASS32 whatever the module's memories are: units say how wide their addresses are themselves. */
static void *image_create(const struct vm_module *module, size_t *image_bytes)
{
    enum { SECTION_COUNT = 1 + DEBUG_SECTION_COUNT + 1 };
    const void *contents[SECTION_COUNT] = {0};
    Elf32_Shdr headers[SECTION_COUNT] = {0};
    size_t at = sizeof(Elf32_Ehdr);
    const char *name = section_names + 1;
    for (size_t i = 1; i < SECTION_COUNT; i++, name += strlen(name) + 1) {
        size_t size_bytes = sizeof section_names;
        contents[i] = i == SECTION_COUNT - 1 ? section_names : vm_module_custom(module, name, &size_bytes);
        if (!contents[i])
            size_bytes = 0;
        if (size_bytes > INT32_MAX - at)
            return NULL;
        headers[i] = (Elf32_Shdr){
            .sh_name = (Elf32_Word)(name - section_names),
            .sh_type = contents[i] ? i == SECTION_COUNT - 1 ? SHT_STRTAB : SHT_PROGBITS : SHT_NULL,
            .sh_offset = (Elf32_Off)at,
            .sh_size = (Elf32_Word)size_bytes,
            .sh_addralign = 1,
        };
        at += size_bytes;
    }
    at = (at + 3) & ~(size_t)3;
    Elf32_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_NONE,
        .e_version = EV_CURRENT,
        .e_shoff = (Elf32_Off)at,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof headers[0],
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SECTION_COUNT - 1,
    };
    char *image = malloc(at + sizeof headers);
    if (!image)
        return NULL;
    memcpy(image, &header, sizeof header);
    for (size_t i = 1; i < SECTION_COUNT; i++)
        if (contents[i])
            memcpy(image + headers[i].sh_offset, contents[i], headers[i].sh_size);
    memcpy(image + at, headers, sizeof headers);
    *image_bytes = at + sizeof headers;
    return image;
}

/* ---- reading ---- */

/* The distinct file names of all units, found by their text. A row names its file by an index into its unit's table,
 * which is looked up here once for each unit. */
struct file_table {
    struct profile_lines *lines;
    uint32_t *slots; /* open addressing; 0: free, else index + 1 */
    size_t slot_count;
    struct vec of_unit; /* of uint32_t: by the unit's index, the index here + 1; 0: not looked up yet */
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static const char *file_at(const struct profile_lines *lines, size_t file)
{
    return *(char **)vec_at(&lines->files, file);
}

static bool file_table_grow(struct file_table *table)
{
    size_t slot_count = table->slot_count ? table->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t file = 0; file < table->lines->files.count; file++) {
        size_t at = hash_text(file_at(table->lines, file)) & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)file + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    return true;
}

/* The index of `name`, which is taken over, or NO_FILE where memory is short. */
static uint32_t intern_file(struct file_table *table, char *name)
{
    if (table->lines->files.count * 2 >= table->slot_count && !file_table_grow(table)) {
        free(name);
        return NO_FILE;
    }
    size_t at = hash_text(name) & (table->slot_count - 1);
    while (table->slots[at] && strcmp(file_at(table->lines, table->slots[at] - 1), name) != 0)
        at = (at + 1) & (table->slot_count - 1);
    if (table->slots[at]) {
        free(name);
        return table->slots[at] - 1;
    }
    char **place = vec_push(&table->lines->files);
    if (!place) {
        free(name);
        return NO_FILE;
    }
    *place = name;
    table->slots[at] = (uint32_t)table->lines->files.count;
    return table->slots[at] - 1;
}

/* A unit names files relative to the folder in which the compiler ran. libdw joins only some. NULL: no memory. */
static char *absolute_name(const char *folder, const char *name)
{
    if (name[0] == '/' || !folder || folder[0] == '\0')
        return strdup(name);
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    char *joined = NULL;
    return asprintf(&joined, "%s/%s", folder, name) < 0 ? NULL : joined;
}

/* The index of a row's file, NO_FILE where memory is short. *is_known: the row has one. */
static uint32_t file_of(struct file_table *table, Dwarf_Line *line, const char *folder, bool *is_known)
{
    Dwarf_Files *files = NULL;
    size_t index = 0;
    *is_known = dwarf_line_file(line, &files, &index) == 0;
    const char *name = *is_known ? dwarf_filesrc(files, index, NULL, NULL) : NULL;
    *is_known = name != NULL;
    if (!name ||
        (index >= table->of_unit.count && !vec_append(&table->of_unit, NULL, index + 1 - table->of_unit.count)))
        return NO_FILE;
    uint32_t *known = vec_at(&table->of_unit, index);
    if (*known == 0) {
        char *absolute = absolute_name(folder, name);
        *known = absolute ? intern_file(table, absolute) + 1 : 0;
    }
    return *known - 1;
}

/* Whether a sequence may begin here. */
static bool is_code(Dwarf_Addr address, uint32_t code_size_bytes)
{
    return address > 0 && address < code_size_bytes;
}

/* Of several rows at one address the last is in force, so an earlier one is overwritten; the sort need not be stable
 * then. */
static bool append_row(struct profile_lines *lines, struct row row)
{
    struct row *last = lines->rows.count ? vec_at(&lines->rows, lines->rows.count - 1) : NULL;
    if (!last || last->address != row.address || last->file == NO_FILE)
        last = vec_push(&lines->rows);
    if (last)
        *last = row;
    return last != NULL;
}

/* Appends the rows of one unit. libdw has sorted them by address and kept sequences together. */
static int read_unit(Dwarf_Die *unit, uint32_t code_size_bytes, struct profile_lines *lines, struct file_table *files)
{
    Dwarf_Lines *source = NULL;
    size_t count = 0;
    if (dwarf_getsrclines(unit, &source, &count) != 0)
        return 0; /* damaged or absent: the other units are as good as before */
    Dwarf_Attribute attribute;
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    files->of_unit.count = 0;
    bool is_start = true;
    bool is_skipped = false;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(source, i);
        Dwarf_Addr address = 0;
        int number = 0;
        bool is_end = false;
        if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineno(line, &number) != 0 ||
            dwarf_lineendsequence(line, &is_end) != 0)
            continue;
        if (is_start)
            is_skipped = !is_code(address, code_size_bytes);
        is_start = is_end;
        if (is_skipped || address > code_size_bytes || (!is_end && number <= 0))
            continue;
        bool has_file = false;
        uint32_t file = is_end ? NO_FILE : file_of(files, line, folder, &has_file);
        if (!is_end && !has_file)
            continue;
        if ((has_file && file == NO_FILE) ||
            !append_row(lines, (struct row){(uint32_t)address, (uint32_t)number, file}))
            return -ENOMEM;
    }
    return 0;
}

/* By address; the end of one sequence before the start of the next. */
static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->file != NO_FILE) - (b->file != NO_FILE);
}

static bool is_sorted(const struct profile_lines *lines)
{
    const struct row *rows = lines->rows.data;
    for (size_t i = 1; i < lines->rows.count; i++)
        if (compare_rows(&rows[i - 1], &rows[i]) > 0)
            return false;
    return true;
}

static int read_units(Dwarf *dwarf, uint32_t code_size_bytes, struct profile_lines *lines)
{
    struct file_table files = {.lines = lines, .of_unit = VEC_INIT(sizeof(uint32_t))};
    Dwarf_CU *unit = NULL;
    int result = 0;
    Dwarf_Die die;
    uint8_t type;
    while (result == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile)
            result = read_unit(&die, code_size_bytes, lines, &files);
    free(files.slots);
    vec_fini(&files.of_unit);
    /* Units come in link order, so there is mostly nothing to sort. */
    if (result == 0 && !is_sorted(lines))
        qsort(lines->rows.data, lines->rows.count, sizeof(struct row), compare_rows);
    return result;
}

static int read_image(char *image, size_t image_bytes, uint32_t code_size_bytes, struct profile_lines *lines,
                      struct err *err)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(image, image_bytes);
    if (!elf)
        return -ENOMEM;
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    int result = -EINVAL;
    if (dwarf) {
        result = read_units(dwarf, code_size_bytes, lines);
        dwarf_end(dwarf);
    } else {
        err_set(err, ERR_MALFORMED, 0, "DWARF: %s", dwarf_errmsg(-1));
    }
    elf_end(elf);
    return result;
}

static uint32_t code_size_bytes(const struct vm_module *module)
{
    uint32_t end = 0;
    for (uint32_t funcidx = vm_module_func_count(module), begin; funcidx-- > 0 && end == 0;)
        if (!vm_module_func_range(module, funcidx, &begin, &end))
            return 0;
    return end - vm_module_code_offset(module);
}

int profile_lines_create(const struct vm_module *module, struct profile_lines **result, struct err *err)
{
    *result = NULL;
    size_t section_bytes = 0;
    if (!vm_module_custom(module, ".debug_line", &section_bytes) || section_bytes == 0 ||
        !vm_module_custom(module, ".debug_info", &section_bytes) || vm_module_func_count(module) == 0)
        return -ENOENT;
    size_t image_bytes;
    char *image = image_create(module, &image_bytes);
    struct profile_lines *lines = calloc(1, sizeof *lines);
    int status = -ENOMEM;
    if (image && lines) {
        lines->rows = VEC_INIT(sizeof(struct row));
        lines->files = VEC_INIT(sizeof(char *));
        lines->code_offset = vm_module_code_offset(module);
        status = read_image(image, image_bytes, code_size_bytes(module), lines, err);
    }
    free(image);
    if (status == 0 && lines->files.count == 0)
        status = -ENOENT;
    if (status != 0)
        profile_lines_destroy(lines);
    else
        *result = lines;
    return status;
}

void profile_lines_destroy(struct profile_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->files.count; i++)
        free(*(char **)vec_at(&lines->files, i));
    vec_fini(&lines->files);
    vec_fini(&lines->rows);
    free(lines);
}

/* ---- looking up ---- */

/* The last row at or before `bytecode_offset`, or NULL where that is none or ends a sequence. `near` may be a row to
 * try first, with its successors: neighbours in a function are mostly neighbours in the table. */
static const struct row *row_at(const struct profile_lines *lines, uint32_t bytecode_offset, const struct row *near)
{
    if (bytecode_offset < lines->code_offset)
        return NULL;
    uint32_t address = bytecode_offset - lines->code_offset;
    const struct row *rows = lines->rows.data;
    const struct row *end = rows + lines->rows.count;
    size_t below = 0;
    size_t above = lines->rows.count;
    if (near && near->address <= address) {
        below = (size_t)(near - rows);
        for (size_t step = 1; below + step < above; step *= 2)
            if (rows[below + step].address > address)
                above = below + step;
            else
                below += step;
    }
    while (below < above) {
        size_t middle = below + (above - below) / 2;
        if (rows[middle].address <= address)
            below = middle + 1;
        else
            above = middle;
    }
    const struct row *row = below ? rows + below - 1 : NULL;
    return row && row < end && row->file != NO_FILE ? row : NULL;
}

bool profile_lines_find(const struct profile_lines *lines, uint32_t bytecode_offset, const char **file, uint32_t *line)
{
    const struct row *row = row_at(lines, bytecode_offset, NULL);
    if (!row)
        return false;
    *file = file_at(lines, row->file);
    *line = row->line;
    return true;
}

size_t profile_lines_rows(const struct profile_lines *lines, const struct vm_code *code, struct elfimage_line *rows)
{
    const struct row *row = NULL;
    size_t count = 0;
    for (size_t i = 0; i < code->position_count; i++) {
        const struct row *found = row_at(lines, code->positions[i].bytecode_offset, row);
        if (!found)
            continue;
        row = found;
        count = profile_rows_append(rows, count, code, code->positions[i].region_offset, row->line,
                                    file_at(lines, row->file));
    }
    return count;
}
