/* A module of the tests' own (see the header). Checks bounds, since the fuzzer gives it anything. */
#include "module_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
};

static uint32_t leb(struct cursor *cursor)
{
    uint32_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        if (shift < 32)
            value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static struct cursor take(struct cursor *cursor, uint32_t size_bytes)
{
    if (size_bytes > (size_t)(cursor->end - cursor->at))
        size_bytes = (uint32_t)(cursor->end - cursor->at);
    struct cursor taken = {cursor->at, cursor->at + size_bytes};
    cursor->at += size_bytes;
    return taken;
}

/* The next section; false: no more. */
static bool next_section(struct cursor *module, uint8_t *id, struct cursor *contents)
{
    if (module->at >= module->end)
        return false;
    *id = *module->at++;
    *contents = take(module, leb(module));
    return true;
}

static struct cursor sections_of(const struct vm_module *module)
{
    struct cursor sections = {module->bytes, module->bytes ? module->bytes + module->size_bytes : NULL};
    take(&sections, 8);
    return sections;
}

static void count_imports(struct vm_module *module, struct cursor imports)
{
    for (uint32_t count = leb(&imports); count > 0 && imports.at < imports.end; count--) {
        take(&imports, leb(&imports));
        take(&imports, leb(&imports));
        struct cursor kind = take(&imports, 1);
        if (kind.at < kind.end && kind.at[0] == 0)
            module->import_count++;
        leb(&imports); /* functions only, which is what the tests' guests import */
    }
}

static void find_functions(struct vm_module *module, struct cursor code)
{
    module->code_offset = (uint32_t)(code.at - module->bytes);
    uint32_t count = leb(&code);
    if (count > (size_t)(code.end - code.at))
        count = (uint32_t)(code.end - code.at);
    module->func_count = module->import_count + count;
    module->ranges = calloc(module->func_count + 1, sizeof *module->ranges);
    for (uint32_t i = module->import_count; i < module->func_count; i++) {
        struct cursor entry = take(&code, leb(&code));
        module->ranges[i].begin = (uint32_t)(entry.at - module->bytes);
        module->ranges[i].end = (uint32_t)(entry.end - module->bytes);
    }
}

static void read_names(struct vm_module *module)
{
    size_t size_bytes = 0;
    const uint8_t *bytes = vm_module_custom(module, "name", &size_bytes);
    struct cursor section = {bytes, bytes ? bytes + size_bytes : NULL};
    while (section.at < section.end) {
        uint8_t kind = *section.at++;
        struct cursor map = take(&section, leb(&section));
        for (uint32_t count = kind == 1 ? leb(&map) : 0; count > 0 && map.at < map.end; count--) {
            uint32_t funcidx = leb(&map);
            struct cursor name = take(&map, leb(&map));
            if (funcidx >= module->func_count)
                continue;
            module->names[funcidx] = (const char *)name.at;
            module->name_bytes[funcidx] = (size_t)(name.end - name.at);
        }
    }
}

struct vm_module double_of_bytes(const char *module_name, const void *bytes, size_t size_bytes)
{
    struct vm_module module = {.name = module_name, .bytes = bytes, .size_bytes = size_bytes};
    struct cursor sections = sections_of(&module);
    struct cursor contents;
    uint8_t id;
    while (next_section(&sections, &id, &contents)) {
        if (id == 2)
            count_imports(&module, contents);
        if (id == 10 && !module.ranges)
            find_functions(&module, contents);
    }
    module.names = calloc(module.func_count + 1, sizeof *module.names);
    module.name_bytes = calloc(module.func_count + 1, sizeof *module.name_bytes);
    read_names(&module);
    return module;
}

struct vm_module double_of_names(const char *module_name, const char **names, uint32_t count)
{
    struct vm_module module = {.name = module_name, .func_count = count};
    module.names = calloc(count + 1, sizeof *module.names);
    module.name_bytes = calloc(count + 1, sizeof *module.name_bytes);
    for (uint32_t i = 0; i < count; i++) {
        module.names[i] = names[i];
        module.name_bytes[i] = names[i] ? strlen(names[i]) : 0;
    }
    return module;
}

void *double_read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size_bytes = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size_bytes + 1);
    *size_bytes = fread(bytes, 1, *size_bytes, file);
    bytes[*size_bytes] = '\0';
    fclose(file);
    return bytes;
}

uint32_t double_find(const struct vm_module *module, const char *name)
{
    for (uint32_t funcidx = 0; funcidx < module->func_count; funcidx++)
        if (module->name_bytes[funcidx] == strlen(name) &&
            memcmp(module->names[funcidx], name, module->name_bytes[funcidx]) == 0)
            return funcidx;
    return UINT32_MAX;
}

void double_fini(struct vm_module *module)
{
    free(module->ranges);
    free(module->names);
    free(module->name_bytes);
}

/* ---- what vm/hooks.h asks of the VM ---- */

const void *vm_module_bytes(const struct vm_module *module, size_t *size_bytes)
{
    *size_bytes = module->size_bytes;
    return module->bytes;
}

const char *vm_module_name(const struct vm_module *module)
{
    return module->name;
}

uint32_t vm_module_func_count(const struct vm_module *module)
{
    return module->func_count;
}

const char *vm_module_func_name(const struct vm_module *module, uint32_t funcidx, size_t *size_bytes)
{
    *size_bytes = module->name_bytes[funcidx];
    return module->names[funcidx];
}

bool vm_module_func_range(const struct vm_module *module, uint32_t funcidx, uint32_t *begin, uint32_t *end)
{
    if (!module->ranges || funcidx < module->import_count)
        return false;
    *begin = module->ranges[funcidx].begin;
    *end = module->ranges[funcidx].end;
    return true;
}

const void *vm_module_custom(const struct vm_module *module, const char *name, size_t *size_bytes)
{
    struct cursor sections = sections_of(module);
    struct cursor contents;
    uint8_t id;
    while (module->bytes && next_section(&sections, &id, &contents)) {
        if (id != 0)
            continue;
        struct cursor found = take(&contents, leb(&contents));
        size_t name_bytes = (size_t)(found.end - found.at);
        if (name_bytes == strlen(name) && memcmp(found.at, name, name_bytes) == 0) {
            *size_bytes = (size_t)(contents.end - contents.at);
            return contents.at;
        }
    }
    return NULL;
}

uint32_t vm_module_code_offset(const struct vm_module *module)
{
    return module->code_offset;
}

uint32_t vm_module_listing(const struct vm_module *module, uint32_t offset, char *text, size_t capacity)
{
    static const struct {
        uint8_t opcode;
        bool has_index;
        const char *text;
    } known[] = {
        {0x02, true, "block"},     {0x03, true, "loop"},      {0x04, true, "if"},        {0x05, false, "else"},
        {0x0b, false, "end"},      {0x0c, true, "br"},        {0x0d, true, "br_if"},     {0x10, true, "call"},
        {0x20, true, "local.get"}, {0x21, true, "local.set"}, {0x41, true, "i32.const"}, {0x6a, false, "i32.add"},
    };
    uint8_t opcode = module->bytes[offset];
    ((struct vm_module *)module)->listing_calls++;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].opcode != opcode)
            continue;
        if (known[i].has_index && opcode > 0x04)
            snprintf(text, capacity, "%s %u", known[i].text, module->bytes[offset + 1]);
        else
            snprintf(text, capacity, "%s", known[i].text);
        return offset + 1 + known[i].has_index;
    }
    snprintf(text, capacity, "opcode.%02x", opcode);
    return offset + 1;
}
