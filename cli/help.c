/* --help, written from the same tables that parse: an option cannot be there and not be in the help. Text is filled to
 * 80 columns here, so that the tables need no line breaks of their own. */
#include "cli/cli.h"

#include <string.h>

static void print_filled(FILE *stream, size_t indent, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > 80) {
            fputc('\n', stream);
            column = 0;
        }
        if (column == 0) {
            fprintf(stream, "%*s", (int)indent, "");
            column = indent;
        } else {
            fputc(' ', stream);
            column++;
        }
        fwrite(text, 1, length, stream);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

void cli_help_print(enum cli_command command, FILE *stream)
{
    bool is_top = command == CLI_COMMAND_glassbox;
    fprintf(stream, "Usage: glassbox %s%s%s\n\n", is_top ? "" : cli_commands[command].name, is_top ? "" : " ",
            cli_commands[command].operands);
    print_filled(stream, 0, cli_commands[command].summary);
    if (is_top) {
        fputs("\nCommands:\n", stream);
        for (size_t i = CLI_COMMAND_glassbox + 1; i < CLI_COMMAND_COUNT; i++) {
            fprintf(stream, "  %s\n", cli_commands[i].name);
            print_filled(stream, 6, cli_commands[i].summary);
        }
    }
    fputs("\nOptions:\n", stream);
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const struct cli_option_info *option = &cli_option_infos[i];
        if (option->command == command) {
            fprintf(stream, "  --%s%s%s%s\n", option->name, option->kind == CLI_KIND_FLAG ? "" : "=", option->argument,
                    option->kind == CLI_KIND_LIST ? "[,...]" : "");
            print_filled(stream, 6, option->help);
        }
    }
    if (is_top) {
        fputs("\nglassbox COMMAND --help says more, and so does 'man glassbox-COMMAND'.\n", stream);
    } else {
        fprintf(stream, "\n'man glassbox-%s' says more.\n", cli_commands[command].name);
    }
}
