/* spectest: the host module of that name, which the specification's scripts import from. */
#ifndef GLASSBOX_TESTS_SPEC_SPECTEST_H
#define GLASSBOX_TESTS_SPEC_SPECTEST_H

#include <stdbool.h>

#include "vm/glassbox.h"

/* One store's spectest: memory, table and globals are shared by all who import them. */
struct spectest;

/* NULL: out of memory. The objects belong to `store`; destroy only frees what looks them up. */
struct spectest *spectest_create(struct vm_store *store);
void spectest_destroy(struct spectest *spectest);

/* False: spectest has no such export. `name` is not NUL-terminated. */
bool spectest_export(const struct spectest *spectest, const char *name, size_t name_bytes, struct vm_extern *found);

#endif
