/* The door: finds the command and makes sure that what it printed arrived. A first argument that names no command is a
 * module to run, as wasmtime's users are used to. */
#include "cli/cli.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* A standard descriptor that is closed would become the number of the next file that is opened, and what is printed
 * would go into it. It is kept occupied by what refuses to be used as it: printing fails as it should. */
static void occupy_standard_descriptors(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0) {
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    return cli_finish_output(cli_glassbox(argc, argv));
}
