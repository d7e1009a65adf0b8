/* `glassbox dump`: what a module consists of, and the bytecode of its functions.
 *
 * Names are profile/'s and the listing is the VM's, so that both are those of perf's reports. The index spaces with
 * their types, which the embedder's header does not tell, are read from the VM's own headers: this is the one command
 * that may look inside. Offsets are from the module's first byte everywhere, as in backtraces and in
 * `--lines=bytecode`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump.h"

#include "cli/cli.h"
#include "cli/values.h"

static void print_name(const struct wasm_name *name)
{
    cli_print_escaped(stdout, name->bytes, name->size_bytes);
}

static void print_func_name(const struct dump *dump, uint32_t funcidx)
{
    char name[PROFILE_NAME_BYTES + 1];
    profile_names_get(dump->names, funcidx, name);
    fputs(name, stdout);
}

static void print_type(const struct dump *dump, uint32_t typeidx)
{
    const struct wasm_functype *type = &dump->wasm->types[typeidx];
    const struct vm_functype shown = {type->params, type->results, type->param_count, type->result_count};
    cli_functype_print(stdout, &shown);
}

/* ---- the parts of a module ---- */

/* A heading that is printed only where something comes under it. */
static void print_heading(const char *heading, uint32_t count)
{
    if (count > 0) {
        printf("\n%s (%" PRIu32 ")\n", heading, count);
    }
}

static void print_sections(const struct dump *dump)
{
    printf("Sections\n");
    struct cli_section section;
    for (uint32_t at = 0; cli_section_next(&dump->file, &at, &section);) {
        printf("  0x%06" PRIx32 "  %10" PRIu32 "  ", section.offset, section.size_bytes);
        cli_print_escaped(stdout, section.name, section.name_bytes);
        puts(section.id == 0 ? " (custom)" : "");
    }
}

static void print_limits(const struct wasm_limits *limits, const char *unit)
{
    printf("%" PRIu64, limits->min);
    if (limits->has_max) {
        printf(" to %" PRIu64, limits->max);
    }
    printf(" %s%s%s", unit, limits->is_64 ? ", 64-bit" : "", limits->is_shared ? ", shared" : "");
}

/* The type of the `index`th item of the index space `kind`. */
static void print_extern_type(const struct dump *dump, enum wasm_externkind kind, uint32_t index)
{
    const struct wasm_module *wasm = dump->wasm;
    switch (kind) {
    case WASM_EXTERN_FUNC: print_type(dump, wasm->funcs[index].typeidx); break;
    case WASM_EXTERN_TABLE:
        printf("%s, ", cli_valtype_name(wasm->tables[index].type.reftype));
        print_limits(&wasm->tables[index].type.limits, "elements");
        break;
    case WASM_EXTERN_MEMORY: print_limits(&wasm->memories[index].limits, "pages of 64 KiB"); break;
    case WASM_EXTERN_GLOBAL:
        printf("%s%s", wasm->globals[index].type.is_mutable ? "mutable " : "",
               cli_valtype_name(wasm->globals[index].type.valtype));
        break;
    }
}

static void print_types(const struct dump *dump)
{
    print_heading("Types", dump->wasm->type_count);
    for (uint32_t i = 0; i < dump->wasm->type_count; i++) {
        printf("  %5" PRIu32 "  ", i);
        print_type(dump, i);
        putchar('\n');
    }
}

static const char *kind_name(enum wasm_externkind kind)
{
    static const enum vm_externkind kinds[] = {
        [WASM_EXTERN_FUNC] = VM_EXTERN_FUNC,
        [WASM_EXTERN_TABLE] = VM_EXTERN_TABLE,
        [WASM_EXTERN_MEMORY] = VM_EXTERN_MEMORY,
        [WASM_EXTERN_GLOBAL] = VM_EXTERN_GLOBAL,
    };
    return cli_externkind_name(kinds[kind]);
}

static void print_imports(const struct dump *dump)
{
    print_heading("Imports", dump->wasm->import_count);
    for (uint32_t i = 0; i < dump->wasm->import_count; i++) {
        const struct wasm_import *import = &dump->wasm->imports[i];
        printf("  %-6s %5" PRIu32 "  ", kind_name(import->kind), import->index);
        print_name(&import->module);
        putchar('.');
        print_name(&import->name);
        fputs("  ", stdout);
        print_extern_type(dump, import->kind, import->index);
        putchar('\n');
    }
}

