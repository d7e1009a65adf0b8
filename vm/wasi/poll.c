/* poll_oneoff: wait until any of a list of clocks and descriptors is ready.
 *
 * One ppoll serves the whole list: its descriptors, with the earliest clock as the timeout. After it, every
 * subscription is looked at once more and each that is ready writes an event; if none is (a signal came, or a clock's
 * timeout was rounded), it waits again. Subscriptions that can never become ready (a bad descriptor, an unknown clock)
 * are answered at once with an event that bears the error, as the specification has it: one bad descriptor must not
 * hide the others.
 *
 * A clock's deadline is fixed when the call begins. A step of the real-time clock while we wait is noticed only when
 * the wait ends: a timerfd would notice at once, but costs two system calls and a descriptor for a case that guests
 * sleeping until a wall-clock time hardly have. The CPU-time clocks stand still while one waits for them, so they are
 * refused.
 *
 * The list is bounded (SUBSCRIPTIONS_MAX), for it makes the host allocate.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define SUBSCRIPTIONS_MAX 4096

struct waiter {
    struct wasi_abi_subscription subscription;
    enum wasi_errno error; /* known before waiting; then the fields below are unused */
    clockid_t clock;
    uint64_t deadline_ns; /* on `clock` */
};

/* waiters[i] and pollfds[i] belong to the guest's subscription i; a clock's pollfd has fd -1, which ppoll skips. */
struct wait {
    uint32_t count;
    struct waiter *waiters;
    struct pollfd *pollfds;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* cannot fail for the two clocks that are waited for */
    return wasi_timestamp_from_host(now);
}

static enum wasi_errno prepare_clock(struct waiter *waiter)
{
    const struct wasi_abi_subscription *subscription = &waiter->subscription;
    if (!wasi_clock_to_host(subscription->clockid_or_fd, &waiter->clock))
        return WASI_EINVAL;
    if (waiter->clock != CLOCK_REALTIME && waiter->clock != CLOCK_MONOTONIC)
        return WASI_ENOTSUP;
    if (subscription->flags & ~WASI_SUBCLOCK_ABSTIME)
        return WASI_EINVAL;
    uint64_t start_ns = subscription->flags & WASI_SUBCLOCK_ABSTIME ? 0 : now_ns(waiter->clock);
    if (__builtin_add_overflow(start_ns, subscription->timeout_ns, &waiter->deadline_ns))
        waiter->deadline_ns = UINT64_MAX;
    return WASI_SUCCESS;
}

static enum wasi_errno prepare_fd(struct wasi *wasi, const struct waiter *waiter, struct pollfd *pollfd)
{
    bool reads = waiter->subscription.tag == WASI_EVENT_FD_READ;
    uint64_t rights = WASI_RIGHT_POLL_FD_READWRITE | (reads ? WASI_RIGHT_FD_READ : WASI_RIGHT_FD_WRITE);
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(wasi, waiter->subscription.clockid_or_fd, rights, &fd);
    if (!error)
        *pollfd = (struct pollfd){.fd = fd->host, .events = reads ? POLLIN : POLLOUT};
    return error;
}

/* Copies the subscriptions in. Fails only where the list as a whole makes no sense. */
static enum wasi_errno prepare(struct wasi_call *call, const uint8_t *source, struct wait *wait)
{
    for (uint32_t i = 0; i < wait->count; i++) {
        struct waiter *waiter = &wait->waiters[i];
        memcpy(&waiter->subscription, source + i * sizeof waiter->subscription, sizeof waiter->subscription);
        wait->pollfds[i].fd = -1;
        switch (waiter->subscription.tag) {
        case WASI_EVENT_CLOCK:
            waiter->error = prepare_clock(waiter);
            break;
        case WASI_EVENT_FD_READ:
        case WASI_EVENT_FD_WRITE:
            waiter->error = prepare_fd(call->wasi, waiter, &wait->pollfds[i]);
            break;
        default:
            return WASI_EINVAL;
        }
    }
    return WASI_SUCCESS;
}

