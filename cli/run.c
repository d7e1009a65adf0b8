/* `glassbox run`: a module from its file to its exit status.
 *
 *     options -> file -> WASI -> profile -> engine, module -> imports -> instance -> _start or --invoke's function
 *
 * Each step is a function that reports its own failure and gives the exit status, and `struct run` holds what exists so
 * far, so that there is one way down whatever was reached. The guest's descriptors are ours: nothing it writes is
 * buffered here.
 *
 * The guest's descriptors are opened before the profile's, so that where there are too few it is the profile that goes
 * without. SIGPIPE and SIGXFSZ are ignored while the guest runs: WASI has no signals but has an errno for each, and the
 * profile should be completed when a pager goes away or a file may grow no more. SIGINT and SIGTERM keep their default:
 * what perf reads is readable at every moment.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/cli.h"
#include "cli/count.h"
#include "cli/module_file.h"
#include "cli/trap.h"
#include "cli/values.h"
#include "profile/profile.h"
#include "vm/glassbox.h"
#include "vm/wasi/wasi.h"

struct run {
    /* The command line. */
    const char *invoke; /* NULL: _start */
    struct vec dirs;    /* const char *, HOST[::GUEST] */
    struct vec envs;    /* const char *, NAME[=VALUE] */
    struct vm_config config;
    struct profile_config profile_config; /* .announce is 0 without --perf */
    struct cli_count count;
    char **operands;                      /* the module's file, then the guest's arguments */
    int operand_count;

    /* What it became. */
    struct cli_module_file file;
    struct profile *profile;
    struct wasi *wasi;
    struct vm_engine *engine;
    struct vm_module *module;
    struct vm_store *store;
    struct vm_instance *instance;
};

/* ---- the command line ---- */

/* Bytes, with K, M or G for powers of 1024. */
static bool parse_size(const char *text, size_t *size_bytes)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || text[0] < '0' || text[0] > '9') {
        return false;
    }
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift > 0;
    if (*end != '\0' || value == 0 || value > SIZE_MAX >> shift) {
        return false;
    }
    *size_bytes = (size_t)value << shift;
    return true;
}

static bool push_text(struct vec *vec, const char *text)
{
    const char **slot = vec_push(vec);
    if (!slot) {
        cli_error("out of memory");
        return false;
    }
    *slot = text;
    return true;
}

static int usage(const char *text)
{
    return cli_usage_error(CLI_COMMAND_run, "%s", text);
}

/* Options that are each well said but do not go together. Ignoring one of them would let somebody wait for a profile
 * that never comes. */
static int check_options(const struct run *run, const struct cli_options *options)
{
    bool has_perf = cli_options_seen(options, CLI_OPTION_run_perf);
    bool has_dispatch = cli_options_seen(options, CLI_OPTION_run_dispatch);

    if (has_perf && run->config.dispatch == VM_DISPATCH_SHARED && has_dispatch) {
        return usage(
            "--perf needs --dispatch=region: with --dispatch=shared no function has code of its own to announce");
    }
    /* A map has its place in /tmp, but one directory for whatever --perf= asks for is a fair thing to give. */
    if (cli_options_seen(options, CLI_OPTION_run_perf_dir) && !has_perf) {
        return usage("--perf-dir needs --perf");
    }
    if (cli_options_seen(options, CLI_OPTION_run_lines) &&
        !(run->profile_config.announce & (PROFILE_JITDUMP | PROFILE_ELF))) {
        return usage(has_perf ? "--lines is for jitdump and elf: a map has no lines" : "--lines needs --perf");
    }
    if (!vm_has_regions() && has_perf) {
        return usage("--perf: this build has no code regions (it is a sanitizer's), so there is nothing to announce");
    }
    if (!vm_has_regions() && has_dispatch && run->config.dispatch == VM_DISPATCH_REGION) {
        return usage("--dispatch=region: this build has no code regions (it is a sanitizer's)");
    }
    return CLI_OK;
}

/* profile/ says what was lost and why; the options that may mend it are ours to name. */
static void print_profile_message(void *user, const char *text)
{
    const struct run *run = user;
    bool has_files = run->profile_config.announce & (PROFILE_JITDUMP | PROFILE_ELF);
    cli_error("%s (%sglassbox doctor says more)", text, has_files ? "--perf-dir=DIR writes elsewhere; " : "");
}

