/* The name section is advice: a module with a damaged one is as good as without. What precedes the damage is kept,
 * since a profile with most names is better than one with none; a name that is not UTF-8, or whose index is no
 * function's, is left out alone. Local, label, type and other names have no reader here and are passed over.
 *
 *     subsection   id byte, size u32, contents
 *     0 module     name
 *     1 functions  count u32, then count times: funcidx u32, name
 */
#include "vm/wasm/names.h"

#include <stdlib.h>

#include "vm/wasm/cursor.h"
#include "vm/wasm/utf8.h"

enum { SUBSECTION_MODULE = 0, SUBSECTION_FUNCTIONS = 1 };

/* Keeps the cursor's place where the bytes are a name but not UTF-8: then `name` is empty. */
static int read_name(struct wasm_cursor *in, struct wasm_name *name)
{
    const uint8_t *bytes;
    uint32_t size_bytes;
    int rc = wasm_cursor_u32(in, &size_bytes);
    if (!rc)
        rc = wasm_cursor_bytes(in, size_bytes, &bytes);
    if (!rc && wasm_utf8_valid(bytes, size_bytes))
        *name = (struct wasm_name){(const char *)bytes, size_bytes};
    return rc;
}

static int read_func_names(struct wasm_cursor *in, struct wasm_module *module)
{
    uint32_t count, funcidx;
    int rc = wasm_cursor_u32(in, &count);
    for (uint32_t i = 0; !rc && i < count; i++) {
        struct wasm_name name = {0};
        rc = wasm_cursor_u32(in, &funcidx);
        if (!rc)
            rc = read_name(in, &name);
        if (!rc && funcidx < module->func_count && !module->func_names[funcidx].bytes)
            module->func_names[funcidx] = name;
    }
    return rc;
}

int wasm_read_names(struct wasm_module *module, struct err *err)
{
    const struct wasm_custom *section = wasm_module_custom(module, "name");
    if (!section || module->func_count == 0)
        return 0;
    struct wasm_cursor in = {.base = module->bytes, .at = section->bytes, .end = section->bytes + section->size_bytes};
    module->func_names = calloc(module->func_count, sizeof *module->func_names);
    if (!module->func_names)
        return err_set(err, ERR_RESOURCE, wasm_cursor_offset(&in, in.at), "out of memory");

    int rc = 0;
    while (!rc && in.at < in.end) {
        uint8_t id = *in.at++;
        uint32_t size_bytes;
        struct wasm_cursor subsection = in;
        rc = wasm_cursor_u32(&in, &size_bytes);
        subsection.at = in.at;
        const uint8_t *contents;
        if (!rc)
            rc = wasm_cursor_bytes(&in, size_bytes, &contents);
        subsection.end = in.at;
        if (!rc && id == SUBSECTION_MODULE)
            rc = read_name(&subsection, &module->module_name);
        if (!rc && id == SUBSECTION_FUNCTIONS)
            rc = read_func_names(&subsection, module);
    }
    return 0;
}
