/* harness: what the tests of vm/run share: a guest from a file, in a store of its own, in a given dispatch mode. */
#ifndef GLASSBOX_TESTS_UNIT_RUN_HARNESS_H
#define GLASSBOX_TESTS_UNIT_RUN_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/glassbox.h"

struct guest_bytes {
    uint8_t *data;
    size_t size_bytes;
};

static inline struct guest_bytes read_guest(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.wasm", GUESTS, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct guest_bytes bytes = {malloc(1 << 16), 0};
    bytes.size_bytes = fread(bytes.data, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

struct guest {
    struct guest_bytes bytes;
    struct vm_engine *engine;
    struct vm_module *module;
    struct vm_store *store;
    struct vm_instance *instance;
};

static inline struct vm_func *guest_func(struct guest *guest, const char *name)
{
    struct vm_extern found;
    assert_true(vm_instance_export(guest->instance, name, strlen(name), &found));
    assert_int_equal(found.kind, VM_EXTERN_FUNC);
    return found.func;
}

/* The host's `again`: calls the guest's `down`. */
static inline bool host_again(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    return vm_call(guest_func(user, "down"), slots, trap);
}

static const uint32_t one_i32[] = {VM_I32};
static const struct vm_functype i32_to_i32 = {one_i32, one_i32, 1, 1};

static inline void guest_open_observed(struct guest *guest, enum vm_dispatch dispatch, const struct vm_hooks *hooks)
{
    struct vm_config config = {.dispatch = dispatch, .hooks = hooks};
    struct vm_trap trap;
    guest->bytes = read_guest("calls");
    assert_int_equal(vm_engine_create(&config, &guest->engine, NULL), 0);
    assert_int_equal(
        vm_module_create(guest->engine, guest->bytes.data, guest->bytes.size_bytes, NULL, &guest->module, NULL), 0);
    guest->store = vm_store_create(guest->engine);
    struct vm_extern import = {
        .kind = VM_EXTERN_FUNC,
        .func = vm_func_create(guest->store, &i32_to_i32, "host.again", host_again, guest),
    };
    assert_int_equal(vm_instance_create(guest->store, guest->module, &import, 1, &guest->instance, &trap, NULL), 0);
}

static inline void guest_open(struct guest *guest, enum vm_dispatch dispatch)
{
    guest_open_observed(guest, dispatch, NULL);
}

static inline void guest_close(struct guest *guest)
{
    vm_store_destroy(guest->store);
    vm_module_destroy(guest->module);
    vm_engine_destroy(guest->engine);
    free(guest->bytes.data);
}

/* Calls an i32 -> i32 function that must not trap. */
static inline uint32_t call_i32(struct guest *guest, const char *name, uint32_t argument)
{
    struct vm_trap trap;
    union vm_slot slots[2] = {{.i32 = argument}};
    assert_true(vm_call(guest_func(guest, name), slots, &trap));
    return slots[0].i32;
}

/* Calls an i32 -> i32 function that must trap. */
static inline struct vm_trap call_trap(struct guest *guest, const char *name, uint32_t argument)
{
    struct vm_trap trap;
    union vm_slot slots[2] = {{.i32 = argument}};
    assert_false(vm_call(guest_func(guest, name), slots, &trap));
    return trap;
}

/* Runs a test in each dispatch mode that the build has. */
static inline void in_each_dispatch(void (*test)(struct guest *guest))
{
    for (int dispatch = VM_DISPATCH_REGION; dispatch <= VM_DISPATCH_SHARED; dispatch++) {
        struct guest guest;
        if (dispatch == VM_DISPATCH_REGION && !vm_has_regions())
            continue;
        guest_open(&guest, (enum vm_dispatch)dispatch);
        test(&guest);
        guest_close(&guest);
    }
}

#endif
