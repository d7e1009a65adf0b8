/* frames: counters charged to every guest frame (`glassbox run --count`).
 *
 *     struct profile_frames_config config = {.events = "wasm-instructions,cycles:u", .message = print_line};
 *     struct profile_frames *frames;
 *     if (profile_frames_open(&config, &frames, &err) == 0) {
 *         struct vm_config vm = {.hooks = profile_frames_hooks(frames, NULL, NULL), .hooks_user = frames};
 *         ... engine, run, destroy stores and engine ...
 *         profile_frames_write(frames, "out.json", 0, &err);
 *         profile_frames_close(frames);
 *     }
 *
 * At each enter and leave of an observed function the counters are read and the difference goes to the calling context
 * that ran: docs/counting.md says what is charged to whom. Events are libcounters' (counters/counters.h) and
 * `wasm-instructions`, which every machine has.
 *
 * Threads. The hooks may be called by any number of guest threads at once, as vm/hooks.h allows. All else is for one
 * thread, when no store is left. */
#ifndef GLASSBOX_PROFILE_FRAMES_H
#define GLASSBOX_PROFILE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"
#include "vm/hooks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct profile_frames;

/* How many calling contexts are kept apart, in each thread and in the report, where the caller does not say. */
#define PROFILE_FRAMES_LIMIT 65536
#define PROFILE_FRAMES_LIMIT_MAX 100000000

#define PROFILE_FRAMES_EVERY_CLOCK 32

struct profile_frames_config {
    const char *events;    /* a list, as counters_set_create takes it */
    const char *functions; /* fnmatch(3) pattern of the names to observe; NULL: all. Borrowed */
    uint64_t every;        /* measure one call in so many, once a context is warm; 1: each; 0: each, or of wall-clock
                            * alone, which would else cost more than it counts, one in PROFILE_FRAMES_EVERY_CLOCK */
    size_t limit;          /* of contexts; 0: PROFILE_FRAMES_LIMIT; at most PROFILE_FRAMES_LIMIT_MAX */
    bool wants_lines;      /* read the modules' DWARF, for formats that name source lines */
    profile_message_fn message; /* NULL: silent. Called from any thread, at most once for each distinct failure */
    void *message_user;
};

/* 0; -EINVAL with `err` where the list of events is wrong; -ENOMEM. An event that cannot be counted here is no failure:
 * it costs a message when the first guest thread begins. */
int profile_frames_open(const struct profile_frames_config *config, struct profile_frames **frames, struct err *err)
    __attribute__((warn_unused_result));

/* What measuring costs is found out with a small guest, run before the real one (none has to be: nothing is subtracted
 * then). Make an engine like the guest's with these hooks and `frames` as their user, and PROFILE_FRAMES_TRIALS times a
 * store and an instance of the module, which has no imports; call its export "run", without arguments; destroy all of
 * it. NULL: no memory. The hooks are good until profile_frames_hooks, the module's bytes for ever. */
#define PROFILE_FRAMES_TRIALS 18
const struct vm_hooks *profile_frames_calibration(struct profile_frames *frames, const void **module,
                                                  size_t *size_bytes);

/* For vm_config.hooks, with `frames` as vm_config.hooks_user. `next` (may be NULL) is another profiler that wants to
 * know of published code: it gets those hooks, with `next_user`, and must outlive the engine. Enter and leave are ours.
 */
const struct vm_hooks *profile_frames_hooks(struct profile_frames *frames, const struct vm_hooks *next,
                                            void *next_user);

/* The number of the event called so in the list, or -1. */
int profile_frames_event(const struct profile_frames *frames, const char *name);

/* Whether a file of this name would have a known format, by its suffix; *wants_lines: one with source lines. */
bool profile_frames_format(const char *path, bool *wants_lines);
/* ".json, .csv, ...": for messages. */
const char *profile_frames_formats(void);

/* Writes the report as the suffix says (docs/formats/count-*.md). The file appears whole, under a temporary name first,
 * or not at all. `weight`: the event that folded stacks are weighted by. 0, or a negative errno with `err`. */
int profile_frames_write(struct profile_frames *frames, const char *path, size_t weight, struct err *err)
    __attribute__((warn_unused_result));

/* Prints the table: functions by their own cost, and what measuring cost; where asked for, also for each thread. */
void profile_frames_print(struct profile_frames *frames, FILE *stream, bool by_thread);

/* NULL is allowed. */
void profile_frames_close(struct profile_frames *frames);

#ifdef __cplusplus
}
#endif
#endif
