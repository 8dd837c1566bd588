/* Runs jobs in an event loop, beside what else it waits for, until the end of its input:
 * jobs_event_loop QUEUE, with the URL in LEASEQ_URL. */
#include <leaseq.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static leaseq_error *error;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "%s\n", leaseq_error_message(error));
        exit(1);
    }
}

int main(int argc, char **argv) {
    leaseq_client *client = NULL;
    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    leaseq_task *task = NULL;
    int fd = -1;
    if (argc != 2) {
        fprintf(stderr, "usage: jobs_event_loop QUEUE\n");
        return 1;
    }
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_worker_options_new(&options, &error));
    ok(leaseq_worker_options_add_queue(options, argv[1], 1, &error));
    ok(leaseq_worker_options_add_job(options, "welcome", &error));
    ok(leaseq_worker_start(client, options, &worker, &error));
    ok(leaseq_worker_fd(worker, &fd, &error));
    struct pollfd events[2] = {{.fd = fd, .events = POLLIN},
                               {.fd = STDIN_FILENO, .events = POLLIN}};
    while (!leaseq_worker_has_ended(worker)) {
        if (poll(events, 2, -1) < 0) continue;
        if (events[1].revents != 0) {
            char text[256];
            ssize_t len = read(STDIN_FILENO, text, sizeof text);
            if (len > 0) {
                printf("told: %.*s", (int)len, text);
                fflush(stdout);
            } else {
                /* The end. Jobs that were not taken go back to the queue. */
                events[1].fd = -1;
                ok(leaseq_worker_drain(worker, 1000, &error));
            }
        }
        /* Without waiting: NULL if the descriptor is readable for another reason. */
        ok(leaseq_worker_next(worker, 0, &task, &error));
        if (task == NULL) continue;
        printf("welcome, %s\n", leaseq_task_args(task));
        fflush(stdout);
        /* A long job would be ended later, by whoever has done it. */
        ok(leaseq_task_complete(task, NULL, 0, NULL, &error));
        leaseq_task_free(&task);
    }
    int status = leaseq_worker_exit_status(worker);
    leaseq_worker_free(&worker);
    leaseq_worker_options_free(&options);
    ok(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    return status;
}
