/* Records in memory, ready to be written in one piece.
 *
 *     one load:   [DEBUG_INFO] [UNWINDING_INFO] LOAD
 *
 * perf keeps what DEBUG_INFO and UNWINDING_INFO say for the next LOAD, so nothing may come between them, and the
 * three are one piece here. What perf reads differs from the specification that it ships, and this writes what perf
 * reads: .eh_frame stands before .eh_frame_hdr; the code is the last bytes of a LOAD, so that a LOAD must not be
 * padded; the file name of every line entry is spelled out; the last entry only says where the last line ends.
 *
 * perf adds mapped_size to the size of the mapping that it makes up for the code, and reads the unwinding data
 * through that mapping. So it must be the data's size, and code that follows too closely is hidden or hides the data
 * (the header says what distance to keep). With a mapped_size of 0 mappings never overlap, but perf unwinds through
 * none of them.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "jitdump/format.h"
#include "jitdump/internal.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "name the ELF machine of this architecture here, and its registers in unwinding.c"
#endif

static void put(struct jitdump_bytes *bytes, const void *data, size_t data_bytes)
{
    if (bytes->is_out_of_memory)
        return;
    if (data_bytes > bytes->capacity - bytes->used) {
        size_t capacity = 2 * bytes->capacity + data_bytes;
        unsigned char *grown = realloc(bytes->data, capacity);
        if (!grown) {
            bytes->is_out_of_memory = true;
            return;
        }
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    if (data_bytes)
        memcpy(bytes->data + bytes->used, data, data_bytes);
    bytes->used += data_bytes;
}

/* Sets the size of the record that began at `start` and ends here. */
static void end_record(struct jitdump_bytes *bytes, size_t start)
{
    if (bytes->is_out_of_memory)
        return;
    uint32_t total_size = (uint32_t)(bytes->used - start);
    memcpy(bytes->data + start + offsetof(struct jitdump_prefix, total_size), &total_size, sizeof total_size);
}

void jitdump_put_header(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp)
{
    struct jitdump_file_header header = {
        .magic = JITDUMP_MAGIC,
        .version = JITDUMP_VERSION,
        .total_size = sizeof header,
        .elf_mach = MACHINE,
        .pid = (uint32_t)stamp->pid,
        .timestamp = stamp->when_ns,
    };
    put(bytes, &header, sizeof header);
}

static void put_line(struct jitdump_bytes *bytes, uint64_t code_addr, const struct jitdump_line *line, const char *file,
                     size_t file_bytes)
{
    struct jitdump_debug_entry entry = {
        .code_addr = code_addr,
        .line = line->line,
        .discriminator = line->discriminator,
    };
    put(bytes, &entry, sizeof entry);
    put(bytes, file, file_bytes);
}

static void put_debug_info(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp,
                           const struct jitdump_code *code)
{
    size_t start = bytes->used;
    uint64_t code_addr = (uintptr_t)code->address;
    struct jitdump_debug_info_record record = {
        .prefix = {.id = JITDUMP_DEBUG_INFO, .timestamp = stamp->when_ns},
        .code_addr = code_addr,
        .nr_entry = code->line_count + 1,
    };
    put(bytes, &record, sizeof record);

    char file[JITDUMP_NAME_BYTES + 1];
    size_t file_bytes = 0;
    const struct jitdump_line *line = NULL;
    for (size_t i = 0; i < code->line_count; i++) {
        const char *last_file = line ? line->file : NULL;
        line = &code->lines[i];
        if (line->file != last_file) {
            file_bytes = jitdump_name_escape(line->file, strlen(line->file), file);
            file[file_bytes++] = '\0';
        }
        put_line(bytes, code_addr + line->offset_bytes, line, file, file_bytes);
    }
    put_line(bytes, code_addr + code->size_bytes, line, file, file_bytes);
    end_record(bytes, start);
}

static void put_unwinding_info(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp,
                               const struct jitdump_unwinding *unwinding)
{
    size_t start = bytes->used;
    struct jitdump_unwinding_info_record record = {
        .prefix = {.id = JITDUMP_UNWINDING_INFO, .timestamp = stamp->when_ns},
        .unwinding_size = unwinding->eh_frame_bytes + unwinding->eh_frame_hdr_bytes,
        .eh_frame_hdr_size = unwinding->eh_frame_hdr_bytes,
        .mapped_size = unwinding->eh_frame_bytes + unwinding->eh_frame_hdr_bytes,
    };
    put(bytes, &record, sizeof record);
    put(bytes, unwinding->eh_frame, unwinding->eh_frame_bytes);
    put(bytes, unwinding->eh_frame_hdr, unwinding->eh_frame_hdr_bytes);
    end_record(bytes, start);
}

void jitdump_put_load(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp, const struct jitdump_code *code)
{
    if (code->line_count)
        put_debug_info(bytes, stamp, code);
    if (code->unwinding)
        put_unwinding_info(bytes, stamp, code->unwinding);

    size_t start = bytes->used;
    uint64_t code_addr = (uintptr_t)code->address;
    struct jitdump_load_record record = {
        .prefix = {.id = JITDUMP_LOAD, .timestamp = stamp->when_ns},
        .pid = (uint32_t)stamp->pid,
        .tid = (uint32_t)stamp->tid,
        .vma = code_addr,
        .code_addr = code_addr,
        .code_size = code->size_bytes,
        .code_index = stamp->index,
    };
    char name[JITDUMP_NAME_BYTES + 1];
    size_t name_bytes = jitdump_name_escape(code->name, code->name_bytes, name);
    name[name_bytes++] = '\0';
    put(bytes, &record, sizeof record);
    put(bytes, name, name_bytes);
    put(bytes, code->address, code->size_bytes);
    end_record(bytes, start);
}

void jitdump_put_move(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp, const void *from, const void *to,
                      size_t size_bytes)
{
    struct jitdump_move_record record = {
        .prefix = {.id = JITDUMP_MOVE, .total_size = sizeof record, .timestamp = stamp->when_ns},
        .pid = (uint32_t)stamp->pid,
        .tid = (uint32_t)stamp->tid,
        .vma = (uintptr_t)to,
        .old_code_addr = (uintptr_t)from,
        .new_code_addr = (uintptr_t)to,
        .code_size = size_bytes,
        .code_index = stamp->index,
    };
    put(bytes, &record, sizeof record);
}

void jitdump_put_close(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp)
{
    struct jitdump_prefix record = {.id = JITDUMP_CLOSE, .total_size = sizeof record, .timestamp = stamp->when_ns};
    put(bytes, &record, sizeof record);
}
