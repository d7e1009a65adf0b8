/* guest: a program for perf to record. It describes hand-written functions in a dump and runs them.
 *
 *   guest DIRECTORY MODE
 *
 *   plain    runs hot, warm and cold for 60, 30 and 10 parts of the time, called by `outer`
 *   kill     the same, but kills itself with SIGKILL
 *   users    the same; hot is loaded by one user of the dump, which closes it, and the others by the next one
 *   fork     the same; then a child runs hot, which it inherited, and of_child, which it makes, for 50 and 50 parts
 *   move     runs hot and warm for 50 and 50 parts; then warm moves to where hot was
 *
 * DIRECTORY/loop.txt becomes the source text that the lines point to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jitdump/jitdump.h"
#include "tests/unit/elfimage/machine_code.h"

#define SLICES 40
#define TURNS_A_PART 300000 /* a slice of ten parts takes some 10 ms */

enum { PLACES = 8, PLACE_BYTES = 256, ARENA_BYTES = PLACES * PLACE_BYTES };

static char source_path[4096];

static void check(int status, const char *what, const char *why)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static struct jitdump *open_dump(const char *directory)
{
    struct jitdump *dump;
    struct jitdump_error error;
    check(jitdump_open(directory, &dump, &error), "jitdump_open", error.message);
    return dump;
}

/* Spinning code in all places but the first, which calls. Its protection is final before anything is loaded. */
static char *create_arena(void)
{
    char *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(arena == MAP_FAILED, "mmap", "no memory");
    memcpy(arena, call_code, sizeof(call_code));
    for (int place = 1; place < PLACES; place++)
        memcpy(arena + place * PLACE_BYTES, spin_code, sizeof(spin_code));
    __builtin___clear_cache(arena, arena + ARENA_BYTES);
    check(mprotect(arena, ARENA_BYTES, PROT_READ | PROT_EXEC), "mprotect", "refused");
    return arena;
}

static void load(struct jitdump *dump, const char *address, size_t size_bytes, const char *name, uint32_t first_line,
                 uint64_t *index)
{
    const struct jitdump_line lines[] = {
        {0, first_line, 0, source_path},
        {SPIN_LOOP, first_line + 1, 0, source_path},
        {SPIN_COUNT, first_line + 2, 0, source_path},
        {SPIN_LEAVE, first_line + 3, 0, source_path},
    };
    unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES];
    struct jitdump_unwinding unwinding = jitdump_unwinding_frame_pointer(size_bytes, buffer);
    struct jitdump_code code = {
        .address = address,
        .size_bytes = size_bytes,
        .name = name,
        .name_bytes = strlen(name),
        .lines = lines,
        .line_count = first_line ? sizeof(lines) / sizeof(lines[0]) : 0,
        .unwinding = &unwinding,
    };
    struct jitdump_error error;
    check(jitdump_load(dump, &code, index, &error), "jitdump_load", error.message);
}

static spin_fn load_spin(struct jitdump *dump, char *arena, int place, const char *name, uint32_t first_line)
{
    load(dump, arena + place * PLACE_BYTES, sizeof(spin_code), name, first_line, NULL);
    return (spin_fn)(arena + place * PLACE_BYTES);
}

static void write_source(const char *directory)
{
    snprintf(source_path, sizeof(source_path), "%s/loop.txt", directory);
    FILE *file = fopen(source_path, "w");
    check(file == NULL, source_path, "cannot open");
    for (const char *const *name = (const char *const[]){"hot", "warm", "cold", NULL}; *name != NULL; name++)
        fprintf(file, "enter %s\nmultiply four times in %s\ncount down in %s\nleave %s\n", *name, *name, *name, *name);
    fclose(file);
}

static void run_child(struct jitdump *dump, spin_fn inherited)
{
    char *arena = create_arena();
    spin_fn own = load_spin(dump, arena, 1, "of_child", 1);
    for (unsigned slice = 0; slice < SLICES; slice++) {
        inherited(5 * TURNS_A_PART);
        own(5 * TURNS_A_PART);
    }
}

static void run_moving(struct jitdump *dump, char *arena)
{
    char *first = arena + PLACE_BYTES;
    char *second = arena + 2 * PLACE_BYTES;
    uint64_t index;
    load(dump, first, sizeof(spin_code), "hot", 1, NULL);
    load(dump, second, sizeof(spin_code), "warm", 5, &index);
    for (unsigned slice = 0; slice < SLICES; slice++)
        ((spin_fn)first)(5 * TURNS_A_PART);
    struct jitdump_error error;
    check(jitdump_move(dump, index, second, first, sizeof(spin_code), &error), "jitdump_move", error.message);
    for (unsigned slice = 0; slice < SLICES; slice++)
        ((spin_fn)first)(5 * TURNS_A_PART);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *mode = argv[2];
    write_source(argv[1]);
    struct jitdump *dump = open_dump(argv[1]);
    char *arena = create_arena();
    if (strcmp(mode, "move") == 0) {
        run_moving(dump, arena);
        return 0;
    }

    const spin_fn hot = load_spin(dump, arena, 1, "hot", 1);
    if (strcmp(mode, "users") == 0) {
        struct jitdump *first = dump;
        jitdump_close(first);
        dump = open_dump(argv[1]);
    }
    const spin_fn warm = load_spin(dump, arena, 2, "warm", 5);
    const spin_fn cold = load_spin(dump, arena, 3, "cold", 9);
    load(dump, arena, sizeof(call_code), "outer", 0, NULL);
    const call_fn outer = (call_fn)arena;

    if (strcmp(mode, "fork") == 0 && fork() == 0) {
        run_child(dump, hot);
        _exit(0);
    }
    for (unsigned slice = 0; slice < SLICES; slice++) {
        outer(6 * TURNS_A_PART, hot);
        outer(3 * TURNS_A_PART, warm);
        outer(1 * TURNS_A_PART, cold);
    }
    wait(NULL);
    if (strcmp(mode, "kill") == 0)
        raise(SIGKILL);
    jitdump_close(dump);
    return 0;
}
