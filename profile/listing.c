/* listing: bytecode as source lines.
 *
 * perf annotate shows source lines between machine code, and perf report -s srcline counts by them; both only ask for a
 * file and a number. Where the guest has no DWARF (or its bytecode is what is to be seen), the file is one that
 * Glassbox writes: one line an instruction, indented by block, a function after the other in the order of their
 * publication.
 *
 *     ;; func[12] of ruby.wasm, bytes 0x1f3c to 0x1f80
 *     (func $fib
 *       local.get 0
 *       if
 *         i32.const 1
 *       end
 *     )
 *
 * All modules of a process share one file, since a dump and an image hold regions of all modules too. The text is made
 * function by function as they are published and appended in one write, so that what a killed process leaves is whole
 * functions; functions that never ran are not there, which for Ruby is three quarters of 30 MB. Writing everything at
 * the end was rejected (nothing would be left after a kill), a listing of the whole module at the start too (it costs
 * start-up time in proportion to code that never runs).
 *
 * A function whose region is made again (for another instance, say) keeps the lines it has.
 */
#include "profile/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

/* A br_table or a select with many types can be longer; its line is cut. */
#define INSTRUCTION_BYTES 512
/* Deeper blocks stay at this depth: a large switch is a hundred blocks deep, and its lines would be mostly blanks. */
#define INDENT_MAX 12

struct profile_listing {
    int file;
    off_t size_bytes;
    uint32_t next_line; /* of the line that the next append begins, from 1 */
    struct vec text;    /* of char: one function */
    struct vec offsets; /* of uint32_t: where in the module each line's instruction begins */
    char path[PATH_MAX];
};

