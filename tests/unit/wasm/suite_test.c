/* The whole specification suite through the reader: what is to load must load, what is malformed or invalid must be
 * refused as such, and what needs a feature that this build does not have must be refused by the feature's name. Prints
 * how many of each, by feature, so that a feature which falls out is seen; exits 77 where the suite is not there.
 *
 *     suite_test [DIRECTORY]     else $GLASSBOX_SHARED/spec/core
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/wasm/module.h"

#define MAX_FEATURES 16
#define SKIP 77

struct tally {
    unsigned loaded, refused, failed;
    unsigned same_words; /* of the refused: the report begins with the suite's words */
    struct {
        char name[32];
        unsigned count;
    } features[MAX_FEATURES];
};

static void count_feature(struct tally *tally, const char *message)
{
    size_t length = strcspn(message, ":");
    for (size_t i = 0; i < MAX_FEATURES; i++) {
        if (!tally->features[i].name[0])
            snprintf(tally->features[i].name, sizeof tally->features[i].name, "%.*s", (int)length, message);
        if (strlen(tally->features[i].name) == length && strncmp(tally->features[i].name, message, length) == 0) {
            tally->features[i].count++;
            return;
        }
    }
}

/* The file's bytes in memory of exactly their size, so that a sanitizer sees any read beyond. */
static uint8_t *read_file(const char *path, size_t *size_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        exit(1);
    }
    *size_bytes = (size_t)status.st_size;
    uint8_t *bytes = malloc(*size_bytes ? *size_bytes : 1);
    if (read(fd, bytes, *size_bytes) != (ssize_t)*size_bytes) {
        perror(path);
        exit(1);
    }
    close(fd);
    return bytes;
}

/* `expected`: ERR_NONE where the module must load. */
static void try_module(struct tally *tally, const char *path, enum err_kind expected, const char *words)
{
    size_t size_bytes;
    uint8_t *bytes = read_file(path, &size_bytes);
    struct wasm_module *module;
    struct err err = {0};
    int rc = wasm_module_create(bytes, size_bytes, &module, &err);
    if (rc && err.kind == ERR_UNSUPPORTED) {
        count_feature(tally, err.message);
    } else if (err.kind != expected || (rc != 0) != (expected != ERR_NONE) || err.offset > size_bytes) {
        tally->failed++;
        printf("%s: expected %s (%s), got %s at %#llx: %s\n", path, err_kind_name(expected), words ? words : "",
               err_kind_name(err.kind), (unsigned long long)err.offset, err.message);
    } else if (rc) {
        tally->refused++;
        tally->same_words += strncmp(err.message, words, strlen(words)) == 0;
    } else {
        tally->loaded++;
    }
    wasm_module_destroy(module);
    free(bytes);
}

static void try_command(struct tally *tally, const char *directory, json_t *command)
{
    const char *type = json_string_value(json_object_get(command, "type"));
    const char *filename = json_string_value(json_object_get(command, "filename"));
    const char *words = json_string_value(json_object_get(command, "text"));
    enum err_kind expected = ERR_NONE;
    if (strcmp(type, "assert_malformed") == 0)
        expected = ERR_MALFORMED;
    else if (strcmp(type, "assert_invalid") == 0)
        expected = ERR_INVALID;
    if (!filename) /* no module, or one in the text format */
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, filename);
    try_module(tally, path, expected, words ? words : "");
}

static void try_script(struct tally *tally, const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    json_error_t error;
    json_t *script = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!script) {
        printf("%s: %s\n", path, error.text);
        tally->failed++;
        return;
    }
    size_t i;
    json_t *command;
    json_array_foreach(json_object_get(script, "commands"), i, command)
        try_command(tally, directory, command);
    json_decref(script);
}

int main(int argc, char **argv)
{
    char directory[4096];
    const char *shared = getenv("GLASSBOX_SHARED");
    if (argc > 1)
        snprintf(directory, sizeof directory, "%s", argv[1]);
    else
        snprintf(directory, sizeof directory, "%s/spec/core", shared ? shared : "../shared");
    DIR *entries = opendir(directory);
    if (!entries) {
        printf("skipped: the specification suite is not at %s: %s\n", directory, strerror(errno));
        return SKIP;
    }
    struct tally tally = {0};
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0)
            try_script(&tally, directory, entry->d_name);
    }
    closedir(entries);

    printf("%u loaded, %u refused as they should be (%u in the suite's words), %u failed\n", tally.loaded,
           tally.refused, tally.same_words, tally.failed);
    for (size_t i = 0; i < MAX_FEATURES && tally.features[i].name[0]; i++)
        printf("skipped for %s: %u\n", tally.features[i].name, tally.features[i].count);
    return tally.failed || !tally.loaded || !tally.refused;
}
