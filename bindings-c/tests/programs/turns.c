/* Completing a batch and leasing the next in one round trip. */
#include "check.h"

#include <pthread.h>

static size_t next_of(leaseq_queue *queue, leaseq_lease **leases, size_t count, int64_t wait_ms,
                      leaseq_lease **next, size_t capacity) {
    size_t got = 99;
    bool completed[8];
    OK(leaseq_queue_complete_and_lease(queue, leases, count, NULL, completed, 30000, wait_ms, NULL,
                                       next, capacity, &got, &error));
    for (size_t i = 0; i < count; i++) CHECK(completed[i] && leaseq_lease_is_settled(leases[i]));
    leaseq_leases_free(leases, count);
    return got;
}

static void batches(leaseq_queue *queue) {
    leaseq_lease *leases[8], *next[8];
    for (char id = 'a'; id < 'f'; id++) add(queue, (char[]){id, 0}, "data");
    size_t count = next_of(queue, NULL, 0, 0, leases, 2);
    CHECK(count == 2 && is_id(leases[0], "a") && is_id(leases[1], "b"));
    CHECK(!leaseq_lease_is_settled(leases[0]));
    count = next_of(queue, leases, 2, 0, next, 2);
    CHECK(count == 2 && is_id(next[0], "c") && is_id(next[1], "d"));
    count = next_of(queue, next, 2, LEASEQ_WAIT_FOREVER, leases, 8);
    CHECK(count == 1 && is_id(leases[0], "e") && leases[1] == NULL && leases[7] == NULL);
    CHECK(next_of(queue, leases, 1, 0, next, 8) == 0 && next[0] == NULL);
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.leased == 0 && counts.ready == 0 && counts.total_completed == 5);
}

static void options(leaseq_queue *queue) {
    leaseq_complete_options *strict = NULL;
    leaseq_lease_options *alive = NULL;
    OK(leaseq_complete_options_new(&strict, &error));
    OK(leaseq_complete_options_set_strict(strict, true, &error));
    OK(leaseq_lease_options_new(&alive, &error));
    OK(leaseq_lease_options_set_keep_alive(alive, 0, &error));
    add(queue, "strict", "data");
    leaseq_lease *both[2] = {leased(queue, 1), NULL}, *next = NULL;
    both[1] = leased(queue, 30000);
    EVENTUALLY(leaseq_lease_is_lost(both[0]));
    add(queue, "alive", "data");
    bool completed[2] = {true, false};
    size_t count = 0;
    OK(leaseq_queue_complete_and_lease(queue, both, 2, strict, completed, 3000, 0, alive, &next, 1,
                                       &count, &error));
    CHECK(!completed[0] && completed[1] && count == 1 && is_id(next, "alive"));
    CHECK(!leaseq_lease_is_settled(both[0]) && leaseq_lease_is_settled(both[1]));
    int64_t before = leaseq_lease_deadline_ms(next);
    EVENTUALLY(leaseq_lease_deadline_ms(next) > before);
    OK(leaseq_queue_complete(queue, next, NULL, &error));
    leaseq_leases_free(both, 2);
    leaseq_lease_free(&next);
    leaseq_complete_options_free(&strict);
    leaseq_lease_options_free(&alive);
}

