/* module_file: a module's bytes, and the sections they fall into. */
#ifndef GLASSBOX_CLI_MODULE_FILE_H
#define GLASSBOX_CLI_MODULE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cli_module_file {
    const char *path;
    const char *name; /* the path's last component; points into it */
    uint8_t *bytes;
    size_t size_bytes;
};

/* Reads all of the file. False: the reason has been reported. */
bool cli_module_file_read(struct cli_module_file *file, const char *path);
void cli_module_file_fini(struct cli_module_file *file);

/* Reports what the VM says against a module: "FILE: offset 0x1f: malformed: ...". */
void cli_module_file_error(const struct cli_module_file *file, const struct err *err);

/* One section (§5.5.2); name and contents point into the file's bytes. */
struct cli_section {
    uint8_t id;
    const char *name; /* of a custom section its own, else the specification's; not NUL-terminated */
    size_t name_bytes;
    uint32_t offset; /* of its contents (of a custom section: after its name), from the module's first byte */
    uint32_t size_bytes;
};

#define CLI_SECTION_START 8

/* Steps over the sections of a module that has been validated: *at is 0 at first; false after the last one. */
bool cli_section_next(const struct cli_module_file *file, uint32_t *at, struct cli_section *section);

#endif
