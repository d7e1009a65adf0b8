/* scratch: see the header. Removal is by a walk of one level: images lie beside each other. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/elfimage/scratch.h"

int scratch_setup(void **state)
{
    char pattern[] = "/tmp/elfimage-test-XXXXXX";
    *state = mkdtemp(pattern) ? strdup(pattern) : NULL;
    return *state ? 0 : -1;
}

int scratch_teardown(void **state)
{
    DIR *directory = opendir(*state);
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    int status = rmdir(*state);
    free(*state);
    return status;
}
