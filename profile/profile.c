/* profile: from the VM's hooks to perf's files.
 *
 *                     ┌ names ─────────────┐
 *     code_published ─┤                    ├─ perfmap_add, jitdump_load, elfimage_add
 *                     └ lines or listing ──┘
 *     code_memory_create ─ elfimage_reserve
 *
 * What is costly is done once for each module and only when its first function is published: hashing names, reading
 * DWARF. Publishing a function then costs its own size.
 *
 * Each announcer, and the listing, is on or off. One that fails is closed, says so once, and is off from then on:
 * nothing is tried again, since a disk that was full once would else cost a system call and a half-written record for
 * every function to come. The guest never learns of it. Where the image fails, its code memory stays (code runs there);
 * only new memory comes from the VM.
 *
 * Code memory is reserved from one large image, since every further image is one more file, one more descriptor and one
 * more object in perf's report. Its capacity is address space and no disk.
 *
 * After fork the three libraries look after themselves. The child begins listings and images of its own when it first
 * needs them; the parent's images are forgotten, not destroyed, since the child runs in them.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "elfimage/elfimage.h"
#include "jitdump/jitdump.h"
#include "perfmap/perfmap.h"
#include "profile/lines.h"
#include "profile/listing.h"

#define IMAGE_CAPACITY_BYTES ((size_t)256 << 20)

/* What was learnt of a module. */
struct module {
    const struct vm_module *key;
    struct profile_names *names; /* NULL: no memory */
    struct profile_lines *lines; /* NULL: none, or not wanted */
    bool is_listed;              /* its lines are the listing's */
    uint32_t *first_lines;       /* by funcidx: the function's first line in the listing; 0: not there */
};

struct image {
    struct elfimage *elf;
    uint32_t live_count; /* pieces that the VM has not given back */
};

struct profile {
    struct profile_config config;
    struct vm_hooks hooks;
    char *directory;
    pid_t pid;
    struct perfmap *map;
    struct jitdump *dump;
    bool makes_images;
    bool makes_listing;
    bool has_no_memory; /* and has said so */
    struct profile_listing *listing;
    struct vec modules;    /* of struct module */
    struct vec images;     /* of struct image; the last one is reserved from */
    struct vec rows;       /* of struct elfimage_line: of the function being published */
    struct vec dump_lines; /* of struct jitdump_line: the same */
};

/* ---- messages ---- */

static void say(struct profile *profile, const char *what, const char *why)
{
    if (!profile->config.message)
        return;
    char text[1024];
    snprintf(text, sizeof text, "%s: %s", what, why);
    profile->config.message(profile->config.message_user, text);
}

static void lose_map(struct profile *profile, const char *why)
{
    perfmap_close(profile->map);
    profile->map = NULL;
    say(profile, "perf map given up, functions will have no names in it", why);
}

static void lose_dump(struct profile *profile, const char *why)
{
    jitdump_close(profile->dump);
    profile->dump = NULL;
    say(profile, "jitdump given up, perf inject will find no functions from here on", why);
}

static void lose_images(struct profile *profile, int status)
{
    profile->makes_images = false;
    char why[768];
    snprintf(why, sizeof why, "%.512s: %s", profile->directory, elfimage_status_text(status));
    say(profile, "ELF image given up, functions will have no names in it from here on", why);
}

static void lose_listing(struct profile *profile, const struct err *err)
{
    profile->makes_listing = false;
    say(profile, "bytecode listing given up, functions will have no lines from here on", err->message);
}

static void lack_memory(struct profile *profile)
{
    if (!profile->has_no_memory)
        say(profile, "out of memory", "some functions will have no names or lines");
    profile->has_no_memory = true;
}

/* ---- modules ---- */

static void module_fini(struct module *module)
{
    profile_names_destroy(module->names);
    profile_lines_destroy(module->lines);
    free(module->first_lines);
}

/* A map has no lines. */
static bool has_use_for_lines(const struct profile *profile)
{
    return profile->config.lines != PROFILE_LINES_NONE && (profile->dump || profile->makes_images);
}

static void read_lines(struct profile *profile, struct module *module)
{
    enum profile_line_source wanted = profile->config.lines;
    if (!has_use_for_lines(profile))
        return;
    if (wanted != PROFILE_LINES_BYTECODE) {
        struct err err = {0};
        int status = profile_lines_create(module->key, &module->lines, &err);
        char what[512];
        char name[PROFILE_NAME_BYTES + 1];
        profile_name_escape(vm_module_name(module->key), strlen(vm_module_name(module->key)), name);
        snprintf(what, sizeof what, "no source lines for %.256s", name);
        if (status == -ENOENT && wanted == PROFILE_LINES_SOURCE)
            say(profile, what,
                "the module has no DWARF (compile and link it with -g, and without wasm-opt or wasm-strip)");
        else if (status != 0 && status != -ENOENT)
            say(profile, what, status == -ENOMEM ? "out of memory" : err.message);
        if (module->lines || wanted == PROFILE_LINES_SOURCE)
            return;
    }
    module->first_lines = calloc(vm_module_func_count(module->key) + (size_t)1, sizeof *module->first_lines);
    module->is_listed = module->first_lines != NULL;
    if (!module->is_listed)
        lack_memory(profile);
}

