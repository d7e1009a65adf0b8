/* Folders: making, listing, going back in a listing, removing a whole tree while it is listed.
 *
 * status: 0
 * output: folders.c: good
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define COUNT 500

static void make_files(void)
{
    char name[64];
    CHECK(mkdir("/folder", 0700) == 0);
    FAILS(mkdir("/folder", 0700), EEXIST);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "/folder/a-file-of-a-longer-name-%d", i);
        CHECK(close(open(name, O_WRONLY | O_CREAT, 0600)) == 0);
    }
    CHECK(mkdir("/folder/sub", 0700) == 0);
    CHECK(close(open("/folder/sub/file", O_WRONLY | O_CREAT, 0600)) == 0);
}

static void test_listing(void)
{
    static int seen[COUNT];
    DIR *directory = opendir("/folder");
    CHECK(directory);
    for (int round = 1; round <= 2; round++) {
        struct dirent *entry;
        int folders = 0;
        while ((entry = readdir(directory))) {
            int number;
            if (sscanf(entry->d_name, "a-file-of-a-longer-name-%d", &number) == 1) {
                seen[number]++;
                CHECK(entry->d_type == DT_REG);
            } else {
                folders += entry->d_type == DT_DIR;
            }
        }
        for (int i = 0; i < COUNT; i++)
            CHECK(seen[i] == round);
        CHECK(folders == 3); /* . .. sub */
        rewinddir(directory);
    }
    closedir(directory);
}

static void test_going_back(void)
{
    char name[256];
    DIR *directory = opendir("/folder");
    for (int i = 0; i < 100; i++)
        CHECK(readdir(directory));
    long here = telldir(directory);
    snprintf(name, sizeof name, "%s", readdir(directory)->d_name);
    for (int i = 0; i < 100; i++)
        CHECK(readdir(directory));
    seekdir(directory, here);
    CHECK(strcmp(readdir(directory)->d_name, name) == 0);
    closedir(directory);
}

/* Removes while it lists, as `rm -r` does. */
static void remove_tree(const char *path)
{
    char name[512];
    struct dirent *entry;
    DIR *directory = opendir(path);
    CHECK(directory);
    while ((entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            remove_tree(name);
        else
            CHECK(unlink(name) == 0);
    }
    closedir(directory);
    CHECK(rmdir(path) == 0);
}

int main(void)
{
    make_files();
    test_listing();
    test_going_back();
    CHECK(rmdir("/folder") != 0 && errno == ENOTEMPTY);
    FAILS(rmdir("/folder/sub/file"), ENOTDIR);
    remove_tree("/folder");
    CHECK(access("/folder", F_OK) != 0);

    CHECK(mkdir("/work", 0700) == 0 && chdir("/work") == 0);
    CHECK(mkdir("here", 0700) == 0 && access("/work/here", F_OK) == 0);
    puts("folders.c: good");
}
