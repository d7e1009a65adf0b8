/* frames: which functions are counted, what they are called, and who else hears of published code.
 *
 *     observe_function ─ name (names.c) ─ pattern ─ struct profile_function ─┐
 *     thread_begin, enter, leave, thread_end ─ frames_thread.c ─ a tree a thread ┴ count_report.c ─ count_*.c
 *
 * A function's name and line are looked up when it is first asked for, since its module is gone when the report is
 * made, and only for functions that are translated at all.
 *
 * Host functions are made anew for each store; those of one name are one function here, so that threads add up.
 *
 * Only one profiler can lay code into functions, but any number may hear of published code: hooks of others are passed
 * on, so that a run can be counted and announced to perf at once. A list of observers inside the VM was rejected: it
 * would cost every user of the hooks a loop, for one combination.
 */
#include "profile/frames.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "profile/count.h"
#include "profile/frames_internal.h"

struct counted_module {
    const struct vm_module *key; /* NULL: it is gone */
    struct profile_names *names;
    struct profile_lines *lines; /* functions point into it; NULL: none, or not wanted */
    char *name;
};

static const struct counters_external externals[PROFILE_EXTERNAL_COUNT] = {
    [PROFILE_EXTERNAL_INSTRUCTIONS] = {"wasm-instructions", "instructions"},
    [PROFILE_EXTERNAL_TICKS] = {"wall-clock", "ns"},
};

void profile_frames_say(const struct profile_frames *frames, const char *text)
{
    if (frames->config.message)
        frames->config.message(frames->config.message_user, text);
}

void profile_frames_lack_memory(struct profile_frames *frames, const char *consequence)
{
    char text[128];
    snprintf(text, sizeof text, "out of memory: %s", consequence);
    if (!frames->has_no_memory)
        profile_frames_say(frames, text);
    frames->has_no_memory = true;
}

/* ---- functions ---- */

static struct counted_module *find_module(struct profile_frames *frames, const struct vm_module *key)
{
    for (size_t i = frames->modules.count; i-- > 0;) {
        struct counted_module *module = vec_at(&frames->modules, i);
        if (module->key == key)
            return module;
    }
    struct counted_module *module = vec_push(&frames->modules);
    if (!module)
        return NULL;
    char name[PROFILE_NAME_BYTES + 1];
    profile_name_escape(vm_module_name(key), strlen(vm_module_name(key)), name);
    *module = (struct counted_module){.key = key, .names = profile_names_create(key), .name = strdup(name)};
    struct err err = {0};
    int status = frames->config.wants_lines ? profile_lines_create(key, &module->lines, &err) : 0;
    if (status != 0 && status != -ENOENT) {
        char text[512];
        snprintf(text, sizeof text, "no source lines for %.128s: %s", name,
                 status == -ENOMEM ? "out of memory" : err.message);
        profile_frames_say(frames, text);
    }
    return module;
}

/* The first instruction that has a line. */
static void find_line(const struct counted_module *module, struct profile_function *function, uint32_t funcidx)
{
    uint32_t begin, end;
    if (!module->lines || !vm_module_func_range(module->key, funcidx, &begin, &end))
        return;
    while (begin < end && !profile_lines_find(module->lines, begin, &function->file, &function->line))
        begin++;
}

static struct profile_function *add_function(struct profile_frames *frames, const char *name)
{
    struct profile_function *function = calloc(1, sizeof *function);
    char *copy = strdup(name);
    struct profile_function **slot = function && copy ? vec_push(&frames->functions) : NULL;
    if (!slot) {
        free(function);
        free(copy);
        return NULL;
    }
    function->name = copy;
    function->number = (uint32_t)frames->functions.count - 1;
    *slot = function;
    return function;
}

static struct profile_function *find_host_function(struct profile_frames *frames, const char *name)
{
    for (size_t i = 0; i < frames->functions.count; i++) {
        struct profile_function *function = *(struct profile_function **)vec_at(&frames->functions, i);
        if (!function->module && strcmp(function->name, name) == 0)
            return function;
    }
    return add_function(frames, name);
}

static bool is_wanted(const struct profile_frames *frames, const char *name)
{
    return !frames->config.functions || fnmatch(frames->config.functions, name, 0) == 0;
}

static struct profile_function *make_function(struct profile_frames *frames, const struct vm_module *key,
                                              uint32_t funcidx, const char *host_name)
{
    char name[PROFILE_NAME_BYTES + 1];
    if (!key) {
        profile_name_escape(host_name, strlen(host_name), name);
        return is_wanted(frames, name) ? find_host_function(frames, name) : NULL;
    }
    struct counted_module *module = find_module(frames, key);
    if (!module || !module->names || !module->name) {
        profile_frames_lack_memory(frames, "some functions are not counted");
        return NULL;
    }
    profile_names_get(module->names, funcidx, name);
    if (!is_wanted(frames, name))
        return NULL;
    struct profile_function *function = add_function(frames, name);
    if (!function) {
        profile_frames_lack_memory(frames, "some functions are not counted");
        return NULL;
    }
    function->module = module->name;
    find_line(module, function, funcidx);
    return function;
}

static void *observe_function(void *user, const struct vm_module *module, uint32_t funcidx, const char *host_name)
{
    struct profile_frames *frames = user;
    pthread_mutex_lock(&frames->mutex);
    struct profile_function *function = make_function(frames, module, funcidx, host_name);
    pthread_mutex_unlock(&frames->mutex);
    return function;
}

/* ---- what is passed on ---- */

static bool code_memory_create(void *user, size_t size_bytes, struct vm_code_memory *memory)
{
    struct profile_frames *frames = user;
    return frames->next->code_memory_create(frames->next_user, size_bytes, memory);
}

