/* runner: one script of the specification's test suite, executed through the embedder's header alone.
 *
 *     runner [--dispatch=region|shared] SCRIPT.json [LINE...]
 *
 * Each command of the script passes, fails, is not applicable (it tests a parser of the text format, which Glassbox has
 * not), or is skipped (it stands at one of the LINEs). A failure prints its line of the script and goes on with the
 * next command, so that one run shows all of them; a definition that was refused stays in the list of definitions
 * without a module, so that what follows fails too instead of silently meeting an older one. The last line counts the
 * commands; the exit status is 1 where one failed.
 *
 * Refusals are compared by kind: a module that the script calls malformed must be refused as malformed, and never as
 * unsupported. Their messages are not compared, since the suite's are the reference interpreter's own. A trap's are,
 * because they are the specification's words; one of the two must begin with the other, as the reference interpreter
 * sometimes adds an index ("uninitialized element 2").
 *
 * Rejected: one process for all scripts. A crash or an endless loop in one script would hide all that come after it.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "spectest.h"
#include "values.h"
#include "vm/glassbox.h"

/* Names are borrowed from the script, and NULL for what has none. */
struct definition {
    const char *name;
    void *bytes;
    struct vm_module *module; /* NULL: refused */
};

struct instance {
    const char *name;
    struct vm_instance *instance; /* NULL: could not be made */
};

struct registration {
    const char *name;
    struct vm_instance *instance;
};

struct script {
    const char *path;
    struct vm_engine *engine;
    struct vm_store *store;
    struct spectest *spectest;
    struct vec definitions;
    struct vec instances;
    struct vec registrations;
    json_int_t line; /* of the command that runs */
    char **skipped_lines; /* NULL-terminated */
};

enum outcome { PASSED, FAILED, SKIPPED, NOT_APPLICABLE };
enum { OUTCOME_COUNT = 4 };

typedef enum outcome (*command_fn)(struct script *script, const json_t *command);

