/* elfimage: code memory that is an ELF file.
 *
 * perf finds names, lines and unwinding rules for code through the file that the code is mapped from. So here code is
 * mapped from a file that is written while the code runs:
 *
 *     file      | head | .text .................... | .symtab | .debug_* | .strtab |
 *     execute    R-X-------------------------------       code runs here; mapped once, for good
 *     write             RW                                code is written here
 *     head       RW                                       constants and section headers
 *
 * Publishing a function appends to the tables with pwrite(), and makes that part of the file by aligned stores of the
 * sections' sizes, first of what is referred to, then of what refers to it. A table that is full is copied to a place
 * twice as large at the end of the file, and elfimage_finish() copies all of them down behind the code; such a move
 * takes effect by the store of e_shoff that exchanges the two section header tables. There is no moment at which the
 * file is not whole, so nothing has to happen at exit, and a killed process loses nothing. What a table leaves behind
 * when it grows stays in the file until elfimage_finish(): a reader that has just read the section headers finds it.
 *
 * The executable view is the lowest of the three in memory: perf's DWARF unwinder takes the lowest mapping of a file
 * for the address of its first byte, and with --call-graph dwarf it knows the writable ones too. That is also why the
 * tables are not mapped.
 *
 * Pages of a file's hole need disk blocks when they are first written, and a full disk makes that write a SIGBUS. What
 * is mapped writable is therefore allocated by posix_fallocate() before it is touched.
 *
 * Rejected: writing the file at exit (killed processes leave nothing); reserving room for all tables at creation (perf
 * copies the image, holes written out, into ~/.debug where it cannot link it); a memfd (perf cannot open it later); one
 * writable and executable mapping, or mprotect back and forth (a second mapping event, and other threads may not run
 * meanwhile).
 *
 * Who owns an image: the process that created it. One page with its number, which fork() clears in the child
 * (MADV_WIPEONFORK), tells; a process number alone does not, where a child in a new namespace has its parent's. The
 * writable views do not exist in a child (MADV_DONTFORK). Ownership is looked at before the lock is taken, which a
 * thread that the child does not have may hold. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elfimage/debug.h"
#include "elfimage/elfimage.h"
#include "elfimage/layout.h"

#define SAME_NAMES_MAX 1000

/* The index of a section in struct elfimage.tables. */
enum table_kind {
#define HEAD_SECTION(...)
#define TEXT_SECTION(...)
#define TABLE_SECTION(ident, ...) TABLE_##ident,
#include "elfimage/sections.def"
#undef HEAD_SECTION
#undef TEXT_SECTION
#undef TABLE_SECTION
    TABLE_COUNT
};

static const enum section table_sections[TABLE_COUNT] = {
#define HEAD_SECTION(...)
#define TEXT_SECTION(...)
#define TABLE_SECTION(ident, ...) SECTION_##ident,
#include "elfimage/sections.def"
#undef HEAD_SECTION
#undef TEXT_SECTION
#undef TABLE_SECTION
};

/* A section that grows, where it is in the file, and how much of the file is set aside for it. */
struct table {
    uint64_t file_offset;
    size_t size;
    size_t capacity;
};

struct elfimage {
    /* Constant after elfimage_create. */
    int fd;
    pid_t *owner;        /* a page of its own, zeroed in a forked child */
    uint8_t *execute;    /* of the whole file up to the end of .text; `write` and `head` follow it in memory */
    uint8_t *write;      /* of .text */
    struct image_head *head;
    size_t capacity_bytes;
    size_t page_bytes;
    char path[PATH_MAX];

    /* Under `lock`. */
    pthread_mutex_t lock;
    bool is_finished;
    size_t reserved_bytes;
    size_t published_bytes; /* up to the end of the last function */
    uint64_t used_bytes; /* of the file; what the next table will take begins here */
    uint64_t file_bytes;
    struct table tables[TABLE_COUNT];
    uint8_t *line_program; /* the last one written, and room for the next */
    size_t line_program_capacity;
};

static size_t round_up(size_t size, size_t grain)
{
    return (size + grain - 1) / grain * grain;
}

/* ---- the file ---- */

/* Past the limit the kernel does not return an error, it sends SIGXFSZ. */
static bool is_within_limit(uint64_t file_bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || file_bytes <= limit.rlim_cur;
}

/* Makes sure that [offset, offset + size) exists on disk. */
static int allocate(const struct elfimage *image, uint64_t offset, uint64_t size)
{
    int error;

    if (!is_within_limit(offset + size))
        return -EFBIG;
    do
        error = posix_fallocate(image->fd, (off_t)offset, (off_t)size);
    while (error == EINTR);
    return -error;
}

