/* Waiting, cancellation, keep-alive, and event loops. */
#include "check.h"

typedef struct {
    leaseq_queue *queue;
    atomic_int begun;
    leaseq_status status;
    leaseq_lease *lease;
} Wait;

static void *wait_for_ever(void *argument) {
    Wait *wait = argument;
    wait->begun = 1;
    wait->status =
        leaseq_queue_lease(wait->queue, 30000, LEASEQ_WAIT_FOREVER, &wait->lease, &error);
    leaseq_error_free(&error);
    return NULL;
}

static void waits(leaseq_queue *queue) {
    leaseq_lease *lease = NULL;
    int64_t begun = now_ms();
    OK(leaseq_queue_lease(queue, 30000, 200, &lease, &error));
    CHECK(lease == NULL && now_ms() - begun >= 190);

    Wait wait = {.queue = queue};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_ever, &wait) == 0);
    EVENTUALLY(wait.begun);
    add(queue, "awaited", "data");
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(wait.status == LEASEQ_OK && is_id(wait.lease, "awaited"));
    OK(leaseq_queue_complete(queue, wait.lease, NULL, &error));
    leaseq_lease_free(&wait.lease);
}

enum { THREADS = 4 };

static void cancelled(leaseq_client *client, leaseq_queue *queue) {
    /* Whenever the cancellation happens, no thread that starts to wait keeps waiting. */
    for (int round = 0; round < 20; round++) {
        Wait waits[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            waits[i] = (Wait){.queue = queue};
            CHECK(pthread_create(&threads[i], NULL, wait_for_ever, &waits[i]) == 0);
        }
        if (round % 2) EVENTUALLY(waits[round % THREADS].begun);
        OK(leaseq_client_cancel_waits(client, &error));
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0);
            CHECK(waits[i].status == LEASEQ_OK && waits[i].lease == NULL);
        }
        OK(leaseq_client_allow_waits(client, &error));
    }
    /* Ready items can still be leased. */
    OK(leaseq_client_cancel_waits(client, &error));
    add(queue, "there", "data");
    leaseq_lease *lease = NULL;
    OK(leaseq_queue_lease(queue, 30000, LEASEQ_WAIT_FOREVER, &lease, &error));
    CHECK(lease != NULL);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
    OK(leaseq_client_allow_waits(client, &error));
}

static bool readable(leaseq_waiter *waiter, int timeout_ms) {
    struct pollfd event = {.fd = leaseq_waiter_fd(waiter), .events = POLLIN};
    return poll(&event, 1, timeout_ms) == 1;
}

