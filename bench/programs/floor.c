/* The floor of a server's costs: a bare epoll loop that answers whatever it reads with one constant.
 *
 *   floor PORT [FILE]     the answer's body is "Hello, world!", or FILE's octets
 *
 * One read and one write for each request, and nothing else: no parser, no clock, no file. Whoever does HTTP's
 * work costs more than this, so a share of it is the fair demand at any number of connections. It takes each read
 * for one request (wrk and wirelap load send each in one segment); a request cut in two would get two answers. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, INPUT = 16 * 1024, BACKLOG = 4096 };

static char *answer;
static size_t length;

static void fail(const char *attempted) {
    perror(attempted);
    exit(1);
}

/* The same fields as the origin gives, so that both send as many octets. */
static void prepare(const char *path) {
    char *body = "Hello, world!";
    size_t size = strlen(body);
    if (path) {
        FILE *file = fopen(path, "rb");
        if (!file) fail(path);
        fseek(file, 0, SEEK_END);
        size = (size_t)ftell(file);
        rewind(file);
        body = malloc(size + 1);
        if (!body || fread(body, 1, size, file) != size) fail(path);
        fclose(file);
    }
    answer = malloc(size + 512);
    if (!answer) fail("malloc");
    int head = snprintf(answer, 512,
                        "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nserver: floor\r\n"
                        "etag: \"123456-d-67890abc.12345678\"\r\n"
                        "last-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\naccept-ranges: bytes\r\n"
                        "content-type: text/plain; charset=utf-8\r\ncontent-length: %zu\r\n\r\n",
                        size);
    memcpy(answer + head, body, size);
    length = (size_t)head + size;
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
    if (listen(fd, BACKLOG) < 0) fail("listen");
    return fd;
}

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
