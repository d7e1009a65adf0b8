/* trap: a guest's untimely end, told on standard error. */
#ifndef GLASSBOX_CLI_TRAP_H
#define GLASSBOX_CLI_TRAP_H

#include "vm/glassbox.h"

/* "Error: wasm trap: out of bounds memory access" and one line a frame, innermost first, named as perf names them and
 * with the source line where the module's DWARF knows it. */
void cli_trap_print(const struct vm_trap *trap);

#endif
