/* --count on the command line: its options, and the report at the end.
 *
 * A list of events that nobody knows is the command line's fault and is refused before the guest is touched. Whatever
 * goes wrong later, an event that cannot be counted here, a file that cannot be written, costs a message and leaves
 * the guest and its exit status alone. */
#include "cli/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number of 1 or more. */
static bool parse_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0) {
        return false;
    }
    *number = value;
    return true;
}

static int add_output(struct cli_count *count, const char *path)
{
    bool wants_lines = false;
    if (!profile_frames_format(path, &wants_lines)) {
        return cli_usage_error(CLI_COMMAND_run, "--count-output=%s: the name must end in one of %s", path,
                               profile_frames_formats());
    }
    const char **slot = vec_push(&count->outputs);
    if (!slot) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    *slot = path;
    count->config.wants_lines |= wants_lines;
    return CLI_OK;
}

static int bad_number(const char *option, const char *text)
{
    return cli_usage_error(CLI_COMMAND_run, "--%s=%s: not a number of 1 or more", option, text);
}

bool cli_count_option(struct cli_count *count, enum cli_option option, const struct cli_options *options, int *status)
{
    uint64_t number = 0;
    *status = CLI_OK;
    switch (option) {
    case CLI_OPTION_run_count: count->config.events = options->value; return true;
    case CLI_OPTION_run_count_functions: count->config.functions = options->value; return true;
    case CLI_OPTION_run_count_weight: count->weight_name = options->value; return true;
    case CLI_OPTION_run_count_threads: count->by_thread = true; return true;
    case CLI_OPTION_run_count_output: *status = add_output(count, options->value); return true;
    case CLI_OPTION_run_count_every:
        if (!parse_number(options->value, &count->config.every) || count->config.every > UINT32_MAX) {
            *status = bad_number("count-every", options->value);
        }
        return true;
    case CLI_OPTION_run_count_limit:
        if (!parse_number(options->value, &number) || number > PROFILE_FRAMES_LIMIT_MAX) {
            *status = bad_number("count-limit", options->value);
        }
        count->config.limit = (size_t)number;
        return true;
    default: return false;
    }
}

static void print_message(void *user, const char *text)
{
    cli_error("--count: %s", text);
}

/* The first option of ours that was given, without its dashes; NULL: none. */
static const char *find_given(const struct cli_options *options)
{
    for (enum cli_option option = CLI_OPTION_run_count + 1; option <= CLI_OPTION_run_count_threads; option++) {
        if (cli_options_seen(options, option)) {
            return cli_option_infos[option].name;
        }
    }
    return NULL;
}

int cli_count_open(struct cli_count *count, const struct cli_options *options)
{
    const char *given = find_given(options);
    if (!count->config.events) {
        return given ? cli_usage_error(CLI_COMMAND_run, "--%s needs --count", given) : CLI_OK;
    }
    struct err err = {0};
    count->config.message = print_message;
    int status = profile_frames_open(&count->config, &count->frames, &err);
    if (status == -EINVAL) {
        return cli_usage_error(CLI_COMMAND_run, "--count=%s: %s", count->config.events, err.message);
    }
    if (status != 0) {
        cli_error("--count: %s", err.message);
        return CLI_OK;
    }
    int weight = count->weight_name ? profile_frames_event(count->frames, count->weight_name) : 0;
    if (weight < 0) {
        return cli_usage_error(CLI_COMMAND_run, "--count-weight=%s: not an event of --count=%s", count->weight_name,
                               count->config.events);
    }
    count->weight = (size_t)weight;
    return CLI_OK;
}

/* One trial, in a store of its own. */
static bool run_trial(struct vm_engine *engine, struct vm_module *module)
{
    struct vm_store *store = vm_store_create(engine);
    struct vm_instance *instance = NULL;
    struct vm_trap trap = {0};
    struct vm_extern run = {0};
    union vm_slot none;
    bool has_run = store && vm_instance_create(store, module, NULL, 0, &instance, &trap, NULL) == 0 &&
                   vm_instance_export(instance, "run", strlen("run"), &run) && vm_call(run.func, &none, &trap);
    if (store) {
        vm_store_destroy(store);
    }
    return has_run;
}

void cli_count_calibrate(struct cli_count *count, enum vm_dispatch dispatch)
{
    const void *bytes = NULL;
    size_t size_bytes = 0;
    struct vm_config config = {
        .dispatch = dispatch,
        .hooks = profile_frames_calibration(count->frames, &bytes, &size_bytes),
        .hooks_user = count->frames,
    };
    struct vm_engine *engine = NULL;
    struct vm_module *module = NULL;
    bool is_going = config.hooks && vm_engine_create(&config, &engine, NULL) == 0 &&
                    vm_module_create(engine, bytes, size_bytes, NULL, &module, NULL) == 0;
    for (int i = 0; i < PROFILE_FRAMES_TRIALS && is_going; i++) {
        is_going = run_trial(engine, module);
    }
    if (module) {
        vm_module_destroy(module);
    }
    if (engine) {
        vm_engine_destroy(engine);
    }
    if (!is_going) {
        cli_error("--count: out of memory: what measuring costs is not known, and not subtracted");
    }
}

void cli_count_close(struct cli_count *count, bool has_run)
{
    if (count->frames && has_run) {
        profile_frames_print(count->frames, stderr, count->by_thread);
        for (size_t i = 0; i < count->outputs.count; i++) {
            struct err err = {0};
            if (profile_frames_write(count->frames, *(const char **)vec_at(&count->outputs, i), count->weight, &err)) {
                cli_error("--count-output: %s", err.message);
            }
        }
    }
    profile_frames_close(count->frames);
    vec_fini(&count->outputs);
}
