/* chain: what perf's frame-pointer unwinding sees of guest frames, without perf (qemu-user has no perf events).
 *
 *     chain MODULE region|shared
 *
 * The functions of MODULE (chain.wat) call one another in each way there is, and the last one a function of the host,
 * which does as the kernel does: from its own frame on it follows {caller's frame pointer, return address}. In region
 * dispatch every return address must lie in the region of the function that `expected` names; in both modes every frame
 * must lie above the one before, and those of the guest must lead to main's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/glassbox.h"

/* Innermost first; UINT32_MAX is the host function's own region. $tail's frame is $leaf's by then. */
static const uint32_t expected[] = {UINT32_MAX, 5, 3, 2, 1};
enum { EXPECTED_COUNT = sizeof expected / sizeof *expected, REGIONS_MAX = 16 };

static struct {
    struct vm_code codes[REGIONS_MAX];
    size_t count;
    void *const *mains_frame;
    bool is_region;
    int failures;
} state;

static void published(void *user, const struct vm_code *code)
{
    if (state.count < REGIONS_MAX)
        state.codes[state.count++] = *code;
}

static bool is_in(uint32_t funcidx, const void *address)
{
    for (size_t i = 0; i < state.count; i++) {
        const struct vm_code *code = &state.codes[i];
        if ((uintptr_t)address - (uintptr_t)code->address < code->size_bytes)
            return code->host_name ? funcidx == UINT32_MAX : funcidx == code->funcidx;
    }
    return false;
}

static void fail(const char *what, size_t depth)
{
    printf("frame %zu: %s\n", depth, what);
    state.failures++;
}

static bool host(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    void *const *frame = __builtin_frame_address(0);
    for (size_t depth = 0; depth < EXPECTED_COUNT; depth++) {
        if (state.is_region && !is_in(expected[depth], frame[1]))
            fail("returns into another function", depth);
        if ((void *const *)*frame <= frame)
            fail("does not lie below its caller's", depth);
        frame = *frame;
    }
    size_t above = 0;
    while (frame != state.mains_frame && above < 8) {
        if (is_in(UINT32_MAX, frame[1]) || is_in(1, frame[1]))
            fail("is one too many of the guest", EXPECTED_COUNT + above);
        frame = *frame;
        above++;
    }
    if (frame != state.mains_frame)
        fail("does not lead to main", EXPECTED_COUNT);
    slots[0].i32++;
    return true;
}

static void *read_file(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rb");
    void *bytes = malloc(65536);
    *size_bytes = file && bytes ? fread(bytes, 1, 65536, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    state.mains_frame = __builtin_frame_address(0);
    state.is_region = strcmp(argv[2], "region") == 0;
    struct vm_hooks hooks = {.code_published = published};
    struct vm_config config = {.dispatch = state.is_region ? VM_DISPATCH_REGION : VM_DISPATCH_SHARED, .hooks = &hooks};
    struct vm_engine *engine;
    struct vm_module *module;
    struct vm_instance *instance;
    struct vm_trap trap = {0};
    struct vm_extern found;
    struct err err = {0};
    const uint32_t i32 = VM_I32;
    const struct vm_functype type = {.params = &i32, .results = &i32, .param_count = 1, .result_count = 1};
    size_t size_bytes;
    void *bytes = read_file(argv[1], &size_bytes);
    if (vm_engine_create(&config, &engine, &err) != 0 ||
        vm_module_create(engine, bytes, size_bytes, "chain", &module, &err) != 0) {
        printf("%s\n", err.message);
        return 1;
    }
    struct vm_store *store = vm_store_create(engine);
    struct vm_extern import = {.kind = VM_EXTERN_FUNC, .func = vm_func_create(store, &type, "host", host, NULL)};
    if (vm_instance_create(store, module, &import, 1, &instance, &trap, &err) != 0 ||
        !vm_instance_export(instance, "outer", strlen("outer"), &found)) {
        printf("%s%s\n", err.message, trap.message);
        return 1;
    }
    union vm_slot slot = {.i32 = 41};
    if (!vm_call(found.func, &slot, &trap) || slot.i32 != 42) {
        printf("gives %u: %s\n", slot.i32, trap.message);
        state.failures++;
    }
    vm_store_destroy(store);
    vm_module_destroy(module);
    vm_engine_destroy(engine);
    free(bytes);
    printf("%d failures\n", state.failures);
    return state.failures > 0;
}
