/* A worker in an event loop that also echoes its input, and exits at its end: event_loop QUEUE,
 * with the URL in LEASEQ_URL. */
#include <leaseq.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 10 };

static leaseq_error *error;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "event_loop: %s\n", leaseq_error_message(error));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: event_loop QUEUE\n");
        return 1;
    }
    leaseq_client *client = NULL;
    leaseq_queue *queue = NULL;
    leaseq_waiter *waiter = NULL;
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_client_queue(client, argv[1], &queue, &error));
    ok(leaseq_waiter_new(queue, &waiter, &error));

    for (;;) {
        /* The next lease call runs in the background while the loop does other work. */
        if (!leaseq_waiter_has_begun(waiter)) {
            ok(leaseq_waiter_begin(waiter, BATCH, 30000, LEASEQ_WAIT_FOREVER, NULL, &error));
        }
        struct pollfd events[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                   {.fd = leaseq_waiter_fd(waiter), .events = POLLIN}};
        if (poll(events, 2, -1) < 0) continue;
        if (events[1].revents != 0) {
            leaseq_lease *leases[BATCH];
            size_t count = 0;
            ok(leaseq_waiter_take(waiter, leases, BATCH, &count, &error));
            for (size_t i = 0; i < count; i++) {
                printf("work: %.*s\n", (int)leaseq_lease_data_len(leases[i]),
                       leaseq_lease_data(leases[i]));
            }
            ok(leaseq_queue_complete_many(queue, leases, count, NULL, NULL, &error));
            leaseq_leases_free(leases, count);
        }
        if (events[0].revents != 0) {
            char text[256];
            ssize_t len = read(STDIN_FILENO, text, sizeof text);
            if (len <= 0) break;
            printf("told: %.*s", (int)len, text);
        }
        fflush(stdout);
    }
    /* Leases that were not taken are released. */
    leaseq_waiter_free(&waiter);
    leaseq_queue_free(&queue);
    ok(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    return 0;
}
