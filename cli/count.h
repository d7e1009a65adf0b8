/* count: --count and the options that go with it, for `glassbox run`. */
#ifndef GLASSBOX_CLI_COUNT_H
#define GLASSBOX_CLI_COUNT_H

#include "base/vec.h"
#include "cli/cli.h"
#include "profile/frames.h"
#include "vm/glassbox.h"

struct cli_count {
    struct profile_frames_config config; /* .events is NULL without --count */
    const char *weight_name;             /* of an event; NULL: the first */
    size_t weight;
    struct vec outputs; /* const char *, files */
    bool by_thread;
    struct profile_frames *frames; /* NULL without --count, and where it cannot be had */
};

#define CLI_COUNT_INIT ((struct cli_count){.outputs = VEC_INIT(sizeof(const char *))})

/* Takes an option that is its own; *status is CLI_OK unless it was refused. False: it is not. */
bool cli_count_option(struct cli_count *count, enum cli_option option, const struct cli_options *options, int *status);

/* Once the options are read: whether they go together, which events there are. Returns the exit status. */
int cli_count_open(struct cli_count *count, const struct cli_options *options);

/* Finds out what measuring costs here. */
void cli_count_calibrate(struct cli_count *count, enum vm_dispatch dispatch);

/* What is printed and written at the end, if the guest ran. Every store must be gone. */
void cli_count_close(struct cli_count *count, bool has_run);

#endif
