/* module_double: struct vm_module for tests of profile/, so that they need no VM. Finds its way through a module's
 * bytes by hand, or is made of names alone. Lists the few instructions that the tests use. */
#ifndef GLASSBOX_TESTS_UNIT_PROFILE_MODULE_DOUBLE_H
#define GLASSBOX_TESTS_UNIT_PROFILE_MODULE_DOUBLE_H

#include "vm/hooks.h"

struct double_range {
    uint32_t begin, end;
};

struct vm_module {
    const char *name;
    const uint8_t *bytes;
    size_t size_bytes;
    uint32_t code_offset;
    uint32_t import_count; /* of functions */
    uint32_t func_count;   /* with imports */
    struct double_range *ranges;
    const char **names; /* by funcidx; NULL: none */
    size_t *name_bytes;
    unsigned listing_calls;
};

/* A module of `count` functions of which only the names are known. */
struct vm_module double_of_names(const char *module_name, const char **names, uint32_t count);

/* A module of real bytes, which must outlast it: sections and function ranges, names. */
struct vm_module double_of_bytes(const char *module_name, const void *bytes, size_t size_bytes);

/* The function called so in the name section, or UINT32_MAX. */
uint32_t double_find(const struct vm_module *module, const char *name);

/* The bytes of a file; NULL: there is none. */
void *double_read_file(const char *path, size_t *size_bytes);

void double_fini(struct vm_module *module);

#endif
