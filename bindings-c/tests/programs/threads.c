/* Threads that share a client, a queue and leases. */
#include "check.h"

enum { THREADS = 8, EACH = 100 };

static leaseq_client *client;
static leaseq_queue *queue;
static leaseq_lease *shared;
static atomic_int completed, won;

static void *produce(void *argument) {
    for (int i = 0; i < EACH; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d-%d", *(int *)argument, i);
        add(queue, id, "data");
    }
    return NULL;
}

static void *consume(void *argument) {
    (void)argument;
    while (completed < THREADS * EACH) {
        leaseq_lease *lease = NULL;
        OK(leaseq_queue_lease(queue, 60000, 50, &lease, &error));
        if (lease == NULL) continue;
        bool mine = false;
        OK(leaseq_queue_complete(queue, lease, &mine, &error));
        CHECK(mine && !leaseq_lease_is_lost(lease));
        completed++;
        leaseq_lease_free(&lease);
    }
    return NULL;
}

/* A wrong call of one thread fails no call of another, even if they share a request. */
static void *mistake(void *argument) {
    leaseq_queue *other = queue_of(client, "another");
    leaseq_item items[2] = {{.data = "x", .data_len = 1}, {.data = "x", .data_len = SIZE_MAX}};
    char id[32];
    snprintf(id, sizeof id, "%d", *(int *)argument);
    add(other, id, "data");
    leaseq_lease *both[2] = {leased(other, 60000), NULL}, *none = NULL;
    for (int i = 0; i < EACH; i++) {
        FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, items, 2, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_complete(queue, both[0], NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_complete_many(other, both, 2, NULL, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_lease(queue, -1, 0, &none, &error));
    }
    bool mine = false;
    OK(leaseq_queue_complete(other, both[0], &mine, &error));
    CHECK(mine);
    leaseq_lease_free(&both[0]);
    leaseq_queue_free(&other);
    return NULL;
}

static void *compete(void *argument) {
    (void)argument;
    CHECK(leaseq_lease_attempt(shared) == 1);
    bool mine = false;
    OK(leaseq_queue_complete(queue, shared, &mine, &error));
    if (mine) won++;
    return NULL;
}

static void run(void *(*work)(void *), void *(*other)(void *)) {
    pthread_t threads[2 * THREADS], wrong;
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[2 * i], NULL, work, &numbers[i]) == 0);
        CHECK(pthread_create(&threads[2 * i + 1], NULL, other, &numbers[i]) == 0);
    }
    CHECK(pthread_create(&wrong, NULL, mistake, &numbers[0]) == 0);
    CHECK(pthread_join(wrong, NULL) == 0);
    for (int i = 0; i < 2 * THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    client = connected();
    queue = queue_of(client, "threads");
    run(produce, consume);
    CHECK(completed == THREADS * EACH && counts_of(queue).total_completed == THREADS * EACH);
    for (int round = 0; round < 5; round++) {
        add(queue, "one", "data");
        shared = leased(queue, 60000);
        won = 0;
        run(compete, compete);
        CHECK(won == 1);
        leaseq_lease_free(&shared);
    }
    end(queue, client);
    return done();
}
