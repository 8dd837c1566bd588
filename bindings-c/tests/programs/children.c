/* Jobs in child processes: this program is worker and child. A handler that crashes, aborts, exits
 * or ends wrongly fails its job, and harms no other. */
#include "check.h"

#include <signal.h>

/* No number of C holds these: they must arrive as they are. */
#define NUMBERS "[1e400,12345678901234567890123]"

static bool asks(leaseq_task *task, const char *what) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{\"do\":\"%s\"}", what);
    return strcmp(leaseq_task_args(task), wanted) == 0;
}

static leaseq_worker_options *options_with_jobs(void) {
    leaseq_worker_options *options = NULL;
    OK(leaseq_worker_options_new(&options, &error));
    OK(leaseq_worker_options_add_queue(options, "children", 1, &error));
    OK(leaseq_worker_options_add_job(options, "act", &error));
    OK(leaseq_worker_options_set_job_retry(options, "act", 2, 0, 0, &error));
    OK(leaseq_worker_options_add_job_retry_class(options, "act", "Final", false, &error));
    OK(leaseq_worker_options_add_job_retry_class(options, "act", "ChildDied", false, &error));
    return options;
}

static int32_t act(leaseq_task *task, void *context);

/* What every task tells. */
static void look_around(leaseq_task *task) {
    char meta[8];
    size_t len = 0;
    leaseq_settled settled = LEASEQ_SETTLED_LOST;
    CHECK(strcmp(leaseq_task_name(task), "act") == 0);
    CHECK(strcmp(leaseq_task_queue(task), "children") == 0);
    CHECK(leaseq_task_id_len(task) == 4 && memcmp(leaseq_task_id(task), "look", 4) == 0);
    CHECK(leaseq_task_args_len(task) == strlen(leaseq_task_args(task)));
    CHECK(leaseq_task_attempt(task) == 1 && leaseq_task_max_attempts(task) == 2);
    CHECK(strlen(leaseq_task_last_error(task)) == 0 && leaseq_task_generation(task) > 0);
    CHECK(leaseq_task_remaining_ms(task) > 3000000);
    OK(leaseq_task_meta(task, "m", meta, sizeof meta, &len, &error));
    CHECK(len == 1 && strcmp(meta, "x") == 0);
    OK(leaseq_task_meta(task, "n", meta, sizeof meta, &len, &error));
    CHECK(len == 0);
    OK(leaseq_task_progress(task, TEXT("half"), &error));
    FAILS(LEASEQ_INVALID, leaseq_task_progress(task, TEXT("\xff"), &error));
    OK(leaseq_task_more_time(task, 60000, &error));
    CHECK(leaseq_task_remaining_ms(task) <= 60000);
    FAILS(LEASEQ_INVALID, leaseq_task_more_time(task, 31LL * 24 * 3600 * 1000, &error));
    /* Its standard input is not that of the worker any more. */
    CHECK(read(STDIN_FILENO, meta, 1) == 0);
    leaseq_worker_options *options = options_with_jobs();
    FAILS(LEASEQ_INVALID, leaseq_child_run(options, act, NULL, &error));
    leaseq_worker_options_free(&options);
    /* A process that it forks has no part in the task. */
    pid_t forked = fork();
    if (forked == 0) {
        FAILS(LEASEQ_INVALID, leaseq_task_complete(task, NULL, 0, NULL, &error));
        CHECK(leaseq_task_attempt(task) == 0);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(forked, &status, 0) == forked && status == 0);
    /* What the worker would not understand is refused, and the task goes on. */
    FAILS(LEASEQ_INVALID, leaseq_task_complete(task, TEXT("no JSON"), NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_task_fail_classes(task, NULL, 0, "m", 0, 0, NULL, &error));
    OK(leaseq_task_complete(task, TEXT("{\"seen\":[1]}"), &settled, &error));
    CHECK(settled == LEASEQ_SETTLED_NONE);
    FAILS(LEASEQ_INVALID, leaseq_task_complete(task, NULL, 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_task_progress(task, TEXT("late"), &error));
    FAILS(LEASEQ_INVALID, leaseq_task_more_time(task, 1000, &error));
}

static int32_t act(leaseq_task *task, void *context) {
    CHECK(context == NULL || context == &checks);
    if (asks(task, "look")) look_around(task);
    if (asks(task, "abort")) abort();
    if (asks(task, "crash")) {
        volatile int *nowhere = NULL;
        *nowhere = 1;
    }
    if (asks(task, "exit")) exit(7);
    if (asks(task, "leave")) _exit(0);
    if (asks(task, "return")) return leaseq_task_attempt(task) == 1 ? 5 : 0;
    if (asks(task, "terminate")) raise(SIGTERM);
    /* What it starts is as what any program starts: a signal that nobody handles ends it. */
    if (asks(task, "start")) {
        int status = system("kill -PIPE $$; exit 3");
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    }
    if (asks(task, "final")) {
        /* Of the rules, the producer has set the attempts only. */
        CHECK(leaseq_task_attempt(task) == 1);
        const char *classes[] = {"Special", "Final"};
        OK(leaseq_task_fail_classes(task, classes, 2, "no", LEASEQ_POLICY_RETRY, 0, NULL, &error));
    }
    if (asks(task, "numbers")) OK(leaseq_task_complete(task, TEXT(NUMBERS), NULL, &error));
    if (asks(task, "refuse")) OK(leaseq_task_refuse_args(task, "newer", NULL, &error));
    if (asks(task, "snooze") && strlen(leaseq_task_last_error(task)) == 0) {
        OK(leaseq_task_fail(task, "Later", "x", LEASEQ_POLICY_RETRY_AFTER, 1, NULL, &error));
    }
    if (asks(task, "cancel")) {
        int fd = -1;
        OK(leaseq_task_cancelled_fd(task, &fd, &error));
        struct pollfd told = {.fd = fd, .events = POLLIN};
        CHECK(leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_NONE);
        CHECK(poll(&told, 1, 20000) == 1);
        CHECK(leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_USER);
        FAILS(LEASEQ_INVALID, leaseq_task_more_time(task, 1000, &error));
        OK(leaseq_task_stopped(task, NULL, &error));
    }
    return 0;
}

static void enqueue(leaseq_queue *queue, const char *what) {
    leaseq_item_options *options = NULL;
    leaseq_job_options *job = NULL;
    char args[64];
    snprintf(args, sizeof args, "{\"do\":\"%s\"}", what);
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_id(options, what, strlen(what), &error));
    OK(leaseq_item_options_set_retain_ms(options, 60000, &error));
    OK(leaseq_job_options_new(&job, &error));
    OK(leaseq_job_options_set_meta(job, "m", "x", &error));
    /* What is set of the rules of retries takes precedence over those of the child, and the rest
     * stays. */
    if (strcmp(what, "final") == 0) OK(leaseq_job_options_set_retry(job, 3, 0, 0, &error));
    if (strcmp(what, "look") == 0) OK(leaseq_job_options_add_retry_class(job, "E", false, &error));
    OK(leaseq_queue_enqueue_with(queue, "act", args, strlen(args), options, job, NULL, &error));
    leaseq_job_options_free(&job);
    leaseq_item_options_free(&options);
}

/* How the job has ended: its error contains this text, or, without one, it is completed. */
static void ended(leaseq_queue *queue, const char *id, const char *why) {
    leaseq_outcome *outcome = NULL;
    OK(leaseq_queue_outcome(queue, id, strlen(id), 30000, false, &outcome, &error));
    leaseq_end_kind wanted = why == NULL ? LEASEQ_OUTCOME_COMPLETED : LEASEQ_OUTCOME_DEAD;
    if (leaseq_outcome_kind(outcome) != wanted ||
        (why != NULL && strstr(leaseq_outcome_error(outcome), why) == NULL)) {
        fprintf(stderr, "%s has ended otherwise: %s\n", id, leaseq_outcome_error(outcome));
        _exit(1);
    }
    leaseq_outcome_free(&outcome);
}

static void in_children(leaseq_client *client) {
    leaseq_queue *queue = queue_of(client, "children");
    const char *all[] = {"look",  "abort",  "crash",  "exit",   "leave",   "return", "terminate",
                         "final", "snooze", "refuse", "cancel", "numbers", "start"};
    leaseq_worker_options *options = options_with_jobs();
    leaseq_worker *worker = NULL;
    const char *args[] = {"--child"};
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children_max_jobs(options, 1, &error));
    OK(leaseq_worker_options_set_slots(options, 3, &error));
    OK(leaseq_worker_options_set_children(options, "/nonexistent/program", NULL, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    /* A child that speaks no protocol, in the time that it has. */
    OK(leaseq_worker_options_set_children(options, "cat", NULL, 0, &error));
    OK(leaseq_worker_options_set_children_start_timeout_ms(options, 100, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    CHECK(worker == NULL);
    OK(leaseq_worker_options_set_children(options, "/proc/self/exe", args, 1, &error));
    /* A limit of 0 removes an earlier one, that no child could keep. */
    OK(leaseq_worker_options_set_children_memory(options, 1, 1, &error));
    OK(leaseq_worker_options_set_children_memory(options, 0, 0, &error));
    OK(leaseq_worker_options_set_children_max_jobs(options, 1, &error));
    OK(leaseq_worker_options_set_children_max_jobs(options, 0, &error));
    OK(leaseq_worker_start(client, options, &worker, &error));
    leaseq_worker_options_free(&options);

    /* The tasks are not for this process. */
    leaseq_task *task = NULL;
    int fd = -1;
    FAILS(LEASEQ_INVALID, leaseq_worker_next(worker, 0, &task, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_fd(worker, &fd, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_run(worker, act, NULL, &error));

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) enqueue(queue, all[i]);
    ended(queue, "look", NULL);
    ended(queue, "abort", "ChildDied: the child was killed by SIGABRT");
    ended(queue, "crash", "ChildDied: the child");
    ended(queue, "exit", "ChildDied: the child ended with status 7");
    ended(queue, "leave", "ChildDied: the child ended with status 0");
    ended(queue, "return", NULL);
    ended(queue, "terminate", NULL);
    ended(queue, "final", "Special: no");
    ended(queue, "start", NULL);
    ended(queue, "snooze", NULL);
    leaseq_outcome *numbers = NULL;
    OK(leaseq_queue_outcome(queue, TEXT("numbers"), 20000, false, &numbers, &error));
    CHECK(leaseq_outcome_result_len(numbers) == strlen(NUMBERS));
    CHECK(memcmp(leaseq_outcome_result(numbers), NUMBERS, strlen(NUMBERS)) == 0);
    leaseq_outcome_free(&numbers);
    bool cancelled = false;
    EVENTUALLY(counts_of(queue).leased == 1);
    OK(leaseq_queue_cancel(queue, TEXT("cancel"), &cancelled, &error));
    CHECK(cancelled);
    leaseq_outcome *outcome = NULL;
    OK(leaseq_queue_outcome(queue, TEXT("cancel"), 20000, false, &outcome, &error));
    CHECK(leaseq_outcome_kind(outcome) == LEASEQ_OUTCOME_CANCELLED);
    leaseq_outcome_free(&outcome);
    /* That one waits for a worker that understands it. */
    CHECK(counts_of(queue).delayed + counts_of(queue).ready + counts_of(queue).leased == 1);

    OK(leaseq_worker_drain(worker, 10000, &error));
    bool has_ended = false;
    OK(leaseq_worker_wait(worker, 20000, &has_ended, &error));
    CHECK(has_ended && leaseq_worker_exit_status(worker) == 0);
    leaseq_worker_free(&worker);
    leaseq_queue_free(&queue);
}

int main(int argc, char **argv) {
    leaseq_worker_options *options = options_with_jobs();
    if (argc > 1 && strcmp(argv[1], "--child") == 0) {
        OK(leaseq_child_run(options, act, &checks, &error));
        leaseq_worker_options_free(&options);
        return 0;
    }
    FAILS(LEASEQ_INVALID, leaseq_child_run(options, act, NULL, &error));
    leaseq_worker_options_free(&options);
    leaseq_client *client = connected();
    in_children(client);
    OK(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    return done();
}
