/* The negative errno of each kind is what a caller that ignores the detail can still act on. Nothing is allocated: an
 * error about exhausted memory must be reportable. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    int code;
} kinds[] = {
    [ERR_NONE] = {"none", 0},
    [ERR_MALFORMED] = {"malformed", -EBADMSG},
    [ERR_INVALID] = {"invalid", -EINVAL},
    [ERR_UNLINKABLE] = {"unlinkable", -ENOLINK},
    [ERR_RESOURCE] = {"resource", -ENOMEM},
    [ERR_UNSUPPORTED] = {"unsupported", -ENOTSUP},
};

int err_set(struct err *err, enum err_kind kind, uint64_t offset, const char *format, ...)
{
    if (err && err->kind == ERR_NONE) {
        err->kind = kind;
        err->offset = offset;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return kinds[kind].code;
}

const char *err_kind_name(enum err_kind kind)
{
    return kinds[kind].name;
}