static void event_loop(leaseq_client *client, leaseq_queue *queue) {
    leaseq_waiter *waiter = NULL;
    leaseq_lease *leases[8];
    size_t count = 9;
    OK(leaseq_waiter_new(queue, &waiter, &error));
    CHECK(leaseq_waiter_fd(waiter) >= 0 && !readable(waiter, 0));
    CHECK(!leaseq_waiter_has_begun(waiter));
    OK(leaseq_waiter_take(waiter, leases, 8, &count, &error));
    CHECK(count == 0);

    OK(leaseq_waiter_begin(waiter, 8, 30000, LEASEQ_WAIT_FOREVER, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_waiter_begin(waiter, 8, 30000, LEASEQ_WAIT_FOREVER, NULL, &error));
    CHECK(leaseq_waiter_has_begun(waiter) && !readable(waiter, 0));
    add(queue, "one", "data");
    CHECK(readable(waiter, 20000) && leaseq_waiter_has_begun(waiter));
    OK(leaseq_waiter_take(waiter, leases, 8, &count, &error));
    CHECK(count == 1 && is_id(leases[0], "one") && leases[1] == NULL && !readable(waiter, 0));
    CHECK(!leaseq_waiter_has_begun(waiter));
    OK(leaseq_queue_complete(queue, leases[0], NULL, &error));
    leaseq_lease_free(&leases[0]);

    /* The answer is taken in two parts. */
    for (int i = 0; i < 5; i++) add(queue, (char[]){'a', (char)('0' + i), 0}, "data");
    OK(leaseq_waiter_begin(waiter, 5, 30000, 0, NULL, &error));
    CHECK(readable(waiter, 20000));
    OK(leaseq_waiter_take(waiter, leases, 2, &count, &error));
    CHECK(count == 2 && readable(waiter, 0));
    FAILS(LEASEQ_INVALID, leaseq_waiter_begin(waiter, 5, 30000, 0, NULL, &error));
    OK(leaseq_waiter_take(waiter, leases + 2, 6, &count, &error));
    CHECK(count == 3 && !readable(waiter, 0));
    OK(leaseq_queue_complete_many(queue, leases, 5, NULL, NULL, &error));
    leaseq_leases_free(leases, 5);

    /* A wait that times out, and one that is cancelled. */
    OK(leaseq_waiter_begin(waiter, 5, 30000, 20, NULL, &error));
    CHECK(readable(waiter, 20000));
    OK(leaseq_waiter_take(waiter, leases, 8, &count, &error));
    CHECK(count == 0);
    OK(leaseq_waiter_begin(waiter, 5, 30000, LEASEQ_WAIT_FOREVER, NULL, &error));
    /* The call may or may not be waiting by now. */
    OK(leaseq_client_cancel_waits(client, &error));
    CHECK(readable(waiter, 20000));
    OK(leaseq_waiter_take(waiter, leases, 8, &count, &error));
    CHECK(count == 0);
    OK(leaseq_client_allow_waits(client, &error));

    /* Freeing a waiter releases its leases, whatever it was doing. */
    for (int round = 0; round < 30; round++) {
        OK(leaseq_waiter_begin(waiter, 5, 3600000, LEASEQ_WAIT_FOREVER, NULL, &error));
        add(queue, "passed on", "data");
        if (round % 2) CHECK(readable(waiter, 20000));
        leaseq_waiter_free(&waiter);
        CHECK(waiter == NULL);
        leaseq_lease *lease = leased(queue, 30000);
        CHECK(leaseq_lease_attempt(lease) == 1);
        OK(leaseq_queue_complete(queue, lease, NULL, &error));
        leaseq_lease_free(&lease);
        OK(leaseq_waiter_new(queue, &waiter, &error));
    }
    leaseq_waiter_free(&waiter);
}

static void keeping_alive(leaseq_queue *queue) {
    leaseq_lease_options *options = NULL;
    OK(leaseq_lease_options_new(&options, &error));
    OK(leaseq_lease_options_set_keep_alive(options, 0, &error));
    add(queue, "kept", "data");
    leaseq_lease *lease = NULL;
    /* Long enough for a library that runs under valgrind on a busy machine. */
    OK(leaseq_queue_lease_with(queue, 6000, 0, options, &lease, &error));
    int64_t first = leaseq_lease_deadline_ms(lease);
    EVENTUALLY(leaseq_lease_deadline_ms(lease) > first);
    CHECK(!leaseq_lease_is_lost(lease));
    /* An operator removes the item, and the handle reports the loss. */
    OK(leaseq_queue_remove(queue, TEXT("kept"), NULL, &error));
    EVENTUALLY(leaseq_lease_is_lost(lease));
    leaseq_lease_free(&lease);

    OK(leaseq_lease_options_set_keep_alive(options, 300, &error));
    add(queue, "limited", "data");
    OK(leaseq_queue_lease_with(queue, 100, 0, options, &lease, &error));
    EVENTUALLY(leaseq_lease_is_lost(lease));
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
    leaseq_lease_options_free(&options);
}

static void closed(leaseq_client *client, leaseq_queue *queue) {
    leaseq_waiter *waiter = NULL;
    leaseq_lease *lease = NULL;
    size_t count = 0;
    OK(leaseq_waiter_new(queue, &waiter, &error));
    OK(leaseq_waiter_begin(waiter, 5, 30000, LEASEQ_WAIT_FOREVER, NULL, &error));
    Wait wait = {.queue = queue};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_ever, &wait) == 0);
    EVENTUALLY(wait.begun);
    OK(leaseq_client_close(client, &error));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(wait.status == LEASEQ_CLOSED && wait.lease == NULL);
    CHECK(readable(waiter, 20000));
    FAILS(LEASEQ_CLOSED, leaseq_waiter_take(waiter, &lease, 1, &count, &error));
    CHECK(!readable(waiter, 0));
    leaseq_waiter_free(&waiter);
    OK(leaseq_client_close(client, &error));
    FAILS(LEASEQ_CLOSED, leaseq_queue_pause(queue, NULL, NULL, &error));
    bool dropped = true;
    FAILS(LEASEQ_CLOSED, leaseq_queue_drop_queue(queue, false, &dropped, &error));
    CHECK(!dropped);
    FAILS(LEASEQ_CLOSED, leaseq_queue_lease(queue, 1000, 0, &lease, &error));
    leaseq_queue *other = NULL;
    FAILS(LEASEQ_CLOSED, leaseq_client_queue(client, "q", &other, &error));
}

/* Closing the client first releases leases that nobody took. */
static void freed_before_closing(void) {
    /* With memory: there is no other client. */
    if (strcmp(getenv("LEASEQ_URL"), "memory:") == 0) return;
    for (int round = 0; round < 20; round++) {
        leaseq_client *client = connected();
        leaseq_queue *queue = queue_of(client, "freed");
        leaseq_waiter *waiter = NULL;
        add(queue, "given back", "data");
        OK(leaseq_waiter_new(queue, &waiter, &error));
        OK(leaseq_waiter_begin(waiter, 5, 3600000, LEASEQ_WAIT_FOREVER, NULL, &error));
        CHECK(readable(waiter, 20000));
        leaseq_waiter_free(&waiter);
        end(queue, client);
        client = connected();
        queue = queue_of(client, "freed");
        CHECK(counts_of(queue).ready == 1 && counts_of(queue).leased == 0);
        OK(leaseq_queue_remove(queue, TEXT("given back"), NULL, &error));
        end(queue, client);
    }
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "waiting");
    waits(queue);
    cancelled(client, queue);
    event_loop(client, queue);
    keeping_alive(queue);
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.ready + counts.delayed + counts.leased + counts.dead == 0);
    freed_before_closing();
    closed(client, queue);
    leaseq_queue_free(&queue);
    leaseq_client_free(&client);
    return done();
}
