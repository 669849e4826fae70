/* A server whose times are known beforehand: it serves one request after another, each for so long, and stands still
 * for so long in every second.
 *
 *   stall PORT SERVICE_US STALL_MS CALM_PORT
 *
 * Over the calm port it is asked for its capacity: there it never stands still. It spins instead of sleeping, so that a request costs the same each time. Every second of CLOCK_MONOTONIC begins
 * with the stall. It takes each read for one request (wirelap load sends each in one segment). */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 1024, INPUT = 16 * 1024, BACKLOG = 4096 };

static const char ANSWER[] = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, world!";
static const uint64_t SECOND = 1000000000;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Until then nothing is done. */
static void spin(uint64_t until) {
    while (now() < until) {
    }
}

static void stall(uint64_t length) {
    uint64_t into = now() % SECOND;
    if (into < length) {
        spin(now() - into + length);
    }
}

/* What an event names: the descriptor, and whether it came by the calm port. */
static uint64_t name(int fd, uint64_t calm) {
    return (uint64_t)fd << 1 | calm;
}

static void watch(int poll, int fd, uint64_t calm) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = name(fd, calm)};
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

static int listen_on(const char *port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, BACKLOG)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: stall PORT SERVICE_US STALL_MS CALM_PORT\n");
        return 2;
    }
    uint64_t service = strtoull(words[2], NULL, 10) * 1000;
    uint64_t length = strtoull(words[3], NULL, 10) * 1000000;
    int listeners[] = {listen_on(words[1]), listen_on(words[4])}, one = 1;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS];
    watch(poll, listeners[0], 0);
    watch(poll, listeners[1], 1);
    static char input[INPUT];
    for (;;) {
        int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int index = 0; index < ready; index++) {
            uint64_t calm = events[index].data.u64 & 1;
            int fd = (int)(events[index].data.u64 >> 1);
            if (fd == listeners[calm]) {
                fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                watch(poll, fd, calm);
                continue;
            }
            stall(calm ? 0 : length);
            uint64_t begin = now();
            if (read(fd, input, sizeof input) <= 0) {
                close(fd);
                continue;
            }
            spin(begin + service);
            if (write(fd, ANSWER, sizeof ANSWER - 1) < 0) {
                close(fd);
            }
        }
    }
}
