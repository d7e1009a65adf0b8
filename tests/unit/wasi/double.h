/* double: a guest without a VM, for the programs that test or fuzz vm/wasi/. It defines what vm/wasi/ needs of
 * vm/glassbox.h (a memory, an instance, functions), so it is included by exactly one file of a program.
 *
 *     guest_start(MEMORY_BYTES);
 *     wasi_preopen_dir(guest.wasi, ...);
 *     uint32_t error = CALL(path_open, 3, 0, PATH("file"), 0, rights, 0, 0, guest_room(4));
 *     guest_stop();
 *
 * The memory is a heap block of exactly its size, so that a sanitizer sees every byte touched beyond it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/glassbox.h"
#include "vm/wasi/abi.h"
#include "vm/wasi/wasi.h"

/* ---- what vm/ would define ---- */

struct vm_memory {
    uint8_t *data;
    size_t size_bytes;
};

struct vm_instance {
    struct vm_memory *memory;
};

struct vm_func {
    const char *name;
    vm_host_fn run;
    void *user;
};

static struct vm_func double_func; /* the one made last */

struct vm_func *vm_func_create(struct vm_store *store, const struct vm_functype *type, const char *name, vm_host_fn run,
                               void *user)
{
    double_func = (struct vm_func){.name = name, .run = run, .user = user};
    return &double_func;
}

struct vm_memory *vm_instance_memory(struct vm_instance *instance)
{
    return instance->memory;
}

uint8_t *vm_memory_data(struct vm_memory *memory)
{
    return memory->data;
}

size_t vm_memory_size_bytes(const struct vm_memory *memory)
{
    return memory->size_bytes;
}

/* ---- the guest ---- */

static const struct double_function {
    const char *name;
    const char *params;
    const char *results;
} double_functions[] = {
#define WASI(name, params, results) {#name, params, results},
#include "vm/wasi/wasi.def"
};
#define DOUBLE_FUNCTION_COUNT (sizeof double_functions / sizeof double_functions[0])

static struct {
    struct wasi *wasi;
    struct vm_memory memory;
    struct vm_instance instance;
    struct vm_trap trap; /* of the last call */
    bool ended;          /* the last call ended the guest */
    uint32_t used_bytes; /* of the memory, from its start, by guest_put and guest_room */
} guest;

static void guest_start(size_t memory_bytes)
{
    struct err err = {0};
    memset(&guest, 0, sizeof guest);
    guest.memory = (struct vm_memory){.data = calloc(1, memory_bytes), .size_bytes = memory_bytes};
    guest.instance.memory = &guest.memory;
    guest.used_bytes = 16; /* address 0 is nothing */
    guest.wasi = wasi_create(&err);
    if (!guest.memory.data || !guest.wasi) {
        fprintf(stderr, "cannot make a guest: %s\n", err.message);
        abort();
    }
}

static void guest_stop(void)
{
    wasi_destroy(guest.wasi);
    free(guest.memory.data);
}

/* The type of line `function` of wasi.def, good until the next call. */
static inline struct vm_functype double_type(const struct double_function *function)
{
    static uint32_t types[16];
    static uint32_t result;
    uint32_t count = (uint32_t)strlen(function->params);
    for (uint32_t i = 0; i < count; i++)
        types[i] = function->params[i] == 'i' ? VM_I32 : VM_I64;
    result = VM_I32;
    return (struct vm_functype){types, &result, count, function->results[0] ? 1 : 0};
}

/* Calls function number `index` as a guest would. The upper half of an i32 argument is noise, as the VM may leave it.
 */
static inline uint32_t guest_call_index(size_t index, const uint64_t *args)
{
    const struct double_function *function = &double_functions[index];
    struct vm_functype type = double_type(function);
    struct err err = {0};
    struct vm_func *func = wasi_func(guest.wasi, NULL, function->name, strlen(function->name), &type, &err);
    if (!func) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    union vm_slot slots[16] = {0};
    for (uint32_t i = 0; i < type.param_count; i++)
        slots[i].i64 = function->params[i] == 'i' ? UINT64_C(0xdeadbeef00000000) | (uint32_t)args[i] : args[i];
    guest.ended = !func->run(func->user, &guest.instance, slots, &guest.trap);
    return guest.ended ? UINT32_MAX : slots[0].i32;
}

static inline uint32_t guest_call(const char *name, const uint64_t *args, size_t arg_count)
{
    size_t index = 0;
    while (index < DOUBLE_FUNCTION_COUNT && strcmp(double_functions[index].name, name) != 0)
        index++;
    if (index == DOUBLE_FUNCTION_COUNT || strlen(double_functions[index].params) != arg_count) {
        fprintf(stderr, "%s is not called with %zu arguments\n", name, arg_count);
        abort();
    }
    return guest_call_index(index, args);
}

/* The leading 0 lets a call have no argument. */
#define CALL(name, ...)                                                                                                \
    guest_call(#name, (uint64_t[]){0, ##__VA_ARGS__} + 1, sizeof((uint64_t[]){0, ##__VA_ARGS__}) / 8 - 1)

/* Room for `size_bytes`, zeroed and aligned to 8; returns its address in the guest. */
static inline uint32_t guest_room(size_t size_bytes)
{
    uint32_t address = guest.used_bytes;
    if (size_bytes > guest.memory.size_bytes - address - 8) {
        fprintf(stderr, "the guest's memory is too small\n");
        abort();
    }
    memset(guest.memory.data + address, 0, size_bytes);
    guest.used_bytes = (uint32_t)(address + size_bytes + 7) & ~UINT32_C(7);
    return address;
}

static inline uint32_t guest_put(const void *bytes, size_t size_bytes)
{
    uint32_t address = guest_room(size_bytes);
    memcpy(guest.memory.data + address, bytes, size_bytes);
    return address;
}

static inline void *guest_at(uint32_t address)
{
    return guest.memory.data + address;
}

static inline uint32_t guest_u32(uint32_t address)
{
    uint32_t value;
    memcpy(&value, guest_at(address), sizeof value);
    return value;
}

static inline uint64_t guest_u64(uint32_t address)
{
    uint64_t value;
    memcpy(&value, guest_at(address), sizeof value);
    return value;
}

/* One iovec. */
static inline uint32_t guest_iovec(uint32_t buf, uint32_t buf_len)
{
    return guest_put(&(struct wasi_abi_iovec){buf, buf_len}, sizeof(struct wasi_abi_iovec));
}

/* A path as two arguments. */
#define PATH(text) guest_put(text, strlen(text)), strlen(text)
