/* What the worker costs: 100 slots and handlers that do nothing, beside a loop that only leases and
 * completes batches of as many jobs, on the same server and by turns. */
#include "bench.h"

enum { SLOTS = 100, BATCH = 500 };

static const char JOB[] = "{\"v\":1,\"job\":\"bench.nothing\",\"args\":{\"text\":"
                          "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}";

static leaseq_error *error;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) fail(leaseq_error_message(error));
}

static void add(void *state, int jobs, int batch) {
    leaseq_item items[BATCH];
    const Jobs *place = state;
    (void)batch;
    for (int i = 0; i < BATCH; i++)
        items[i] = (leaseq_item){.data = JOB, .data_len = sizeof JOB - 1};
    for (int done = 0; done < jobs; done += BATCH) {
        size_t count = jobs - done < BATCH ? (size_t)(jobs - done) : BATCH;
        ok(leaseq_queue_add_items(place->queue, items, count, NULL, &error));
    }
}

/* Batches of as many jobs as there are slots, in a loop. */
static void bare(void *state, int jobs, int batch) {
    const Jobs *place = state;
    leaseq_lease *leases[SLOTS], *next[SLOTS];
    size_t count = 0, more = 0, done = 0;
    (void)batch;
    do {
        ok(leaseq_queue_complete_and_lease(place->queue, leases, count, NULL, NULL, 60000, 0, NULL,
                                           next, SLOTS, &more, &error));
        leaseq_leases_free(leases, count);
        memcpy(leases, next, sizeof next);
        done += count = more;
    } while (count > 0);
    if (done != (size_t)jobs) fail("jobs are missing");
}

static int32_t nothing(leaseq_task *task, void *context) {
    (void)task, (void)context;
    return 0;
}

static leaseq_worker *start(const Jobs *place) {
    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    ok(leaseq_worker_options_new(&options, &error));
    ok(leaseq_worker_options_add_queue(options, leaseq_queue_name(place->queue), 1, &error));
    ok(leaseq_worker_options_add_job(options, "bench.nothing", &error));
    ok(leaseq_worker_options_set_slots(options, SLOTS, &error));
    ok(leaseq_worker_options_set_burst(options, true, &error));
    ok(leaseq_worker_start(place->client, options, &worker, &error));
    leaseq_worker_options_free(&options);
    return worker;
}

static void end(leaseq_worker *worker, int jobs) {
    if (leaseq_worker_started(worker) != (uint64_t)jobs) fail("jobs are missing");
    leaseq_worker_free(&worker);
}

/* A thread for each slot. */
static void pool(void *state, int jobs, int batch) {
    leaseq_worker *worker = start(state);
    (void)batch;
    ok(leaseq_worker_run(worker, nothing, NULL, &error));
    end(worker, jobs);
}

/* One thread, which reports without waiting, as an event loop does. */
static void one_thread(void *state, int jobs, int batch) {
    leaseq_worker *worker = start(state);
    leaseq_task *task = NULL;
    (void)batch;
    while (ok(leaseq_worker_next(worker, LEASEQ_WAIT_FOREVER, &task, &error)), task != NULL) {
        ok(leaseq_task_complete(task, NULL, 0, NULL, &error));
        leaseq_task_free(&task);
    }
    ok(leaseq_worker_wait(worker, LEASEQ_WAIT_FOREVER, NULL, &error));
    end(worker, jobs);
}

Side jobs_side(const char *name, JobsKind kind) {
    static Jobs place;
    if (place.client == NULL) {
        place.client = leaseq_client_of_bench();
        ok(leaseq_client_queue(place.client, "jobs", &place.queue, &error));
    }
    return (Side){.name = name,
                  .target = "13",
                  .server = "redis",
                  .batch = SLOTS,
                  .state = &place,
                  .add = add,
                  .process = kind == JOBS_BARE   ? bare
                             : kind == JOBS_POOL ? pool
                                                 : one_thread};
}
