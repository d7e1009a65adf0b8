/* The module is read into memory rather than mapped: a mapped file that somebody truncates while the guest runs raises
 * SIGBUS in the middle of the interpreter. What is read must be whole (a pipe is read to its end) and below 2 GiB,
 * since offsets into a module are 32 bits wide. */
#include "cli/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define MOST_BYTES ((size_t)INT32_MAX)

/* Reads to the end of the descriptor. `guess` is the size that stat gave. Returns 0 or an errno. */
static int read_all(int descriptor, size_t guess, struct cli_module_file *file)
{
    size_t capacity = guess + 1; /* one more than it should need, so that the end is seen without growing */
    for (;;) {
        uint8_t *bytes = realloc(file->bytes, capacity);
        if (!bytes) {
            return ENOMEM;
        }
        file->bytes = bytes;
        while (file->size_bytes < capacity) {
            ssize_t got = read(descriptor, bytes + file->size_bytes, capacity - file->size_bytes);
            if (got == 0) {
                return 0;
            }
            if (got < 0 && errno != EINTR) {
                return errno;
            }
            file->size_bytes += got > 0 ? (size_t)got : 0;
        }
        if (capacity > MOST_BYTES) {
            return EFBIG;
        }
        capacity = capacity < 32768 ? 65536 : 2 * capacity;
    }
}

/* Returns 0 or an errno. */
static int read_descriptor(int descriptor, struct cli_module_file *file)
{
    struct stat stat;
    if (fstat(descriptor, &stat) != 0) {
        return errno;
    }
    if (S_ISDIR(stat.st_mode)) {
        return EISDIR;
    }
    if ((uint64_t)stat.st_size > MOST_BYTES) {
        return EFBIG;
    }
    return read_all(descriptor, S_ISREG(stat.st_mode) ? (size_t)stat.st_size : 0, file);
}

bool cli_module_file_read(struct cli_module_file *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    *file = (struct cli_module_file){.path = path, .name = slash ? slash + 1 : path};

    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int error = descriptor < 0 ? errno : read_descriptor(descriptor, file);
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (error == 0 && file->size_bytes > 0) {
        return true;
    }
    if (error == EFBIG) {
        cli_error("%s: larger than a module can be (2 GiB)", path);
    } else {
        cli_error("%s: %s", path, error == 0 ? "is empty" : strerror(error));
    }
    cli_module_file_fini(file);
    return false;
}

void cli_module_file_fini(struct cli_module_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
}

void cli_module_file_error(const struct cli_module_file *file, const struct err *err)
{
    if (err->kind == ERR_MALFORMED || err->kind == ERR_INVALID || err->kind == ERR_UNSUPPORTED) {
        cli_error("%s: offset 0x%llx: %s: %s", file->path, (unsigned long long)err->offset, err_kind_name(err->kind),
                  err->message);
    } else {
        cli_error("%s: %s: %s", file->path, err_kind_name(err->kind), err->message);
    }
}

static uint32_t read_leb(const uint8_t *bytes, uint32_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

bool cli_section_next(const struct cli_module_file *file, uint32_t *at, struct cli_section *section)
{
    static const char *const names[] = {"custom", "type",  "import",  "function", "table", "memory",     "global",
                                        "export", "start", "element", "code",     "data",  "data count", "tag"};
    enum { HEADER_BYTES = 8, CUSTOM = 0 };

    *at = *at == 0 ? HEADER_BYTES : *at;
    if (*at >= file->size_bytes) {
        return false;
    }
    *section = (struct cli_section){.id = file->bytes[(*at)++]};
    uint32_t size_bytes = read_leb(file->bytes, at);
    uint32_t end = *at + size_bytes;
    if (section->id == CUSTOM) {
        section->name_bytes = read_leb(file->bytes, at);
        section->name = (const char *)file->bytes + *at;
        *at += (uint32_t)section->name_bytes;
    } else {
        section->name = section->id < sizeof names / sizeof *names ? names[section->id] : "unknown";
        section->name_bytes = strlen(section->name);
    }
    section->offset = *at;
    section->size_bytes = end - *at;
    *at = end;
    return true;
}
