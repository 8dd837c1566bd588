/* Runs jobs on a pool of threads until SIGTERM or SIGINT: jobs_pool QUEUE, with the URL in
 * LEASEQ_URL. */
#include <leaseq.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int32_t (*run)(leaseq_task *task);
} Handler;

static int32_t welcome(leaseq_task *task) {
    printf("welcome, %s\n", leaseq_task_args(task));
    fflush(stdout);
    /* 0: the job is completed. A result could be given with leaseq_task_complete(). */
    return 0;
}

static int32_t flaky(leaseq_task *task) {
    if (leaseq_task_attempt(task) == 1) {
        leaseq_task_fail(task, "TooBusy", "at the first attempt", LEASEQ_POLICY_RETRY, 0, NULL,
                         NULL);
        return 0;
    }
    printf("after %s\n", leaseq_task_last_error(task));
    fflush(stdout);
    return 0;
}

static const Handler handlers[] = {{"welcome", welcome}, {"flaky", flaky}};
enum { HANDLERS = sizeof handlers / sizeof *handlers };

/* Called by a thread of the pool. */
static int32_t run(leaseq_task *task, void *context) {
    (void)context;
    for (int i = 0; i < HANDLERS; i++)
        if (strcmp(handlers[i].name, leaseq_task_name(task)) == 0) return handlers[i].run(task);
    return 1;
}

static sigset_t signals;

/* The first signal lets handlers end for 25 s, the second one does not. */
static void *wait_for_signals(void *worker) {
    int signal;
    sigwait(&signals, &signal);
    leaseq_worker_drain(worker, 25000, NULL);
    sigwait(&signals, &signal);
    leaseq_worker_drain(worker, 0, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    leaseq_error *error = NULL;
    leaseq_client *client = NULL;
    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    pthread_t thread;
    if (argc != 2) {
        fprintf(stderr, "usage: jobs_pool QUEUE\n");
        return 1;
    }
    /* Before any thread starts, including those of the library: they inherit the mask. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    bool ready = leaseq_connect(NULL, &client, &error) == LEASEQ_OK &&
                 leaseq_worker_options_new(&options, &error) == LEASEQ_OK &&
                 leaseq_worker_options_add_queue(options, argv[1], 1, &error) == LEASEQ_OK &&
                 leaseq_worker_options_set_slots(options, 4, &error) == LEASEQ_OK &&
                 leaseq_worker_options_set_owns_process(options, true, &error) == LEASEQ_OK;
    for (int i = 0; ready && i < HANDLERS; i++)
        ready = leaseq_worker_options_add_job(options, handlers[i].name, &error) == LEASEQ_OK;
    if (!ready || leaseq_worker_start(client, options, &worker, &error) != LEASEQ_OK ||
        pthread_create(&thread, NULL, wait_for_signals, worker) != 0 ||
        leaseq_worker_run(worker, run, NULL, &error) != LEASEQ_OK) {
        fprintf(stderr, "%s\n", leaseq_error_message(error));
        return 1;
    }
    /* At once: a handler that did not end in its time may still run. */
    _exit(leaseq_worker_exit_status(worker));
}
