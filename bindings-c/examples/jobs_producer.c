/* Adds a job: jobs_producer QUEUE NAME ARGS, with the URL in LEASEQ_URL. */
#include <leaseq.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    leaseq_error *error = NULL;
    leaseq_client *client = NULL;
    leaseq_queue *queue = NULL;
    leaseq_item_options *item = NULL;
    leaseq_job_options *job = NULL;
    bool added = false;
    if (argc != 4) {
        fprintf(stderr, "usage: jobs_producer QUEUE NAME ARGS\n");
        return 1;
    }
    /* Kept for a minute after its end, tried three times, and stopped after ten seconds. */
    if (leaseq_connect(NULL, &client, &error) != LEASEQ_OK ||
        leaseq_client_queue(client, argv[1], &queue, &error) != LEASEQ_OK ||
        leaseq_item_options_new(&item, &error) != LEASEQ_OK ||
        leaseq_item_options_set_retain_ms(item, 60000, &error) != LEASEQ_OK ||
        leaseq_job_options_new(&job, &error) != LEASEQ_OK ||
        leaseq_job_options_set_retry(job, 3, 0, 0, &error) != LEASEQ_OK ||
        leaseq_job_options_set_timeout_ms(job, 10000, &error) != LEASEQ_OK ||
        leaseq_queue_enqueue_with(queue, argv[2], argv[3], strlen(argv[3]), item, job, &added,
                                  &error) != LEASEQ_OK) {
        fprintf(stderr, "%s\n", leaseq_error_message(error));
        return 1;
    }
    leaseq_job_options_free(&job);
    leaseq_item_options_free(&item);
    leaseq_queue_free(&queue);
    leaseq_client_close(client, NULL);
    leaseq_client_free(&client);
    return 0;
}
