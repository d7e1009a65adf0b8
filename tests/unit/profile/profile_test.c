/* profile: what becomes of a published region in map, dump, image and listing, and what is said when that fails. The VM
 * is this file: it makes code that returns at once and publishes it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "module_double.h"
#include "profile/profile.h"

#if defined(__x86_64__)
static const uint8_t machine_code[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3, 0x90, 0x90};
#elif defined(__aarch64__)
static const uint8_t machine_code[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91,
                                       0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#endif

/* One function of two instructions, called `first` where the test gives no other names. */
static const uint8_t bytes[] = {0, 'a', 's', 'm', 1, 0, 0, 0, 10, 8, 1, 6, 0, 0x41, 7, 0x41, 8, 0x0b};
static const struct vm_code_position positions[] = {{2, 13}, {4, 15}};

struct fixture {
    char directory[64];
    struct vm_module module;
    struct profile *profile;
    struct vm_code_memory memory;
    size_t used_bytes;
    bool is_own_memory;
    unsigned message_count;
    char messages[4096];
};

static void note_message(void *user, const char *text)
{
    struct fixture *fixture = user;
    assert_null(strchr(text, '\n'));
    fixture->message_count++;
    size_t length = strlen(fixture->messages);
    snprintf(fixture->messages + length, sizeof fixture->messages - length, "%s\n", text);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    strcpy(fixture->directory, "/tmp/profile-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    fixture->module = double_of_bytes("m.wasm", bytes, sizeof bytes);
    fixture->module.names[0] = "first";
    fixture->module.name_bytes[0] = 5;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s /tmp/perf-%d.map", fixture->directory, (int)getpid());
    assert_int_equal(system(command), 0);
    double_fini(&fixture->module);
    free(fixture);
    return 0;
}

static void open_profile(struct fixture *fixture, unsigned announce, enum profile_line_source lines,
                         const char *directory)
{
    struct profile_config config = {
        .announce = announce, .directory = directory, .lines = lines, .message = note_message, .message_user = fixture};
    struct err err = {0};
    assert_int_equal(profile_open(&config, &fixture->profile, &err), 0);
    const struct vm_hooks *hooks = profile_hooks(fixture->profile);
    assert_int_equal(hooks->code_memory_create != NULL, (announce & PROFILE_ELF) != 0);
    fixture->used_bytes = 0;
    fixture->is_own_memory =
        !hooks->code_memory_create || !hooks->code_memory_create(fixture->profile, 65536, &fixture->memory);
    if (fixture->is_own_memory) {
        void *write = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        void *execute = mremap(write, 0, 65536, MREMAP_MAYMOVE);
        assert_int_equal(mprotect(execute, 65536, PROT_READ | PROT_EXEC), 0);
        fixture->memory = (struct vm_code_memory){write, execute, 65536, NULL};
    }
    assert_true(fixture->memory.size_bytes >= 65536);
    assert_ptr_not_equal(fixture->memory.write, fixture->memory.execute);
}

static void close_profile(struct fixture *fixture)
{
    const struct vm_hooks *hooks = profile_hooks(fixture->profile);
    if (fixture->is_own_memory) {
        munmap(fixture->memory.write, 65536);
        munmap((void *)fixture->memory.execute, 65536);
    } else {
        hooks->code_memory_destroy(fixture->profile, &fixture->memory);
    }
    profile_close(fixture->profile);
    fixture->profile = NULL;
}

/* What the function sanitizer looks for stands in front of compiled functions only. */
__attribute__((no_sanitize("function"))) static void run_region(const void *address)
{
    void (*run)(void);
    memcpy(&run, &address, sizeof run);
    run();
}

/* Returns where the region is. */
static const void *publish(struct fixture *fixture, const struct vm_module *module, uint32_t funcidx,
                           const char *host_name)
{
    memcpy((char *)fixture->memory.write + fixture->used_bytes, machine_code, sizeof machine_code);
    const char *address = (const char *)fixture->memory.execute + fixture->used_bytes;
    __builtin___clear_cache((char *)address, (char *)address + sizeof machine_code);
    fixture->used_bytes += 64;
    struct vm_code code = {.module = module,
                           .funcidx = funcidx,
                           .host_name = host_name,
                           .address = address,
                           .size_bytes = sizeof machine_code,
                           .positions = positions,
                           .position_count = module ? 2 : 0};
    profile_hooks(fixture->profile)->code_published(fixture->profile, &code);
    run_region(address);
    return address;
}

static char *read_text(const char *format, const char *directory, int pid)
{
    char path[256];
    size_t size_bytes;
    snprintf(path, sizeof path, format, directory, pid);
    return double_read_file(path, &size_bytes);
}

/* Whether the file holds `text` somewhere, NULs and all. */
static bool file_has(const char *format, const char *directory, int pid, const char *text)
{
    char path[256];
    size_t size_bytes = 0;
    snprintf(path, sizeof path, format, directory, pid);
    char *contents = double_read_file(path, &size_bytes);
    bool has = contents && memmem(contents, size_bytes, text, strlen(text));
    free(contents);
    return has;
}

/* ---- each file ---- */

static void a_map_has_the_names(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_MAP, PROFILE_LINES_AUTO, fixture->directory);
    const void *first = publish(fixture, &fixture->module, 0, NULL);
    const void *host = publish(fixture, NULL, 0, "wasi.fd_write\n");
    close_profile(fixture);
    char expected[256];
    snprintf(expected, sizeof expected, "%lx %zx first\n%lx %zx wasi.fd_write\\x0a\n", (unsigned long)first,
             sizeof machine_code, (unsigned long)host, sizeof machine_code);
    char *map = read_text("/tmp/%.0sperf-%d.map", "", getpid());
    assert_non_null(map);
    assert_string_equal(map, expected);
    free(map);
    assert_int_equal(fixture->message_count, 0);
    assert_int_equal(fixture->module.listing_calls, 0); /* a map has no lines */
}

