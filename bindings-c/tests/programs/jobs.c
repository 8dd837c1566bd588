/* The worker of jobs: handlers on threads of the program and of the library, every way to end a
 * task, an event loop, cancellation, an orderly end, and wrong use in any order. */
#include "check.h"

#include <signal.h>

static leaseq_worker_options *options_for(const char *queue) {
    leaseq_worker_options *options = NULL;
    OK(leaseq_worker_options_new(&options, &error));
    OK(leaseq_worker_options_add_queue(options, queue, 1, &error));
    OK(leaseq_worker_options_add_job(options, "greet", &error));
    OK(leaseq_worker_options_set_job_retry(options, "greet", 3, 0, 0, &error));
    OK(leaseq_worker_options_set_slots(options, 4, &error));
    OK(leaseq_worker_options_set_prefetch(options, 2, &error));
    OK(leaseq_worker_options_set_burst(options, true, &error));
    return options;
}

static leaseq_worker *started(leaseq_client *client, leaseq_worker_options **options) {
    leaseq_worker *worker = NULL;
    OK(leaseq_worker_start(client, *options, &worker, &error));
    CHECK(worker != NULL && leaseq_worker_exit_status(worker) == -1);
    leaseq_worker_options_free(options);
    return worker;
}

static void enqueue(leaseq_queue *queue, const char *id, const char *args) {
    leaseq_item_options *options = NULL;
    bool added = false;
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_id(options, id, strlen(id), &error));
    OK(leaseq_item_options_set_retain_ms(options, 60000, &error));
    OK(leaseq_queue_enqueue(queue, "greet", args, strlen(args), options, &added, &error));
    CHECK(added);
    leaseq_item_options_free(&options);
}

static leaseq_task *next(leaseq_worker *worker) {
    leaseq_task *task = NULL;
    OK(leaseq_worker_next(worker, 20000, &task, &error));
    CHECK(task != NULL);
    return task;
}

static bool has_id(const leaseq_task *task, const char *id) {
    return leaseq_task_id_len(task) == strlen(id) &&
           memcmp(leaseq_task_id(task), id, strlen(id)) == 0;
}

static leaseq_end_kind end_of(leaseq_queue *queue, const char *id) {
    leaseq_outcome *outcome = NULL;
    OK(leaseq_queue_outcome(queue, id, strlen(id), 20000, false, &outcome, &error));
    leaseq_end_kind kind = leaseq_outcome_kind(outcome);
    leaseq_outcome_free(&outcome);
    return kind;
}

/* The last call has failed, with this message. */
static void says(const char *message) {
    CHECK(error != NULL);
    if (strcmp(leaseq_error_message(error), message) != 0) {
        fprintf(stderr, "it says: %s\n", leaseq_error_message(error));
        CHECK(false);
    }
    leaseq_error_free(&error);
}

/* What is wrong with the call of a handler names its job. */
static void messages(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "messages");
    enqueue(queue, "a", "{}");
    leaseq_worker_options *options = options_for("messages");
    leaseq_worker_options_set_job_timeout_ms(options, "greet", -1, &error);
    says("job greet: a timeout of -1 ms is negative");
    leaseq_worker_options_set_job_retry(options, "other", 1, 0, 0, &error);
    says("job other was not added to the options");
    leaseq_worker *worker = started(client, &options);
    leaseq_task *task = next(worker);
    leaseq_task_more_time(task, -1, &error);
    says("queue messages, job greet, item \"a\": a time of -1 ms is negative");
    leaseq_task_progress(task, "", 1025, &error);
    says("queue messages, job greet, item \"a\": progress of 1025 bytes is over the limit of 1024");
    leaseq_task_fail(task, "E", NULL, LEASEQ_POLICY_RETRY, 0, NULL, &error);
    says("queue messages, job greet, item \"a\": message is NULL");
    leaseq_task_snooze(task, -1, NULL, &error);
    says("queue messages, job greet, item \"a\": a delay of -1 ms is negative");
    OK(leaseq_task_complete(task, NULL, 0, NULL, &error));
    leaseq_task_complete(task, NULL, 0, NULL, &error);
    says("queue messages, job greet, item \"a\": the task was finished before");
    leaseq_task_free(&task);
    leaseq_worker_free(&worker);
    leaseq_queue_enqueue(queue, "greet", TEXT("{"), NULL, NULL, &error);
    CHECK(strncmp(leaseq_error_message(error), "job greet: the arguments are no JSON: ", 38) == 0);
    leaseq_error_free(&error);
    leaseq_queue_free(&queue);
}

