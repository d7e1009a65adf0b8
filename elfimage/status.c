/* status: words for what the other functions return. The texts name the remedy, because a profiler that degrades has
 * one line to say why. Not strerror(): "Operation not permitted" does not lead to a noexec mount. */
#include <errno.h>
#include <stddef.h>

#include "elfimage/elfimage.h"

const char *elfimage_status_text(int status)
{
    switch (-status) {
    case 0:
        return "success";
#define STATUS(code, text)                                                                                             \
    case code:                                                                                                         \
        return text;
#include "elfimage/status.def"
#undef STATUS
    default:
        return "the image's directory or file cannot be used";
    }
}