/* NULL: no memory. */
static struct module *find_module(struct profile *profile, const struct vm_module *key)
{
    for (size_t i = profile->modules.count; i-- > 0;) {
        struct module *module = vec_at(&profile->modules, i);
        if (module->key == key)
            return module;
    }
    struct module *module = vec_push(&profile->modules);
    if (!module)
        return NULL;
    module->key = key;
    module->names = profile_names_create(key);
    read_lines(profile, module);
    return module;
}

static void module_destroyed(void *user, const struct vm_module *key)
{
    struct profile *profile = user;
    for (size_t i = 0; i < profile->modules.count; i++) {
        struct module *module = vec_at(&profile->modules, i);
        if (module->key != key)
            continue;
        module_fini(module);
        *module = *(struct module *)vec_at(&profile->modules, --profile->modules.count);
        return;
    }
}

/* ---- code memory ---- */

static bool reserve(struct profile *profile, size_t size_bytes, struct elfimage_code *code, int *status)
{
    struct image *image = profile->images.count ? vec_at(&profile->images, profile->images.count - 1) : NULL;
    *status = image ? elfimage_reserve(image->elf, size_bytes, code) : -ENOBUFS;
    if (*status == -ENOBUFS) {
        struct elfimage *elf;
        *status = elfimage_create(profile->directory, "glassbox",
                                  size_bytes > IMAGE_CAPACITY_BYTES ? size_bytes : IMAGE_CAPACITY_BYTES, &elf);
        if (*status != 0)
            return false;
        image = vec_push(&profile->images);
        if (!image) {
            elfimage_destroy(elf);
            *status = -ENOMEM;
            return false;
        }
        image->elf = elf;
        *status = elfimage_reserve(elf, size_bytes, code);
    }
    if (*status == 0)
        image->live_count++;
    return *status == 0;
}

/* The child writes no file of its parent's, and forgets what it cannot use. */
static void notice_fork(struct profile *profile)
{
    if (profile->pid == getpid())
        return;
    profile->pid = getpid();
    profile->images.count = 0;
    profile_listing_destroy(profile->listing);
    profile->listing = NULL;
    for (size_t i = 0; i < profile->modules.count; i++) {
        struct module *module = vec_at(&profile->modules, i);
        if (module->is_listed)
            memset(module->first_lines, 0, vm_module_func_count(module->key) * sizeof *module->first_lines);
    }
}

static bool code_memory_create(void *user, size_t size_bytes, struct vm_code_memory *memory)
{
    struct profile *profile = user;
    notice_fork(profile);
    if (!profile->makes_images)
        return false;
    struct elfimage_code code;
    int status;
    if (!reserve(profile, size_bytes, &code, &status)) {
        lose_images(profile, status);
        return false;
    }
    struct image *image = vec_at(&profile->images, profile->images.count - 1);
    *memory = (struct vm_code_memory){code.write, code.execute, code.size_bytes, image->elf};
    return true;
}

/* An image gives nothing back, since perf reads it after the end; only its use is counted. */
static void code_memory_destroy(void *user, struct vm_code_memory *memory)
{
    struct profile *profile = user;
    for (size_t i = 0; i < profile->images.count; i++) {
        struct image *image = vec_at(&profile->images, i);
        if (image->elf == memory->owner)
            image->live_count--;
    }
}

/* ---- publishing ---- */

static size_t make_rows(struct profile *profile, struct module *module, const struct vm_code *code, const char *name)
{
    profile->rows.count = 0;
    if (!has_use_for_lines(profile) || code->position_count == 0 ||
        !vec_append(&profile->rows, NULL, code->position_count))
        return 0;
    if (module->lines)
        return profile_lines_rows(module->lines, code, profile->rows.data);
    if (!module->is_listed || !profile->makes_listing)
        return 0;
    struct err err = {0};
    size_t row_count = 0;
    int status = profile->listing ? 0 : profile_listing_create(profile->directory, &profile->listing, &err);
    if (status == 0)
        status = profile_listing_add(profile->listing, code, name, &module->first_lines[code->funcidx],
                                     profile->rows.data, &row_count, &err);
    if (status != 0)
        lose_listing(profile, &err);
    return row_count;
}

static void add_to_map(struct profile *profile, const struct vm_code *code, const char *name, size_t name_bytes)
{
    struct perfmap_error error;
    if (profile->map && perfmap_add(profile->map, code->address, code->size_bytes, name, name_bytes, &error) != 0)
        lose_map(profile, error.message);
}

