/* `glassbox doctor`: which flag, package or permission is missing for perf to see a guest.
 *
 * One function a check (doctor.def lists them), three files by what they look at: doctor_events.c the kernel's perf
 * events, doctor_files.c memory, files and mounts, doctor_perf.c the perf tool. This one prints. Every line names what
 * was found and, where something is amiss, the exact command that mends it. kernel.kptr_restrict is not looked at:
 * guest code is user space, and no kernel symbol is needed for it.
 */
#include "cli/doctor.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    void (*run)(struct doctor_context *context, struct doctor_result *result);
} checks[] = {
#define CHECK(ident, name) {name, doctor_check_##ident},
#include "cli/doctor.def"
};
#define CHECK_COUNT (sizeof checks / sizeof *checks)

void doctor_say(struct doctor_result *result, enum doctor_status status, const char *format, ...)
{
    result->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->detail, sizeof result->detail, format, arguments);
    va_end(arguments);
}

void doctor_fix(struct doctor_result *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->fix, sizeof result->fix, format, arguments);
    va_end(arguments);
}

bool doctor_read_number(const char *path, long *value)
{
    FILE *stream = fopen(path, "re");
    bool is_read = stream && fscanf(stream, "%ld", value) == 1;
    if (stream) {
        fclose(stream);
    }
    return is_read;
}

static const char *const status_words[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL"};

/* Colour only where somebody looks at it and has not asked to be spared (no-color.org). */
static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

static void print_text(const struct doctor_result *results)
{
    static const char *const colours[] = {
        [DOCTOR_OK] = "\033[32m", [DOCTOR_WARN] = "\033[33m", [DOCTOR_FAIL] = "\033[31m"};
    bool is_coloured = wants_colour();
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        const struct doctor_result *result = &results[i];
        printf("%s%-4s%s  %-14s  ", is_coloured ? colours[result->status] : "", status_words[result->status],
               is_coloured ? "\033[0m" : "", checks[i].name);
        cli_print_escaped(stdout, result->detail, strlen(result->detail));
        if (result->fix[0]) {
            printf("\n%22smend: ", "");
            cli_print_escaped(stdout, result->fix, strlen(result->fix));
        }
        putchar('\n');
    }
}

/* A JSON string of the escaped text, so that a path of any bytes is valid UTF-8; null for an empty one. */
static json_t *escaped_json(const char *text)
{
    char *escaped = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&escaped, &size_bytes);
    if (!stream) {
        return NULL;
    }
    cli_print_escaped(stream, text, strlen(text));
    fclose(stream);
    json_t *json = size_bytes == 0 ? json_null() : json_stringn(escaped, size_bytes);
    free(escaped);
    return json;
}

static bool print_json(const struct doctor_result *results, bool works)
{
    static const char *const words[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"};
    json_t *list = json_array();
    bool is_complete = list != NULL;
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        json_t *check = json_pack("{s:s, s:s, s:o, s:o}", "name", checks[i].name, "status", words[results[i].status],
                                  "detail", escaped_json(results[i].detail), "mend", escaped_json(results[i].fix));
        is_complete = json_array_append_new(list, check) == 0 && is_complete;
    }
    json_t *report = json_pack("{s:s, s:b, s:o}", "glassbox", GLASSBOX_VERSION, "works", works, "checks", list);
    is_complete = is_complete && report && json_dumpf(report, stdout, JSON_INDENT(2)) == 0;
    putchar('\n');
    json_decref(report);
    return is_complete;
}

int cli_doctor(int argc, char **argv)
{
    const char *from_environment = getenv("JITDUMPDIR");
    struct doctor_context context = {.dump_dir = from_environment && from_environment[0] ? from_environment : "."};
    struct cli_options options = cli_options_start(CLI_COMMAND_doctor, argc, argv);
    for (enum cli_option option; (option = cli_options_next(&options)) != CLI_OPTIONS_END;) {
        if (option == CLI_OPTIONS_STOP) {
            return options.status;
        }
        if (option == CLI_OPTION_doctor_perf_dir) {
            context.dump_dir = options.value;
        }
    }
    if (options.next < argc) {
        return cli_usage_error(CLI_COMMAND_doctor, "%s: doctor takes no operands", argv[options.next]);
    }

    struct doctor_result results[CHECK_COUNT] = {0};
    bool works = true;
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        checks[i].run(&context, &results[i]);
        works = works && results[i].status != DOCTOR_FAIL;
    }
    if (!cli_options_seen(&options, CLI_OPTION_doctor_json)) {
        print_text(results);
    } else if (!print_json(results, works)) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    return works ? CLI_OK : CLI_FAILED;
}
