/* frames_internal: what frames.c (functions, life), frames_thread.c (enter and leave) and the report share. */
#ifndef GLASSBOX_PROFILE_FRAMES_INTERNAL_H
#define GLASSBOX_PROFILE_FRAMES_INTERNAL_H

#include <pthread.h>

#include "counters/counters.h"
#include "profile/frames.h"
#include "profile/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An observed function. Lives as long as the profile. */
struct profile_function {
    char *name;
    char *module;     /* its module's name, escaped; NULL: a host function */
    const char *file; /* its first source line; NULL: not known */
    uint32_t line;
    uint32_t number; /* position in profile_frames.functions */
};

/* The externals that are registered with libcounters, in this order; the second only where ticks are to be trusted. */
enum profile_external { PROFILE_EXTERNAL_INSTRUCTIONS, PROFILE_EXTERNAL_TICKS, PROFILE_EXTERNAL_COUNT };

/* What became of one event, over all threads that have ended. */
struct profile_event_result {
    enum counters_status status; /* the worst of the threads */
    bool is_user_only, is_uncorrected, is_read_by_page;
    double relative_error; /* of counting in turns: the largest */
    uint64_t subtracted;   /* what measuring cost and was taken away, of all threads */
    double overhead;       /* what one measured call costs, calibrated; mean of threads */
    double bucket_scale;   /* buckets are of raw values: this makes them the event's unit */
};

/* What one call costs us, in 1/2^PROFILE_FRACTION_BITS of the raw count; 0 where nobody calibrated. */
#define PROFILE_FRACTION_BITS 8
struct profile_overhead {
    uint64_t inner;   /* of a measured call, between its two readings */
    uint64_t outer;   /* of a measured call, outside of them */
    uint64_t passing; /* of a call that is not measured */
};

/* A guest thread that has ended. */
struct profile_thread_result {
    uint32_t number;          /* from 1, by their beginning */
    uint64_t unfinished;      /* frames that were open at its end */
    struct profile_tree tree; /* settled */
};

struct profile_frames {
    struct profile_frames_config config;
    struct vm_hooks hooks;
    const struct vm_hooks *next;
    void *next_user;
    struct counters_set *set;
    size_t event_count;
    int instructions_event, ticks_event; /* where these externals stand in the list; -1: not there */
    bool has_trusted_ticks;
    bool is_every_automatic; /* config.every is our choice */
    uint64_t begin_ticks, begin_ns;
    struct profile_overhead *overheads;      /* by event */
    struct profile_calibration *calibration; /* NULL: the guest's own turn */

    pthread_mutex_t mutex; /* of all that follows */
    struct vec functions;  /* of struct profile_function * */
    struct vec modules;    /* of struct counted_module, see frames.c */
    struct vec threads;    /* of struct profile_thread_result */
    struct profile_event_result *events;
    uint32_t thread_count; /* begun */
    bool has_explained;
    bool is_off;                   /* a thread could not be begun: no other is */
    bool has_no_memory;            /* and has said so */
    struct profile_report *report; /* count.h; made when first asked for */
};

/* One line to the caller's message function. */
void profile_frames_say(const struct profile_frames *frames, const char *text);
void profile_frames_lack_memory(struct profile_frames *frames, const char *consequence);

/* frames_thread.c: fills in what enters and leaves. */
void profile_frames_thread_hooks(const struct profile_frames *frames, struct vm_hooks *hooks);

/* frames_calibrate.c. Whether the trial that begins is one that lets calls pass; takes what one has counted; sets the
 * overheads and ends calibrating, if there was any. */
bool profile_calibration_passes(const struct profile_frames *frames);
void profile_calibration_note(struct profile_frames *frames, struct profile_tree *tree);
void profile_calibration_end(struct profile_frames *frames);

/* What the CPU's tick counter and CLOCK_MONOTONIC show. False: the counter's rate is not constant. */
bool profile_ticks_trusted(void);
uint64_t profile_ticks(void);
uint64_t profile_clock_ns(void);

#ifdef __cplusplus
}
#endif
#endif
