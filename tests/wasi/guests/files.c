/* Files by descriptors and by stdio, their names, links and times.
 *
 * status: 0
 * output: files.c: good
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

static void test_descriptors(void)
{
    char bytes[16] = "";
    int fd = open("/a", O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    FAILS(open("/a", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    FAILS(open("/none", O_RDONLY), ENOENT);
    CHECK(write(fd, "hello world", 11) == 11);
    CHECK(lseek(fd, -5, SEEK_END) == 6);
    CHECK(read(fd, bytes, 16) == 5 && strcmp(bytes, "world") == 0);
    CHECK(read(fd, bytes, 16) == 0);
    CHECK(pread(fd, bytes, 4, 1) == 4 && memcmp(bytes, "ello", 4) == 0);
    CHECK(pwrite(fd, "J", 1, 0) == 1);
    CHECK(lseek(fd, 0, SEEK_CUR) == 11);
    CHECK(ftruncate(fd, 5) == 0);
    struct stat status;
    CHECK(fstat(fd, &status) == 0 && status.st_size == 5 && S_ISREG(status.st_mode));
    struct iovec parts[] = {{"x", 1}, {"yz", 2}};
    CHECK(lseek(fd, 0, SEEK_END) == 5);
    CHECK(writev(fd, parts, 2) == 3);
    CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
    CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) == 0);
    CHECK(close(fd) == 0);
    FAILS(close(fd), EBADF);

    fd = open("/a", O_RDONLY);
    CHECK(read(fd, bytes, 16) == 8 && memcmp(bytes, "Jelloxyz", 8) == 0);
    CHECK(write(fd, "x", 1) < 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    close(fd);
    fd = open("/a", O_WRONLY | O_APPEND);
    CHECK(fcntl(fd, F_GETFL) & O_APPEND);
    CHECK(write(fd, "!", 1) == 1);
    close(fd);
    CHECK(stat("/a", &status) == 0 && status.st_size == 9);
    CHECK(close(open("/a", O_WRONLY | O_TRUNC)) == 0);
    CHECK(stat("/a", &status) == 0 && status.st_size == 0);
}

static void test_stdio(void)
{
    char line[64];
    FILE *file = fopen("/text", "w+");
    CHECK(file);
    for (int i = 0; i < 10000; i++)
        fprintf(file, "line %d\n", i);
    CHECK(ftell(file) == 98890);
    rewind(file);
    for (int i = 0; i < 10000; i++) {
        int number;
        CHECK(fgets(line, sizeof line, file) && sscanf(line, "line %d", &number) == 1 && number == i);
    }
    CHECK(!fgets(line, sizeof line, file) && feof(file));
    CHECK(fclose(file) == 0);
}

static void test_names(void)
{
    char target[16] = "";
    struct stat status;
    CHECK(close(open("/old", O_WRONLY | O_CREAT, 0600)) == 0);
    CHECK(rename("/old", "/new") == 0);
    CHECK(access("/old", F_OK) != 0 && access("/new", F_OK) == 0);
    CHECK(link("/new", "/hard") == 0);
    CHECK(stat("/hard", &status) == 0 && status.st_nlink == 2);
    CHECK(symlink("new", "/soft") == 0);
    CHECK(readlink("/soft", target, sizeof target) == 3 && strcmp(target, "new") == 0);
    CHECK(lstat("/soft", &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(stat("/soft", &status) == 0 && S_ISREG(status.st_mode));
    CHECK(unlink("/hard") == 0 && unlink("/soft") == 0 && unlink("/new") == 0);
    FAILS(unlink("/new"), ENOENT);
}

static void test_times(void)
{
    struct stat status;
    struct timespec times[2] = {{1000, 5}, {2000, 7}};
    CHECK(utimensat(AT_FDCWD, "/a", times, 0) == 0);
    CHECK(stat("/a", &status) == 0);
    CHECK(status.st_atim.tv_sec == 1000 && status.st_mtim.tv_sec == 2000 && status.st_mtim.tv_nsec == 7);
    int fd = open("/a", O_RDWR);
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_sec = 3000;
    CHECK(futimens(fd, times) == 0);
    CHECK(fstat(fd, &status) == 0 && status.st_atim.tv_sec == 1000 && status.st_mtim.tv_sec == 3000);
    close(fd);
}

int main(void)
{
    test_descriptors();
    test_stdio();
    test_names();
    test_times();
    puts("files.c: good");
}
