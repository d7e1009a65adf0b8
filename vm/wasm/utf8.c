/* Names are nearly always ASCII, so eight bytes at a time are looked over for a high bit and only what is left is read
 * by character. The second byte of a sequence carries every restriction there is (overlong forms, surrogates, the end
 * of the code space), hence the table by first byte; later bytes are plain continuations. */
#include "vm/wasm/utf8.h"

#include <string.h>

struct lead {
    uint8_t first, last;           /* lead bytes */
    uint8_t second_min, second_max; /* what may follow */
    uint8_t length;
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the well-formed sequence of two or more at `bytes`; 0: there is none. */
static size_t sequence_length(const uint8_t *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        const struct lead *lead = &leads[i];
        if (bytes[0] < lead->first || bytes[0] > lead->last)
            continue;
        if (size_bytes < lead->length || bytes[1] < lead->second_min || bytes[1] > lead->second_max)
            return 0;
        for (size_t k = 2; k < lead->length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return lead->length;
    }
    return 0;
}

bool wasm_utf8_valid(const uint8_t *bytes, size_t size_bytes)
{
    const uint8_t *end = bytes + size_bytes;
    while (bytes < end) {
        uint64_t eight;
        if ((size_t)(end - bytes) >= sizeof eight) {
            memcpy(&eight, bytes, sizeof eight);
            if (!(eight & 0x8080808080808080)) {
                bytes += sizeof eight;
                continue;
            }
        }
        if (*bytes < 0x80) {
            bytes++;
            continue;
        }
        size_t length = sequence_length(bytes, (size_t)(end - bytes));
        if (!length)
            return false;
        bytes += length;
    }
    return true;
}
