/* A child continues to use clients and queues; leases and waiters stay its parent's. */
#include "check.h"

static leaseq_queue *queue;
static atomic_bool ended;
static atomic_int cycles;

static void cycle(void) {
    OK(leaseq_queue_add_item(queue, TEXT("data"), NULL, NULL, &error));
    leaseq_lease *lease = leased(queue, 60000);
    bool completed = false;
    OK(leaseq_queue_complete(queue, lease, &completed, &error));
    CHECK(completed);
    leaseq_lease_free(&lease);
}

static void *work(void *argument) {
    (void)argument;
    while (!ended) {
        cycle();
        cycles++;
    }
    return NULL;
}

/* The child must exit with 0. */
static void join(pid_t child) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Forks; true in the child, which an alarm ends if it hangs. */
static bool forked(pid_t *child) {
    *child = fork();
    CHECK(*child >= 0);
    if (*child == 0) alarm(60);
    return *child == 0;
}

int main(void) {
    bool memory = strncmp(getenv("LEASEQ_URL"), "memory:", 7) == 0;
    leaseq_client *client = connected();
    queue = queue_of(client, "forked");
    pid_t child;

    add(queue, "mine", "data");
    leaseq_lease *lease = leased(queue, 60000);
    leaseq_waiter *waiter = NULL;
    leaseq_queue *empty = queue_of(client, "empty");
    OK(leaseq_waiter_new(empty, &waiter, &error));
    leaseq_queue_free(&empty);
    OK(leaseq_waiter_begin(waiter, 1, 60000, LEASEQ_WAIT_FOREVER, NULL, &error));
    if (forked(&child)) {
        size_t count = 0;
        leaseq_lease *other = NULL;
        FAILS(LEASEQ_INVALID, leaseq_queue_complete(queue, lease, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_extend(queue, lease, 1000, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_waiter_take(waiter, &other, 1, &count, &error));
        CHECK(leaseq_waiter_fd(waiter) == -1 && !leaseq_waiter_has_begun(waiter));
        CHECK(leaseq_lease_completed(lease) == LEASEQ_COMPLETED_UNKNOWN);
        CHECK(leaseq_lease_is_lost(lease) && leaseq_lease_remaining_ms(lease) == 0);
        CHECK(is_id(lease, "mine") && *leaseq_lease_data(lease) == 'd');
        leaseq_lease_free(&lease);
        leaseq_waiter_free(&waiter);
        if (memory) {
            FAILS(LEASEQ_INVALID, leaseq_queue_pause(queue, NULL, NULL, &error));
            leaseq_queue_free(&queue);
            OK(leaseq_client_close(client, &error));
            leaseq_client_free(&client);
        } else {
            cycle();
            end(queue, client);
        }
        /* A client of its own. */
        client = connected();
        queue = queue_of(client, "child");
        cycle();
        /* Its waits can be cancelled. */
        OK(leaseq_client_cancel_waits(client, &error));
        OK(leaseq_queue_lease(queue, 1000, LEASEQ_WAIT_FOREVER, &other, &error));
        end(queue, client);
        _exit(0);
    }
    join(child);
    /* The child's calls did not affect the parent's handles. */
    bool completed = false;
    OK(leaseq_queue_complete(queue, lease, &completed, &error));
    CHECK(completed);
    leaseq_lease_free(&lease);
    CHECK(leaseq_waiter_has_begun(waiter));
    leaseq_waiter_free(&waiter);

    if (!memory) {
        /* Forks while other threads are in the middle of calls. */
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
        for (int round = 0; round < 30; round++) {
            if (forked(&child)) {
                cycle();
                if (round % 10 == 0) {
                    pid_t grandchild;
                    if (forked(&grandchild)) {
                        cycle();
                        _exit(0);
                    }
                    join(grandchild);
                }
                OK(leaseq_client_close(client, &error));
                _exit(0);
            }
            join(child);
            int before = cycles;
            EVENTUALLY(cycles > before);
        }
        ended = true;
        for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.ready + counts.leased == 0);
    end(queue, client);
    return done();
}
