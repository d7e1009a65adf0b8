/* err: how a fallible function says what went wrong.
 *
 * A function that can fail returns 0 or a negative errno and, where it takes a `struct err *`, writes the detail there.
 * The first report wins: a later err_set() on the same struct is ignored, so that cleaning up after an error cannot
 * hide its cause. A `struct err` belongs to the caller, needs no destruction and may be NULL where detail is unwanted.
 */
#ifndef GLASSBOX_BASE_ERR_H
#define GLASSBOX_BASE_ERR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum err_kind {
    ERR_NONE,
    ERR_MALFORMED,   /* the bytes are not a module (binary grammar) */
    ERR_INVALID,     /* the module breaks a validation rule */
    ERR_UNLINKABLE,  /* an import is missing or has another type */
    ERR_RESOURCE,    /* memory, descriptors, address space, a file */
    ERR_UNSUPPORTED, /* well-formed, but a feature this build does not have */
};

/* offset: where in the input, in bytes from its start; 0 where there is no input. message: NUL-terminated, no newline.
 */
struct err {
    enum err_kind kind;
    uint64_t offset;
    char message[256];
};

/* Records a report and returns the negative errno of `kind` (which it also does where `err` is NULL or already set). */
int err_set(struct err *err, enum err_kind kind, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "malformed", "invalid", ...: a static string. */
const char *err_kind_name(enum err_kind kind);

#ifdef __cplusplus
}
#endif
#endif
