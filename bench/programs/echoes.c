/* Drives a WebSocket echo server: each connection sends a masked text, waits for its echo, and sends the next.
 *
 *   echoes PORT PATH CONNECTIONS BYTES SECONDS     prints how many echoes came
 *
 * It does as little as a client can: one prepared frame, and an echo is told by its bytes' number alone, since
 * every server under test sends an unmasked frame without compression. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, INPUT = 64 * 1024 };

static char frame[14 + 65536];
static size_t frame_length, echo_length;

static void fail(const char *attempted) {
    perror(attempted);
    exit(1);
}

/* RFC 6455 section 5.2: a final text frame; the mask is a fixed one. */
static void prepare(size_t bytes) {
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    size_t at = 0;
    frame[at++] = (char)0x81;
    if (bytes < 126) {
        frame[at++] = (char)(0x80 | bytes);
    } else {
        frame[at++] = (char)(0x80 | 126);
        frame[at++] = (char)(bytes >> 8);
        frame[at++] = (char)bytes;
    }
    echo_length = at + bytes;
    memcpy(frame + at, mask, 4);
    at += 4;
    for (size_t index = 0; index < bytes; index++) frame[at++] = (char)('a' ^ mask[index % 4]);
    frame_length = at;
}

static void send_frame(int fd) {
    if (send(fd, frame, frame_length, MSG_NOSIGNAL) != (ssize_t)frame_length) fail("send");
}

/* The handshake, waited for: it is not what is measured. */
static int open_one(int port, const char *path) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    char text[2048];
    int length = snprintf(text, sizeof text,
                          "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                          path);
    if (send(fd, text, (size_t)length, 0) != length) fail("send");
    size_t got = 0;
    while (got < 4 || !memmem(text, got, "\r\n\r\n", 4)) {
        ssize_t more = recv(fd, text + got, sizeof text - got, 0);
        if (more <= 0) fail("the handshake");
        got += (size_t)more;
    }
    if (memcmp(text, "HTTP/1.1 101", 12)) {
        fprintf(stderr, "the server refuses: %.*s\n", (int)got, text);
        exit(1);
    }
    return fd;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **words) {
    if (count < 6) {
        fputs("echoes PORT PATH CONNECTIONS BYTES SECONDS\n", stderr);
        return 2;
    }
    int connections = atoi(words[3]), poll = epoll_create1(0);
    size_t bytes = (size_t)atol(words[4]);
    if (bytes > 65535) bytes = 65535;
    prepare(bytes);
    int *fds = calloc((size_t)connections, sizeof *fds);
    size_t *got = calloc((size_t)connections, sizeof *got);
    if (!fds || !got) fail("calloc");
    for (int index = 0; index < connections; index++) {
        fds[index] = open_one(atoi(words[1]), words[2]);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, fds[index], &event) < 0) fail("epoll_ctl");
    }
    double end = now() + atof(words[5]);
    for (int index = 0; index < connections; index++) send_frame(fds[index]);
    static char input[INPUT];
    struct epoll_event events[EVENTS];
    unsigned long long echoes = 0;
    while (now() < end) {
        int ready = epoll_wait(poll, events, EVENTS, 100);
        for (int at = 0; at < ready; at++) {
            uint32_t index = events[at].data.u32;
            ssize_t more = recv(fds[index], input, sizeof input, 0);
            if (more <= 0) fail("recv");
            got[index] += (size_t)more;
            if (got[index] > echo_length) {
                fputs("an echo is longer than what was sent\n", stderr);
                return 1;
            }
            if (got[index] < echo_length) continue;
            got[index] = 0;
            echoes++;
            send_frame(fds[index]);
        }
    }
    printf("%llu\n", echoes);
}
