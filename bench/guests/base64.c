/* base64: shifts, masks, table look-ups and byte loads and stores: encode, decode, compare. */
#include "benchmark.h"

const struct benchmark benchmark = {"base64", 330, 0xd9bc6161f498f913};

enum { BYTES = 90000, TEXT_BYTES = BYTES / 3 * 4 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static uint8_t bytes[BYTES], decoded[BYTES], value_of[256];
static char text[TEXT_BYTES];

static void encode(void)
{
    char *to = text;
    for (int i = 0; i < BYTES; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        *to++ = alphabet[group >> 6 & 63];
        *to++ = alphabet[group & 63];
    }
}

static void decode(void)
{
    uint8_t *to = decoded;
    for (int i = 0; i < TEXT_BYTES; i += 4) {
        uint32_t group = 0;
        for (int j = 0; j < 4; j++)
            group = group << 6 | value_of[(uint8_t)text[i + j]];
        *to++ = (uint8_t)(group >> 16);
        *to++ = (uint8_t)(group >> 8);
        *to++ = (uint8_t)group;
    }
}

uint64_t benchmark_run(void)
{
    uint64_t state = 9, sum = 1;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(random_next(&state) >> 56);
    for (uint8_t i = 0; i < 64; i++)
        value_of[(uint8_t)alphabet[i]] = i;
    encode();
    decode();
    for (int i = 0; i < BYTES; i++)
        if (bytes[i] != decoded[i])
            return 0;
    for (int i = 0; i < TEXT_BYTES; i += 4)
        sum = checksum_u64(sum, (uint8_t)text[i] | (uint32_t)(uint8_t)text[i + 3] << 8);
    return sum;
}
