/* The floor of a server's costs: a bare epoll loop that answers whatever it reads with one constant.
 *
 *   floor PORT [FILE]     the answer's body is "Hello, world!", or FILE's bytes
 *
 * One read and one write for each request, and nothing else: no parser, no clock, no file. Whoever does HTTP's
 * work costs more than this, so a share of it is the fair demand at any number of connections. It takes each read
 * for one request (wrk and wirelap load send each in one segment); a request cut in two would get two answers. */

#include "floor.h"

#include <errno.h>
#include <sys/epoll.h>

enum { EVENTS = 256, INPUT = 16 * 1024 };

static void watch(int poll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
}

static void serve(int fd) {
    static char input[INPUT];
    ssize_t got = recv(fd, input, sizeof input, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || send(fd, answer, length, MSG_NOSIGNAL) != (ssize_t)length) close(fd);
}

int main(int count, char **words) {
    if (count < 2) {
        fputs("floor PORT [FILE]\n", stderr);
        return 2;
    }
    prepare(count > 2 ? words[2] : NULL);
    int listener = listen_on(atoi(words[1])), poll = epoll_create1(0);
    watch(poll, listener);
    struct epoll_event events[EVENTS];
    for (;;) {
        int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int at = 0; at < ready; at++) {
            if (events[at].data.fd != listener) {
                serve(events[at].data.fd);
                continue;
            }
            for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) watch(poll, fd);
        }
    }
}
