/* disassembler: machine code of this machine as text, in AT&T's syntax, as perf annotate has it. */
#ifndef GLASSBOX_CLI_DISASSEMBLER_H
#define GLASSBOX_CLI_DISASSEMBLER_H

#include <stddef.h>
#include <stdint.h>

struct cli_disassembler;

/* NULL: none can be had, which has been reported. */
struct cli_disassembler *cli_disassembler_open(void);
void cli_disassembler_close(struct cli_disassembler *disassembler);

#define CLI_DISASSEMBLER_TEXT_BYTES 256

/* Writes the instruction at `code`, of which `size_bytes` > 0 may be read and which is taken to run at `address`, to
 * `text`. Returns its length in bytes: what is no instruction is written as one byte. */
uint32_t cli_disassemble(struct cli_disassembler *disassembler, const uint8_t *code, size_t size_bytes,
                         uint64_t address, char *text);

#endif