static enum outcome failed(struct script *script, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum outcome failed(struct script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%lld: ", script->path, (long long)script->line);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    return FAILED;
}

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool same_name(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

/* ---- definitions ---- */

/* The file beside the script; malloced. NULL: errno says why. */
static void *read_beside(const struct script *script, const char *filename, size_t *size_bytes)
{
    const char *slash = strrchr(script->path, '/');
    int folder_bytes = slash ? (int)(slash - script->path + 1) : 0;
    char path[4096];
    snprintf(path, sizeof(path), "%.*s%s", folder_bytes, script->path, filename);
    FILE *file = fopen(path, "rbe");
    if (!file) return NULL;
    char *bytes = NULL;
    FILE *memory = open_memstream(&bytes, size_bytes);
    char piece[65536];
    for (size_t count; memory && (count = fread(piece, 1, sizeof(piece), file)) > 0;) fwrite(piece, 1, count, memory);
    if (memory) fclose(memory);
    fclose(file);
    return bytes;
}

/* Reads, validates and remembers; false where the file cannot be read. err->kind is ERR_NONE for an accepted module. */
static bool define(struct script *script, const json_t *command, struct err *err)
{
    size_t size_bytes = 0;
    const char *filename = string_of(command, "filename");
    void *bytes = read_beside(script, filename, &size_bytes);
    struct definition *definition = bytes ? vec_push(&script->definitions) : NULL;
    if (!definition) {
        failed(script, "%s: %s", filename, strerror(errno));
        free(bytes);
        return false;
    }
    definition->name = string_of(command, "name");
    definition->bytes = bytes;
    if (vm_module_create(script->engine, bytes, size_bytes, filename, &definition->module, err) != 0) {
        definition->module = NULL;
    }
    return true;
}

static void forget(struct definition *definition)
{
    if (definition->module) vm_module_destroy(definition->module);
    free(definition->bytes);
}

static enum outcome run_module_definition(struct script *script, const json_t *command)
{
    if (!string_of(command, "filename")) return NOT_APPLICABLE;
    struct err err = {0};
    if (!define(script, command, &err)) return FAILED;
    if (err.kind == ERR_NONE) return PASSED;
    return failed(script, "%s is refused: offset 0x%llx: %s: %s", string_of(command, "filename"),
                  (unsigned long long)err.offset, err_kind_name(err.kind), err.message);
}

/* What is refused is no definition that a later command could mean. */
static enum outcome must_refuse(struct script *script, const json_t *command, enum err_kind kind)
{
    if (!string_of(command, "filename")) return NOT_APPLICABLE;
    struct err err = {0};
    if (!define(script, command, &err)) return FAILED;
    forget(vec_at(&script->definitions, --script->definitions.count));
    if (err.kind == kind && err.message[0]) return PASSED;
    return failed(script, "%s should be %s (%s) but is %s: %s", string_of(command, "filename"), err_kind_name(kind),
                  string_of(command, "text"), err.kind ? err_kind_name(err.kind) : "accepted", err.message);
}

static enum outcome run_assert_invalid(struct script *script, const json_t *command)
{
    return must_refuse(script, command, ERR_INVALID);
}

static enum outcome run_assert_malformed(struct script *script, const json_t *command)
{
    return must_refuse(script, command, ERR_MALFORMED);
}

/* ---- instances ---- */

static struct vm_module *find_module(const struct script *script, const char *name)
{
    for (size_t i = script->definitions.count; i-- > 0;) {
        struct definition *definition = vec_at(&script->definitions, i);
        if (!name || same_name(definition->name, name)) return definition->module;
    }
    return NULL;
}

static struct vm_instance *find_instance(const struct script *script, const char *name)
{
    for (size_t i = script->instances.count; i-- > 0;) {
        struct instance *instance = vec_at(&script->instances, i);
        if (!name || same_name(instance->name, name)) return instance->instance;
    }
    return NULL;
}

static bool find_import(const struct script *script, const struct vm_import_info *import, struct vm_extern *found)
{
    for (size_t i = script->registrations.count; i-- > 0;) {
        struct registration *registration = vec_at(&script->registrations, i);
        if (strlen(registration->name) == import->module_bytes &&
            memcmp(registration->name, import->module, import->module_bytes) == 0) {
            return vm_instance_export(registration->instance, import->name, import->name_bytes, found);
        }
    }
    if (import->module_bytes == strlen("spectest") && memcmp(import->module, "spectest", import->module_bytes) == 0) {
        return spectest_export(script->spectest, import->name, import->name_bytes, found);
    }
    return false;
}

/* As vm_instance_create, and a missing import is ERR_UNLINKABLE. */
static int instantiate(struct script *script, struct vm_module *module, struct vm_instance **instance,
                       struct vm_trap *trap, struct err *err)
{
    size_t count = vm_module_import_count(module);
    struct vm_extern *imports = calloc(count + 1, sizeof(*imports));
    if (!imports) return err_set(err, ERR_RESOURCE, 0, "no memory for %zu imports", count);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct vm_import_info import = vm_module_import(module, i);
        if (!find_import(script, &import, &imports[i])) {
            status = err_set(err, ERR_UNLINKABLE, 0, "unknown import %.*s %.*s", (int)import.module_bytes,
                             import.module, (int)import.name_bytes, import.name);
        }
    }
    if (status == 0) status = vm_instance_create(script->store, module, imports, count, instance, trap, err);
    free(imports);
    return status;
}

static enum outcome run_module_instance(struct script *script, const json_t *command)
{
    struct instance *entry = vec_push(&script->instances);
    if (!entry) return failed(script, "out of memory");
    entry->name = string_of(command, "instance");
    struct vm_module *module = find_module(script, string_of(command, "module"));
    if (!module) return failed(script, "no module to instantiate");
    struct vm_trap trap = {0};
    struct err err = {0};
    int status = instantiate(script, module, &entry->instance, &trap, &err);
    if (status == 0) return PASSED;
    entry->instance = NULL;
    return failed(script, "instantiation fails: %s", status == 1 ? trap.message : err.message);
}

static enum outcome run_assert_unlinkable(struct script *script, const json_t *command)
{
    struct vm_module *module = find_module(script, string_of(command, "module"));
    if (!module) return failed(script, "no module to instantiate");
    struct vm_instance *instance = NULL;
    struct vm_trap trap = {0};
    struct err err = {0};
    int status = instantiate(script, module, &instance, &trap, &err);
    if (status < 0 && err.kind == ERR_UNLINKABLE) return PASSED;
    return failed(script, "should be unlinkable (%s) but %s: %s", string_of(command, "text"),
                  status == 0 ? "links" : "fails otherwise", status == 1 ? trap.message : err.message);
}

static bool trap_matches(const struct vm_trap *trap, const json_t *command)
{
    const char *expected = string_of(command, "text");
    size_t expected_bytes = strlen(expected), actual_bytes = strlen(trap->message);
    return actual_bytes > 0 &&
           strncmp(trap->message, expected, expected_bytes < actual_bytes ? expected_bytes : actual_bytes) == 0;
}

static enum outcome run_assert_uninstantiable(struct script *script, const json_t *command)
{
    struct vm_module *module = find_module(script, string_of(command, "module"));
    if (!module) return failed(script, "no module to instantiate");
    struct vm_instance *instance = NULL;
    struct vm_trap trap = {0};
    struct err err = {0};
    int status = instantiate(script, module, &instance, &trap, &err);
    if (status == 1 && trap_matches(&trap, command)) return PASSED;
    return failed(script, "instantiation should trap (%s) but %s: %s", string_of(command, "text"),
                  status == 0 ? "succeeds" : "fails otherwise", status == 1 ? trap.message : err.message);
}

static enum outcome run_register(struct script *script, const json_t *command)
{
    struct vm_instance *instance = find_instance(script, string_of(command, "name"));
    struct registration *registration = instance ? vec_push(&script->registrations) : NULL;
    if (!registration) return failed(script, "no instance to register");
    *registration = (struct registration){string_of(command, "as"), instance};
    return PASSED;
}

/* ---- actions ---- */

#define SLOT_CAPACITY 64

struct result {
    bool trapped;
    struct vm_trap trap;
    uint32_t count;
    uint32_t valtypes[SLOT_CAPACITY];
    union vm_slot slots[SLOT_CAPACITY];
};

static enum outcome invoke(struct script *script, struct vm_func *func, const json_t *arguments, struct result *result)
{
    struct vm_functype type = vm_func_type(func);
    if (type.param_count != json_array_size(arguments)) return failed(script, "takes %u arguments", type.param_count);
    if (type.param_count > SLOT_CAPACITY || type.result_count > SLOT_CAPACITY) return failed(script, "too many values");
    for (size_t i = 0; i < type.param_count; i++) {
        if (!value_read(json_array_get(arguments, i), &result->slots[i])) {
            return failed(script, "argument %zu is of a type that Glassbox has not", i);
        }
    }
    result->count = type.result_count;
    for (size_t i = 0; i < type.result_count; i++) result->valtypes[i] = type.results[i];
    result->trapped = !vm_call(func, result->slots, &result->trap);
    return PASSED;
}

/* Runs the command's action: PASSED where it could be run, however it ended. */
static enum outcome act(struct script *script, const json_t *command, struct result *result)
{
    const json_t *action = json_object_get(command, "action");
    const json_t *field = json_object_get(action, "field");
    struct vm_instance *instance = find_instance(script, string_of(action, "module"));
    if (!instance) return failed(script, "no instance to act on");
    struct vm_extern external;
    if (!vm_instance_export(instance, json_string_value(field), json_string_length(field), &external)) {
        return failed(script, "no export %s", json_string_value(field));
    }
    *result = (struct result){0};
    if (external.kind == VM_EXTERN_FUNC) return invoke(script, external.func, json_object_get(action, "args"), result);
    if (external.kind != VM_EXTERN_GLOBAL) return failed(script, "neither a function nor a global");
    /* The embedder's header does not tell a global's type, so the slot is read as the type that is expected. */
    const json_t *pattern = json_array_get(json_object_get(command, "expected"), 0);
    const char *type = string_of(pattern, "type");
    result->count = 1;
    result->slots[0] = vm_global_get(external.global);
    result->valtypes[0] = same_name(type, "i32") ? VM_I32 : same_name(type, "i64") ? VM_I64 :
                          same_name(type, "f32") ? VM_F32 : same_name(type, "f64") ? VM_F64 : VM_EXTERNREF;
    return PASSED;
}

static enum outcome act_without_trap(struct script *script, const json_t *command, struct result *result)
{
    if (act(script, command, result) == FAILED) return FAILED;
    return result->trapped ? failed(script, "traps: %s", result->trap.message) : PASSED;
}

static enum outcome run_action(struct script *script, const json_t *command)
{
    struct result result;
    return act_without_trap(script, command, &result);
}

static enum outcome run_assert_return(struct script *script, const json_t *command)
{
    struct result result;
    if (act_without_trap(script, command, &result) == FAILED) return FAILED;
    const json_t *expected = json_object_get(command, "expected");
    if (json_array_size(expected) != result.count) return failed(script, "returns %u values", result.count);
    for (size_t i = 0; i < result.count; i++) {
        const json_t *pattern = json_array_get(expected, i);
        if (value_matches(pattern, result.valtypes[i], result.slots[i])) continue;
        char actual[64];
        value_describe(result.valtypes[i], result.slots[i], actual, sizeof(actual));
        char *wanted = json_dumps(pattern, JSON_COMPACT);
        failed(script, "result %zu is %s, should be %s", i, actual, wanted);
        free(wanted);
        return FAILED;
    }
    return PASSED;
}

static enum outcome run_assert_trap(struct script *script, const json_t *command)
{
    struct result result;
    if (act(script, command, &result) == FAILED) return FAILED;
    if (result.trapped && trap_matches(&result.trap, command)) return PASSED;
    return failed(script, "should trap (%s) but %s%s", string_of(command, "text"),
                  result.trapped ? "traps otherwise: " : "returns", result.trapped ? result.trap.message : "");
}

static enum outcome run_assert_exception(struct script *script, const json_t *command)
{
    return failed(script, "exceptions are not there yet");
}

/* ---- the script ---- */

static const struct {
    const char *type;
    command_fn run;
} commands[] = {
    {"module_definition", run_module_definition},
    {"module_instance", run_module_instance},
    {"register", run_register},
    {"action", run_action},
    {"assert_return", run_assert_return},
    {"assert_trap", run_assert_trap},
    {"assert_exhaustion", run_assert_trap},
    {"assert_exception", run_assert_exception},
    {"assert_invalid", run_assert_invalid},
    {"assert_malformed", run_assert_malformed},
    {"assert_unlinkable", run_assert_unlinkable},
    {"assert_uninstantiable", run_assert_uninstantiable},
};

static bool is_skipped(const struct script *script)
{
    for (char **line = script->skipped_lines; *line; line++) {
        if (atoll(*line) == script->line) return true;
    }
    return false;
}

static enum outcome run_command(struct script *script, const json_t *command)
{
    const char *type = string_of(command, "type");
    script->line = json_integer_value(json_object_get(command, "line"));
    if (is_skipped(script)) return SKIPPED;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (same_name(commands[i].type, type)) return commands[i].run(script, command);
    }
    return failed(script, "unknown command %s", type);
}