static void wrong(leaseq_client *client, leaseq_queue *queue) {
    leaseq_queue *other = queue_of(client, "other");
    add(queue, "kept", "data");
    leaseq_lease *all[2] = {leased(queue, 30000), NULL}, *next = NULL;
    bool completed[2] = {true, true};
    size_t count = 9;
    const int64_t bad_times[] = {0, -1, INT64_MIN, INT64_C(30) * 86400000 + 1};
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++)
        FAILS(LEASEQ_INVALID,
              leaseq_queue_complete_and_lease(queue, all, 1, NULL, completed, bad_times[i], 0, NULL,
                                              &next, 1, &count, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_and_lease(queue, all, 1, NULL, completed, 1000, -7,
                                                          NULL, &next, 1, &count, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_and_lease(queue, all, 1, NULL, completed, 1000, 0,
                                                          NULL, &next, 0, &count, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_and_lease(queue, all, 2, NULL, completed, 1000, 0,
                                                          NULL, &next, 1, &count, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_and_lease(other, all, 1, NULL, completed, 1000, 0,
                                                          NULL, &next, 1, &count, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_and_lease(queue, all, SIZE_MAX, NULL, completed,
                                                          1000, 0, NULL, &next, 1, &count, &error));
    CHECK(!completed[0] && count == 0 && next == NULL && !leaseq_lease_is_settled(all[0]));
    CHECK(counts_of(queue).leased == 1);
    CHECK(next_of(queue, all, 1, 0, &next, 1) == 0);
    leaseq_queue_free(&other);
}

static void *cancel(void *client) {
    /* Once the item is completed, the call waits or is about to wait. */
    leaseq_queue *queue = queue_of(client, "turns");
    EVENTUALLY(counts_of(queue).leased == 0);
    leaseq_queue_free(&queue);
    OK(leaseq_client_cancel_waits(client, NULL));
    return NULL;
}

static void cancelled(leaseq_client *client, leaseq_queue *queue) {
    pthread_t thread;
    add(queue, "last", "data");
    leaseq_lease *last = leased(queue, 30000), *next = NULL;
    CHECK(pthread_create(&thread, NULL, cancel, client) == 0);
    CHECK(next_of(queue, &last, 1, LEASEQ_WAIT_FOREVER, &next, 1) == 0 && next == NULL);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(leaseq_client_allow_waits(client, &error));
}

static void *close_it(void *client) {
    leaseq_queue *queue = queue_of(client, "turns");
    EVENTUALLY(counts_of(queue).leased == 0);
    leaseq_queue_free(&queue);
    OK(leaseq_client_close(client, NULL));
    return NULL;
}

/* Each lease knows whether it was completed. */
static void said(leaseq_queue *queue) {
    leaseq_complete_options *strict = NULL;
    OK(leaseq_complete_options_new(&strict, &error));
    OK(leaseq_complete_options_set_strict(strict, true, &error));
    leaseq_lease *all[4];
    for (int i = 0; i < 4; i++) {
        add(queue, (char[]){(char)('a' + i), 0}, "data");
        all[i] = leased(queue, 30000);
        CHECK(leaseq_lease_completed(all[i]) == LEASEQ_COMPLETED_NO);
    }
    bool done[4];
    OK(leaseq_queue_release(queue, all[1], 60000, NULL, 0, &error));
    for (int i = 1; i < 4; i++)
        OK(leaseq_queue_remove(queue, (char[]){(char)('a' + i)}, 1, done, &error));
    OK(leaseq_queue_complete_many(queue, all, 3, NULL, done, &error));
    CHECK(done[0] && !done[1] && !done[2]);
    OK(leaseq_queue_complete_with(queue, all[3], strict, done, &error));
    OK(leaseq_queue_complete(queue, all[0], done, &error));
    CHECK(!done[0] && leaseq_lease_completed(all[0]) == LEASEQ_COMPLETED_YES);
    for (int i = 0; i < 4; i++) {
        CHECK(i == 0 || leaseq_lease_completed(all[i]) == LEASEQ_COMPLETED_NO);
        CHECK(leaseq_lease_is_settled(all[i]) == (i < 3));
    }
    CHECK(leaseq_lease_completed(NULL) == LEASEQ_COMPLETED_NO);
    leaseq_leases_free(all, 4);
    leaseq_complete_options_free(&strict);
}

/* The results of completing are returned, however the wait ends. */
static void closed(leaseq_queue *queue) {
    pthread_t thread;
    leaseq_client *client = connected();
    leaseq_queue *mine = queue_of(client, "turns");
    const char *url = getenv("LEASEQ_URL");
    /* With memory: each client has its own queues. */
    add(strcmp(url, "memory:") == 0 ? mine : queue, "closed", "data");
    leaseq_lease *last = leased(mine, 30000), *next = NULL;
    bool completed = false;
    size_t count = 9;
    CHECK(pthread_create(&thread, NULL, close_it, client) == 0);
    leaseq_status status =
        leaseq_queue_complete_and_lease(mine, &last, 1, NULL, &completed, 30000,
                                        LEASEQ_WAIT_FOREVER, NULL, &next, 1, &count, &error);
    CHECK(status == LEASEQ_CLOSED && completed && leaseq_lease_is_settled(last));
    CHECK(strstr(leaseq_error_message(error), "each lease says whether it was completed") != NULL);
    leaseq_error_free(&error);
    CHECK(leaseq_lease_completed(last) == LEASEQ_COMPLETED_YES);
    CHECK(count == 0 && next == NULL && pthread_join(thread, NULL) == 0);
    leaseq_lease_free(&last);
    leaseq_queue_free(&mine);
    leaseq_client_free(&client);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "turns");
    batches(queue);
    options(queue);
    wrong(client, queue);
    said(queue);
    cancelled(client, queue);
    closed(queue);
    CHECK(!leaseq_lease_is_settled(NULL));
    end(queue, client);
    return done();
}
