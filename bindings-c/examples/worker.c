/* Works until SIGTERM or SIGINT: worker QUEUE, with the URL in LEASEQ_URL. */
#include <leaseq.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static leaseq_client *client;
static sigset_t signals;
static volatile bool stopping;

static void *wait_for_signal(void *unused) {
    int signal;
    (void)unused;
    sigwait(&signals, &signal);
    stopping = true;
    /* Wakes a worker that waits for an item or is about to. */
    leaseq_client_cancel_waits(client, NULL);
    return NULL;
}

static void work(const leaseq_lease *lease) {
    printf("attempt %u: %.*s\n", leaseq_lease_attempt(lease), (int)leaseq_lease_data_len(lease),
           leaseq_lease_data(lease));
    fflush(stdout);
}

int main(int argc, char **argv) {
    leaseq_error *error = NULL;
    leaseq_queue *queue = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: worker QUEUE\n");
        return 1;
    }
    /* Set before any thread starts, including those of the library: they inherit the mask. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    if (leaseq_connect(NULL, &client, &error) != LEASEQ_OK ||
        leaseq_client_queue(client, argv[1], &queue, &error) != LEASEQ_OK) {
        fprintf(stderr, "worker: %s\n", leaseq_error_message(error));
        return 1;
    }
    pthread_t waiting;
    pthread_create(&waiting, NULL, wait_for_signal, NULL);

    while (!stopping) {
        leaseq_lease *lease = NULL;
        bool completed = false;
        leaseq_status status =
            leaseq_queue_lease(queue, 30000, LEASEQ_WAIT_FOREVER, &lease, &error);
        if (status == LEASEQ_OK && lease != NULL) {
            work(lease);
            status = leaseq_queue_complete(queue, lease, &completed, &error);
            if (status == LEASEQ_OK && !completed) fprintf(stderr, "worker: another was faster\n");
        }
        leaseq_lease_free(&lease);
        if (status != LEASEQ_OK) {
            /* The library has retried for 10 s. A service would continue. */
            fprintf(stderr, "worker: %s\n", leaseq_error_message(error));
            bool again = leaseq_error_retryable(error);
            leaseq_error_free(&error);
            if (!again) return 1;
        }
    }
    pthread_join(waiting, NULL);
    leaseq_queue_free(&queue);
    leaseq_client_close(client, NULL);
    leaseq_client_free(&client);
    return 0;
}
