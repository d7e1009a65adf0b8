/* The perf tool: is it there, does it fit, what was it built with; and the two programs that it calls for source lines
 * and disassembly. Asked by running it, since distributions' wrappers (Ubuntu's picks a perf by the kernel's version)
 * are on the PATH and still do not work.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define INSTALL_PERF                                                                                                   \
    "sudo apt-get install linux-perf (Debian), linux-tools-$(uname -r) (Ubuntu), or dnf install perf (Fedora)"

/* Writes the first executable file called `program` on the PATH to `path`; false: there is none. */
static bool find_program(const char *program, char *path, size_t capacity)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        int needed = snprintf(path, capacity, "%.*s/%s", (int)length, folders, program);
        if (needed > 0 && (size_t)needed < capacity && access(path, X_OK) == 0) {
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    path[0] = '\0';
    return false;
}

/* Runs a program to its end and keeps the beginning of what it prints on both outputs, NUL-terminated. Returns its exit
 * status, or -1 where it could not be run or was killed. */
static int run_program(char *const arguments[], char *text, size_t capacity)
{
    text[0] = '\0';
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child = -1;
    int error = posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);

    size_t used = 0;
    char rest[4096]; /* what no longer fits is read all the same, lest the child be stopped by a full pipe */
    for (ssize_t got = 1; error == 0 && (got > 0 || (got < 0 && errno == EINTR));) {
        bool has_room = used < capacity - 1;
        got = has_room ? read(ends[0], text + used, capacity - 1 - used) : read(ends[0], rest, sizeof rest);
        used += has_room && got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
    close(ends[0]);
    int status = -1;
    while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return error == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void doctor_check_perf(struct doctor_context *context, struct doctor_result *result)
{
    if (!find_program("perf", context->perf_path, sizeof context->perf_path)) {
        doctor_say(result, DOCTOR_FAIL, "perf is not on the PATH");
        doctor_fix(result, INSTALL_PERF);
        return;
    }
    char *arguments[] = {context->perf_path, "version", "--build-options", NULL};
    int status = run_program(arguments, context->perf_version, sizeof context->perf_version);
    size_t length = strcspn(context->perf_version, "\n");
    if (status != 0 || strncmp(context->perf_version, "perf version", 12) != 0) {
        doctor_say(result, DOCTOR_FAIL, "%s does not run: %.*s", context->perf_path, (int)(length < 200 ? length : 200),
                   context->perf_version);
        doctor_fix(result, INSTALL_PERF);
        context->perf_path[0] = '\0';
        return;
    }
    doctor_say(result, DOCTOR_OK, "%s, %.*s", context->perf_path, (int)(length < 100 ? length : 100),
               context->perf_version);
}

/* Whether one of the features, whose names blanks separate (they changed over the years), is built into perf. */
static bool has_feature(const struct doctor_context *context, const char *names)
{
    for (const char *line = context->perf_version; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + strspn(line, " ");
        size_t length = strcspn(name, ":\n");
        const char *value = name + length + strspn(name + length, ": [");
        for (const char *word = names; *word; word += strcspn(word, " "), word += *word == ' ') {
            if (strcspn(word, " ") == length && strncmp(word, name, length) == 0 && strncmp(value, "on", 2) == 0) {
                return true;
            }
        }
    }
    return false;
}

void doctor_check_perf_features(struct doctor_context *context, struct doctor_result *result)
{
    static const struct {
        const char *names;
        const char *loss;
    } features[] = {
        {"libelf", "symbols and lines of --perf=jitdump and elf"},
        {"dwarf libdw", "source lines"},
        {"libunwind libdw-dwarf-unwind libdw", "--call-graph dwarf"},
    };
    if (!context->perf_path[0]) {
        doctor_say(result, DOCTOR_WARN, "unknown without perf");
        return;
    }
    char losses[256] = "";
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if (!has_feature(context, features[i].names)) {
            size_t used = strlen(losses);
            snprintf(losses + used, sizeof losses - used, "%s%s", used ? "; " : "", features[i].loss);
        }
    }
    if (losses[0]) {
        doctor_say(result, DOCTOR_WARN, "perf was built without: %s", losses);
        doctor_fix(result, INSTALL_PERF);
    } else {
        doctor_say(result, DOCTOR_OK, "perf reads ELF symbols and DWARF lines, and unwinds by DWARF");
    }
}

void doctor_check_perf_inject(struct doctor_context *context, struct doctor_result *result)
{
    if (!context->perf_path[0]) {
        doctor_say(result, DOCTOR_WARN, "unknown without perf");
        return;
    }
    char help[16384];
    char *arguments[] = {context->perf_path, "inject", "-h", NULL};
    run_program(arguments, help, sizeof help);
    if (strstr(help, "--jit")) {
        doctor_say(result, DOCTOR_OK, "'perf inject --jit' reads jitdumps");
    } else {
        doctor_say(result, DOCTOR_WARN, "this perf has no 'inject --jit', so a jitdump cannot be read");
        doctor_fix(result, "run with --perf=elf, which needs no inject, or " INSTALL_PERF);
    }
}

void doctor_check_binutils(struct doctor_context *context, struct doctor_result *result)
{
    char path[4096];
    bool has_objdump = find_program("objdump", path, sizeof path);
    bool has_addr2line = find_program("addr2line", path, sizeof path);
    if (has_objdump && has_addr2line) {
        doctor_say(result, DOCTOR_OK, "objdump for 'perf annotate', addr2line for '-s srcline'");
        return;
    }
    doctor_say(result, DOCTOR_WARN, "not on the PATH:%s%s", has_objdump ? "" : " objdump, for 'perf annotate'",
               has_addr2line ? "" : " addr2line, for '-s srcline'");
    doctor_fix(result, "sudo apt-get install binutils");
}