static void a_dump_has_names_lines_and_unwinding(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_JITDUMP, PROFILE_LINES_AUTO, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    close_profile(fixture);
    const char *dump = "%s/jit-%d.dump";
    char listing[128];
    snprintf(listing, sizeof listing, "%s/glassbox-%d.wat", fixture->directory, (int)getpid());
    assert_true(file_has(dump, fixture->directory, getpid(), "first"));
    assert_true(file_has(dump, fixture->directory, getpid(), listing));
    assert_true(file_has("%s/glassbox-%d.wat", fixture->directory, getpid(), "(func $first\n  i32.const 7\n"));
    char *records = read_text(dump, fixture->directory, getpid());
    uint32_t id;
    memcpy(&id, records + 40, sizeof id);
    assert_in_range(id, 2, 4); /* DEBUG_INFO or UNWINDING_INFO before the LOAD */
    free(records);
    assert_int_equal(fixture->message_count, 0);
}

static bool image_has_symbol(const char *path, const char *name, const void *code, size_t size_bytes)
{
    elf_version(EV_CURRENT);
    int file = open(path, O_RDONLY);
    if (file < 0)
        return false;
    Elf *elf = elf_begin(file, ELF_C_READ, NULL);
    bool found = false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        Elf_Data *data = header.sh_type == SHT_SYMTAB ? elf_getdata(section, NULL) : NULL;
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
            if (strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name) == 0 && symbol.st_size == size_bytes)
                found = true;
    }
    elf_end(elf);
    close(file);
    return found;
}

static void an_image_has_symbols_and_lines(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_ELF, PROFILE_LINES_BYTECODE, fixture->directory);
    assert_false(fixture->is_own_memory);
    const void *address = publish(fixture, &fixture->module, 0, NULL);
    publish(fixture, NULL, 0, "f");
    char path[128], listing[128];
    snprintf(path, sizeof path, "%s/glassbox-%d.so", fixture->directory, (int)getpid());
    snprintf(listing, sizeof listing, "%s/glassbox-%d.wat", fixture->directory, (int)getpid());
    /* While it runs, which is what a killed process leaves, and after the end. */
    for (int i = 0; i < 2; i++) {
        assert_true(image_has_symbol(path, "first", address, sizeof machine_code));
        assert_true(image_has_symbol(path, "f()", address, sizeof machine_code));
        assert_true(file_has("%s/glassbox-%d.so", fixture->directory, getpid(), listing));
        if (i == 0)
            close_profile(fixture);
    }
    assert_int_equal(fixture->message_count, 0);
}

