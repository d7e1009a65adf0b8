/* One table says what options there are; this file walks a command line by it. getopt_long was rejected: it accepts
 * abbreviations (an option added later then changes what an old script means), it cannot say that an option was given
 * twice, and its table would be a second list beside the help's.
 *
 * Both `--name=value` and `--name value` are understood. The first argument that is no option ends them, and so does
 * `--`: what follows belongs to the guest. After `--` it is never looked at; without, `--perf=map` among it is refused,
 * since a guest that runs unseen because a flag stood one word too late is a bug that others have had reported. */
#include "cli/cli.h"

#include <assert.h>
#include <string.h>

static_assert(CLI_OPTION_COUNT <= 64, "cli_options.seen is one word");

struct cli_options cli_options_start(enum cli_command command, int argc, char **argv)
{
    return (struct cli_options){.command = command, .argc = argc, .argv = argv, .next = 1};
}

bool cli_options_seen(const struct cli_options *options, enum cli_option option)
{
    return options->seen >> option & 1;
}

static enum cli_option stop(struct cli_options *options, int status)
{
    options->status = status;
    return CLI_OPTIONS_STOP;
}

/* The index of the word [word, word + size) among `words`, which bars separate, or -1. */
static int word_index(const char *words, const char *word, size_t size)
{
    for (int index = 0;; index++) {
        size_t length = strcspn(words, "|");
        if (length == size && memcmp(words, word, size) == 0) {
            return index;
        }
        if (words[length] == '\0') {
            return -1;
        }
        words += length + 1;
    }
}

/* Fills options->choice from options->value; false where it has a word that the option does not know. */
static bool read_choice(struct cli_options *options, const struct cli_option_info *option)
{
    options->choice = 0;
    const char *at = options->value;
    while (option->kind == CLI_KIND_LIST) {
        size_t length = strcspn(at, ",");
        int index = word_index(option->argument, at, length);
        if (index < 0) {
            return false;
        }
        options->choice |= 1u << index;
        if (at[length] == '\0') {
            return true;
        }
        at += length + 1;
    }
    int index = word_index(option->argument, at, strlen(at));
    options->choice = (unsigned)index;
    return index >= 0;
}

/* The option that `text`, without its dashes, names; its length goes to *length. */
static const struct cli_option_info *find(enum cli_command command, const char *text, size_t *length)
{
    *length = strcspn(text, "=");
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const struct cli_option_info *option = &cli_option_infos[i];
        if (option->command == command && strlen(option->name) == *length && memcmp(option->name, text, *length) == 0) {
            return option;
        }
    }
    return NULL;
}

enum cli_option cli_options_next(struct cli_options *options)
{
    const char *text = options->next < options->argc ? options->argv[options->next] : "";
    if (text[0] != '-' || text[1] == '\0') {
        return CLI_OPTIONS_END;
    }
    options->next++;
    if (strcmp(text, "--") == 0) {
        options->is_closed = true;
        return CLI_OPTIONS_END;
    }
    size_t length = 0;
    const struct cli_option_info *option =
        strncmp(text, "--", 2) == 0 ? find(options->command, text + 2, &length) : NULL;
    if (!option) {
        return stop(options, cli_usage_error(options->command, "unknown option %s", text));
    }
    enum cli_option id = (enum cli_option)(option - cli_option_infos);
    if (option->times == CLI_TIMES_ONCE && cli_options_seen(options, id)) {
        return stop(options, cli_usage_error(options->command, "--%s is given twice", option->name));
    }
    options->seen |= UINT64_C(1) << id;

    bool has_value = text[2 + length] == '=';
    options->value = has_value ? text + 2 + length + 1 : NULL;
    if (option->kind == CLI_KIND_FLAG && has_value) {
        return stop(options, cli_usage_error(options->command, "--%s takes no argument", option->name));
    }
    if (option->kind != CLI_KIND_FLAG && !has_value) {
        if (options->next >= options->argc) {
            return stop(options, cli_usage_error(options->command, "--%s needs an argument, %s", option->name,
                                                 option->argument));
        }
        options->value = options->argv[options->next++];
    }
    if ((option->kind == CLI_KIND_CHOICE || option->kind == CLI_KIND_LIST) && !read_choice(options, option)) {
        return stop(options, cli_usage_error(options->command, "--%s=%s: not among %s", option->name, options->value,
                                             option->argument));
    }
    if (strcmp(option->name, "help") == 0) {
        cli_help_print(options->command, stdout);
        return stop(options, CLI_OK);
    }
    return id;
}

const char *cli_options_misplaced(const struct cli_options *options)
{
    for (int i = options->next; i < options->argc && !options->is_closed; i++) {
        const char *text = options->argv[i];
        size_t length = 0;
        const struct cli_option_info *option =
            strncmp(text, "--", 2) == 0 ? find(options->command, text + 2, &length) : NULL;
        if (!option || (option->kind != CLI_KIND_CHOICE && option->kind != CLI_KIND_LIST) || text[2 + length] != '=') {
            continue;
        }
        struct cli_options value = {.value = text + 2 + length + 1};
        if (read_choice(&value, option)) {
            return text;
        }
    }
    return NULL;
}