static int open_new(struct profile_listing *listing, const char *directory)
{
    char absolute[PATH_MAX];
    if (!realpath(directory, absolute))
        return -errno;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        char number[16] = "";
        if (attempt > 0)
            snprintf(number, sizeof number, "-%u", attempt);
        int length =
            snprintf(listing->path, sizeof listing->path, "%s/glassbox-%d%s.wat", absolute, (int)getpid(), number);
        if (length >= (int)sizeof listing->path)
            return -ENAMETOOLONG;
        listing->file = open(listing->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (listing->file >= 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* Writes all of `text`, or leaves the file as it was. */
static int append(struct profile_listing *listing, const char *text, size_t size_bytes)
{
    size_t written = 0;
    while (written < size_bytes) {
        ssize_t count = write(listing->file, text + written, size_bytes - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            int error = count < 0 ? errno : ENOSPC;
            /* Where even this fails, a last line without its end is left, which harms nobody. */
            (void)!ftruncate(listing->file, listing->size_bytes);
            return -error;
        }
        written += (size_t)count;
    }
    listing->size_bytes += (off_t)size_bytes;
    return 0;
}

static int fail(const struct profile_listing *listing, int status, struct err *err)
{
    err_set(err, ERR_RESOURCE, 0, "%.160s: %s", listing->path, strerror(-status));
    return status;
}

int profile_listing_create(const char *directory, struct profile_listing **result, struct err *err)
{
    static const char head[] =
        ";; Glassbox bytecode listing 1: the functions of one process, in the order of their first call\n";
    *result = NULL;
    struct profile_listing *listing = calloc(1, sizeof *listing);
    if (!listing) {
        err_set(err, ERR_RESOURCE, 0, "out of memory");
        return -ENOMEM;
    }
    listing->text = VEC_INIT(1);
    listing->offsets = VEC_INIT(sizeof(uint32_t));
    listing->file = -1;
    listing->next_line = 2;
    snprintf(listing->path, sizeof listing->path, "%s", directory);
    int status = open_new(listing, directory);
    if (status == 0)
        status = append(listing, head, sizeof head - 1);
    if (status != 0) {
        fail(listing, status, err);
        profile_listing_destroy(listing);
        return status;
    }
    *result = listing;
    return 0;
}

void profile_listing_destroy(struct profile_listing *listing)
{
    if (!listing)
        return;
    if (listing->file >= 0)
        close(listing->file);
    vec_fini(&listing->text);
    vec_fini(&listing->offsets);
    free(listing);
}

const char *profile_listing_path(const struct profile_listing *listing)
{
    return listing->path;
}

/* ---- one function ---- */

/* The first instruction of a code entry, after its declarations of locals (§5.5.13), which are valid. */
static uint32_t skip_locals(const struct vm_module *module, uint32_t begin, uint32_t end)
{
    size_t size_bytes;
    const uint8_t *bytes = vm_module_bytes(module, &size_bytes);
    uint32_t at = begin;
    uint32_t run_count = 0;
    for (unsigned shift = 0; at < end; shift += 7) {
        run_count |= (uint32_t)(bytes[at] & 0x7f) << shift;
        if (!(bytes[at++] & 0x80))
            break;
    }
    for (; run_count > 0 && at < end; run_count--) {
        while (at < end && bytes[at++] & 0x80) /* how many */
            ;
        bool has_heaptype = at < end && (bytes[at] == 0x63 || bytes[at] == 0x64); /* (ref null ht), (ref ht) */
        at++;
        while (has_heaptype && at < end && bytes[at++] & 0x80)
            ;
    }
    return at;
}

/* Appends "  <indent><instruction>\n". */
static bool append_line(struct vec *text, int depth, const char *instruction)
{
    static const char blanks[2 * INDENT_MAX] = {[0 ... 2 * INDENT_MAX - 1] = ' '};
    size_t indent = 2 * (size_t)(depth < 1 ? 1 : depth > INDENT_MAX ? INDENT_MAX : depth);
    return vec_append(text, blanks, indent) && vec_append(text, instruction, strlen(instruction)) &&
           vec_append(text, "\n", 1);
}

static bool begins(const char *instruction, const char *word)
{
    size_t length = strlen(word);
    return strncmp(instruction, word, length) == 0 && (instruction[length] == '\0' || instruction[length] == ' ');
}

/* Fills listing->text, and in listing->offsets where the instruction of each line begins, from the function's second
 * line (its head) to its last but one. */
static bool write_function(struct profile_listing *listing, const struct vm_code *code, const char *name)
{
    uint32_t begin;
    uint32_t end;
    char line[PROFILE_NAME_BYTES + 128];
    listing->text.count = 0;
    listing->offsets.count = 0;
    if (!vm_module_func_range(code->module, code->funcidx, &begin, &end))
        return true;
    char module_name[PROFILE_NAME_BYTES + 1];
    profile_name_escape(vm_module_name(code->module), strlen(vm_module_name(code->module)), module_name);
    int length = snprintf(line, sizeof line, "\n;; func[%u] of %.3900s, bytes 0x%x to 0x%x\n", code->funcidx,
                          module_name, begin, end);
    if (!vec_append(&listing->text, line, (size_t)length))
        return false;
    length = snprintf(line, sizeof line, "(func $%s\n", name);
    if (!vec_append(&listing->text, line, (size_t)length) || !vec_append(&listing->offsets, &begin, 1))
        return false;
    int depth = 1;
    for (uint32_t at = skip_locals(code->module, begin, end); at < end;) {
        char instruction[INSTRUCTION_BYTES];
        if (!vec_append(&listing->offsets, &at, 1))
            return false;
        at = vm_module_listing(code->module, at, instruction, sizeof instruction);
        bool is_end = begins(instruction, "end");
        bool is_else = begins(instruction, "else");
        bool is_block = begins(instruction, "block") || begins(instruction, "loop") || begins(instruction, "if");
        depth -= is_end || is_else;
        bool is_last = depth == 0;
        if (is_last ? !vec_append(&listing->text, ")\n", 2) : !append_line(&listing->text, depth, instruction))
            return false;
        if (is_last)
            break;
        depth += is_block || is_else;
    }
    return true;
}

/* The line, from 0 at the function's head, of the instruction that holds `bytecode_offset`. */
static uint32_t line_of(const struct profile_listing *listing, uint32_t bytecode_offset)
{
    const uint32_t *offsets = listing->offsets.data;
    size_t below = 0;
    size_t above = listing->offsets.count;
    while (below < above) {
        size_t middle = below + (above - below) / 2;
        if (offsets[middle] <= bytecode_offset)
            below = middle + 1;
        else
            above = middle;
    }
    return below ? (uint32_t)below - 1 : 0;
}

int profile_listing_add(struct profile_listing *listing, const struct vm_code *code, const char *name,
                        uint32_t *first_line, struct elfimage_line *rows, size_t *row_count, struct err *err)
{
    *row_count = 0;
    if (!write_function(listing, code, name))
        return fail(listing, -ENOMEM, err);
    if (listing->offsets.count == 0)
        return 0;
    if (*first_line == 0) {
        int status = append(listing, listing->text.data, listing->text.count);
        if (status != 0)
            return fail(listing, status, err);
        *first_line = listing->next_line + 2; /* after a blank line and the comment */
        listing->next_line += 2 + (uint32_t)listing->offsets.count;
    }
    for (size_t i = 0; i < code->position_count; i++)
        *row_count =
            profile_rows_append(rows, *row_count, code, code->positions[i].region_offset,
                                *first_line + line_of(listing, code->positions[i].bytecode_offset), listing->path);
    return 0;
}
