/* run_exports: calls everything that modules export, in both dispatch modes, and compares what can be observed.
 *
 *     run_exports MODULE...                          compares the modes; a line for each module where they differ
 *     run_exports --print=region|shared MODULE       prints what one mode does, for a look or for another engine's eyes
 *
 * What a module does becomes a transcript, one line an event: each call's results or trap, each call of an import with
 * its arguments, and at the end a hash of the memory. Every import is provided: functions return zeros, globals are
 * zero. Every exported function is called with three rows of arguments that depend on nothing but its position. A NaN
 * is written as "nan", since its payload is not determined (§4.3.3).
 *
 * Each module is run in a child process, so that a crash or an endless loop costs one module and is told with its name;
 * the parent does nothing but fork and count, thousands a second. Binaryen's random modules bound their own loops by a
 * counter, which the export hangLimitInitializer sets back before each call.
 *
 * A sanitizer's build has no regions: it runs each module twice in the shared mode, and the sanitizer is the judge.
 *
 * Rejected: comparing exit statuses and printed output of two glassbox processes. It is slower by a factor of ten, and
 * results that a program does not print would not be compared.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/glassbox.h"

enum { SECONDS_A_MODULE = 20, SLOT_CAPACITY = 256, ROUNDS = 3 };

/* How a child ends. */
enum verdict { SAME, DIFFERENT = 10, REFUSED, NO_MODULE };

struct transcript {
    char *text;
    size_t size_bytes;
    FILE *stream;
    uint32_t calls;
};

/* What an import's function needs to write its line. */
struct import {
    struct transcript *transcript;
    struct vm_import_info info;
};

static void write_value(FILE *stream, uint32_t valtype, union vm_slot slot)
{
    switch (valtype) {
    case VM_I32: fprintf(stream, " i32:%" PRIu32, slot.i32); break;
    case VM_I64: fprintf(stream, " i64:%" PRIu64, slot.i64); break;
    case VM_F32:
        if (slot.f32 != slot.f32) fputs(" f32:nan", stream);
        else fprintf(stream, " f32:%08" PRIx32, slot.i32);
        break;
    case VM_F64:
        if (slot.f64 != slot.f64) fputs(" f64:nan", stream);
        else fprintf(stream, " f64:%016" PRIx64, slot.i64);
        break;
    default: fputs(slot.externref ? " ref" : " null", stream); break;
    }
}

static void write_values(FILE *stream, const uint32_t *valtypes, uint32_t count, const union vm_slot *slots)
{
    for (uint32_t i = 0; i < count; i++) write_value(stream, valtypes[i], slots[i]);
    fputc('\n', stream);
}

static bool imported(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    const struct import *import = user;
    const struct vm_functype *type = &import->info.type.func;
    fprintf(import->transcript->stream, "import %.*s", (int)import->info.name_bytes, import->info.name);
    write_values(import->transcript->stream, type->params, type->param_count, slots);
    memset(slots, 0, type->result_count * sizeof(*slots));
    return true;
}

static bool provide(struct vm_store *store, struct import *import, struct vm_extern *external)
{
    const struct vm_externtype *type = &import->info.type;
    *external = (struct vm_extern){.kind = type->kind};
    switch (type->kind) {
    case VM_EXTERN_FUNC: external->func = vm_func_create(store, &type->func, "import", imported, import); break;
    case VM_EXTERN_TABLE: external->table = vm_table_create(store, type->valtype, type->limits, NULL); break;
    case VM_EXTERN_MEMORY: external->memory = vm_memory_create(store, type->limits, NULL); break;
    case VM_EXTERN_GLOBAL:
        external->global = vm_global_create(store, type->valtype, type->is_mutable, (union vm_slot){.i64 = 0});
        break;
    }
    return external->func != NULL;
}

/* ---- calls ---- */

static const uint64_t interesting[] = {
    0, 1, 0xffffffffffffffff, 0x80000000, 0x7fffffff, 0x8000000000000000, 0x7fffffffffffffff, 0xffff, 42,
    0x3ff0000000000000, 0xbff8000000000000, 0x3fc00000, 0x7f800000, 0x7ff0000000000000, 0xc1e0000000000000, 65535,
};

static union vm_slot argument(uint32_t seed)
{
    uint32_t mixed = (seed * 2654435761u) >> 8;
    return (union vm_slot){.i64 = interesting[mixed % (sizeof(interesting) / sizeof(interesting[0]))]};
}

