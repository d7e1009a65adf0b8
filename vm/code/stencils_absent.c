/* Stands in for the stencils in builds whose handlers cannot be copied. vm_has_regions() is false there, so nobody
 * reads these. */
#include "vm/code/handlers.h"

const struct code_stencil code_stencils[CODE_HANDLER_COUNT];
const uint8_t code_stencil_bytes[1];
