/* string: work on bytes: a text of words is made, folded to upper case, searched, cut into words, and two of its pieces
 * are compared by edit distance. The loops are written out: a C library would bring others to each platform. */
#include "benchmark.h"

const struct benchmark benchmark = {"string", 150, 0x9e873194192a4153};

enum { TEXT_BYTES = 60000, WORD_MAX = 16, PIECE_BYTES = 400 };

static char text[TEXT_BYTES + 1], folded[TEXT_BYTES + 1];
static uint16_t distances[PIECE_BYTES + 1];

static void make_text(void)
{
    static const char syllables[][4] = {"gla", "ss", "box", "per", "f", "wa", "sm", "re", "gion", "o", "pen", "ta"};
    uint64_t state = 3;
    size_t length = 0;
    while (length < TEXT_BYTES) {
        const char *syllable = syllables[(random_next(&state) >> 33) % 12];
        for (size_t i = 0; i < 4 && syllable[i] && length < TEXT_BYTES; i++)
            text[length++] = syllable[i];
        if (random_next(&state) >> 62 == 0 && length < TEXT_BYTES)
            text[length++] = ' ';
    }
    text[length] = 0;
}

static void fold(void)
{
    size_t i = 0;
    for (; text[i]; i++)
        folded[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 32) : text[i];
    folded[i] = 0;
}

static uint32_t count_occurrences(const char *haystack, const char *needle)
{
    uint32_t count = 0;
    for (; *haystack; haystack++) {
        size_t i = 0;
        while (needle[i] && haystack[i] == needle[i])
            i++;
        count += needle[i] == 0;
    }
    return count;
}

static uint64_t hash_words(uint64_t sum)
{
    for (const char *at = text; *at;) {
        uint32_t hash = 2166136261u;
        for (; *at && *at != ' '; at++)
            hash = (hash ^ (uint8_t)*at) * 16777619u;
        sum = checksum_u64(sum, hash);
        while (*at == ' ')
            at++;
    }
    return sum;
}

static uint32_t edit_distance(const char *left, const char *right)
{
    for (uint32_t j = 0; j <= PIECE_BYTES; j++)
        distances[j] = (uint16_t)j;
    for (uint32_t i = 1; i <= PIECE_BYTES; i++) {
        uint16_t diagonal = distances[0];
        distances[0] = (uint16_t)i;
        for (uint32_t j = 1; j <= PIECE_BYTES; j++) {
            uint16_t above = distances[j], best = (uint16_t)(diagonal + (left[i - 1] != right[j - 1]));
            if (above + 1 < best)
                best = (uint16_t)(above + 1);
            if (distances[j - 1] + 1 < best)
                best = (uint16_t)(distances[j - 1] + 1);
            distances[j] = best;
            diagonal = above;
        }
    }
    return distances[PIECE_BYTES];
}

uint64_t benchmark_run(void)
{
    make_text();
    fold();
    uint64_t sum = hash_words(1);
    sum = checksum_u64(sum, count_occurrences(folded, "GLASSBOX"));
    sum = checksum_u64(sum, count_occurrences(folded, "REGION"));
    return checksum_u64(sum, edit_distance(text, text + TEXT_BYTES / 2));
}
