/* A search from the first line to the last: it runs once at most for a module, when the module is about to be refused.
 */
#include "vm/wasm/features.h"

#include <stddef.h>

static const struct {
    enum wasm_place place;
    uint32_t first;
    uint32_t last;
    const char *feature;
} unsupported[] = {
#define UNSUPPORTED(place, first, last, feature) {WASM_PLACE_##place, first, last, feature},
#include "vm/wasm/features.def"
};

const char *wasm_feature_of(enum wasm_place place, uint32_t code)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (unsupported[i].place == place && code >= unsupported[i].first && code <= unsupported[i].last)
            return unsupported[i].feature;
    return NULL;
}
