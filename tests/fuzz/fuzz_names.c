/* fuzz_names: profile/names.c, and libiberty's demanglers below it, on any name section. The input's lines are the
 * names of a module's functions; what comes out must be unique, short, and harmless to a map, a folded stack and a
 * terminal. */
#include <stdlib.h>

#include "profile/profile.h"
#include "tests/unit/profile/module_double.c"

#define NAME_MAX_COUNT 8

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void check(const char *name, size_t length)
{
    if (length < 3 || length > PROFILE_NAME_BYTES || strlen(name) != length || name[0] == ' ' ||
        name[length - 1] == ' ')
        abort();
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f || name[i] == ';')
            abort();
    char again[PROFILE_NAME_BYTES + 1];
    if (length < PROFILE_NAME_BYTES - 32 &&
        (profile_name_escape(name, length, again) != length || strcmp(name, again) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct vm_module module = double_of_names("fuzz", (const char *[NAME_MAX_COUNT]){0}, NAME_MAX_COUNT);
    const char *at = (const char *)bytes;
    const char *end = at + size_bytes;
    for (uint32_t i = 0; i < NAME_MAX_COUNT && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        module.names[i] = at;
        module.name_bytes[i] = (size_t)((newline ? newline : end) - at);
        at = newline ? newline + 1 : end;
    }
    struct profile_names *names = profile_names_create(&module);
    static char texts[NAME_MAX_COUNT][PROFILE_NAME_BYTES + 1];
    for (uint32_t i = 0; i < NAME_MAX_COUNT; i++) {
        check(texts[i], profile_names_get(names, i, texts[i]));
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(texts[i], texts[j]) == 0)
                abort();
    }
    profile_names_destroy(names);
    double_fini(&module);
    return 0;
}
