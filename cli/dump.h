/* dump: what the files of `glassbox dump` share. */
#ifndef GLASSBOX_CLI_DUMP_H
#define GLASSBOX_CLI_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/disassembler.h"
#include "cli/module_file.h"
#include "profile/profile.h"
#include "vm/code/program.h"
#include "vm/glassbox.h"
#include "vm/wasm/module.h"

struct dump {
    bool with_code; /* --code */
    struct cli_module_file file;
    struct vm_engine *engine;
    struct vm_module *module;
    const struct wasm_module *wasm; /* the module's */
    struct profile_names *names;
    struct cli_disassembler *disassembler; /* with --code */
};

/* Prints the instruction at `offset`, indented by `depth` blocks, which it keeps. Returns the offset of the next. */
uint32_t cli_dump_instruction(const struct dump *dump, uint32_t offset, unsigned *depth);

/* Translates a defined function and prints its bytecode, each run of instructions with the operand stream and the
 * region that it became. False: it could not be translated, and that has been reported. */
bool cli_dump_code(const struct dump *dump, uint32_t funcidx);

#endif
