/* The backtrace of a trap. Names and lines come from profile/, so that a function is called the same here as in perf's
 * reports. Both are read only now: a run that ends well pays nothing for them. Frames of another module than the first
 * frame's are given by their index alone; the command line runs one module. */
#include "cli/trap.h"

#include <string.h>

#include "cli/cli.h"
#include "profile/profile.h"

static void print_frame(uint32_t number, const struct vm_trap_frame *frame, const struct profile_names *names,
                        const struct profile_lines *lines)
{
    fprintf(stderr, "  %3u: 0x%06x ", number, frame->offset);
    if (names) {
        char name[PROFILE_NAME_BYTES + 1];
        profile_names_get(names, frame->funcidx, name);
        fputs(name, stderr);
    } else {
        fprintf(stderr, "func[%u]", frame->funcidx);
    }
    const char *file = NULL;
    uint32_t line = 0;
    if (lines && profile_lines_find(lines, frame->offset, &file, &line)) {
        fputs(" at ", stderr);
        cli_print_escaped(stderr, file, strlen(file));
        fprintf(stderr, ":%u", line);
    }
    fputc('\n', stderr);
}

void cli_trap_print(const struct vm_trap *trap)
{
    const char *text = trap->kind == VM_TRAP_HOST ? trap->message : vm_trap_text(trap->kind);
    fputs("Error: wasm trap: ", stderr);
    cli_print_escaped(stderr, text, strlen(text));
    fputc('\n', stderr);
    if (trap->frame_count == 0) {
        return;
    }

    const struct vm_module *module = trap->frames[0].module;
    struct profile_names *names = profile_names_create(module);
    struct profile_lines *lines = NULL;
    struct err err = {0};
    if (profile_lines_create(module, &lines, &err) != 0) {
        lines = NULL; /* a backtrace without lines is what there is then */
    }
    for (uint32_t i = 0; i < trap->frame_count; i++) {
        bool is_same = trap->frames[i].module == module;
        print_frame(i, &trap->frames[i], is_same ? names : NULL, is_same ? lines : NULL);
    }
    if (trap->frame_total > trap->frame_count) {
        fprintf(stderr, "  ... and %llu more\n", (unsigned long long)(trap->frame_total - trap->frame_count));
    }
    profile_lines_destroy(lines);
    profile_names_destroy(names);
}