static void every_end(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "ends");
    enqueue(queue, "a", "{\"to\":\"ann\"}");
    leaseq_worker_options *options = options_for("ends");
    leaseq_worker *worker = started(client, &options);
    leaseq_settled settled;

    leaseq_task *task = next(worker);
    CHECK(strcmp(leaseq_task_name(task), "greet") == 0);
    CHECK(strcmp(leaseq_task_queue(task), "ends") == 0);
    CHECK(strcmp(leaseq_task_args(task), "{\"to\":\"ann\"}") == 0 && has_id(task, "a"));
    CHECK(leaseq_task_args_len(task) == strlen(leaseq_task_args(task)));
    CHECK(leaseq_task_attempt(task) == 1 && leaseq_task_max_attempts(task) == 3);
    CHECK(leaseq_task_generation(task) > 0 && leaseq_task_remaining_ms(task) > 3000000);
    CHECK(leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_NONE);
    OK(leaseq_task_progress(task, TEXT("half"), &error));
    OK(leaseq_task_more_time(task, 60000, &error));
    CHECK(leaseq_task_remaining_ms(task) <= 60000);
    FAILS(LEASEQ_INVALID, leaseq_task_fail(task, "E", "m", 9, 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_task_fail(task, "E", "m", LEASEQ_POLICY_RETRY, 5, NULL, &error));
    OK(leaseq_task_fail(task, "TooBusy", "later", LEASEQ_POLICY_RETRY, 0, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_RETRIED);
    leaseq_task_free(&task);

    task = next(worker);
    CHECK(leaseq_task_attempt(task) == 2);
    CHECK(strcmp(leaseq_task_last_error(task), "TooBusy: later") == 0);
    OK(leaseq_task_snooze(task, 0, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_RELEASED);
    leaseq_task_free(&task);

    task = next(worker);
    CHECK(leaseq_task_attempt(task) == 2);
    OK(leaseq_task_complete(task, TEXT("\"hello\""), &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_COMPLETED);
    /* Once. */
    FAILS(LEASEQ_INVALID, leaseq_task_complete(task, NULL, 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_task_snooze(task, 0, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_NONE);
    FAILS(LEASEQ_INVALID, leaseq_task_more_time(task, 1000, &error));
    leaseq_task_free(&task);
    leaseq_task_free(&task);
    CHECK(end_of(queue, "a") == LEASEQ_OUTCOME_COMPLETED);

    OK(leaseq_worker_next(worker, LEASEQ_WAIT_FOREVER, &task, &error));
    CHECK(task == NULL && leaseq_worker_has_ended(worker));
    bool ended = false;
    OK(leaseq_worker_wait(worker, 0, &ended, &error));
    CHECK(ended && leaseq_worker_exit_status(worker) == 0 && leaseq_worker_started(worker) == 3);
    CHECK(!leaseq_worker_gave_up(worker));
    leaseq_worker_free(&worker);

    /* A task that is dropped has failed, and one that is buried is dead. */
    enqueue(queue, "b", "{}");
    enqueue(queue, "c", "{}");
    options = options_for("ends");
    OK(leaseq_worker_options_set_slots(options, 1, &error));
    worker = started(client, &options);
    task = next(worker);
    CHECK(has_id(task, "b"));
    leaseq_task_free(&task);
    for (int both = 0; both < 2; both++) {
        task = next(worker);
        if (has_id(task, "b")) {
            CHECK(strncmp(leaseq_task_last_error(task), "Dropped", 7) == 0);
            OK(leaseq_task_fail(task, "X", "y", LEASEQ_POLICY_DISCARD, 0, NULL, &error));
        } else {
            OK(leaseq_task_fail(task, "X", "y", LEASEQ_POLICY_BURY, 0, &settled, &error));
            CHECK(settled == LEASEQ_SETTLED_DEAD);
        }
        leaseq_task_free(&task);
    }
    CHECK(end_of(queue, "b") == LEASEQ_OUTCOME_COMPLETED);
    CHECK(end_of(queue, "c") == LEASEQ_OUTCOME_DEAD);
    /* A worker may be freed before its tasks. */
    leaseq_worker_free(&worker);
    leaseq_queue_free(&queue);
}

static atomic_int greeted;

static int32_t greet(leaseq_task *task, void *context) {
    CHECK(context == &greeted);
    /* What it starts inherits what is blocked. */
    sigset_t blocked;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGPIPE));
    if (has_id(task, "pool-7")) {
        if (leaseq_task_attempt(task) == 1) return 5;
        CHECK(strcmp(leaseq_task_last_error(task), "Error: the handler returned 5") == 0);
    }
    if (has_id(task, "pool-8")) OK(leaseq_task_complete(task, TEXT("8"), NULL, &error));
    greeted++;
    return 0;
}

static void a_pool(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "pool");
    char id[32];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "pool-%d", i);
        enqueue(queue, id, "{}");
    }
    leaseq_worker_options *options = options_for("pool");
    leaseq_worker *worker = started(client, &options);
    OK(leaseq_worker_run(worker, greet, &greeted, &error));
    CHECK(greeted == 20 && leaseq_worker_exit_status(worker) == 0);
    /* It has ended: there is nothing to run. */
    OK(leaseq_worker_run(worker, greet, &greeted, &error));
    leaseq_worker_free(&worker);
    CHECK(counts_of(queue).completed == 20);
    leaseq_queue_free(&queue);
}

