/* Capstone, loaded when it is first needed. Linking it was tried and rejected: its tables have 93,000 relocations, and
 * processing them was 0.8 of the 1.9 ms from start to end of a trivial guest, for the one command that disassembles.
 */
#include "cli/disassembler.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/cli.h"

#define FUNCTIONS(FUNCTION)                                                                                            \
    FUNCTION(cs_open)                                                                                                  \
    FUNCTION(cs_option)                                                                                                \
    FUNCTION(cs_malloc)                                                                                                \
    FUNCTION(cs_disasm_iter)                                                                                           \
    FUNCTION(cs_free)                                                                                                  \
    FUNCTION(cs_close)

struct cli_disassembler {
    void *library;
    csh handle;
    cs_insn *instruction;
#define FUNCTION(name) __typeof__(&name) name;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
};

#define TEXT_OF(number) #number
#define FILE_OF(major)  "libcapstone.so." TEXT_OF(major)

static bool load(struct cli_disassembler *disassembler)
{
    disassembler->library = dlopen(FILE_OF(CS_API_MAJOR), RTLD_NOW | RTLD_LOCAL);
    bool is_complete = disassembler->library != NULL;
#define FUNCTION(name)                                                                                                 \
    disassembler->name = is_complete ? (__typeof__(&name))dlsym(disassembler->library, #name) : NULL;                  \
    is_complete = disassembler->name != NULL;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    if (!is_complete) {
        cli_error("--code needs %s (Debian: libcapstone%d): %s", FILE_OF(CS_API_MAJOR), CS_API_MAJOR, dlerror());
    }
    return is_complete;
}

static bool start(struct cli_disassembler *disassembler)
{
#ifdef __aarch64__
    cs_err error = disassembler->cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &disassembler->handle);
#else
    cs_err error = disassembler->cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler->handle);
#endif
    if (error == CS_ERR_OK) {
        disassembler->cs_option(disassembler->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
        disassembler->instruction = disassembler->cs_malloc(disassembler->handle);
    }
    if (!disassembler->instruction) {
        cli_error("--code: the disassembler does not start");
    }
    return disassembler->instruction != NULL;
}

struct cli_disassembler *cli_disassembler_open(void)
{
    struct cli_disassembler *disassembler = calloc(1, sizeof *disassembler);
    if (!disassembler) {
        cli_error("out of memory");
    } else if (!load(disassembler) || !start(disassembler)) {
        cli_disassembler_close(disassembler);
        disassembler = NULL;
    }
    return disassembler;
}

void cli_disassembler_close(struct cli_disassembler *disassembler)
{
    if (!disassembler) {
        return;
    }
    if (disassembler->instruction) {
        disassembler->cs_free(disassembler->instruction, 1);
    }
    if (disassembler->handle) {
        disassembler->cs_close(&disassembler->handle);
    }
    if (disassembler->library) {
        dlclose(disassembler->library);
    }
    free(disassembler);
}

uint32_t cli_disassemble(struct cli_disassembler *disassembler, const uint8_t *code, size_t size_bytes,
                         uint64_t address, char *text)
{
    cs_insn *instruction = disassembler->instruction;
    const uint8_t *at = code;
    if (!disassembler->cs_disasm_iter(disassembler->handle, &at, &size_bytes, &address, instruction)) {
        snprintf(text, CLI_DISASSEMBLER_TEXT_BYTES, ".byte 0x%02x", *code);
        return 1;
    }
    snprintf(text, CLI_DISASSEMBLER_TEXT_BYTES, "%s%s%s", instruction->mnemonic, instruction->op_str[0] ? " " : "",
             instruction->op_str);
    return instruction->size;
}
