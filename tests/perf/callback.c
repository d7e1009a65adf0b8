/* callback: an embedder whose host function calls back into the guest, for chains.py to look at.
 *
 *     callback map|jitdump|elf DIRECTORY GUEST.wasm ROUNDS
 *
 * The chain is main → vm_call → guest run → guest outer → host call_back → vm_call → guest called_back → guest spin. The
 * command line's WASI functions never call back, so this needs a program of its own; it is also the smallest one that
 * embeds Glassbox with a profile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "vm/glassbox.h"

static struct vm_func *called_back;

static bool call_back(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    return vm_call(called_back, slots, trap);
}

static bool refuse(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    trap->kind = VM_TRAP_HOST;
    snprintf(trap->message, sizeof(trap->message), "not provided");
    return false;
}

static void print_line(void *user, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void *read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = NULL;
    FILE *memory = file ? open_memstream(&bytes, size_bytes) : NULL;
    for (int byte; memory && (byte = getc(file)) != EOF;) putc(byte, memory);
    if (memory) fclose(memory);
    if (file) fclose(file);
    return bytes;
}

static struct vm_instance *instantiate(struct vm_store *store, struct vm_module *module, struct err *err)
{
    struct vm_extern imports[16];
    size_t count = vm_module_import_count(module);
    for (size_t i = 0; i < count && i < 16; i++) {
        struct vm_import_info import = vm_module_import(module, i);
        bool is_ours = import.module_bytes == 4 && memcmp(import.module, "host", 4) == 0;
        imports[i] = (struct vm_extern){
            .kind = VM_EXTERN_FUNC,
            .func = vm_func_create(store, &import.type.func, is_ours ? "call_back" : "refuse",
                                   is_ours ? call_back : refuse, NULL),
        };
    }
    struct vm_instance *instance = NULL;
    struct vm_trap trap;
    return vm_instance_create(store, module, imports, count, &instance, &trap, err) == 0 ? instance : NULL;
}

static bool run(struct vm_engine *engine, const void *bytes, size_t size_bytes, uint32_t rounds)
{
    struct err err = {0};
    struct vm_module *module = NULL;
    struct vm_store *store = vm_store_create(engine);
    struct vm_instance *instance = NULL;
    struct vm_extern run = {0}, back = {0};
    struct vm_trap trap = {0};
    union vm_slot slots[1] = {{.i32 = rounds}};
    bool ok = store && vm_module_create(engine, bytes, size_bytes, "guest_callback", &module, &err) == 0 &&
              (instance = instantiate(store, module, &err)) && vm_instance_export(instance, "run", 3, &run) &&
              vm_instance_export(instance, "called_back", 11, &back);
    called_back = back.func;
    ok = ok && vm_call(run.func, slots, &trap);
    if (ok) printf("callback: %u\n", slots[0].i32);
    else fprintf(stderr, "callback: %s%s\n", err.message, trap.message);
    vm_store_destroy(store);
    if (module) vm_module_destroy(module);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
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
    if (!bytes || profile_open(&config, &profile, NULL) != 0) return 2;
    struct vm_config vm = {.hooks = profile_hooks(profile), .hooks_user = profile};
    bool ok = vm_engine_create(&vm, &engine, NULL) == 0 && run(engine, bytes, size_bytes, (uint32_t)atoi(argv[4]));
    if (engine) vm_engine_destroy(engine);
    profile_close(profile);
    free(bytes);
    return !ok;
}
