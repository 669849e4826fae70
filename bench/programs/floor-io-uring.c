/* The floor of a server's costs by io_uring, beside floor.c's by epoll.
 *
 *   floor-io-uring PORT [FILE]     the answer's body is "Hello, world!", or FILE's bytes
 *
 * Receiving stands in the kernel for each connection, with buffers from a ring; all answers of a turn are handed over
 * in the call that waits for the next requests. No other call is made for a request. */

#include "floor.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { ENTRIES = 4096, COMPLETIONS = 16384, BUFFERS = 512, INPUT = 4096 };
enum kind { ACCEPT = 1, RECEIVE, SEND };

static int ring, listener;
static unsigned tail, waiting;
static _Atomic unsigned *queue_tail, *done_head, *done_tail;
static struct io_uring_sqe *queue;
static struct io_uring_cqe *done;
static struct io_uring_buf_ring *buffers;
static char *bytes;
static unsigned short given;

static void *map(size_t size, int flags, int fd, off_t offset) {
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, offset);
    if (address == MAP_FAILED) fail("mmap");
    return address;
}

static void open_ring(void) {
    struct io_uring_params told = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL |
                                            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
                                   .cq_entries = COMPLETIONS};
    ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &told);
    if (ring < 0) fail("io_uring_setup");
    size_t first = told.sq_off.array + ENTRIES * sizeof(unsigned);
    size_t second = told.cq_off.cqes + COMPLETIONS * sizeof(struct io_uring_cqe);
    char *both = map(first > second ? first : second, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    queue = map(ENTRIES * sizeof *queue, MAP_SHARED, ring, IORING_OFF_SQES);
    queue_tail = (void *)(both + told.sq_off.tail);
    done_head = (void *)(both + told.cq_off.head);
    done_tail = (void *)(both + told.cq_off.tail);
    done = (void *)(both + told.cq_off.cqes);
    unsigned *order = (void *)(both + told.sq_off.array);
    for (unsigned at = 0; at < ENTRIES; at++) order[at] = at;
}

static void give(unsigned short number) {
    struct io_uring_buf *slot = &buffers->bufs[given++ % BUFFERS];
    slot->addr = (unsigned long)(bytes + number * INPUT);
    slot->len = INPUT;
    slot->bid = number;
    atomic_store_explicit((_Atomic unsigned short *)&buffers->tail, given, memory_order_release);
}

static void open_buffers(void) {
    buffers = map(BUFFERS * sizeof(struct io_uring_buf), MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    bytes = map(BUFFERS * INPUT, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    struct io_uring_buf_reg told = {.ring_addr = (unsigned long)buffers, .ring_entries = BUFFERS};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &told, 1) < 0) fail("io_uring_register");
    for (unsigned short number = 0; number < BUFFERS; number++) give(number);
}

static void hand_over(unsigned wanted) {
    atomic_store_explicit(queue_tail, tail, memory_order_release);
    long taken = syscall(SYS_io_uring_enter, ring, waiting, wanted, IORING_ENTER_GETEVENTS, NULL, 0);
    if (taken < 0 && errno != EINTR) fail("io_uring_enter");
    if (taken > 0) waiting -= (unsigned)taken;
}

static struct io_uring_sqe *ask(enum kind kind, int opcode, int fd) {
    if (waiting == ENTRIES) hand_over(0);
    struct io_uring_sqe *entry = &queue[tail++ % ENTRIES];
    waiting++;
    *entry = (struct io_uring_sqe){.opcode = (unsigned char)opcode, .fd = fd};
    entry->user_data = (unsigned long)kind << 32 | (unsigned)fd;
    return entry;
}

static void receive(int fd) {
    struct io_uring_sqe *entry = ask(RECEIVE, IORING_OP_RECV, fd);
    entry->flags = IOSQE_BUFFER_SELECT;
    entry->ioprio = IORING_RECV_MULTISHOT;
}

static void send_answer(int fd) {
    struct io_uring_sqe *entry = ask(SEND, IORING_OP_SEND, fd);
    entry->addr = (unsigned long)answer;
    entry->len = (unsigned)length;
    entry->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
}

static void accept_more(void) {
    ask(ACCEPT, IORING_OP_POLL_ADD, listener)->poll32_events = POLLIN;
}

static void handle(const struct io_uring_cqe *entry) {
    int fd = (int)(entry->user_data & 0xffffffff), more = entry->flags & IORING_CQE_F_MORE;
    switch (entry->user_data >> 32) {
    case ACCEPT:
        for (int got; (got = accept4(listener, NULL, NULL, 0)) >= 0;) receive(got);
        accept_more();
        break;
    case RECEIVE:
        if (entry->res > 0) {
            send_answer(fd);
            give((unsigned short)(entry->flags >> IORING_CQE_BUFFER_SHIFT));
        }
        if (entry->res > 0 || entry->res == -ENOBUFS) {
            if (!more) receive(fd);
        } else {
            close(fd);
        }
        break;
    default:
        // Receiving ends with it, and closes.
        if (entry->res != (int)length) shutdown(fd, SHUT_RDWR);
    }
}

int main(int count, char **words) {
    if (count < 2) {
        fputs("floor-io-uring PORT [FILE]\n", stderr);
        return 2;
    }
    prepare(count > 2 ? words[2] : NULL);
    listener = listen_on(atoi(words[1]));
    open_ring();
    open_buffers();
    accept_more();
    for (;;) {
        hand_over(1);
        unsigned head = atomic_load_explicit(done_head, memory_order_relaxed);
        unsigned end = atomic_load_explicit(done_tail, memory_order_acquire);
        for (; head != end; head++) handle(&done[head % COMPLETIONS]);
        atomic_store_explicit(done_head, head, memory_order_release);
    }
}
