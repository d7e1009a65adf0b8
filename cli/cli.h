/* cli: what the files of the command line share. Only this room prints and exits. */
#ifndef GLASSBOX_CLI_CLI_H
#define GLASSBOX_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of our own; a guest that ends by itself gives its own. */
enum cli_status {
    CLI_OK = 0,
    CLI_FAILED = 1, /* the module or the machine is to blame */
    CLI_USAGE = 2,  /* the command line is to blame */
    CLI_TRAP = 134, /* the guest trapped: 128 + SIGABRT, what a native program that aborts gives */
};

enum cli_command {
#define COMMAND(ident, operands, summary) CLI_COMMAND_##ident,
#include "cli/commands.def"
    CLI_COMMAND_COUNT
};

/* A command's function. argv[0] is the command's name or, in `glassbox MODULE`, the program's. Returns the exit
 * status. */
#define COMMAND(ident, operands, summary) int cli_##ident(int argc, char **argv);
#include "cli/commands.def"

enum cli_option {
#define OPTION(command, ident, name, kind, argument, times, help) CLI_OPTION_##command##_##ident,
#include "cli/options.def"
    CLI_OPTION_COUNT,
    CLI_OPTIONS_END, /* options are at an end; operands follow */
    CLI_OPTIONS_STOP /* --help was printed or an error reported: exit with `status` */
};

/* ---- tables.c: commands.def and options.def, for parsing, help and completion ---- */

struct cli_command_info {
    const char *name;
    const char *operands;
    const char *summary;
};

enum cli_kind { CLI_KIND_FLAG, CLI_KIND_TEXT, CLI_KIND_DIRECTORY, CLI_KIND_CHOICE, CLI_KIND_LIST };
enum cli_times { CLI_TIMES_ONCE, CLI_TIMES_MANY };

struct cli_option_info {
    enum cli_command command;
    const char *name;
    enum cli_kind kind;
    const char *argument; /* "" for a flag */
    enum cli_times times;
    const char *help;
};

extern const struct cli_command_info cli_commands[CLI_COMMAND_COUNT];
extern const struct cli_option_info cli_option_infos[CLI_OPTION_COUNT];

/* ---- options.c: the command line ---- */

/* A walk over a command's options:
 *
 *     struct cli_options options = cli_options_start(CLI_COMMAND_run, argc, argv);
 *     for (enum cli_option option; (option = cli_options_next(&options)) != CLI_OPTIONS_END;)
 *         switch (option) { case CLI_OPTIONS_STOP: return options.status; ... }
 *
 * Members are read only. */
struct cli_options {
    enum cli_command command;
    int argc;
    char **argv;
    int next;          /* index in argv of what is read next: after CLI_OPTIONS_END, of the first operand */
    int status;        /* after CLI_OPTIONS_STOP */
    const char *value; /* of the option: its argument */
    unsigned choice;   /* of a CHOICE: the word's index; of a LIST: a set of bits, 1 << index */
    uint64_t seen;     /* options met so far, 1 << enum cli_option */
    bool is_closed;    /* `--` ended them: nothing after it can have been meant as an option */
};

/* An operand that reads as one of the command's own choices (--perf=map), and so was meant as an option but stands
 * where it would be the guest's; NULL: there is none, or `--` says that it is meant so. */
const char *cli_options_misplaced(const struct cli_options *options);
struct cli_options cli_options_start(enum cli_command command, int argc, char **argv);
enum cli_option cli_options_next(struct cli_options *options);
bool cli_options_seen(const struct cli_options *options, enum cli_option option);

/* ---- help.c ---- */

void cli_help_print(enum cli_command command, FILE *stream);

/* ---- output.c: what reaches a terminal ---- */

/* Writes bytes of unknown origin so that they can neither break a line nor command a terminal: control characters,
 * invalid UTF-8 and text-direction marks as \xNN, all else as it is. */
void cli_print_escaped(FILE *stream, const char *bytes, size_t size_bytes);

/* One line on standard error, "glassbox: ...", escaped. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and where to read on; returns CLI_USAGE. */
int cli_usage_error(enum cli_command command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes out standard output at the end of the program. Returns `status`, or CLI_FAILED, reported, where it was CLI_OK
 * and something could not be written (a full disk, a reader that went away). */
int cli_finish_output(int status);

#endif
