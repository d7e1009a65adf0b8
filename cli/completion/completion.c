/* Writes the completion script of one shell, from the tables that parse the command line: at build time, so that the
 * installed command carries no code for it and no script is kept in step by hand.
 *
 *     glassbox_completion bash|zsh|fish
 *
 * Texts are written in single quotes, which all three shells take literally, and lose those that they have themselves.
 */
#include <string.h>

#include "cli/cli.h"

/* "region|shared" with another separator. */
static void print_words(const char *words, char separator)
{
    for (; *words; words++) {
        putchar(*words == '|' ? separator : *words);
    }
}

static void print_text(const char *text)
{
    for (; *text; text++) {
        if (*text != '\'') {
            putchar(*text);
        }
    }
}

static bool takes_argument(const struct cli_option_info *option)
{
    return option->kind != CLI_KIND_FLAG;
}

/* ---- bash ---- */

/* bash splits words at `=`, so that --name=value is three of them. */
static const char bash_head[] =
    "# bash completion for glassbox; generated from cli/options.def\n"
    "_glassbox() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=run option=\n"
    "    COMPREPLY=()\n"
    "    if [[ $word == = ]]; then\n"
    "        option=$before word=\n"
    "    elif [[ $before == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    elif [[ $before == --* ]]; then\n"
    "        option=$before\n"
    "    fi\n";

/* The commands' names, each after `before` but the first. */
static void print_commands(const char *before)
{
    for (size_t i = CLI_COMMAND_glassbox + 1; i < CLI_COMMAND_COUNT; i++) {
        printf("%s%s", i > CLI_COMMAND_glassbox + 1 ? before : "", cli_commands[i].name);
    }
}

/* The case that completes an option's argument. */
static void print_bash_argument(const struct cli_option_info *option)
{
    printf("        '%s --%s')", cli_commands[option->command].name, option->name);
    if (option->kind == CLI_KIND_DIRECTORY) {
        fputs(" mapfile -t COMPREPLY < <(compgen -d -- \"$word\");", stdout);
    } else if (option->kind == CLI_KIND_CHOICE || option->kind == CLI_KIND_LIST) {
        bool is_list = option->kind == CLI_KIND_LIST; /* what stands before the last comma is kept */
        printf(" mapfile -t COMPREPLY < <(compgen %s-W '", is_list ? "-P \"${word%\"${word##*,}\"}\" " : "");
        print_words(option->argument, ' ');
        printf("' -- \"%s\");", is_list ? "${word##*,}" : "$word");
    }
    puts(" return ;;");
}

static void print_bash_options(enum cli_command command)
{
    printf("            %s) mapfile -t COMPREPLY < <(compgen -W '", cli_commands[command].name);
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const struct cli_option_info *option = &cli_option_infos[i];
        if (option->command == command) {
            printf("--%s%s ", option->name, takes_argument(option) ? "=" : "");
        }
    }
    puts("' -- \"$word\") ;;");
}

static void print_bash(void)
{
    fputs(bash_head, stdout);
    fputs("    case ${COMP_WORDS[1]} in\n        ", stdout);
    print_commands("|");
    fputs(") ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]} ;;\n    esac\n    case \"$command $option\" in\n", stdout);
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        if (takes_argument(&cli_option_infos[i])) {
            print_bash_argument(&cli_option_infos[i]);
        }
    }
    fputs("    esac\n    if [[ $word == -* ]]; then\n        case $command in\n", stdout);
    for (enum cli_command i = CLI_COMMAND_glassbox + 1; i < CLI_COMMAND_COUNT; i++) {
        print_bash_options(i);
    }
    fputs(
        "        esac\n        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n        return\n    fi\n"
        "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\"\n"
        "        ((COMP_CWORD == 1)) && compgen -W '",
        stdout);
    print_commands(" ");
    fputs("' -- \"$word\")\n}\ncomplete -o filenames -F _glassbox glassbox\n", stdout);
}

/* ---- zsh ---- */

static void print_zsh_option(const struct cli_option_info *option)
{
    printf("            '%s--%s%s[", option->times == CLI_TIMES_MANY ? "*" : "", option->name,
           takes_argument(option) ? "=" : "");
    print_text(option->help);
    putchar(']');
    if (option->kind == CLI_KIND_DIRECTORY) {
        fputs(":directory:_directories", stdout);
    } else if (option->kind == CLI_KIND_CHOICE) {
        fputs(":word:(", stdout);
        print_words(option->argument, ' ');
        putchar(')');
    } else if (option->kind == CLI_KIND_LIST) {
        fputs(":words:_sequence compadd - ", stdout);
        print_words(option->argument, ' ');
    } else if (option->kind == CLI_KIND_TEXT) {
        fputs(":text: ", stdout);
    }
    puts("' \\");
}

static void print_zsh(void)
{
    fputs("#compdef glassbox\n# generated from cli/options.def\n_glassbox() {\n    local command=run\n"
          "    if ((CURRENT == 2)); then\n        _alternative 'commands:command:(",
          stdout);
    print_commands(" ");
    fputs(")' 'files:module:_files'\n        return\n    fi\n    case $words[2] in\n        ", stdout);
    print_commands("|");
    fputs(") command=$words[2]; shift words; ((CURRENT--)) ;;\n    esac\n    case $command in\n", stdout);
    for (enum cli_command command = CLI_COMMAND_glassbox + 1; command < CLI_COMMAND_COUNT; command++) {
        printf("        %s) _arguments \\\n", cli_commands[command].name);
        for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
            if (cli_option_infos[i].command == command) {
                print_zsh_option(&cli_option_infos[i]);
            }
        }
        puts("            '*:file:_files' ;;");
    }
    fputs("    esac\n}\n_glassbox \"$@\"\n", stdout);
}

/* ---- fish ---- */

static void print_fish(void)
{
    fputs("# fish completion for glassbox; generated from cli/options.def\n", stdout);
    for (size_t i = CLI_COMMAND_glassbox + 1; i < CLI_COMMAND_COUNT; i++) {
        printf("complete -c glassbox -n __fish_use_subcommand -a %s -d '", cli_commands[i].name);
        print_text(cli_commands[i].summary);
        puts("'");
    }
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const struct cli_option_info *option = &cli_option_infos[i];
        bool is_top = option->command == CLI_COMMAND_glassbox;
        printf("complete -c glassbox -n '%s%s' -l %s",
               is_top ? "__fish_use_subcommand" : "__fish_seen_subcommand_from ",
               is_top ? "" : cli_commands[option->command].name, option->name);
        if (option->kind == CLI_KIND_DIRECTORY) {
            fputs(" -x -a '(__fish_complete_directories)'", stdout);
        } else if (option->kind == CLI_KIND_CHOICE || option->kind == CLI_KIND_LIST) {
            fputs(" -x -a '", stdout);
            print_words(option->argument, ' ');
            putchar('\'');
        } else if (option->kind == CLI_KIND_TEXT) {
            fputs(" -x", stdout);
        }
        fputs(" -d '", stdout);
        print_text(option->help);
        puts("'");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; argc == 2 && i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(argv[1], shells[i].name) == 0) {
            shells[i].print();
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    fputs("usage: glassbox_completion bash|zsh|fish\n", stderr);
    return 2;
}
