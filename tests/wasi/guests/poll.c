/* poll and select, on standard input, standard output and a file.
 *
 * input: x
 * status: 0
 * output: poll.c: good
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>
#include <unistd.h>

#include "check.h"

int main(void)
{
    char bytes[8];
    struct pollfd input = {.fd = 0, .events = POLLIN};
    CHECK(poll(&input, 1, 5000) == 1);
    CHECK(input.revents & POLLIN);
    CHECK(read(0, bytes, sizeof bytes) == 2 && bytes[0] == 'x');
    CHECK(poll(NULL, 0, 10) == 0); /* only a timeout */

    int fd = open("/file", O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 3);
    struct pollfd several[] = {{.fd = fd, .events = POLLIN | POLLOUT}, {.fd = 1, .events = POLLOUT}};
    CHECK(poll(several, 2, -1) == 2);
    CHECK(several[0].revents & POLLOUT && several[1].revents & POLLOUT);

    fd_set written;
    struct timeval timeout = {.tv_sec = 5};
    FD_ZERO(&written);
    FD_SET(fd, &written);
    CHECK(select(fd + 1, NULL, &written, NULL, &timeout) == 1 && FD_ISSET(fd, &written));
    puts("poll.c: good");
}
