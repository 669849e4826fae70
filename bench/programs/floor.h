/* What both floors share: the one answer, and the socket that listens. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static char *answer;
static size_t length;

static void fail(const char *attempted) {
    perror(attempted);
    exit(1);
}

/* The same fields as the origin gives, so that both send as many bytes. */
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
