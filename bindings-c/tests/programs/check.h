/* Shared by the test programs. Each runs on the engine of LEASEQ_URL, exits with 1 at the first
 * failed check, and prints the number of checks. */
#ifndef CHECK_H
#define CHECK_H

#include <leaseq.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int checks;
/* The last argument of every call. */
static _Thread_local leaseq_error *error;

#define CHECK(what) check((what), #what, __FILE__, __LINE__)
/* The call succeeds. */
#define OK(call) expect(LEASEQ_OK, (call), #call, __FILE__, __LINE__)
/* The call fails with this status. */
#define FAILS(status, call) expect((status), (call), #call, __FILE__, __LINE__)
/* Ids and data from string literals. */
#define TEXT(text) (text), sizeof(text) - 1

static inline void check(bool right, const char *what, const char *file, int line) {
    if (!right) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        _exit(1);
    }
    checks++;
}

static inline void expect(leaseq_status wanted, leaseq_status got, const char *call,
                          const char *file, int line) {
    bool right = got == wanted && leaseq_error_status(error) == wanted &&
                 (error != NULL) == (wanted != LEASEQ_OK) &&
                 (strlen(leaseq_error_message(error)) > 0) == (wanted != LEASEQ_OK);
    if (!right) {
        fprintf(stderr, "%s:%d: %s is %s, not %s: %s\n", file, line, call, leaseq_status_name(got),
                leaseq_status_name(wanted), leaseq_error_message(error));
        _exit(1);
    }
    leaseq_error_free(&error);
    checks++;
}

static inline leaseq_client *connected(void) {
    leaseq_client *client = NULL;
    OK(leaseq_connect(NULL, &client, &error));
    CHECK(client != NULL);
    return client;
}

static inline leaseq_queue *queue_of(leaseq_client *client, const char *name) {
    leaseq_queue *queue = NULL;
    OK(leaseq_client_queue(client, name, &queue, &error));
    CHECK(queue != NULL && strcmp(leaseq_queue_name(queue), name) == 0);
    return queue;
}

static inline void add(leaseq_queue *queue, const char *id, const char *data) {
    leaseq_item item = {0};
    item.data = data;
    item.data_len = strlen(data);
    item.id = id;
    item.id_len = strlen(id);
    bool added = false;
    OK(leaseq_queue_add_items(queue, &item, 1, &added, &error));
    CHECK(added);
}

/* Leases an item, which must be ready. */
static inline leaseq_lease *leased(leaseq_queue *queue, int64_t duration_ms) {
    leaseq_lease *lease = NULL;
    OK(leaseq_queue_lease(queue, duration_ms, 10000, &lease, &error));
    CHECK(lease != NULL);
    return lease;
}

static inline leaseq_counts counts_of(leaseq_queue *queue) {
    leaseq_counts counts;
    OK(leaseq_queue_counts(queue, &counts, sizeof counts, &error));
    return counts;
}

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for a condition, at most 20 s. */
#define EVENTUALLY(condition)                                                                      \
    do {                                                                                           \
        int64_t until = now_ms() + 20000;                                                          \
        while (!(condition)) {                                                                     \
            check(now_ms() < until, #condition ", in time", __FILE__, __LINE__);                   \
            poll(NULL, 0, 5);                                                                      \
        }                                                                                          \
        checks++;                                                                                  \
    } while (0)

static inline bool is_id(leaseq_lease *lease, const char *id) {
    return leaseq_lease_id_len(lease) == strlen(id) &&
           memcmp(leaseq_lease_id(lease), id, strlen(id)) == 0;
}

static inline void end(leaseq_queue *queue, leaseq_client *client) {
    leaseq_queue_free(&queue);
    OK(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    CHECK(queue == NULL && client == NULL);
}

/* Number of connections of this process to a server. */
static inline int connections(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        if (getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
            count += address.ss_family == AF_INET;
        }
    }
    return count;
}

/* Runs after every client is freed. */
static inline int done(void) {
    EVENTUALLY(connections() == 0);
    printf("%d checks\n", atomic_load(&checks));
    return 0;
}

#endif
