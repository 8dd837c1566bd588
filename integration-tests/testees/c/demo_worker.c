/* A worker of the demo, in C. `src/demo/worker.rs` describes its input. */
#include "sha256.h"

#include <fcntl.h>
#include <leaseq.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum { NONE, REST, GO, HOLD, QUIT } Order;

static leaseq_queue *queue;
static leaseq_error *error;
static int results;
static int64_t lease_ms;
static size_t batch;
static leaseq_lease **leases;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "demo_worker: %s\n", leaseq_error_message(error));
        exit(1);
    }
}

static void say(const char *line) {
    printf("%s\n", line);
    fflush(stdout);
}

/* The next line of the input. Without `wait`, NONE if there is none yet. */
static Order next_order(bool wait) {
    static char text[64];
    static size_t len;
    for (;;) {
        char *end = memchr(text, '\n', len);
        if (end != NULL) {
            *end = 0;
            Order order = strcmp(text, "rest") == 0   ? REST
                          : strcmp(text, "go") == 0   ? GO
                          : strcmp(text, "hold") == 0 ? HOLD
                                                      : QUIT;
            len -= (size_t)(end + 1 - text);
            memmove(text, end + 1, len);
            return order;
        }
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (!wait && poll(&input, 1, 0) == 0) return NONE;
        ssize_t more = read(STDIN_FILENO, text + len, sizeof text - len);
        if (more <= 0) return QUIT;
        len += (size_t)more;
    }
}

/* Appends a line of JSON about an item, in one write: `"key": value`. */
static void note(const leaseq_lease *lease, const char *key, const char *value) {
    const char *id = leaseq_lease_id(lease);
    size_t id_len = leaseq_lease_id_len(lease), len = 0;
    char line[6 * LEASEQ_MAX_ID + 128];
    len += (size_t)sprintf(line, "{\"id\":\"");
    for (size_t i = 0; i < id_len; i++) {
        unsigned char c = (unsigned char)id[i];
        if (c < 0x20 || c == '"' || c == '\\') {
            len += (size_t)sprintf(line + len, "\\u%04x", c);
        } else {
            line[len++] = (char)c;
        }
    }
    len += (size_t)sprintf(line + len, "\",\"%s\":%s}\n", key, value);
    if (write(results, line, len) != (ssize_t)len) {
        perror("demo_worker: the results");
        exit(1);
    }
}

/* Works on these leases, completes them, and frees them. */
static void work_on(leaseq_lease **some, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char digest[65], quoted[68];
        sha256_hex(leaseq_lease_data(some[i]), leaseq_lease_data_len(some[i]), digest);
        snprintf(quoted, sizeof quoted, "\"%s\"", digest);
        note(some[i], "sha256", quoted);
        bool completed = false;
        ok(leaseq_queue_complete(queue, some[i], &completed, &error));
        note(some[i], "completed", completed ? "true" : "false");
    }
    leaseq_leases_free(some, count);
}

/* Leases batches until a line of input arrives. An event loop waits for both at once. */
static Order go(void) {
    leaseq_waiter *waiter = NULL;
    ok(leaseq_waiter_new(queue, &waiter, &error));
    Order order;
    while ((order = next_order(false)) == NONE) {
        if (!leaseq_waiter_has_begun(waiter)) {
            ok(leaseq_waiter_begin(waiter, batch, lease_ms, LEASEQ_WAIT_FOREVER, NULL, &error));
        }
        struct pollfd events[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                   {.fd = leaseq_waiter_fd(waiter), .events = POLLIN}};
        if (poll(events, 2, -1) < 0 || events[1].revents == 0) continue;
        size_t count = 0;
        ok(leaseq_waiter_take(waiter, leases, batch, &count, &error));
        work_on(leases, count);
    }
    /* Leases that the waiter still has are released. */
    leaseq_waiter_free(&waiter);
    return order;
}

static Order hold(void) {
    size_t count = 0;
    ok(leaseq_queue_lease_many(queue, lease_ms, LEASEQ_WAIT_FOREVER, NULL, leases, batch, &count,
                               &error));
    size_t others = count / 2;
    printf("holding %zu\n", count - others);
    fflush(stdout);
    work_on(leases, others);
    say("quiet");
    Order order = next_order(true);
    work_on(leases + others, count - others);
    return order;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: demo_worker QUEUE RESULTS LEASE_MS BATCH\n");
        return 1;
    }
    leaseq_client *client = NULL;
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_client_queue(client, argv[1], &queue, &error));
    results = open(argv[2], O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666);
    lease_ms = atoll(argv[3]);
    batch = (size_t)atoll(argv[4]);
    leases = calloc(batch, sizeof(leaseq_lease *));
    if (results < 0 || leases == NULL) {
        perror("demo_worker");
        return 1;
    }
    Order order = REST;
    while (order != QUIT) {
        if (order == REST) {
            say("resting");
            order = next_order(true);
        } else {
            order = order == GO ? go() : hold();
        }
    }
    leaseq_queue_free(&queue);
    ok(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    close(results);
    free(leases);
    return 0;
}