static bool script_init(struct script *script, const char *path, char **skipped_lines, enum vm_dispatch dispatch)
{
    *script = (struct script){
        .path = path,
        .skipped_lines = skipped_lines,
        .definitions = VEC_INIT(sizeof(struct definition)),
        .instances = VEC_INIT(sizeof(struct instance)),
        .registrations = VEC_INIT(sizeof(struct registration)),
    };
    struct err err = {0};
    struct vm_config config = {.dispatch = dispatch};
    if (vm_engine_create(&config, &script->engine, &err) != 0) {
        printf("no engine: %s\n", err.message);
        return false;
    }
    script->store = vm_store_create(script->engine);
    script->spectest = script->store ? spectest_create(script->store) : NULL;
    if (!script->spectest) printf("no store\n");
    return script->spectest != NULL;
}

static void script_fini(struct script *script)
{
    spectest_destroy(script->spectest);
    vm_store_destroy(script->store);
    for (size_t i = 0; i < script->definitions.count; i++) forget(vec_at(&script->definitions, i));
    vm_engine_destroy(script->engine);
    vec_fini(&script->definitions);
    vec_fini(&script->instances);
    vec_fini(&script->registrations);
}

static int run_script(struct script *script, const json_t *root)
{
    size_t counts[OUTCOME_COUNT] = {0};
    size_t index;
    json_t *command;
    json_array_foreach(json_object_get(root, "commands"), index, command) {
        counts[run_command(script, command)]++;
    }
    printf("%zu passed, %zu failed, %zu skipped, %zu not applicable\n", counts[PASSED], counts[FAILED], counts[SKIPPED],
           counts[NOT_APPLICABLE]);
    return counts[FAILED] > 0;
}

int main(int argc, char **argv)
{
    bool is_shared = argc > 1 && strcmp(argv[1], "--dispatch=shared") == 0;
    bool is_region = argc > 1 && strcmp(argv[1], "--dispatch=region") == 0;
    char **operands = argv + 1 + (is_shared || is_region);
    if (!operands[0] || operands[0][0] == '-') {
        fprintf(stderr, "usage: runner [--dispatch=region|shared] SCRIPT.json [LINE...]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was printed before a crash is seen */
    const char *path = operands[0];
    json_error_t json_error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &json_error);
    if (!root) {
        fprintf(stderr, "%s:%d: %s\n", path, json_error.line, json_error.text);
        return 2;
    }
    struct script script;
    int status = 1;
    if (script_init(&script, path, operands + 1, is_shared ? VM_DISPATCH_SHARED : VM_DISPATCH_REGION)) {
        status = run_script(&script, root);
        script_fini(&script);
    }
    json_decref(root);
    return status;
}