static void print_functions(const struct dump *dump)
{
    const struct wasm_module *wasm = dump->wasm;
    print_heading("Functions: index, offset, size, name, type", wasm->func_count - wasm->imported_func_count);
    for (uint32_t i = wasm->imported_func_count; i < wasm->func_count; i++) {
        uint32_t begin = 0, end = 0;
        vm_module_func_range(dump->module, i, &begin, &end);
        printf("  %5" PRIu32 "  0x%06" PRIx32 "  %7" PRIu32 "  ", i, begin, end - begin);
        print_func_name(dump, i);
        fputs("  ", stdout);
        print_type(dump, wasm->funcs[i].typeidx);
        putchar('\n');
    }
}

/* Tables, memories and globals that the module itself defines. */
static void print_defined(const struct dump *dump, const char *heading, enum wasm_externkind kind, uint32_t first,
                          uint32_t count)
{
    print_heading(heading, count - first);
    for (uint32_t i = first; i < count; i++) {
        printf("  %5" PRIu32 "  ", i);
        print_extern_type(dump, kind, i);
        putchar('\n');
    }
}

static void print_exports(const struct dump *dump)
{
    print_heading("Exports", dump->wasm->export_count);
    for (uint32_t i = 0; i < dump->wasm->export_count; i++) {
        const struct wasm_export *export = &dump->wasm->exports[i];
        printf("  %-6s %5" PRIu32 "  ", kind_name(export->kind), export->index);
        print_name(&export->name);
        putchar('\n');
    }
}

static void print_module(const struct dump *dump)
{
    const struct wasm_module *wasm = dump->wasm;
    cli_print_escaped(stdout, dump->file.name, strlen(dump->file.name));
    printf(": %zu bytes\n\n", dump->file.size_bytes);
    print_sections(dump);
    print_types(dump);
    print_imports(dump);
    print_functions(dump);
    print_defined(dump, "Tables", WASM_EXTERN_TABLE, wasm->imported_table_count, wasm->table_count);
    print_defined(dump, "Memories", WASM_EXTERN_MEMORY, wasm->imported_memory_count, wasm->memory_count);
    print_defined(dump, "Globals", WASM_EXTERN_GLOBAL, wasm->imported_global_count, wasm->global_count);
    print_exports(dump);
    if (wasm->start != UINT32_MAX) {
        printf("\nStart: function %" PRIu32 "\n", wasm->start);
    }
}

/* ---- the bytecode of a function ---- */

/* By index, by the name that perf shows, that of the name section, or an exported one. UINT32_MAX: there is none. */
static uint32_t find_function(const struct dump *dump, const char *text)
{
    const struct wasm_module *wasm = dump->wasm;
    size_t length = strlen(text);
    char *end = NULL;
    unsigned long index = strtoul(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0') {
        return index < wasm->func_count ? (uint32_t)index : UINT32_MAX;
    }
    for (uint32_t i = 0; i < wasm->func_count; i++) {
        char name[PROFILE_NAME_BYTES + 1];
        size_t raw_bytes = 0;
        const char *raw = vm_module_func_name(dump->module, i, &raw_bytes);
        profile_names_get(dump->names, i, name);
        if (strcmp(name, text) == 0 || (raw && raw_bytes == length && memcmp(raw, text, length) == 0)) {
            return i;
        }
    }
    for (uint32_t i = 0; i < wasm->export_count; i++) {
        const struct wasm_export *export = &wasm->exports[i];
        if (export->kind == WASM_EXTERN_FUNC && export->name.size_bytes == length &&
            memcmp(export->name.bytes, text, length) == 0) {
            return export->index;
        }
    }
    return UINT32_MAX;
}

/* Declared locals; the parameters, which come first, stand in the type. */
static void print_locals(const struct dump *dump, const struct wasm_func *func)
{
    uint32_t local = dump->wasm->types[func->typeidx].param_count;
    for (uint32_t i = 0; i < func->run_count; i++) {
        const struct wasm_local_run *run = &dump->wasm->local_runs[func->first_run + i];
        if (run->count > 1) {
            printf("  local %" PRIu32 " to %" PRIu32 ": %s\n", local, local + run->count - 1,
                   cli_valtype_name(run->valtype));
        } else if (run->count == 1) {
            printf("  local %" PRIu32 ": %s\n", local, cli_valtype_name(run->valtype));
        }
        local += run->count;
    }
}

uint32_t cli_dump_instruction(const struct dump *dump, uint32_t offset, unsigned *depth)
{
    struct wasm_instruction instruction;
    wasm_decode(dump->wasm, offset, &instruction);
    bool closes = instruction.opcode == WASM_OP_end || instruction.opcode == WASM_OP_else;
    bool opens = instruction.opcode == WASM_OP_block || instruction.opcode == WASM_OP_loop ||
                 instruction.opcode == WASM_OP_if || instruction.opcode == WASM_OP_else;
    *depth -= closes;
    char text[256];
    uint32_t next = vm_module_listing(dump->module, offset, text, sizeof text);
    printf("  0x%06" PRIx32 "  %*s%s\n", offset, (int)(2 * (*depth < 40 ? *depth : 40)), "", text);
    *depth += opens;
    return next;
}

