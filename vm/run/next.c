/* run_next: how handlers go on when they run in place (--dispatch=shared). In a region it is never reached: the jump to
 * it is what the stencils are cut at. It stands alone in a file so that no handler can inline it. Sanitizers must leave
 * it alone: a host function's stub comes after it and finds its struct vm_func in rcx, which a check would overwrite.
 */
#include "vm/run/handler.h"

/* In place, each instruction of the stream begins with the address of its handler. */
__attribute__((preserve_none, disable_sanitizer_instrumentation, no_sanitize("undefined"))) void
run_next(HANDLER_ARGUMENTS)
{
    handler_fn handler = (handler_fn)U64(0);
    stream += 8;
    JUMP(handler);
}
