/* hex: modules for tests, spelled in hexadecimal, in memory of exactly their size. */
#ifndef GLASSBOX_TESTS_UNIT_WASM_HEX_H
#define GLASSBOX_TESTS_UNIT_WASM_HEX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/wasm/module.h"

#define MAGIC "00 61 73 6d 01 00 00 00 "

struct bytes {
    uint8_t *data;
    size_t size;
};

static inline void bytes_append(struct bytes *bytes, const void *more, size_t size)
{
    bytes->data = realloc(bytes->data, bytes->size + size + 1);
    assert_non_null(bytes->data);
    memcpy(bytes->data + bytes->size, more, size);
    bytes->size += size;
}

/* Appends the bytes of "00 61 73"; blanks are ignored. */
static inline void bytes_append_hex(struct bytes *bytes, const char *hex)
{
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        char pair[3] = {hex[0], hex[1]}, *end;
        uint8_t byte = (uint8_t)strtoul(pair, &end, 16);
        assert_ptr_equal(end, pair + 2);
        bytes_append(bytes, &byte, 1);
        hex++;
    }
}

static inline void bytes_append_leb(struct bytes *bytes, uint64_t value)
{
    do {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        if (value)
            byte |= 0x80;
        bytes_append(bytes, &byte, 1);
    } while (value);
}

static inline struct bytes bytes_of_hex(const char *hex)
{
    struct bytes bytes = {0};
    bytes_append_hex(&bytes, hex);
    bytes.data = realloc(bytes.data, bytes.size ? bytes.size : 1); /* no slack: a sanitizer sees what is read beyond */
    return bytes;
}

/* A module with something of each kind, whose last function (of type 0, funcidx 1, locals as below) has this body, the
 * `end` not included:
 *
 *   type 0: () -> ()   type 1: (i32 i64) -> (f32 f64)      locals of function 1: 0 i32, 1 i64, 2 f32, 3 f64, 4 funcref
 *   func 0: type 1, imported as "m" "f" and exported       table 0: funcref, table 1: externref
 *   memory 0   global 0: mutable i32   elem 0: passive, func 0   data 0: passive, one byte */
static inline struct bytes bytes_of_body(const struct bytes *body)
{
    struct bytes code = {0}, bytes = {0};
    bytes_append_hex(&code, "05 01 7f 01 7e 01 7d 01 7c 01 70");
    bytes_append(&code, body->data, body->size);
    bytes_append_hex(&code, "0b");
    struct bytes section = {0};
    bytes_append_leb(&section, 1);
    bytes_append_leb(&section, code.size);
    bytes_append(&section, code.data, code.size);

    bytes_append_hex(&bytes, MAGIC);
    bytes_append_hex(&bytes, "01 0b 02 60 00 00 60 02 7f 7e 02 7d 7c"); /* types */
    bytes_append_hex(&bytes, "02 07 01 01 6d 01 66 00 01");             /* import */
    bytes_append_hex(&bytes, "03 02 01 00");                            /* functions */
    bytes_append_hex(&bytes, "04 07 02 70 00 01 6f 00 01");             /* tables */
    bytes_append_hex(&bytes, "05 03 01 00 01");                         /* memory */
    bytes_append_hex(&bytes, "06 06 01 7f 01 41 00 0b");                /* global */
    bytes_append_hex(&bytes, "07 05 01 01 66 00 00");                   /* export */
    bytes_append_hex(&bytes, "09 05 01 01 00 01 00");                   /* elements: passive */
    bytes_append_hex(&bytes, "0c 01 01");                               /* data count */
    bytes_append_hex(&bytes, "0a");
    bytes_append_leb(&bytes, section.size);
    bytes_append(&bytes, section.data, section.size);
    bytes_append_hex(&bytes, "0b 04 01 01 01 2a"); /* data: passive, "*" */
    free(code.data);
    free(section.data);
    return bytes;
}

#endif
