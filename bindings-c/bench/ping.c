/* PING over a blocking socket: the limit of a client that makes one call at a time. */
#include "bench.h"

static void ping(int socket, int count) {
    static const char request[] = "*1\r\n$4\r\nPING\r\n";
    char reply[16];
    for (int i = 0; i < count; i++) {
        if (write(socket, request, sizeof request - 1) != sizeof request - 1 ||
            read(socket, reply, sizeof reply) != 7) {
            fail("redis-server does not answer");
        }
    }
}

/* As many round trips as a call for each item takes. */
static void add(void *state, int items, int batch) {
    (void)batch;
    ping(*(int *)state, items);
}

/* Leasing and completing take two. */
static void process(void *state, int items, int batch) {
    (void)batch;
    ping(*(int *)state, 2 * items);
}

Side ping_side(const char *name) {
    static int socket;
    char port[8];
    snprintf(port, sizeof port, "%d", free_port());
    start_server((char *[]){"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                            "--loglevel", "warning", "--dir", "/tmp", NULL});
    socket = connect_to(atoi(port));
    return (Side){.name = name,
                  .target = "5",
                  .server = "redis",
                  .batch = 1,
                  .state = &socket,
                  .add = add,
                  .process = process};
}