static void code_memory_destroy(void *user, struct vm_code_memory *memory)
{
    struct profile_frames *frames = user;
    frames->next->code_memory_destroy(frames->next_user, memory);
}

static void code_published(void *user, const struct vm_code *code)
{
    struct profile_frames *frames = user;
    frames->next->code_published(frames->next_user, code);
}

static void module_destroyed(void *user, const struct vm_module *key)
{
    struct profile_frames *frames = user;
    pthread_mutex_lock(&frames->mutex);
    for (size_t i = 0; i < frames->modules.count; i++) {
        struct counted_module *module = vec_at(&frames->modules, i);
        if (module->key != key)
            continue;
        profile_names_destroy(module->names);
        module->names = NULL;
        module->key = NULL;
    }
    pthread_mutex_unlock(&frames->mutex);
    if (frames->next && frames->next->module_destroyed)
        frames->next->module_destroyed(frames->next_user, key);
}

const struct vm_hooks *profile_frames_hooks(struct profile_frames *frames, const struct vm_hooks *next, void *next_user)
{
    profile_calibration_end(frames);
    frames->next = next;
    frames->next_user = next_user;
    frames->hooks = (struct vm_hooks){
        .observe_function = observe_function,
        .module_destroyed = module_destroyed,
        .counts_instructions = frames->instructions_event >= 0,
    };
    profile_frames_thread_hooks(frames, &frames->hooks);
    if (next) {
        frames->hooks.code_memory_create = next->code_memory_create ? code_memory_create : NULL;
        frames->hooks.code_memory_destroy = next->code_memory_destroy ? code_memory_destroy : NULL;
        frames->hooks.code_published = next->code_published ? code_published : NULL;
    }
    return &frames->hooks;
}

/* ---- life ---- */

int profile_frames_event(const struct profile_frames *frames, const char *name)
{
    for (size_t e = 0; e < frames->event_count; e++)
        if (strcmp(counters_set_event(frames->set, e).name, name) == 0)
            return (int)e;
    return -1;
}

static int open_set(struct profile_frames *frames, struct err *err)
{
    struct counters_error error = {0};
    frames->has_trusted_ticks = profile_ticks_trusted();
    size_t external_count = frames->has_trusted_ticks ? PROFILE_EXTERNAL_COUNT : PROFILE_EXTERNAL_TICKS;
    int status = counters_set_create(frames->config.events, externals, external_count, &frames->set, &error);
    if (status != 0) {
        err_set(err, status == -EINVAL ? ERR_INVALID : ERR_RESOURCE, 0, "%.200s", error.message);
        return status;
    }
    frames->event_count = counters_set_count(frames->set);
    frames->instructions_event = profile_frames_event(frames, externals[PROFILE_EXTERNAL_INSTRUCTIONS].name);
    frames->ticks_event =
        frames->has_trusted_ticks ? profile_frames_event(frames, externals[PROFILE_EXTERNAL_TICKS].name) : -1;
    bool is_clock_alone =
        frames->event_count == 1 && profile_frames_event(frames, externals[PROFILE_EXTERNAL_TICKS].name) == 0;
    frames->is_every_automatic = frames->config.every == 0 && is_clock_alone;
    if (frames->config.every == 0)
        frames->config.every = is_clock_alone ? PROFILE_FRAMES_EVERY_CLOCK : 1;
    frames->begin_ticks = profile_ticks();
    frames->begin_ns = profile_clock_ns();
    frames->events = calloc(frames->event_count, sizeof *frames->events);
    frames->overheads = calloc(frames->event_count, sizeof *frames->overheads);
    if (frames->events && frames->overheads)
        return 0;
    err_set(err, ERR_RESOURCE, 0, "out of memory");
    return -ENOMEM;
}

int profile_frames_open(const struct profile_frames_config *config, struct profile_frames **result, struct err *err)
{
    *result = NULL;
    struct profile_frames *frames = calloc(1, sizeof *frames);
    if (!frames) {
        err_set(err, ERR_RESOURCE, 0, "out of memory");
        return -ENOMEM;
    }
    frames->config = *config;
    frames->config.limit = config->limit ? config->limit : PROFILE_FRAMES_LIMIT;
    pthread_mutex_init(&frames->mutex, NULL);
    frames->functions = VEC_INIT(sizeof(struct profile_function *));
    frames->modules = VEC_INIT(sizeof(struct counted_module));
    frames->threads = VEC_INIT(sizeof(struct profile_thread_result));
    int status = open_set(frames, err);
    if (status != 0) {
        profile_frames_close(frames);
        return status;
    }
    *result = frames;
    return 0;
}

void profile_frames_close(struct profile_frames *frames)
{
    if (!frames)
        return;
    profile_calibration_end(frames);
    profile_report_destroy(frames->report);
    for (size_t i = 0; i < frames->threads.count; i++)
        profile_tree_fini(&((struct profile_thread_result *)vec_at(&frames->threads, i))->tree);
    for (size_t i = 0; i < frames->modules.count; i++) {
        struct counted_module *module = vec_at(&frames->modules, i);
        profile_names_destroy(module->names);
        profile_lines_destroy(module->lines);
        free(module->name);
    }
    for (size_t i = 0; i < frames->functions.count; i++) {
        struct profile_function *function = *(struct profile_function **)vec_at(&frames->functions, i);
        free(function->name);
        free(function);
    }
    vec_fini(&frames->threads);
    vec_fini(&frames->modules);
    vec_fini(&frames->functions);
    free(frames->events);
    free(frames->overheads);
    counters_set_destroy(frames->set);
    pthread_mutex_destroy(&frames->mutex);
    free(frames);
}
