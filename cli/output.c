/* Names in a module, a file's name, a reader's message: none of them is ours, and all of them are printed. An escape
 * sequence in a function's name would be carried out by the terminal of whoever runs `glassbox dump`, so everything
 * that is not plain text is escaped, here and nowhere else: errors are formatted whole and then escaped, lest one
 * caller forget.
 *
 * Standard output is written by stdio and its errors surface at the end: `glassbox dump > /dev/full` must not exit 0.
 * What the guest writes never passes through here; it goes to its descriptor directly. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the UTF-8 sequence at `bytes` and its code point, or 0 where there is no valid one (RFC 3629). */
static size_t utf8_decode(const unsigned char *bytes, size_t size_bytes, uint32_t *point)
{
    if (bytes[0] < 0x80) {
        *point = bytes[0];
        return 1;
    }
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : bytes[0] >= 0xc0 ? 2 : 0;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (length == 0 || length > size_bytes || bytes[0] > 0xf4) {
        return 0;
    }
    uint32_t value = bytes[0] & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        return 0;
    }
    *point = value;
    return length;
}

static bool is_plain(uint32_t point)
{
    bool is_control = point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029;
    bool is_direction = point == 0x61c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                        (point >= 0x2066 && point <= 0x2069);
    return !is_control && !is_direction;
}

void cli_print_escaped(FILE *stream, const char *bytes, size_t size_bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    while (size_bytes > 0) {
        uint32_t point = 0;
        size_t length = utf8_decode(at, size_bytes, &point);
        if (length > 0 && is_plain(point)) {
            fwrite(at, 1, length, stream);
        } else {
            length = length > 0 ? length : 1;
            for (size_t i = 0; i < length; i++) {
                fprintf(stream, "\\x%02x", at[i]);
            }
        }
        at += length;
        size_bytes -= length;
    }
}

static void print_error(const char *format, va_list arguments)
{
    char *text = NULL;
    int size_bytes = vasprintf(&text, format, arguments);
    if (size_bytes < 0) {
        fputs("glassbox: out of memory\n", stderr);
        return;
    }
    fputs("glassbox: ", stderr);
    cli_print_escaped(stderr, text, (size_t)size_bytes);
    fputc('\n', stderr);
    free(text);
}

void cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_error(format, arguments);
    va_end(arguments);
}

int cli_usage_error(enum cli_command command, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool is_top = command == CLI_COMMAND_glassbox;
    cli_error("%s (try glassbox%s%s --help)", text, is_top ? "" : " ", is_top ? "" : cli_commands[command].name);
    return CLI_USAGE;
}

int cli_finish_output(int status)
{
    bool has_failed = ferror(stdout);
    int error = has_failed ? EIO : 0;
    if (fflush(stdout) != 0 || (close(STDOUT_FILENO) != 0 && errno != EBADF)) {
        has_failed = true;
        error = errno;
    }
    if (!has_failed) {
        return status;
    }
    cli_error("standard output: %s", strerror(error));
    return status == CLI_OK ? CLI_FAILED : status;
}
