/* guest: a program for perf to record. It makes an image of hand-written functions and runs them.
 *
 *   guest DIRECTORY MODE [FUNCTIONS]
 *
 *   finish    runs hot, warm and cold for 60, 30 and 10 parts of the time, called by `outer`, and ends in good order
 *   leave     the same, but ends without elfimage_destroy
 *   kill      the same, but kills itself with SIGKILL
 *   forever   the same, and never ends
 *
 * FUNCTIONS more functions, of ten lines each, are published first and never run. DIRECTORY/loop.txt becomes the source
 * text that the lines point to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfimage/elfimage.h"
#include "tests/unit/elfimage/machine_code.h"

#define SLICES 100
#define TURNS_A_PART 300000 /* a slice of ten parts takes some 10 ms */

static char source_path[4096];
static char *code_write;
static const char *code_execute;
static size_t code_used;
static size_t code_size;

static void check(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, elfimage_status_text(status));
    exit(1);
}

static const void *publish(struct elfimage *image, const void *code, size_t size, const char *name,
                           const struct elfimage_line *lines, size_t line_count)
{
    if (code_used + size > code_size) {
        struct elfimage_code piece;
        check(elfimage_reserve(image, 1 << 20, &piece), "elfimage_reserve");
        code_write = piece.write;
        code_execute = piece.execute;
        code_size = piece.size_bytes;
        code_used = 0;
    }
    const char *execute = code_execute + code_used;
    memcpy(code_write + code_used, code, size);
    __builtin___clear_cache((char *)execute, (char *)execute + size);
    code_used += (size + 63) / 64 * 64;
    check(elfimage_add(image, execute, size, name, lines, line_count), "elfimage_add");
    return execute;
}

static spin_fn publish_spin(struct elfimage *image, const char *name, uint32_t first_line)
{
    const struct elfimage_line lines[] = {
        {0, first_line, source_path},
        {SPIN_LOOP, first_line + 1, source_path},
        {SPIN_COUNT, first_line + 2, source_path},
        {SPIN_LEAVE, first_line + 3, source_path},
    };
    return (spin_fn)publish(image, spin_code, sizeof(spin_code), name, lines, sizeof(lines) / sizeof(lines[0]));
}

static void publish_idle(struct elfimage *image, unsigned count)
{
    struct elfimage_line lines[10];
    char name[64];

    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < 10; j++)
            lines[j] = (struct elfimage_line){2 * j, 100 + 10 * i + j, source_path};
        snprintf(name, sizeof(name), "idle_function_with_a_name_of_usual_length_%u", i);
        publish(image, spin_code, sizeof(spin_code), name, lines, 10);
    }
}

static void write_source(const char *directory)
{
    snprintf(source_path, sizeof(source_path), "%s/loop.txt", directory);
    FILE *file = fopen(source_path, "w");
    if (file == NULL)
        check(-1, source_path);
    for (const char *const *name = (const char *const[]){"hot", "warm", "cold", NULL}; *name != NULL; name++)
        fprintf(file, "enter %s\nmultiply four times in %s\ncount down in %s\nleave %s\n", *name, *name, *name, *name);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *mode = argv[2];
    struct elfimage *image;

    write_source(argv[1]);
    check(elfimage_create(argv[1], "guest", 64 << 20, &image), "elfimage_create");
    printf("%s\n", elfimage_path(image));
    fflush(stdout);
    publish_idle(image, argc > 3 ? (unsigned)atoi(argv[3]) : 0);

    const call_fn outer = (call_fn)publish(image, call_code, sizeof(call_code), "outer", NULL, 0);
    const spin_fn warm = publish_spin(image, "warm", 5);
    const spin_fn cold = publish_spin(image, "cold", 9);
    const spin_fn hot = publish_spin(image, "hot", 1);

    for (unsigned slice = 0; slice < SLICES || strcmp(mode, "forever") == 0; slice++) {
        outer(6 * TURNS_A_PART, hot);
        outer(3 * TURNS_A_PART, warm);
        outer(1 * TURNS_A_PART, cold);
    }
    if (strcmp(mode, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(mode, "finish") == 0)
        elfimage_destroy(image);
    return 0;
}
