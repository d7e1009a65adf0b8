/* profile: makes a guest visible to perf.
 *
 * Stands between the VM, which publishes regions through vm/hooks.h, and perfmap, jitdump and elfimage, which announce
 * them; decides what a function is called and what its lines are.
 *
 *     struct profile_config config = {.announce = PROFILE_ELF, .message = print_line};
 *     struct profile *profile;
 *     if (profile_open(&config, &profile, &err) == 0) {
 *         struct vm_config vm = {.hooks = profile_hooks(profile), .hooks_user = profile};
 *         ... engine, run, destroy the engine ...
 *         profile_close(profile);
 *     }
 *
 * A profiling failure never stops or changes the guest: the announcer that fails is given up, with one message that
 * says what was lost and how to mend it, and the others go on.
 */
#ifndef GLASSBOX_PROFILE_H
#define GLASSBOX_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/hooks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- publishing ---- */

enum profile_announce {
    PROFILE_MAP = 1 << 0,     /* /tmp/perf-PID.map: names */
    PROFILE_JITDUMP = 1 << 1, /* jit-PID.dump, for `perf inject --jit`: names, lines, unwinding */
    PROFILE_ELF = 1 << 2,     /* glassbox-PID.so, which is the code memory itself: the same without inject */
};

/* What a line of a function is, in jitdump and ELF; a map has none. */
enum profile_line_source {
    PROFILE_LINES_AUTO,     /* source where the module has DWARF lines, else bytecode */
    PROFILE_LINES_SOURCE,   /* from DWARF, or none */
    PROFILE_LINES_BYTECODE, /* of glassbox-PID.wat, which is written beside the dump (docs/formats/listing.md) */
    PROFILE_LINES_NONE,
};

/* One line, without its newline; valid during the call. Called from any thread that translates. */
typedef void (*profile_message_fn)(void *user, const char *text);

struct profile_config {
    unsigned announce;     /* PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF */
    const char *directory; /* of dump, image and listing (copied); NULL: the working directory */
    enum profile_line_source lines;
    profile_message_fn message; /* NULL: failures are silent. At most one call for each distinct failure. */
    void *message_user;
};

struct profile;

/* Opens what `config` asks for. Fails only where memory is short (-ENOMEM) or `config` asks for nothing (-EINVAL); an
 * announcer that cannot be opened costs a message. */
int profile_open(const struct profile_config *config, struct profile **profile, struct err *err)
    __attribute__((warn_unused_result));

/* For vm_config.hooks, with the profile itself as vm_config.hooks_user. Valid until profile_close; of one engine. */
const struct vm_hooks *profile_hooks(struct profile *profile);

/* Completes the files. No hook may be called afterwards. Destroy the engine first; where guest code may still run (at
 * the process's exit), code memory that the VM has not given back stays runnable. Safe after a trap, after proc_exit,
 * and in a forked child, which leaves the parent's files alone. NULL is allowed. */
void profile_close(struct profile *profile);

/* ---- names: what a function is called, everywhere (docs/names.md) ---- */

/* The longest name, in bytes without the NUL. */
#define PROFILE_NAME_BYTES 4000

struct profile_names;

/* Learns which functions of `module` share a name. The module must outlive the result, which any number of threads may
 * read. NULL: no memory. */
struct profile_names *profile_names_create(const struct vm_module *module);
void profile_names_destroy(struct profile_names *names);

/* Writes the name of function `funcidx` < vm_module_func_count: unique in its module, valid UTF-8, 3 to
 * PROFILE_NAME_BYTES bytes, without control characters or `;`, NUL-terminated. `name` has room for PROFILE_NAME_BYTES +
 * 1. Returns the length. */
size_t profile_names_get(const struct profile_names *names, uint32_t funcidx, char *name);

/* The same for any other text (a host function's name), except that nothing makes it unique. */
size_t profile_name_escape(const char *text, size_t size_bytes, char *name);

/* ---- lines: a module's DWARF line table ---- */

struct profile_lines;

/* Reads the line tables of all of the module's compilation units. The module may go afterwards. 0; -ENOENT: the module
 * has no DWARF lines; -EINVAL: what it has does not read, `err` says why; -ENOMEM. Safe on any bytes. */
int profile_lines_create(const struct vm_module *module, struct profile_lines **lines, struct err *err)
    __attribute__((warn_unused_result));
void profile_lines_destroy(struct profile_lines *lines);

/* The source line of the instruction at `bytecode_offset` from the module's first byte; false: none is known. *file is
 * one pointer for each distinct file, absolute where the DWARF says of what, and valid as long as `lines`. */
bool profile_lines_find(const struct profile_lines *lines, uint32_t bytecode_offset, const char **file, uint32_t *line);

#ifdef __cplusplus
}
#endif
#endif
