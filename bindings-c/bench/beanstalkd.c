/* beanstalkd, spoken to in its own protocol (doc/protocol.txt in its sources).
 * Writes the commands of a batch at once, then reads the replies. */
#include "bench.h"

static char out[1 << 18], in[1 << 18];
static size_t in_at, in_end;

static void write_all(int socket, const char *data, size_t len) {
    while (len > 0) {
        ssize_t done = write(socket, data, len);
        if (done <= 0) fail("beanstalkd does not listen");
        data += done;
        len -= (size_t)done;
    }
}

/* Reads until so many bytes are buffered. */
static void fill(int socket, size_t len) {
    if (in_end - in_at >= len) return;
    memmove(in, in + in_at, in_end - in_at);
    in_end -= in_at;
    in_at = 0;
    while (in_end < len) {
        ssize_t done = read(socket, in + in_end, sizeof in - in_end);
        if (done <= 0) fail("beanstalkd does not answer");
        in_end += (size_t)done;
    }
}

/* The next line, without its line end. Valid until the next call. */
static char *line(int socket) {
    for (size_t len = 2;; len++) {
        fill(socket, len);
        if (in[in_at + len - 1] == '\n') {
            char *text = in + in_at;
            text[len - 2] = 0;
            in_at += len;
            return text;
        }
    }
}

static void add(void *state, int items, int batch) {
    int socket = *(int *)state;
    char data[DATA + 1];
    memset(data, 'x', DATA);
    data[DATA] = 0;
    for (int done = 0; done < items; done += batch) {
        size_t len = 0;
        for (int i = 0; i < batch; i++) {
            len += (size_t)snprintf(out + len, sizeof out - len, "put 0 0 60 %d\r\n%s\r\n", DATA,
                                    data);
        }
        write_all(socket, out, len);
        for (int i = 0; i < batch; i++) {
            if (strncmp(line(socket), "INSERTED ", 9) != 0) fail("not inserted");
        }
    }
}

static void process(void *state, int items, int batch) {
    int socket = *(int *)state;
    unsigned long *ids = calloc(batch, sizeof *ids);
    for (int done = 0; done < items; done += batch) {
        size_t len = 0;
        for (int i = 0; i < batch; i++) {
            len += (size_t)snprintf(out + len, sizeof out - len, "reserve-with-timeout 0\r\n");
        }
        write_all(socket, out, len);
        for (int i = 0; i < batch; i++) {
            int bytes = 0;
            if (sscanf(line(socket), "RESERVED %lu %d", &ids[i], &bytes) != 2) fail("none left");
            if (bytes != DATA) fail("wrong data");
            fill(socket, DATA + 2);
            in_at += DATA + 2;
        }
        len = 0;
        for (int i = 0; i < batch; i++) {
            len += (size_t)snprintf(out + len, sizeof out - len, "delete %lu\r\n", ids[i]);
        }
        write_all(socket, out, len);
        for (int i = 0; i < batch; i++) {
            if (strcmp(line(socket), "DELETED") != 0) fail("not deleted");
        }
    }
    free(ids);
}

Side beanstalkd_side(const char *name, int batch) {
    static int socket = -1;
    if (socket < 0) {
        char port[8];
        snprintf(port, sizeof port, "%d", free_port());
        start_server((char *[]){"beanstalkd", "-l", "127.0.0.1", "-p", port, NULL});
        socket = connect_to(atoi(port));
    }
    return (Side){.name = name,
                  .target = "5",
                  .server = "beanstalkd",
                  .batch = batch,
                  .state = &socket,
                  .add = add,
                  .process = process};
}