/* False: there is nothing to run, and *status is what to exit with. */
static bool parse_options(struct run *run, int argc, char **argv, int *status)
{
    struct cli_options options = cli_options_start(CLI_COMMAND_run, argc, argv);
    *status = CLI_FAILED;
    for (enum cli_option option; (option = cli_options_next(&options)) != CLI_OPTIONS_END;) {
        switch (option) {
        case CLI_OPTIONS_STOP: *status = options.status; return false;
        case CLI_OPTION_run_invoke: run->invoke = options.value; break;
        case CLI_OPTION_run_dir:
            if (!push_text(&run->dirs, options.value)) {
                return false;
            }
            break;
        case CLI_OPTION_run_env:
            if (options.value[0] == '\0' || options.value[0] == '=') {
                *status = cli_usage_error(CLI_COMMAND_run, "--env=%s: no name", options.value);
                return false;
            }
            if (!push_text(&run->envs, options.value)) {
                return false;
            }
            break;
        case CLI_OPTION_run_stack:
            if (!parse_size(options.value, &run->config.stack_bytes)) {
                *status = cli_usage_error(CLI_COMMAND_run, "--max-wasm-stack=%s: not a size", options.value);
                return false;
            }
            break;
        case CLI_OPTION_run_dispatch:
            run->config.dispatch = options.choice == 0 ? VM_DISPATCH_REGION : VM_DISPATCH_SHARED;
            break;
        case CLI_OPTION_run_perf: run->profile_config.announce = options.choice; break;
        case CLI_OPTION_run_perf_dir: run->profile_config.directory = options.value; break;
        case CLI_OPTION_run_lines: run->profile_config.lines = (enum profile_line_source)options.choice; break;
        default:
            if (cli_count_option(&run->count, option, &options, status) && *status != CLI_OK) {
                return false;
            }
            *status = CLI_FAILED;
        }
    }
    run->operands = argv + options.next;
    run->operand_count = argc - options.next;
    *status = run->operand_count > 0 ? check_options(run, &options) : usage("no MODULE is given");
    const char *misplaced = cli_options_misplaced(&options);
    if (*status == CLI_OK && misplaced) {
        *status = cli_usage_error(
            CLI_COMMAND_run, "%s after MODULE would go to the guest: put it before, or -- before MODULE", misplaced);
    }
    *status = *status == CLI_OK ? cli_count_open(&run->count, &options) : *status;
    return *status == CLI_OK;
}

/* The words of --perf and --lines stand in options.def in the order of these constants. */
static_assert(PROFILE_MAP == 1 && PROFILE_JITDUMP == 2 && PROFILE_ELF == 4, "--perf=map|jitdump|elf");
static_assert(PROFILE_LINES_AUTO == 0 && PROFILE_LINES_SOURCE == 1 && PROFILE_LINES_BYTECODE == 2 &&
                  PROFILE_LINES_NONE == 3,
              "--lines=auto|source|bytecode|none");

/* ---- from the file to an instance ---- */

/* A profile that cannot be had costs a message, never the run. */
static void open_profile(struct run *run)
{
    if (run->profile_config.announce == 0) {
        return;
    }
    const char *from_environment = getenv("JITDUMPDIR");
    if (!run->profile_config.directory && from_environment && from_environment[0] != '\0') {
        run->profile_config.directory = from_environment;
    }
    run->profile_config.message = print_profile_message;
    run->profile_config.message_user = run;
    struct err err = {0};
    if (profile_open(&run->profile_config, &run->profile, &err) != 0) {
        cli_error("--perf: %s", err.message);
        return;
    }
    run->config.hooks = profile_hooks(run->profile);
    run->config.hooks_user = run->profile;
}

/* Counting hears of calls, and hands on to the profile what that wants to hear. */
static void observe(struct run *run)
{
    if (run->count.frames) {
        cli_count_calibrate(&run->count, run->config.dispatch);
        run->config.hooks = profile_frames_hooks(run->count.frames, run->config.hooks, run->config.hooks_user);
        run->config.hooks_user = run->count.frames;
    }
}

/* HOST[::GUEST] */
static int add_dir(struct wasi *wasi, const char *text, struct err *err)
{
    const char *separator = strstr(text, "::");
    char *host = separator ? strndup(text, (size_t)(separator - text)) : strdup(text);
    if (!host) {
        return err_set(err, ERR_RESOURCE, 0, "out of memory");
    }
    int failed = wasi_preopen_dir(wasi, host, separator ? separator + 2 : host, err);
    free(host);
    return failed;
}

/* NAME=VALUE, or NAME for what it is here; a variable that is not set here is not set there. */
static int add_env(struct wasi *wasi, const char *text, struct err *err)
{
    if (strchr(text, '=')) {
        return wasi_add_env(wasi, text, err);
    }
    const char *value = getenv(text);
    char *variable = NULL;
    if (!value) {
        return 0;
    }
    if (asprintf(&variable, "%s=%s", text, value) < 0) {
        return err_set(err, ERR_RESOURCE, 0, "out of memory");
    }
    int failed = wasi_add_env(wasi, variable, err);
    free(variable);
    return failed;
}