static void call(struct transcript *transcript, struct vm_func *func, const struct vm_export_info *export,
                 uint32_t seed)
{
    struct vm_functype type = vm_func_type(func);
    union vm_slot slots[SLOT_CAPACITY];
    struct vm_trap trap;
    if (type.param_count > SLOT_CAPACITY || type.result_count > SLOT_CAPACITY) return;
    for (uint32_t i = 0; i < type.param_count; i++) {
        bool is_reference = type.params[i] == VM_FUNCREF || type.params[i] == VM_EXTERNREF;
        slots[i] = is_reference ? (union vm_slot){.i64 = 0} : argument(seed + i);
    }
    transcript->calls++;
    fprintf(transcript->stream, "call %.*s", (int)export->name_bytes, export->name);
    write_values(transcript->stream, type.params, type.param_count, slots);
    if (vm_call(func, slots, &trap)) {
        fputs("returns", transcript->stream);
        write_values(transcript->stream, type.results, type.result_count, slots);
    } else {
        fprintf(transcript->stream, "traps %s\n", trap.message);
    }
}

static struct vm_func *find_func(struct vm_instance *instance, const char *name, size_t name_bytes)
{
    struct vm_extern external;
    bool found = vm_instance_export(instance, name, name_bytes, &external) && external.kind == VM_EXTERN_FUNC;
    return found ? external.func : NULL;
}

static void call_exports(struct transcript *transcript, struct vm_module *module, struct vm_instance *instance)
{
    struct vm_func *reset = find_func(instance, "hangLimitInitializer", strlen("hangLimitInitializer"));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < vm_module_export_count(module); i++) {
            struct vm_export_info export = vm_module_export(module, i);
            struct vm_func *func = find_func(instance, export.name, export.name_bytes);
            union vm_slot none = {0};
            struct vm_trap trap;
            if (!func || func == reset) continue;
            if (reset && !vm_call(reset, &none, &trap)) fprintf(transcript->stream, "reset traps %s\n", trap.message);
            call(transcript, func, &export, 31 * (uint32_t)i + 1009 * round);
        }
    }
}

static void write_memory(struct transcript *transcript, struct vm_instance *instance)
{
    struct vm_memory *memory = vm_instance_memory(instance);
    if (!memory) return;
    const uint8_t *bytes = vm_memory_data(memory);
    size_t size_bytes = vm_memory_size_bytes(memory);
    uint32_t hash = 2166136261u; /* FNV-1a over the bytes that are not zero, and where they are */
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i]) hash = ((hash ^ bytes[i]) * 16777619u) ^ (uint32_t)i;
    }
    fprintf(transcript->stream, "memory %zu %08" PRIx32 "\n", size_bytes, hash);
}

/* ---- a module ---- */

static void *read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *size_bytes = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size_bytes + 1);
    if (bytes && fread(bytes, 1, *size_bytes, file) != *size_bytes) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static void instantiate_and_call(struct transcript *transcript, struct vm_store *store, struct vm_module *module)
{
    size_t count = vm_module_import_count(module);
    struct import *imports = calloc(count + 1, sizeof(*imports));
    struct vm_extern *externals = calloc(count + 1, sizeof(*externals));
    for (size_t i = 0; i < count; i++) {
        imports[i] = (struct import){transcript, vm_module_import(module, i)};
        if (!provide(store, &imports[i], &externals[i])) fprintf(transcript->stream, "import %zu fails\n", i);
    }
    struct vm_instance *instance = NULL;
    struct vm_trap trap = {0};
    struct err err = {0};
    int status = vm_instance_create(store, module, externals, count, &instance, &trap, &err);
    if (status == 0) {
        call_exports(transcript, module, instance);
        write_memory(transcript, instance);
    } else {
        fprintf(transcript->stream, "instance %s\n", status == 1 ? trap.message : err.message);
    }
    free(externals);
    free(imports);
}