static void add_to_dump(struct profile *profile, const struct vm_code *code, const char *name, size_t name_bytes,
                        size_t row_count)
{
    if (!profile->dump)
        return;
    profile->dump_lines.count = 0;
    struct jitdump_line *lines = row_count ? vec_append(&profile->dump_lines, NULL, row_count) : NULL;
    for (size_t i = 0; lines && i < row_count; i++) {
        const struct elfimage_line *row = vec_at(&profile->rows, i);
        lines[i] = (struct jitdump_line){.offset_bytes = row->offset, .line = row->line, .file = row->file};
    }
    unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES];
    struct jitdump_unwinding unwinding = jitdump_unwinding_frame_pointer(code->size_bytes, buffer);
    struct jitdump_code load = {
        .address = code->address,
        .size_bytes = code->size_bytes,
        .name = name,
        .name_bytes = name_bytes,
        .lines = lines,
        .line_count = lines ? row_count : 0,
        .unwinding = &unwinding,
    };
    struct jitdump_error error;
    if (jitdump_load(profile->dump, &load, NULL, &error) != 0)
        lose_dump(profile, error.message);
}

/* Code in memory of the VM's own, which an image does not hold, is refused by every image and is not meant for one. */
static void add_to_image(struct profile *profile, const struct vm_code *code, const char *name, size_t row_count)
{
    if (!profile->makes_images)
        return;
    for (size_t i = profile->images.count; i-- > 0;) {
        struct image *image = vec_at(&profile->images, i);
        int status = elfimage_add(image->elf, code->address, code->size_bytes, name, profile->rows.data, row_count);
        if (status == -EINVAL)
            continue;
        if (status != 0)
            lose_images(profile, status);
        return;
    }
}

static void code_published(void *user, const struct vm_code *code)
{
    struct profile *profile = user;
    notice_fork(profile);
    char name[PROFILE_NAME_BYTES + 1];
    size_t name_bytes;
    size_t row_count = 0;
    if (code->module) {
        struct module *module = find_module(profile, code->module);
        if (!module || !module->names) {
            lack_memory(profile);
            return;
        }
        name_bytes = profile_names_get(module->names, code->funcidx, name);
        row_count = make_rows(profile, module, code, name);
    } else {
        name_bytes = profile_name_escape(code->host_name, strlen(code->host_name), name);
    }
    add_to_map(profile, code, name, name_bytes);
    add_to_dump(profile, code, name, name_bytes, row_count);
    add_to_image(profile, code, name, row_count);
}

/* ---- life ---- */

static void open_announcers(struct profile *profile)
{
    if (profile->config.announce & PROFILE_MAP) {
        struct perfmap_error error;
        if (perfmap_open(NULL, &profile->map, &error) != 0)
            lose_map(profile, error.message);
    }
    if (profile->config.announce & PROFILE_JITDUMP) {
        struct jitdump_error error;
        if (jitdump_open(profile->directory, &profile->dump, &error) != 0)
            lose_dump(profile, error.message);
    }
    if (profile->config.announce & PROFILE_ELF) {
        profile->makes_images = true;
        profile->hooks.code_memory_create = code_memory_create;
        profile->hooks.code_memory_destroy = code_memory_destroy;
    }
}

int profile_open(const struct profile_config *config, struct profile **result, struct err *err)
{
    *result = NULL;
    const unsigned known = PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF;
    if (config->announce == 0 || config->announce & ~known) {
        err_set(err, ERR_INVALID, 0, "profile: nothing to announce to");
        return -EINVAL;
    }
    struct profile *profile = calloc(1, sizeof *profile);
    char *directory = strdup(config->directory ? config->directory : ".");
    if (!profile || !directory) {
        free(profile);
        free(directory);
        err_set(err, ERR_RESOURCE, 0, "profile: out of memory");
        return -ENOMEM;
    }
    profile->config = *config;
    profile->directory = directory;
    profile->pid = getpid();
    profile->makes_listing = true;
    profile->modules = VEC_INIT(sizeof(struct module));
    profile->images = VEC_INIT(sizeof(struct image));
    profile->rows = VEC_INIT(sizeof(struct elfimage_line));
    profile->dump_lines = VEC_INIT(sizeof(struct jitdump_line));
    profile->hooks = (struct vm_hooks){.code_published = code_published, .module_destroyed = module_destroyed};
    open_announcers(profile);
    *result = profile;
    return 0;
}

const struct vm_hooks *profile_hooks(struct profile *profile)
{
    return &profile->hooks;
}

static void close_image(struct image *image)
{
    if (image->live_count == 0) {
        elfimage_destroy(image->elf);
        return;
    }
    (void)elfimage_finish(image->elf); /* where it fails, the file is as readable, only larger */
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    notice_fork(profile);
    for (size_t i = 0; i < profile->images.count; i++)
        close_image(vec_at(&profile->images, i));
    for (size_t i = 0; i < profile->modules.count; i++)
        module_fini(vec_at(&profile->modules, i));
    perfmap_close(profile->map);
    jitdump_close(profile->dump);
    profile_listing_destroy(profile->listing);
    vec_fini(&profile->images);
    vec_fini(&profile->modules);
    vec_fini(&profile->rows);
    vec_fini(&profile->dump_lines);
    free(profile->directory);
    free(profile);
}