/* Of several --env with one name the last counts. */
static int add_envs(struct run *run, struct err *err)
{
    const char **envs = run->envs.data;
    for (size_t i = 0; i < run->envs.count; i++) {
        size_t length = strcspn(envs[i], "=");
        bool is_last = true;
        for (size_t j = i + 1; j < run->envs.count; j++) {
            is_last = is_last && !(strcspn(envs[j], "=") == length && memcmp(envs[i], envs[j], length) == 0);
        }
        if (is_last && add_env(run->wasi, envs[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What the guest may see of the world: its arguments, its environment, its directories. */
static int prepare_wasi(struct run *run)
{
    struct err err = {0};
    run->wasi = wasi_create(&err);
    int failed = run->wasi ? wasi_add_arg(run->wasi, run->file.name, &err) : -1;
    for (int i = 1; i < run->operand_count && !run->invoke && failed == 0; i++) {
        failed = wasi_add_arg(run->wasi, run->operands[i], &err);
    }
    failed = failed == 0 ? add_envs(run, &err) : failed;
    for (size_t i = 0; i < run->dirs.count && failed == 0; i++) {
        failed = add_dir(run->wasi, *(const char **)vec_at(&run->dirs, i), &err);
    }
    if (failed != 0) {
        cli_error("%s", err.message);
        return CLI_FAILED;
    }
    return CLI_OK;
}

static int load(struct run *run)
{
    struct err err = {0};
    if (vm_engine_create(&run->config, &run->engine, &err) != 0 ||
        vm_module_create(run->engine, run->file.bytes, run->file.size_bytes, run->file.name, &run->module, &err) != 0) {
        cli_module_file_error(&run->file, &err);
        return CLI_FAILED;
    }
    run->store = vm_store_create(run->engine);
    if (!run->store) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    return CLI_OK;
}

/* Finds a host function for every import. All that are missing are reported, so that they can be mended at once. */
static int link_imports(struct run *run, struct vm_extern *imports, size_t count)
{
    int status = CLI_OK;
    for (size_t i = 0; i < count; i++) {
        struct vm_import_info info = vm_module_import(run->module, i);
        struct err err = {0};
        bool is_wasi = info.type.kind == VM_EXTERN_FUNC && info.module_bytes == strlen(WASI_MODULE) &&
                       memcmp(info.module, WASI_MODULE, info.module_bytes) == 0;
        if (!is_wasi) {
            err_set(&err, ERR_UNLINKABLE, 0, "nothing provides this %s", cli_externkind_name(info.type.kind));
        } else {
            imports[i].kind = VM_EXTERN_FUNC;
            imports[i].func = wasi_func(run->wasi, run->store, info.name, info.name_bytes, &info.type.func, &err);
        }
        if (err.kind != ERR_NONE) {
            cli_error("%s: %s: import \"%.*s\" \"%.*s\": %s", run->file.path, err_kind_name(err.kind),
                      (int)info.module_bytes, info.module, (int)info.name_bytes, info.name, err.message);
            status = CLI_FAILED;
        }
    }
    return status;
}

/* ---- running ---- */

/* The exit status of a guest that ended itself, or that trapped. */
static int end_by_trap(const struct vm_trap *trap)
{
    if (trap->kind == VM_TRAP_EXIT) {
        return trap->exit_status & 0xff; /* what the kernel keeps of a native program's status */
    }
    cli_trap_print(trap);
    return CLI_TRAP;
}

static int instantiate(struct run *run)
{
    size_t count = vm_module_import_count(run->module);
    struct vm_extern *imports = calloc(count + 1, sizeof *imports);
    if (!imports) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    int status = link_imports(run, imports, count);
    if (status == CLI_OK) {
        struct err err = {0};
        struct vm_trap trap = {0};
        int result = vm_instance_create(run->store, run->module, imports, count, &run->instance, &trap, &err);
        if (result < 0) {
            cli_module_file_error(&run->file, &err);
            status = CLI_FAILED;
        } else if (result > 0) {
            status = end_by_trap(&trap);
        }
    }
    free(imports);
    return status;
}

/* The type of the exported function `name`; false: there is none. */
static bool find_export(const struct run *run, const char *name, struct vm_functype *type)
{
    size_t count = vm_module_export_count(run->module);
    for (size_t i = 0; i < count; i++) {
        struct vm_export_info info = vm_module_export(run->module, i);
        if (info.type.kind == VM_EXTERN_FUNC && info.name_bytes == strlen(name) &&
            memcmp(info.name, name, info.name_bytes) == 0) {
            *type = info.type.func;
            return true;
        }
    }
    return false;
}

static int call_export(struct run *run, const char *name, union vm_slot *slots)
{
    struct vm_extern found = {0};
    struct vm_trap trap = {0};
    vm_instance_export(run->instance, name, strlen(name), &found);
    return vm_call(found.func, slots, &trap) ? CLI_OK : end_by_trap(&trap);
}

/* The start section's function is no export: it runs with the instance's creation. */
static bool has_start_section(const struct cli_module_file *file)
{
    struct cli_section section;
    for (uint32_t at = 0; cli_section_next(file, &at, &section);) {
        if (section.id == CLI_SECTION_START) {
            return true;
        }
    }
    return false;
}

/* A command: its _start. A module without one may still do its work in its start function. */
static int run_command(struct run *run)
{
    struct vm_functype type;
    bool is_command = find_export(run, "_start", &type);
    if (is_command && (type.param_count > 0 || type.result_count > 0)) {
        cli_error("%s: its _start takes arguments or has results, which a command's does not", run->file.path);
        return CLI_FAILED;
    }
    if (!is_command && !has_start_section(&run->file)) {
        cli_error("%s: is a library, it has no _start: name a function to call with --invoke", run->file.path);
        return CLI_FAILED;
    }
    int status = instantiate(run);
    union vm_slot none;
    return status == CLI_OK && is_command ? call_export(run, "_start", &none) : status;
}

/* --invoke's arguments, read before the guest is made so that a mistake has no effects. */
static int parse_arguments(const struct run *run, const struct vm_functype *type, union vm_slot *slots)
{
    uint32_t given = (uint32_t)run->operand_count - 1;
    if (given != type->param_count) {
        return cli_usage_error(CLI_COMMAND_run,
                               "--invoke=%s: the function takes %" PRIu32 " arguments, %" PRIu32 " are given",
                               run->invoke, type->param_count, given);
    }
    for (uint32_t i = 0; i < given; i++) {
        if (!cli_value_parse(type->params[i], run->operands[i + 1], &slots[i])) {
            return cli_usage_error(CLI_COMMAND_run, "--invoke=%s: argument %" PRIu32 ", %s, is not of type %s",
                                   run->invoke, i + 1, run->operands[i + 1], cli_valtype_name(type->params[i]));
        }
    }
    return CLI_OK;
}

/* --invoke: a reactor is initialized first, as WASI has it. */
static int run_function(struct run *run)
{
    struct vm_functype type, initialize;
    if (!find_export(run, run->invoke, &type)) {
        return cli_usage_error(CLI_COMMAND_run, "--invoke=%s: %s exports no function of that name", run->invoke,
                               run->file.path);
    }
    uint32_t slot_count = type.param_count > type.result_count ? type.param_count : type.result_count;
    union vm_slot *slots = calloc((size_t)slot_count + 1, sizeof *slots);
    if (!slots) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    int status = parse_arguments(run, &type, slots);
    status = status == CLI_OK ? instantiate(run) : status;
    if (status == CLI_OK && strcmp(run->invoke, "_initialize") != 0 && find_export(run, "_initialize", &initialize) &&
        initialize.param_count == 0 && initialize.result_count == 0) {
        union vm_slot none;
        status = call_export(run, "_initialize", &none);
    }
    status = status == CLI_OK ? call_export(run, run->invoke, slots) : status;
    for (uint32_t i = 0; i < type.result_count && status == CLI_OK; i++) {
        cli_value_print(stdout, type.results[i], slots[i]);
        putchar('\n');
    }
    free(slots);
    return status;
}

static void run_fini(struct run *run)
{
    bool has_run = run->store != NULL;
    if (run->store) {
        vm_store_destroy(run->store);
    }
    wasi_destroy(run->wasi);
    if (run->module) {
        vm_module_destroy(run->module);
    }
    if (run->engine) {
        vm_engine_destroy(run->engine);
    }
    profile_close(run->profile);
    cli_count_close(&run->count, has_run);
    cli_module_file_fini(&run->file);
    vec_fini(&run->dirs);
    vec_fini(&run->envs);
}

int cli_run(int argc, char **argv)
{
    struct run run = {
        .dirs = VEC_INIT(sizeof(const char *)),
        .envs = VEC_INIT(sizeof(const char *)),
        .count = CLI_COUNT_INIT,
        .config.dispatch = vm_has_regions() ? VM_DISPATCH_REGION : VM_DISPATCH_SHARED,
    };
    int status = CLI_OK;
    if (parse_options(&run, argc, argv, &status)) {
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        status = cli_module_file_read(&run.file, run.operands[0]) ? prepare_wasi(&run) : CLI_FAILED;
        if (status == CLI_OK) {
            open_profile(&run);
            observe(&run);
            status = load(&run);
        }
        if (status == CLI_OK) {
            status = run.invoke ? run_function(&run) : run_command(&run);
        }
    }
    run_fini(&run);
    return status;
}
