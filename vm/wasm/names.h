/* names: the name section (§7.4.1). Internal to vm/wasm. */
#ifndef GLASSBOX_VM_WASM_NAMES_H
#define GLASSBOX_VM_WASM_NAMES_H

#include "base/err.h"
#include "vm/wasm/module.h"

/* Fills module_name and func_names of a module whose sections are read. Fails only for want of memory. */
int wasm_read_names(struct wasm_module *module, struct err *err);

#endif
