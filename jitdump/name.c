/* A name that breaks nothing.
 *
 * Names and paths come from the program that is being run: anybody's bytes. They reach terminals (where ESC starts a
 * command), folded stacks (where `;` separates) and scripts (which a byte that is not UTF-8 stops), and in a dump
 * NUL ends them. So what is harmful is written as \xNN and everything else as it is.
 *
 * A backslash is not escaped. The result can therefore not always be turned back into the name, but escaping twice is
 * the same as escaping once, so a program may escape early (to have one name in several files) and this library
 * again.
 *
 * This is libperfmap's rule, but for short names, with which perf has no trouble in a dump. It is repeated here because
 * each library stands alone; the two unit tests read one list of cases, so they cannot part.
 */
#include <stdint.h>
#include <string.h>

#include "jitdump/internal.h"

static const char unnamed[] = "[unnamed]";
static const char ellipsis[] = "...";

/* The length of the character that begins `text`, with its code point; 1 and UINT32_MAX where it is not UTF-8 (RFC
 * 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
static size_t decode(const unsigned char *text, size_t text_bytes, uint32_t *code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *code_point = UINT32_MAX;
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3
                    : text[0] < 0xf8 ? 4 : 0;
    if (length == 0 || length > text_bytes)
        return 1;
    uint32_t value = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (text[i] & 0x3f);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 1;
    *code_point = value;
    return length;
}

static bool is_harmful(uint32_t code_point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {
        {0x00, 0x1f},         /* C0: newline, ESC, ... */
        {';', ';'},           /* separates the frames of a folded stack */
        {0x7f, 0x9f},         /* DEL and C1, where U+009B is another ESC [ */
        {0x061c, 0x061c},     /* direction of writing, here and below */
        {0x200e, 0x200f},
        {0x2028, 0x202e},     /* with the line and paragraph separators */
        {0x2066, 0x2069},
        {UINT32_MAX, UINT32_MAX}, /* not UTF-8 */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return true;
    return false;
}

size_t jitdump_name_escape(const char *name, size_t name_bytes, char *escaped)
{
    const unsigned char *text = (const unsigned char *)name;
    size_t used = 0;
    size_t cut = 0; /* the last end of a character that leaves room for the ellipsis */
    for (size_t at = 0, length; at < name_bytes; at += length) {
        uint32_t code_point;
        length = decode(text + at, name_bytes - at, &code_point);
        bool is_outer_blank = code_point == ' ' && (at == 0 || at + 1 == name_bytes);
        bool is_escaped = is_outer_blank || is_harmful(code_point);
        if (used + (is_escaped ? 4 * length : length) > JITDUMP_NAME_BYTES) {
            memcpy(escaped + cut, ellipsis, sizeof ellipsis - 1);
            return cut + sizeof ellipsis - 1;
        }
        if (is_escaped) {
            for (size_t i = 0; i < length; i++) {
                escaped[used++] = '\\';
                escaped[used++] = 'x';
                escaped[used++] = "0123456789abcdef"[text[at + i] >> 4];
                escaped[used++] = "0123456789abcdef"[text[at + i] & 15];
            }
        } else {
            memcpy(escaped + used, text + at, length);
            used += length;
        }
        if (used + sizeof ellipsis - 1 <= JITDUMP_NAME_BYTES)
            cut = used;
    }
    if (used == 0) {
        memcpy(escaped, unnamed, sizeof unnamed - 1);
        return sizeof unnamed - 1;
    }
    return used;
}
