/* embedder: a program that embeds Glassbox with a profile, whose host functions do what the command line's never do.
 *
 *     embedder map|jitdump|elf DIRECTORY guest_embedded.wasm run ROUNDS          a host function calls the guest back
 *     embedder map|jitdump|elf DIRECTORY guest_embedded.wasm run_forked ROUNDS   a host function forks the process
 *
 * `run` has the chain main → vm_call → guest run → guest outer → host call_back → vm_call → guest called_back → guest
 * spin. After `run_forked` parent and child each go on in the guest, translate functions of their own, and end as any
 * program does; the parent's status is 1 where the child fails. Both print the guest's result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "vm/glassbox.h"

#define IMPORT_CAPACITY 16

static struct vm_func *called_back;
static pid_t child = -1; /* of a parent that has forked */

static bool call_back(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    return vm_call(called_back, slots, trap);
}

static bool fork_process(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    child = fork();
    slots[0].i32 = child == 0;
    return true;
}

static bool refuse(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    trap->kind = VM_TRAP_HOST;
    snprintf(trap->message, sizeof(trap->message), "not provided");
    return false;
}

static const struct {
    const char *name;
    vm_host_fn run;
} host_functions[] = {{"call_back", call_back}, {"fork", fork_process}};

static void print_line(void *user, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void *read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = NULL;
    FILE *memory = file ? open_memstream(&bytes, size_bytes) : NULL;
    for (int byte; memory && (byte = getc(file)) != EOF;)
        putc(byte, memory);
    if (memory)
        fclose(memory);
    if (file)
        fclose(file);
    return bytes;
}

static vm_host_fn find_host_function(const struct vm_import_info *import)
{
    for (size_t i = 0; i < sizeof(host_functions) / sizeof(host_functions[0]); i++) {
        const char *name = host_functions[i].name;
        if (strlen(name) == import->name_bytes && memcmp(name, import->name, import->name_bytes) == 0)
            return host_functions[i].run;
    }
    return refuse;
}

static struct vm_instance *instantiate(struct vm_store *store, struct vm_module *module, struct err *err)
{
    struct vm_extern imports[IMPORT_CAPACITY];
    size_t count = vm_module_import_count(module);
    for (size_t i = 0; i < count && i < IMPORT_CAPACITY; i++) {
        struct vm_import_info import = vm_module_import(module, i);
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)import.name_bytes, import.name);
        imports[i] = (struct vm_extern){
            .kind = VM_EXTERN_FUNC,
            .func = vm_func_create(store, &import.type.func, name, find_host_function(&import), NULL),
        };
    }
    struct vm_instance *instance = NULL;
    struct vm_trap trap;
    return vm_instance_create(store, module, imports, count, &instance, &trap, err) == 0 ? instance : NULL;
}

static bool run(struct vm_engine *engine, const void *bytes, size_t size_bytes, const char *export, uint32_t rounds)
{
    struct err err = {0};
    struct vm_module *module = NULL;
    struct vm_store *store = vm_store_create(engine);
    struct vm_instance *instance = NULL;
    struct vm_extern entry = {0}, back = {0};
    struct vm_trap trap = {0};
    union vm_slot slots[1] = {{.i32 = rounds}};
    bool ok = store && vm_module_create(engine, bytes, size_bytes, "guest_embedded", &module, &err) == 0 &&
              (instance = instantiate(store, module, &err)) &&
              vm_instance_export(instance, export, strlen(export), &entry) &&
              vm_instance_export(instance, "called_back", strlen("called_back"), &back);
    called_back = back.func;
    ok = ok && vm_call(entry.func, slots, &trap);
    if (ok)
        printf("%s: %u\n", child == 0 ? "child" : "result", slots[0].i32);
    else
        fprintf(stderr, "embedder: %s%s\n", err.message, trap.message);
    vm_store_destroy(store);
    if (module)
        vm_module_destroy(module);
    return ok;
}

static bool child_succeeds(void)
{
    int status = 0;
    return child <= 0 || (waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    struct profile_config config = {
        .announce = strcmp(argv[1], "map") == 0 ? PROFILE_MAP : strcmp(argv[1], "elf") == 0 ? PROFILE_ELF :
                    PROFILE_JITDUMP,
        .directory = argv[2],
        .message = print_line,
    };
    struct profile *profile = NULL;
    struct vm_engine *engine = NULL;
    size_t size_bytes = 0;
    void *bytes = read_file(argv[3], &size_bytes);
    if (!bytes || profile_open(&config, &profile, NULL) != 0)
        return 2;
    struct vm_config vm = {.hooks = profile_hooks(profile), .hooks_user = profile};
    bool ok = vm_engine_create(&vm, &engine, NULL) == 0 &&
              run(engine, bytes, size_bytes, argv[4], (uint32_t)atoi(argv[5]));
    if (engine)
        vm_engine_destroy(engine);
    profile_close(profile);
    free(bytes);
    return !(ok && child_succeeds());
}