/* How long until the first subscription is ready for sure; UINT64_MAX: perhaps never. */
static uint64_t time_left_ns(const struct wait *wait)
{
    uint64_t left_ns = UINT64_MAX;
    for (uint32_t i = 0; i < wait->count; i++) {
        const struct waiter *waiter = &wait->waiters[i];
        if (waiter->error)
            return 0;
        if (waiter->subscription.tag == WASI_EVENT_CLOCK) {
            uint64_t now = now_ns(waiter->clock);
            uint64_t left = waiter->deadline_ns > now ? waiter->deadline_ns - now : 0;
            if (waiter->deadline_ns != UINT64_MAX && left < left_ns)
                left_ns = left;
        }
    }
    return left_ns;
}

static void fill_fd_event(const struct waiter *waiter, const struct pollfd *pollfd, struct wasi_abi_event *event)
{
    int available = 0;
    if (waiter->subscription.tag == WASI_EVENT_FD_READ && ioctl(pollfd->fd, FIONREAD, &available) == 0)
        event->nbytes = (uint64_t)available;
    if (pollfd->revents & POLLHUP)
        event->flags = WASI_EVENT_HANGUP;
    else if (pollfd->revents & POLLNVAL)
        event->error = WASI_EBADF;
    else if ((pollfd->revents & POLLERR) && !(pollfd->revents & (POLLIN | POLLOUT)))
        event->error = WASI_EIO;
}

/* Writes the events of all that is ready, and returns their number. */
static uint32_t collect(const struct wait *wait, uint8_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wait->count; i++) {
        const struct waiter *waiter = &wait->waiters[i];
        struct wasi_abi_event event = {
            .userdata = waiter->subscription.userdata,
            .type = waiter->subscription.tag,
            .error = (uint16_t)waiter->error,
        };
        if (!waiter->error && waiter->subscription.tag == WASI_EVENT_CLOCK) {
            if (now_ns(waiter->clock) < waiter->deadline_ns)
                continue;
        } else if (!waiter->error) {
            if (!wait->pollfds[i].revents)
                continue;
            fill_fd_event(waiter, &wait->pollfds[i], &event);
        }
        memcpy(out + count++ * sizeof event, &event, sizeof event);
    }
    return count;
}

static enum wasi_errno wait_for_events(struct wait *wait, uint8_t *out, uint32_t *event_count)
{
    do {
        uint64_t left_ns = time_left_ns(wait);
        struct timespec left = wasi_timestamp_to_host(left_ns);
        int ready = ppoll(wait->pollfds, wait->count, left_ns == UINT64_MAX ? NULL : &left, NULL);
        if (ready < 0 && errno != EINTR)
            return wasi_errno_from_host(errno);
        if (ready < 0) /* then revents are not filled */
            for (uint32_t i = 0; i < wait->count; i++)
                wait->pollfds[i].revents = 0;
        *event_count = collect(wait, out);
    } while (*event_count == 0);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_poll_oneoff(struct wasi_call *call)
{
    struct wait wait = {.count = call->args[2].i32};
    const uint8_t *in =
        wasi_guest_range(call, call->args[0].i32, (uint64_t)wait.count * sizeof(struct wasi_abi_subscription));
    uint8_t *out = wasi_guest_range(call, call->args[1].i32, (uint64_t)wait.count * sizeof(struct wasi_abi_event));
    void *count_out = wasi_guest_range(call, call->args[3].i32, sizeof(uint32_t));
    if (!in || !out || !count_out)
        return WASI_EFAULT;
    if (wait.count == 0 || wait.count > SUBSCRIPTIONS_MAX)
        return WASI_EINVAL;

    uint32_t event_count = 0;
    wait.waiters = calloc(wait.count, sizeof *wait.waiters);
    wait.pollfds = calloc(wait.count, sizeof *wait.pollfds);
    enum wasi_errno error = wait.waiters && wait.pollfds ? prepare(call, in, &wait) : WASI_ENOMEM;
    if (!error)
        error = wait_for_events(&wait, out, &event_count);
    if (!error)
        memcpy(count_out, &event_count, sizeof event_count);
    free(wait.waiters);
    free(wait.pollfds);
    return error;
}