static void print_bytecode(const struct dump *dump, const struct wasm_func *func)
{
    uint32_t end = func->body.offset + func->body.size_bytes;
    unsigned depth = 1;
    for (uint32_t offset = func->body.offset; offset < end;) {
        offset = cli_dump_instruction(dump, offset, &depth);
    }
}

/* False: it could not be translated, and that has been reported. */
static bool print_function(const struct dump *dump, uint32_t funcidx)
{
    const struct wasm_func *func = &dump->wasm->funcs[funcidx];
    printf("func %" PRIu32 " ", funcidx);
    print_func_name(dump, funcidx);
    fputs("  ", stdout);
    print_type(dump, func->typeidx);
    putchar('\n');
    print_locals(dump, func);
    if (dump->with_code) {
        return cli_dump_code(dump, funcidx);
    }
    print_bytecode(dump, func);
    return true;
}

/* False: there is no such function to list, and that has been reported. */
static bool print_named_function(const struct dump *dump, const char *text)
{
    uint32_t funcidx = find_function(dump, text);
    if (funcidx == UINT32_MAX) {
        cli_error("%s: has no function %s", dump->file.path, text);
        return false;
    }
    if (funcidx < dump->wasm->imported_func_count) {
        cli_error("%s: function %s is imported and has no bytecode", dump->file.path, text);
        return false;
    }
    return print_function(dump, funcidx);
}

/* ---- the command ---- */

static bool dump_load(struct dump *dump, const char *path)
{
    struct err err = {0};
    if (!cli_module_file_read(&dump->file, path)) {
        return false;
    }
    const uint8_t *bytes = dump->file.bytes;
    size_t size_bytes = dump->file.size_bytes;
    if (vm_engine_create(NULL, &dump->engine, &err) != 0 ||
        vm_module_create(dump->engine, bytes, size_bytes, dump->file.name, &dump->module, &err) != 0) {
        cli_module_file_error(&dump->file, &err);
        return false;
    }
    dump->wasm = code_program_of(dump->module)->wasm;
    dump->names = profile_names_create(dump->module);
    if (!dump->names) {
        cli_error("out of memory");
        return false;
    }
    dump->disassembler = dump->with_code ? cli_disassembler_open() : NULL;
    return !dump->with_code || dump->disassembler;
}

static void dump_fini(struct dump *dump)
{
    cli_disassembler_close(dump->disassembler);
    profile_names_destroy(dump->names);
    if (dump->module) {
        vm_module_destroy(dump->module);
    }
    if (dump->engine) {
        vm_engine_destroy(dump->engine);
    }
    cli_module_file_fini(&dump->file);
}

/* What the options ask for: the parts of the module, or functions. */
static bool print_all(const struct dump *dump, const char **functions, size_t function_count)
{
    bool is_complete = true;
    for (size_t i = 0; i < function_count && is_complete; i++) {
        is_complete = print_named_function(dump, functions[i]);
    }
    if (function_count == 0 && !dump->with_code) {
        print_module(dump);
    } else if (function_count == 0) {
        for (uint32_t i = dump->wasm->imported_func_count; i < dump->wasm->func_count && is_complete; i++) {
            is_complete = print_function(dump, i);
        }
    }
    return is_complete;
}

int cli_dump(int argc, char **argv)
{
    const char **functions = calloc((size_t)argc, sizeof *functions);
    size_t function_count = 0;
    if (!functions) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    struct dump dump = {0};
    struct cli_options options = cli_options_start(CLI_COMMAND_dump, argc, argv);
    enum cli_option option;
    while ((option = cli_options_next(&options)) < CLI_OPTION_COUNT) {
        if (option == CLI_OPTION_dump_func) {
            functions[function_count++] = options.value;
        } else {
            dump.with_code = true;
        }
    }

    int status = options.status;
    if (option == CLI_OPTIONS_END && options.next == argc) {
        status = cli_usage_error(CLI_COMMAND_dump, "no MODULE is given");
    } else if (option == CLI_OPTIONS_END && options.next + 1 < argc) {
        status = cli_usage_error(CLI_COMMAND_dump, "%s: options come before MODULE, and there is one MODULE",
                                 argv[options.next + 1]);
    } else if (option == CLI_OPTIONS_END) {
        bool is_complete = dump_load(&dump, argv[options.next]) && print_all(&dump, functions, function_count);
        status = is_complete ? CLI_OK : CLI_FAILED;
    }
    dump_fini(&dump);
    free(functions);
    return status;
}
