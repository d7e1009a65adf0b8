/* The handlers' addresses and names, by number. To C they are only addresses: the calling convention is theirs alone.
 */
#include "vm/code/handlers.h"

#define DECLARE(name, i, j, k, args) extern const char run_op_##name##_##i##_##j##_##k[];
#define HANDLERS(name, shape, definition, args) SHAPE_EACH_##shape(DECLARE, name, args)
#include "vm/code/handlers.def"

#define ADDRESS(name, i, j, k, args) run_op_##name##_##i##_##j##_##k,
const void *const run_handlers[CODE_HANDLER_COUNT] = {
#define HANDLERS(name, shape, definition, args) SHAPE_EACH_##shape(ADDRESS, name, args)
#include "vm/code/handlers.def"
};

#define NAME(name, i, j, k, args) #name "." #i "." #j "." #k,
const char *const code_handler_names[CODE_HANDLER_COUNT] = {
#define HANDLERS(name, shape, definition, args) SHAPE_EACH_##shape(NAME, name, args)
#include "vm/code/handlers.def"
};