static atomic_int meeting, most_at_once;

/* Returns when four handlers run at the same time. */
static int32_t meet(leaseq_task *task, void *context) {
    (void)task, (void)context;
    int here = ++meeting;
    if (here > most_at_once) most_at_once = here;
    EVENTUALLY(most_at_once >= 4);
    meeting--;
    return 0;
}

/* However many tasks arrive at once, each slot has a thread for its own. */
static void a_pool_with_all_slots(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "meeting");
    char id[32];
    for (int round = 0; round < 10; round++) {
        most_at_once = 0;
        for (int i = 0; i < 4; i++) {
            snprintf(id, sizeof id, "meet-%d-%d", round, i);
            enqueue(queue, id, "{}");
        }
        leaseq_worker_options *options = options_for("meeting");
        leaseq_worker *worker = started(client, &options);
        OK(leaseq_worker_run(worker, meet, NULL, &error));
        CHECK(most_at_once == 4 && leaseq_worker_started(worker) == 4);
        leaseq_worker_free(&worker);
    }
    leaseq_queue_free(&queue);
}

static void an_event_loop(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "loop");
    leaseq_worker_options *options = options_for("loop");
    OK(leaseq_worker_options_set_burst(options, false, &error));
    leaseq_worker *worker = started(client, &options);
    int fd = -1, again = -1;
    OK(leaseq_worker_fd(worker, &fd, &error));
    OK(leaseq_worker_fd(worker, &again, &error));
    CHECK(fd >= 0 && fd == again);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    CHECK(poll(&readable, 1, 0) == 0);
    leaseq_task *task = NULL;
    OK(leaseq_worker_next(worker, 0, &task, &error));
    CHECK(task == NULL && !leaseq_worker_has_ended(worker));
    for (int i = 0; i < 3; i++) {
        enqueue(queue, "same", "{}");
        CHECK(poll(&readable, 1, 20000) == 1);
        OK(leaseq_worker_next(worker, 0, &task, &error));
        CHECK(task != NULL);
        leaseq_settled settled;
        OK(leaseq_task_complete(task, NULL, 0, &settled, &error));
        leaseq_task_free(&task);
        bool removed = false;
        OK(leaseq_queue_remove(queue, TEXT("same"), &removed, &error));
        CHECK(removed);
    }

    /* A task that is cancelled. */
    enqueue(queue, "cancel", "{}");
    CHECK(poll(&readable, 1, 20000) == 1);
    OK(leaseq_worker_next(worker, 0, &task, &error));
    int told = -1;
    OK(leaseq_task_cancelled_fd(task, &told, &error));
    struct pollfd cancelled = {.fd = told, .events = POLLIN};
    CHECK(poll(&cancelled, 1, 0) == 0);
    bool is_cancelled = false;
    OK(leaseq_queue_cancel(queue, TEXT("cancel"), &is_cancelled, &error));
    CHECK(is_cancelled && poll(&cancelled, 1, 20000) == 1);
    CHECK(leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_USER);
    leaseq_settled settled;
    OK(leaseq_task_stopped(task, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_CANCELLED);
    leaseq_task_free(&task);

    /* The end of the worker: a running task is told, after the grace period. */
    enqueue(queue, "last", "{}");
    CHECK(poll(&readable, 1, 20000) == 1);
    OK(leaseq_worker_next(worker, 0, &task, &error));
    OK(leaseq_task_cancelled_fd(task, &cancelled.fd, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_drain(worker, -1, &error));
    OK(leaseq_worker_drain(worker, 10, &error));
    CHECK(poll(&cancelled, 1, 20000) == 1);
    CHECK(leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_SHUTDOWN);
    OK(leaseq_task_stopped(task, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_RELEASED);
    CHECK(poll(&readable, 1, 20000) == 1);
    leaseq_task *none = NULL;
    OK(leaseq_worker_next(worker, 0, &none, &error));
    CHECK(none == NULL && leaseq_worker_has_ended(worker));
    CHECK(leaseq_worker_exit_status(worker) == 0);
    leaseq_worker_free(&worker);
    /* The worker is gone, the task is not. */
    CHECK(has_id(task, "last"));
    leaseq_task_free(&task);
    leaseq_queue_free(&queue);
}

static void wrong_use(leaseq_client *client) {
    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    OK(leaseq_worker_options_new(&options, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    OK(leaseq_worker_options_add_queue(options, "wrong", 0, &error));
    OK(leaseq_worker_options_add_job(options, "greet", &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_add_job(options, "greet", &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_job_timeout_ms(options, "other", 1000, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    leaseq_worker_options_free(&options);

    leaseq_queue *queue = queue_of(client, "wrong");
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue(queue, "x", TEXT("[1]"), NULL, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue(queue, "x", TEXT("{"), NULL, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue(queue, "", TEXT("{}"), NULL, NULL, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_queue_enqueue(queue, "x", TEXT("{\"n\":9007199254740993}"), NULL, NULL, &error));
    CHECK(counts_of(queue).ready == 0);

    /* A worker that is freed while a thread of its own might still lease, and a task after that. */
    enqueue(queue, "late", "{}");
    options = options_for("wrong");
    worker = started(client, &options);
    leaseq_task *task = next(worker);
    OK(leaseq_worker_abort(worker, &error));
    OK(leaseq_worker_abort(worker, &error));
    CHECK(leaseq_worker_exit_status(worker) == 1);
    leaseq_worker_free(&worker);
    leaseq_settled settled;
    OK(leaseq_task_complete(task, NULL, 0, &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_LOST);
    leaseq_task_free(&task);
    leaseq_queue_free(&queue);
}

int main(void) {
    leaseq_client *client = connected();
    messages(client);
    every_end(client);
    a_pool(client);
    a_pool_with_all_slots(client);
    an_event_loop(client);
    wrong_use(client);
    OK(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    return done();
}