static void all_three_together(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF, PROFILE_LINES_NONE, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    close_profile(fixture);
    assert_true(file_has("%s/jit-%d.dump", fixture->directory, getpid(), "first"));
    assert_true(file_has("%s/glassbox-%d.so", fixture->directory, getpid(), "first"));
    assert_true(file_has("/tmp/%.0sperf-%d.map", "", getpid(), " first\n"));
    assert_false(file_has("%s/glassbox-%d.wat", fixture->directory, getpid(), ""));
    assert_int_equal(fixture->message_count, 0);
}

static void asking_for_nothing_is_refused(void **state)
{
    struct profile *profile;
    struct err err = {0};
    assert_int_equal(profile_open(&(struct profile_config){0}, &profile, &err), -EINVAL);
    assert_null(profile);
    assert_int_equal(profile_open(&(struct profile_config){.announce = 8}, &profile, NULL), -EINVAL);
    profile_close(NULL);
}

/* A module's address may be another module's later. */
static void a_module_that_went_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_MAP, PROFILE_LINES_AUTO, NULL);
    publish(fixture, &fixture->module, 0, NULL);
    profile_hooks(fixture->profile)->module_destroyed(fixture->profile, &fixture->module);
    double_fini(&fixture->module);
    fixture->module = double_of_names("other", (const char *[]){"twin", "twin"}, 2);
    publish(fixture, &fixture->module, 1, NULL);
    close_profile(fixture);
    assert_true(file_has("/tmp/%.0sperf-%d.map", "", getpid(), " first\n"));
    assert_true(file_has("/tmp/%.0sperf-%d.map", "", getpid(), " twin[1]\n"));
}

/* ---- failures: one message each, and the rest goes on ---- */

static void a_missing_directory_costs_one_message_each(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF, PROFILE_LINES_BYTECODE, "/nowhere");
    assert_true(fixture->is_own_memory);
    for (int i = 0; i < 3; i++)
        publish(fixture, &fixture->module, 0, NULL);
    close_profile(fixture);
    assert_int_equal(fixture->message_count, 2);
    assert_non_null(strstr(fixture->messages, "jitdump"));
    assert_non_null(strstr(fixture->messages, "ELF image"));
    assert_non_null(strstr(fixture->messages, "/nowhere"));
    assert_true(file_has("/tmp/%.0sperf-%d.map", "", getpid(), " first\n"));
}

