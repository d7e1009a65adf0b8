/* The door: finds the command and makes sure that what it printed arrived. A first argument that names no command is a
 * module to run, as wasmtime's users are used to. */
#include "cli/cli.h"

#include <string.h>

static int (*const functions[CLI_COMMAND_COUNT])(int argc, char **argv) = {
#define COMMAND(ident, operands, summary) cli_##ident,
#include "cli/commands.def"
};

int cli_glassbox(int argc, char **argv)
{
    if (argc < 2) {
        cli_help_print(CLI_COMMAND_glassbox, stderr);
        return CLI_USAGE;
    }
    for (size_t i = CLI_COMMAND_glassbox + 1; i < CLI_COMMAND_COUNT; i++) {
        if (strcmp(argv[1], cli_commands[i].name) == 0) {
            return functions[i](argc - 1, argv + 1);
        }
    }
    if (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "--version") != 0) {
        return cli_run(argc, argv);
    }
    if (argc > 2) {
        return cli_usage_error(CLI_COMMAND_glassbox, "%s stands alone, but %s follows", argv[1], argv[2]);
    }
    if (strcmp(argv[1], "--help") == 0) {
        cli_help_print(CLI_COMMAND_glassbox, stdout);
    } else {
        puts("glassbox " GLASSBOX_VERSION);
    }
    return CLI_OK;
}

int main(int argc, char **argv)
{
    return cli_finish_output(cli_glassbox(argc, argv));
}