static int write_all(const struct elfimage *image, const void *bytes, size_t size, uint64_t offset)
{
    for (const uint8_t *rest = bytes; size > 0;) {
        ssize_t written = pwrite(image->fd, rest, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        rest += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return 0;
}

/* Copies within the file; the ranges do not overlap. */
static int copy_range(const struct elfimage *image, uint64_t from, uint64_t to, size_t size)
{
    uint8_t buffer[16384];

    while (size > 0) {
        ssize_t got = pread(image->fd, buffer, size < sizeof(buffer) ? size : sizeof(buffer), (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        int status = write_all(image, buffer, (size_t)got, to);
        if (status != 0)
            return status;
        from += (uint64_t)got;
        to += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static int open_file(struct elfimage *image, const char *directory, const char *stem)
{
    for (unsigned attempt = 0; attempt < SAME_NAMES_MAX; attempt++) {
        char suffix[16] = "";
        if (attempt > 0)
            snprintf(suffix, sizeof(suffix), "-%u", attempt);
        int length = snprintf(image->path, sizeof(image->path), "%s/%s-%d%s.so", directory, stem, getpid(), suffix);
        if (length < 0 || (size_t)length >= sizeof(image->path))
            return -ENAMETOOLONG;

        image->fd = open(image->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (image->fd >= 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* ---- tables ---- */

/* Lets the section header point to where the table's bytes now are as well. */
static void table_point(struct elfimage *image, enum table_kind kind, uint64_t file_offset)
{
    Elf64_Shdr *spare = elfimage_layout_spare_shdrs(image->head);

    memcpy(spare, elfimage_layout_shdrs(image->head), sizeof(image->head->shdrs[0]));
    spare[table_sections[kind]].sh_offset = file_offset;
    elfimage_layout_flip(image->head);
    image->tables[kind].file_offset = file_offset;
}

/* Makes the file so long that each table can be moved once more within it. Readers look at the length first and at the
 * headers later, and take a section beyond that length for damage. Where a limit or the file system does not allow it,
 * the file grows when it has to. */
static void extend_ahead(struct elfimage *image)
{
    uint64_t file_bytes = image->used_bytes;
    for (int kind = 0; kind < TABLE_COUNT; kind++)
        file_bytes += 2 * image->tables[kind].capacity;

    if (file_bytes > image->file_bytes && is_within_limit(file_bytes) &&
        ftruncate(image->fd, (off_t)file_bytes) == 0)
        image->file_bytes = file_bytes;
}

/* Makes room for `size` more bytes. */
static int table_reserve(struct elfimage *image, enum table_kind kind, size_t size)
{
    struct table *table = &image->tables[kind];
    if (size <= table->capacity - table->size)
        return 0;

    const size_t needed = round_up(table->size + size, IMAGE_GRAIN);
    const size_t capacity = needed > 2 * table->capacity ? needed : 2 * table->capacity;
    /* Offsets into .strtab and the sections of DWARF have 32 bits. */
    if (capacity > UINT32_MAX || !is_within_limit(image->used_bytes + capacity))
        return -EFBIG;

    int status = copy_range(image, table->file_offset, image->used_bytes, table->size);
    if (status != 0)
        return status;
    table->capacity = capacity;
    table_point(image, kind, image->used_bytes);
    image->used_bytes += capacity;
    extend_ahead(image);
    return 0;
}

/* Writes behind the table's end, not yet part of the section. */
static int table_write(struct elfimage *image, enum table_kind kind, const void *bytes, size_t size)
{
    int status = table_reserve(image, kind, size);
    if (status != 0)
        return status;
    return write_all(image, bytes, size, image->tables[kind].file_offset + image->tables[kind].size);
}

/* Makes what table_write() wrote part of the section. Release: who sees the size sees the bytes. */
static void table_publish(struct elfimage *image, enum table_kind kind, size_t size)
{
    Elf64_Shdr *shdr = &elfimage_layout_shdrs(image->head)[table_sections[kind]];

    image->tables[kind].size += size;
    __atomic_store_n(&shdr->sh_size, image->tables[kind].size, __ATOMIC_RELEASE);
}

/* ---- create ---- */

static size_t execute_bytes(const struct elfimage *image)
{
    return IMAGE_TEXT_OFFSET + image->capacity_bytes;
}

static size_t views_bytes(const struct elfimage *image)
{
    return execute_bytes(image) + image->capacity_bytes + IMAGE_GRAIN;
}

/* Maps a part of the file in the place that map_views() took for it. */
static int map_view(const struct elfimage *image, void *address, size_t size, int protection, uint64_t offset)
{
    if (mmap(address, size, protection, MAP_SHARED | MAP_FIXED, image->fd, (off_t)offset) == MAP_FAILED)
        return -errno;
    /* Random: reading ahead would fill memory with megabytes that were reserved and not written. */
    if (madvise(address, size, MADV_RANDOM) != 0)
        return -errno;
    if ((protection & PROT_WRITE) != 0 && madvise(address, size, MADV_DONTFORK) != 0)
        return -errno;
    return 0;
}

static int map_views(struct elfimage *image)
{
    void *place = mmap(NULL, views_bytes(image), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return -errno;
    image->execute = place;
    image->write = image->execute + execute_bytes(image);
    image->head = (struct image_head *)(image->write + image->capacity_bytes);

    /* The head's contents come before the executable view: perf record --buildid-mmap reads the build-id then. */
    uint8_t build_id[BUILD_ID_BYTES];
    ssize_t got;
    do
        got = getrandom(build_id, sizeof(build_id), 0);
    while (got < 0 && errno == EINTR);
    if (got != sizeof(build_id))
        return got < 0 ? -errno : -EIO;

    int status = allocate(image, 0, sizeof(struct image_head));
    if (status == 0)
        status = map_view(image, image->head, IMAGE_GRAIN, PROT_READ | PROT_WRITE, 0);
    if (status != 0)
        return status;
    elfimage_layout_init(image->head, image->capacity_bytes, build_id);

    status = map_view(image, image->execute, execute_bytes(image), PROT_READ | PROT_EXEC, 0);
    if (status == 0)
        status = map_view(image, image->write, image->capacity_bytes, PROT_READ | PROT_WRITE, IMAGE_TEXT_OFFSET);
    return status;
}

static int create_tables(struct elfimage *image)
{
    static const Elf64_Sym null_symbol;

    image->used_bytes = execute_bytes(image);
    for (int kind = 0; kind < TABLE_COUNT; kind++) {
        int status = table_reserve(image, kind, IMAGE_GRAIN);
        if (status != 0)
            return status;
    }

    int status = table_write(image, TABLE_STRTAB, "", 1);
    if (status == 0)
        status = table_write(image, TABLE_SYMTAB, &null_symbol, sizeof(null_symbol));
    if (status != 0)
        return status;
    table_publish(image, TABLE_STRTAB, 1);
    table_publish(image, TABLE_SYMTAB, sizeof(null_symbol));
    return 0;
}

static int map_owner(struct elfimage *image)
{
    void *page = mmap(NULL, image->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -errno;
    image->owner = page;
    *image->owner = getpid();
    return madvise(page, image->page_bytes, MADV_WIPEONFORK) == 0 ? 0 : -errno;
}

static bool is_owner(const struct elfimage *image)
{
    return *image->owner == getpid();
}

static void release(struct elfimage *image)
{
    if (image->execute != NULL)
        munmap(image->execute, views_bytes(image));
    if (image->owner != NULL)
        munmap(image->owner, image->page_bytes);
    if (image->fd >= 0)
        close(image->fd);
    pthread_mutex_destroy(&image->lock);
    free(image->line_program);
    free(image);
}

/* The same in a child, without what `lock` protects: the thread that held it may have been half-way. The place of the
 * writable views may by now be somebody else's. */
static void release_in_child(struct elfimage *image)
{
    munmap(image->execute, execute_bytes(image));
    munmap(image->owner, image->page_bytes);
    close(image->fd);
    free(image);
}

int elfimage_create(const char *directory, const char *stem, size_t capacity_bytes, struct elfimage **image)
{
    if (capacity_bytes == 0 || capacity_bytes > ELFIMAGE_CAPACITY_MAX || *stem == '\0' || strchr(stem, '/') != NULL)
        return -EINVAL;

    struct elfimage *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return -ENOMEM;
    made->fd = -1;
    made->capacity_bytes = round_up(capacity_bytes, IMAGE_GRAIN);
    made->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&made->lock, NULL);

    int status = map_owner(made);
    if (status == 0)
        status = open_file(made, directory, stem);
    if (status == 0) {
        status = map_views(made);
        if (status == 0)
            status = create_tables(made);
        if (status != 0)
            unlink(made->path);
    }
    if (status != 0) {
        release(made);
        return status;
    }
    *image = made;
    return 0;
}

/* ---- reserve and add ---- */

/* Takes the lock of an image that this process may still change. */
static int lock_writable(struct elfimage *image)
{
    if (!is_owner(image))
        return -ECHILD;
    pthread_mutex_lock(&image->lock);
    if (image->is_finished) {
        pthread_mutex_unlock(&image->lock);
        return -ESHUTDOWN;
    }
    return 0;
}

int elfimage_reserve(struct elfimage *image, size_t size_bytes, struct elfimage_code *code)
{
    if (size_bytes == 0)
        return -EINVAL;
    int status = lock_writable(image);
    if (status != 0)
        return status;

    if (size_bytes > image->capacity_bytes - image->reserved_bytes) {
        status = -ENOBUFS;
    } else {
        const size_t size = round_up(size_bytes, image->page_bytes);
        const uint64_t offset = IMAGE_TEXT_OFFSET + image->reserved_bytes;
        status = allocate(image, offset, size);
        if (status == 0) {
            *code = (struct elfimage_code){image->write + image->reserved_bytes, image->execute + offset, size};
            image->reserved_bytes += size;
        }
    }
    pthread_mutex_unlock(&image->lock);
    return status;
}

static bool lines_are_valid(const struct elfimage_line *lines, size_t line_count, size_t size_bytes)
{
    for (size_t i = 0; i < line_count; i++)
        if (lines[i].file == NULL || lines[i].offset >= size_bytes || (i > 0 && lines[i].offset < lines[i - 1].offset))
            return false;
    return true;
}

/* Writes the line number program into image->line_program. */
static int encode_lines(struct elfimage *image, uint64_t address, size_t size_bytes, const struct elfimage_line *lines,
                        size_t line_count, size_t *program_bytes)
{
    for (;;) {
        *program_bytes = elfimage_debug_line(image->line_program, image->line_program_capacity, address, size_bytes,
                                             lines, line_count);
        if (*program_bytes <= image->line_program_capacity)
            return 0;
        void *larger = realloc(image->line_program, *program_bytes);
        if (larger == NULL)
            return -ENOMEM;
        image->line_program = larger;
        image->line_program_capacity = *program_bytes;
    }
}

static int add_locked(struct elfimage *image, uint64_t address, size_t size_bytes, const char *name,
                      const struct elfimage_line *lines, size_t line_count)
{
    const size_t name_bytes = strlen(name) + 1;
    size_t program_bytes = 0;
    const Elf64_Sym symbol = {
        .st_name = (uint32_t)image->tables[TABLE_STRTAB].size,
        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
        .st_shndx = SECTION_TEXT,
        .st_value = address,
        .st_size = size_bytes,
    };
    const struct debug_unit unit =
        elfimage_debug_unit(address, (uint32_t)size_bytes, (uint32_t)image->tables[TABLE_DEBUG_LINE].size);
    const struct debug_arange arange =
        elfimage_debug_arange(address, size_bytes, (uint32_t)image->tables[TABLE_DEBUG_INFO].size);

    int status = table_write(image, TABLE_STRTAB, name, name_bytes);
    if (status == 0)
        status = table_write(image, TABLE_SYMTAB, &symbol, sizeof(symbol));
    if (status == 0 && line_count > 0) {
        status = encode_lines(image, address, size_bytes, lines, line_count, &program_bytes);
        if (status == 0)
            status = table_write(image, TABLE_DEBUG_LINE, image->line_program, program_bytes);
        if (status == 0)
            status = table_write(image, TABLE_DEBUG_INFO, &unit, sizeof(unit));
        if (status == 0)
            status = table_write(image, TABLE_DEBUG_ARANGES, &arange, sizeof(arange));
    }
    if (status != 0)
        return status;

    table_publish(image, TABLE_STRTAB, name_bytes);
    if (line_count > 0) {
        table_publish(image, TABLE_DEBUG_LINE, program_bytes);
        table_publish(image, TABLE_DEBUG_INFO, sizeof(unit));
        table_publish(image, TABLE_DEBUG_ARANGES, sizeof(arange));
    }
    table_publish(image, TABLE_SYMTAB, sizeof(symbol));
    return 0;
}

int elfimage_add(struct elfimage *image, const void *address, size_t size_bytes, const char *name,
                 const struct elfimage_line *lines, size_t line_count)
{
    int status = lock_writable(image);
    if (status != 0)
        return status;

    /* Below the text the subtraction wraps round, to an offset beyond everything. */
    const size_t offset = (uintptr_t)address - ((uintptr_t)image->execute + IMAGE_TEXT_OFFSET);
    if (offset >= image->reserved_bytes || size_bytes == 0 || size_bytes > image->reserved_bytes - offset ||
        *name == '\0' || !lines_are_valid(lines, line_count, size_bytes))
        status = -EINVAL;
    else
        status = add_locked(image, IMAGE_TEXT_OFFSET + offset, size_bytes, name, lines, line_count);
    if (status == 0 && image->published_bytes < offset + size_bytes)
        image->published_bytes = offset + size_bytes;

    pthread_mutex_unlock(&image->lock);
    return status;
}

/* ---- finish ---- */

/* The end of what was written to .text, from the file system's knowledge of holes: it may be too large, never too
 * small. Saves reading, and so touching, the pages that were reserved and not used. */
static size_t text_written(const struct elfimage *image)
{
    const off_t reserved_end = (off_t)(IMAGE_TEXT_OFFSET + image->reserved_bytes);
    off_t end = (off_t)IMAGE_TEXT_OFFSET;

    while (end < reserved_end) {
        const off_t data = lseek(image->fd, end, SEEK_DATA);
        if (data >= reserved_end)
            break;
        end = data < 0 ? reserved_end : lseek(image->fd, data, SEEK_HOLE);
        if (end < 0 || end > reserved_end)
            end = reserved_end;
    }
    return (size_t)end - IMAGE_TEXT_OFFSET;
}

/* How much of .text has to stay: all published functions, and whatever else was written and may be running. Code may
 * end in a few zero bytes (an instruction's immediate); where these begin a page, it is kept too. */
static size_t text_in_use(const struct elfimage *image)
{
    const uint64_t *words = (const uint64_t *)image->write;
    size_t used = text_written(image);

    used -= used % sizeof(*words);
    while (used > image->published_bytes && words[used / sizeof(*words) - 1] == 0)
        used -= sizeof(*words);
    if (used < image->published_bytes)
        used = image->published_bytes;
    if (used > 0)
        used = round_up(used + sizeof(*words), image->page_bytes);
    return used < image->capacity_bytes ? used : image->capacity_bytes;
}

/* The table that comes first in the file at or after `from`. */
static enum table_kind first_table(const struct elfimage *image, uint64_t from)
{
    enum table_kind first = TABLE_COUNT;
    for (int kind = 0; kind < TABLE_COUNT; kind++)
        if (image->tables[kind].file_offset >= from &&
            (first == TABLE_COUNT || image->tables[kind].file_offset < image->tables[first].file_offset))
            first = kind;
    return first;
}

/* Copies the tables down to `end`, each to just after the one before. A table stays where it is if it would meet its
 * own old place; since the order in the file is kept, it cannot meet one that is still to be moved. */
static int move_tables(struct elfimage *image, uint64_t *end)
{
    uint64_t from = 0;
    for (enum table_kind kind; (kind = first_table(image, from)) != TABLE_COUNT;) {
        const struct table *table = &image->tables[kind];
        from = table->file_offset + 1;
        if (*end + table->size <= table->file_offset) {
            int status = copy_range(image, table->file_offset, *end, table->size);
            if (status != 0)
                return status;
            table_point(image, kind, *end);
        }
        *end = round_up(table->file_offset + table->size, sizeof(uint64_t));
    }
    return 0;
}

/* One store after the other: the file is right after each of them, as long as the loaded part shrinks last. */
static void shrink_text(struct elfimage *image, size_t text_bytes)
{
    struct image_head *head = image->head;

    __atomic_store_n(&head->eh_frame.fde.text_bytes, (uint32_t)text_bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&elfimage_layout_shdrs(head)[SECTION_TEXT].sh_size, text_bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&head->phdrs[SEGMENT_LOAD].p_filesz, IMAGE_TEXT_OFFSET + text_bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&head->phdrs[SEGMENT_LOAD].p_memsz, IMAGE_TEXT_OFFSET + text_bytes, __ATOMIC_RELEASE);
}

static int finish_locked(struct elfimage *image)
{
    const size_t text_bytes = text_in_use(image);
    uint64_t end = IMAGE_TEXT_OFFSET + text_bytes;

    image->is_finished = true;
    int status = move_tables(image, &end);
    if (status != 0)
        return status;
    shrink_text(image, text_bytes);
    return ftruncate(image->fd, (off_t)end) == 0 ? 0 : -errno;
}

int elfimage_finish(struct elfimage *image)
{
    int status = lock_writable(image);
    if (status != 0)
        return status == -ESHUTDOWN ? 0 : status;
    status = finish_locked(image);
    pthread_mutex_unlock(&image->lock);
    return status;
}

void elfimage_destroy(struct elfimage *image)
{
    if (image == NULL)
        return;
    if (!is_owner(image)) {
        release_in_child(image);
        return;
    }
    (void)elfimage_finish(image); /* where it fails the file is as readable, only larger */
    release(image);
}

const char *elfimage_path(const struct elfimage *image)
{
    return image->path;
}