static void a_full_disk_costs_one_message_each(void **state)
{
    struct fixture *fixture = *state;
    signal(SIGXFSZ, SIG_IGN);
    open_profile(fixture, PROFILE_MAP | PROFILE_JITDUMP, PROFILE_LINES_BYTECODE, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    struct rlimit saved, limit;
    getrlimit(RLIMIT_FSIZE, &saved);
    limit = (struct rlimit){20, saved.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 3; i++) {
        profile_hooks(fixture->profile)->module_destroyed(fixture->profile, &fixture->module); /* list it again */
        publish(fixture, &fixture->module, 0, NULL);
    }
    setrlimit(RLIMIT_FSIZE, &saved);
    close_profile(fixture);
    assert_int_equal(fixture->message_count, 3);
    assert_non_null(strstr(fixture->messages, "perf map"));
    assert_non_null(strstr(fixture->messages, "jitdump"));
    assert_non_null(strstr(fixture->messages, "listing"));
}

static void bug41_no_descriptors_cost_one_message_each(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit saved, limit;
    getrlimit(RLIMIT_NOFILE, &saved);
    int free_descriptor = dup(0);
    close(free_descriptor);
    limit = (struct rlimit){(rlim_t)free_descriptor, saved.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    open_profile(fixture, PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF, PROFILE_LINES_BYTECODE, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    setrlimit(RLIMIT_NOFILE, &saved);
    publish(fixture, &fixture->module, 0, NULL);
    close_profile(fixture);
    assert_int_equal(fixture->message_count, 3);
}

static void missing_source_lines_are_said_where_they_were_asked_for(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_JITDUMP, PROFILE_LINES_SOURCE, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    publish(fixture, &fixture->module, 0, NULL);
    close_profile(fixture);
    assert_int_equal(fixture->message_count, 1);
    assert_non_null(strstr(fixture->messages, "-g"));
    assert_true(file_has("%s/jit-%d.dump", fixture->directory, getpid(), "first"));
    assert_false(file_has("%s/glassbox-%d.wat", fixture->directory, getpid(), ""));
}

/* ---- fork ---- */

static void bug08_a_child_leaves_its_parents_files_alone(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_MAP | PROFILE_JITDUMP | PROFILE_ELF, PROFILE_LINES_BYTECODE, fixture->directory);
    publish(fixture, &fixture->module, 0, NULL);
    int parent = getpid();
    char *map = read_text("/tmp/%.0sperf-%d.map", "", parent);
    char *listing = read_text("%s/glassbox-%d.wat", fixture->directory, parent);
    pid_t child = fork();
    if (child == 0) {
        /* New memory, as the VM does it in a child. */
        struct vm_code_memory memory;
        if (!profile_hooks(fixture->profile)->code_memory_create(fixture->profile, 65536, &memory))
            _exit(1);
        fixture->memory = memory;
        fixture->used_bytes = 0;
        fixture->module.names[0] = "ofchild";
        fixture->module.name_bytes[0] = 7;
        publish(fixture, &fixture->module, 0, NULL);
        close_profile(fixture);
        const char *directory = fixture->directory;
        bool is_announced = file_has("/tmp/%.0sperf-%d.map", "", getpid(), " ofchild\n") &&
                            file_has("%s/jit-%d.dump", directory, getpid(), "ofchild") &&
                            file_has("%s/glassbox-%d.so", directory, getpid(), "ofchild") &&
                            file_has("%s/glassbox-%d.wat", directory, getpid(), "$ofchild");
        char path[64];
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
        unlink(path);
        _exit(is_announced && fixture->message_count == 0 ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *map_after = read_text("/tmp/%.0sperf-%d.map", "", parent);
    char *listing_after = read_text("%s/glassbox-%d.wat", fixture->directory, parent);
    assert_string_equal(map_after, map);
    assert_string_equal(listing_after, listing);
    assert_false(file_has("%s/glassbox-%d.so", fixture->directory, parent, "ofchild"));
    assert_false(file_has("%s/jit-%d.dump", fixture->directory, parent, "ofchild"));
    free(map);
    free(map_after);
    free(listing);
    free(listing_after);
    publish(fixture, NULL, 0, "afterwards");
    close_profile(fixture);
    assert_true(file_has("%s/glassbox-%d.so", fixture->directory, parent, "afterwards"));
    assert_int_equal(fixture->message_count, 0);
}

/* At the process's exit, code may still be running in what was given out. */
static void closing_leaves_code_that_is_in_use(void **state)
{
    struct fixture *fixture = *state;
    open_profile(fixture, PROFILE_ELF, PROFILE_LINES_NONE, fixture->directory);
    const void *address = publish(fixture, &fixture->module, 0, NULL);
    profile_close(fixture->profile);
    run_region(address);
    assert_true(file_has("%s/glassbox-%d.so", fixture->directory, getpid(), "first"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_has_the_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dump_has_names_lines_and_unwinding, setup, teardown),
        cmocka_unit_test_setup_teardown(an_image_has_symbols_and_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(all_three_together, setup, teardown),
        cmocka_unit_test(asking_for_nothing_is_refused),
        cmocka_unit_test_setup_teardown(a_module_that_went_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_directory_costs_one_message_each, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_costs_one_message_each, setup, teardown),
        cmocka_unit_test_setup_teardown(bug41_no_descriptors_cost_one_message_each, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_source_lines_are_said_where_they_were_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(bug08_a_child_leaves_its_parents_files_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_leaves_code_that_is_in_use, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
