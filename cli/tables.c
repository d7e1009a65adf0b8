/* The two lists of the command line, as data. */
#include "cli/cli.h"

const struct cli_command_info cli_commands[CLI_COMMAND_COUNT] = {
#define COMMAND(ident, operands, summary) {#ident, operands, summary},
#include "cli/commands.def"
};

const struct cli_option_info cli_option_infos[CLI_OPTION_COUNT] = {
#define OPTION(command, ident, name, kind, argument, times, help)                                                      \
    {CLI_COMMAND_##command, name, CLI_KIND_##kind, argument, CLI_TIMES_##times, help},
#include "cli/options.def"
};
