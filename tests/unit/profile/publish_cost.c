/* publish_cost [MAP|JITDUMP|ELF bits] [LINES] [MODULE.wasm]: what publishing costs, by a publisher that does nothing
 * else.
 *
 * Publishes every function of a module (or 20,000 functions of one made here, each of 100 instructions), each with a
 * region of 12 bytes an instruction, and prints microseconds a function. Not a test: times are nobody's contract. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "module_double.h"
#include "profile/profile.h"

#define REGION_BYTES_OF_INSTRUCTION 12
#define MEMORY_BYTES ((size_t)64 << 20)

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void print_message(void *user, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static uint8_t *put_leb5(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 5; i++, value >>= 7)
        *at++ = (uint8_t)((value & 0x7f) | (i < 4 ? 0x80 : 0));
    return at;
}

/* func_count bodies of 100 instructions, without names. */
static uint8_t *make_module(uint32_t func_count, size_t *size_bytes)
{
    const uint32_t body_bytes = 1 + 99 * 2 + 1;
    *size_bytes = 8 + 1 + 5 + 5 + (size_t)func_count * (5 + body_bytes);
    uint8_t *bytes = malloc(*size_bytes);
    memcpy(bytes, "\0asm\1\0\0\0\n", 9);
    uint8_t *at = put_leb5(bytes + 9, (uint32_t)*size_bytes - 14);
    at = put_leb5(at, func_count);
    for (uint32_t i = 0; i < func_count; i++) {
        at = put_leb5(at, body_bytes);
        *at++ = 0;
        for (int j = 0; j < 99; j++, at += 2)
            memcpy(at, "\x20\x01", 2);
        *at++ = 0x0b;
    }
    return bytes;
}

static struct vm_code_position *positions;

static size_t find_positions(const struct vm_module *module, uint32_t begin, uint32_t end)
{
    size_t count = 0;
    uint32_t step = (end - begin) / 400 + 2;
    for (uint32_t at = begin + 1; at < end; at += step, count++)
        positions[count] = (struct vm_code_position){(uint32_t)count * REGION_BYTES_OF_INSTRUCTION, at};
    return count;
}

int main(int argc, char **argv)
{
    struct profile_config config = {
        .announce = argc > 1 ? (unsigned)atoi(argv[1]) : PROFILE_ELF,
        .lines = argc > 2 ? (enum profile_line_source)atoi(argv[2]) : PROFILE_LINES_AUTO,
        .message = print_message,
    };
    size_t size_bytes;
    uint8_t *bytes = argc > 3 ? double_read_file(argv[3], &size_bytes) : make_module(20000, &size_bytes);
    if (!bytes)
        return 1;
    struct vm_module module = double_of_bytes("module", bytes, size_bytes);
    struct profile *profile;
    struct err err = {0};
    if (profile_open(&config, &profile, &err) != 0)
        return 1;
    const struct vm_hooks *hooks = profile_hooks(profile);
    struct vm_code_memory memory = {0};
    if (!hooks->code_memory_create || !hooks->code_memory_create(profile, MEMORY_BYTES, &memory))
        memory.execute = calloc(MEMORY_BYTES, 1);
    positions = calloc(4096, sizeof *positions);
    double start = now_us(), first = 0;
    size_t used = 0, published = 0;
    for (uint32_t funcidx = 0; funcidx < module.func_count; funcidx++) {
        uint32_t begin, end;
        if (!vm_module_func_range(&module, funcidx, &begin, &end))
            continue;
        size_t count = find_positions(&module, begin, end);
        size_t region_bytes = (count + 1) * REGION_BYTES_OF_INSTRUCTION;
        if (used + region_bytes > MEMORY_BYTES)
            break;
        struct vm_code code = {.module = &module,
                               .funcidx = funcidx,
                               .address = (const char *)memory.execute + used,
                               .size_bytes = region_bytes,
                               .positions = positions,
                               .position_count = count};
        hooks->code_published(profile, &code);
        used += region_bytes;
        if (published++ == 0)
            first = now_us() - start;
    }
    double total = now_us() - start;
    profile_close(profile);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("first %.0f us, then %zu functions at %.2f us each, closing %.0f us, peak memory %ld MiB\n", first,
           published, (total - first) / (double)published, now_us() - start - total, usage.ru_maxrss / 1024);
    return 0;
}
