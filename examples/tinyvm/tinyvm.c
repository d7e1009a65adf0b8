/* tinyvm: a stack machine whose functions native perf can see, in about 100 lines, with libperfmap, libjitdump or
 * libelfimage.
 *
 *     tinyvm map|jitdump|elf [SECONDS]
 *
 * An interpreter is one C function, so perf charges it with everything. Here each bytecode function runs in a copy of
 * the interpreter that is its own: the C function's machine code, copied once a function. Then an address says which
 * function runs, and all that is left is to tell perf which addresses are whose. No opcode becomes slower by it.
 *
 *     interpreter      │ run │                        compiled once, in a section of its own
 *     regions          │ run │ run │ run │            copied: one for `program`, one for `hot`, ...
 *
 * What may be copied: code that calls only through pointers it is given and has no jump table or constant elsewhere.
 * CMakeLists.txt asks the compiler for that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <elfimage/elfimage.h>
#include <jitdump/jitdump.h>
#include <perfmap/perfmap.h>

enum opcode { PUSH, GET, SET, ADD, JUMP_IF, CALL, RETURN };

/* Takes its one argument from the top of the stack, where it also leaves its result. */
struct function {
    const char *name;
    const long *code;
    void (*run)(const struct function *functions, const long *pc, long *top);
};

__attribute__((section("interpreter"), noinline, used))
static void interpret(const struct function *functions, const long *pc, long *top)
{
    long *argument = top;
    for (;;) {
        switch ((enum opcode)*pc++) {
        case PUSH: *++top = *pc++; break;
        case GET: *++top = *argument; break;
        case SET: *argument = *top--; break;
        case ADD: top--; top[0] += top[1]; break;
        case JUMP_IF: pc = *top-- ? pc + *pc : pc + 1; break;
        case CALL: functions[*pc].run(functions, functions[*pc].code, top); pc++; break;
        case RETURN: *argument = *top; return;
        }
    }
}
extern const char __start_interpreter[], __stop_interpreter[];

/* ---- the program: three functions that count down, and one that calls them for 60, 30 and 10 parts of the time ----
 * */

static const long count_down[] = {GET, PUSH, -1, ADD, SET, GET, JUMP_IF, -7, PUSH, 1, RETURN};
static const long program[] = {
    PUSH, 600000, CALL, 1, PUSH, 300000, CALL, 2, PUSH, 100000, CALL, 3, ADD, ADD, RETURN};
static struct function functions[] = {
    {"program", program, NULL}, {"hot", count_down, NULL}, {"warm", count_down, NULL}, {"cold", count_down, NULL}};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

/* ---- a region each ---- */

static void check(int failed, const char *what, const char *why)
{
    if (failed) {
        fprintf(stderr, "tinyvm: %s: %s\n", what, why);
        exit(1);
    }
}

static void copy_interpreter(char *write, const char *execute, size_t size, size_t pitch)
{
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        memcpy(write + i * pitch, __start_interpreter, size);
        functions[i].run = (void (*)(const struct function *, const long *, long *))(execute + i * pitch);
    }
    __builtin___clear_cache((char *)execute, (char *)execute + FUNCTION_COUNT * pitch);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    size_t size = (size_t)(__stop_interpreter - __start_interpreter);
    size_t pitch = (size + JITDUMP_FRAME_POINTER_BYTES + 63) / 64 * 64; /* room for unwinding data: see jitdump.h */

    struct perfmap *map = NULL;
    struct perfmap_error map_error;
    struct jitdump *dump = NULL;
    struct jitdump_error dump_error;
    struct elfimage *image = NULL;
    if (strcmp(mode, "map") == 0)
        check(perfmap_open(NULL, &map, &map_error), mode, map_error.message);
    else if (strcmp(mode, "jitdump") == 0)
        check(jitdump_open(NULL, &dump, &dump_error), mode, dump_error.message);
    else if (strcmp(mode, "elf") != 0)
        check(1, "usage", "tinyvm map|jitdump|elf [SECONDS]");

    if (strcmp(mode, "elf") == 0) { /* the image is the memory */
        struct elfimage_code code;
        int status = elfimage_create(".", "tinyvm", 1 << 20, &image);
        status = status ? status : elfimage_reserve(image, FUNCTION_COUNT * pitch, &code);
        check(status, mode, elfimage_status_text(status));
        copy_interpreter(code.write, code.execute, size, pitch);
    } else { /* any anonymous memory will do; its protection is final before perf is told */
        char *arena = mmap(NULL, FUNCTION_COUNT * pitch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(arena == MAP_FAILED, "mmap", "no memory");
        copy_interpreter(arena, arena, size, pitch);
        check(mprotect(arena, FUNCTION_COUNT * pitch, PROT_READ | PROT_EXEC), "mprotect", "refused");
    }

    /* A NULL map or dump takes no notice; only one of the three is in use. */
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        const void *address = (const void *)functions[i].run;
        const char *name = functions[i].name;
        check(perfmap_add(map, address, size, name, strlen(name), &map_error), mode, map_error.message);
        unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES];
        struct jitdump_unwinding unwinding = jitdump_unwinding_frame_pointer(size, buffer);
        struct jitdump_code code = {address, size, name, strlen(name), NULL, 0, &unwinding};
        check(jitdump_load(dump, &code, NULL, &dump_error), mode, dump_error.message);
        if (image)
            check(elfimage_add(image, address, size, name, NULL, 0), mode, "elfimage_add");
    }

    long rounds = 0, sum = 0;
    for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end; rounds++) {
        long stack[16] = {0};
        functions[0].run(functions, functions[0].code, stack);
        sum += stack[0];
    }
    printf("%s\n", sum == 3 * rounds ? "ok" : "wrong");
    perfmap_close(map);
    jitdump_close(dump);
    elfimage_destroy(image);
    return sum == 3 * rounds ? 0 : 1;
}