/* SAME, or REFUSED with the reason in the transcript. */
static enum verdict run_module(const void *bytes, size_t size_bytes, enum vm_dispatch dispatch,
                               struct transcript *transcript)
{
    struct vm_config config = {.dispatch = dispatch};
    struct vm_engine *engine = NULL;
    struct vm_module *module = NULL;
    struct err err = {0};
    *transcript = (struct transcript){0};
    transcript->stream = open_memstream(&transcript->text, &transcript->size_bytes);
    enum verdict verdict = REFUSED;
    if (vm_engine_create(&config, &engine, &err) == 0 &&
        vm_module_create(engine, bytes, size_bytes, "random", &module, &err) == 0) {
        struct vm_store *store = vm_store_create(engine);
        instantiate_and_call(transcript, store, module);
        vm_store_destroy(store);
        vm_module_destroy(module);
        verdict = SAME;
    } else {
        fprintf(transcript->stream, "offset 0x%" PRIx64 ": %s: %s\n", err.offset, err_kind_name(err.kind), err.message);
    }
    if (engine) vm_engine_destroy(engine);
    fclose(transcript->stream);
    return verdict;
}

static void tell_first_difference(const char *path, const char *region, const char *shared)
{
    const char *region_line = region, *shared_line = shared;
    while (*region && *region == *shared) {
        if (*region == '\n') {
            region_line = region + 1;
            shared_line = shared + 1;
        }
        region++;
        shared++;
    }
    printf("%s: region: %.*s | shared: %.*s\n", path, (int)strcspn(region_line, "\n"), region_line,
           (int)strcspn(shared_line, "\n"), shared_line);
}

static enum verdict compare_modes(const char *path, uint32_t *calls)
{
    size_t size_bytes = 0;
    void *bytes = read_file(path, &size_bytes);
    if (!bytes) return NO_MODULE;
    struct transcript region, shared;
    enum vm_dispatch first = vm_has_regions() ? VM_DISPATCH_REGION : VM_DISPATCH_SHARED;
    enum verdict verdict = run_module(bytes, size_bytes, first, &region);
    if (verdict == REFUSED) {
        printf("%s: refused: %s", path, region.text);
    } else {
        run_module(bytes, size_bytes, VM_DISPATCH_SHARED, &shared);
        if (strcmp(region.text, shared.text) != 0) {
            verdict = DIFFERENT;
            tell_first_difference(path, region.text, shared.text);
        }
        free(shared.text);
    }
    *calls = region.calls;
    free(region.text);
    free(bytes);
    return verdict;
}

/* In a child: the verdict is its exit status, the number of calls comes through the pipe. */
static bool check(const char *path, int pipe_fds[2], uint64_t *calls)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint32_t count = 0;
        alarm(SECONDS_A_MODULE);
        enum verdict verdict = compare_modes(path, &count);
        fflush(stdout);
        _exit(write(pipe_fds[1], &count, sizeof(count)) == sizeof(count) ? (int)verdict : NO_MODULE);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("%s: cannot be run\n", path);
        return false;
    }
    if (WIFSIGNALED(status)) {
        printf("%s: %s\n", path, WTERMSIG(status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(status)));
        return false;
    }
    uint32_t count = 0;
    if (read(pipe_fds[0], &count, sizeof(count)) == sizeof(count)) *calls += count;
    if (WEXITSTATUS(status) == NO_MODULE) printf("%s: cannot be read\n", path);
    else if (WEXITSTATUS(status) == 1) printf("%s: a sanitizer stopped it\n", path);
    return WEXITSTATUS(status) == SAME;
}

static int print_mode(const char *mode, const char *path)
{
    size_t size_bytes = 0;
    void *bytes = read_file(path, &size_bytes);
    if (!bytes) return NO_MODULE;
    struct transcript transcript;
    enum vm_dispatch dispatch = strcmp(mode, "shared") == 0 ? VM_DISPATCH_SHARED : VM_DISPATCH_REGION;
    enum verdict verdict = run_module(bytes, size_bytes, dispatch, &transcript);
    fputs(transcript.text, stdout);
    free(transcript.text);
    free(bytes);
    return (int)verdict;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: run_exports [--print=region|shared] MODULE...\n");
        return 2;
    }
    if (strncmp(argv[1], "--print=", 8) == 0 && argc == 3) return print_mode(argv[1] + 8, argv[2]);
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0) return 2;
    uint64_t calls = 0;
    int bad = 0;
    for (int i = 1; i < argc; i++) bad += !check(argv[i], pipe_fds, &calls);
    printf("%d modules, %" PRIu64 " calls in each mode, %d bad\n", argc - 1, calls, bad);
    return bad > 0;
}
