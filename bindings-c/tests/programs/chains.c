/* Jobs that follow other jobs and groups: how they are written and read. What they mean is in the
 * scenarios. */
#include "check.h"

static leaseq_worker *worker_of(leaseq_client *client) {
    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    OK(leaseq_worker_options_new(&options, &error));
    OK(leaseq_worker_options_add_queue(options, "chains", 1, &error));
    OK(leaseq_worker_options_add_queue(options, "more", 1, &error));
    OK(leaseq_worker_options_add_job(options, "first", &error));
    OK(leaseq_worker_options_add_job(options, "next", &error));
    OK(leaseq_worker_options_set_burst(options, true, &error));
    OK(leaseq_worker_start(client, options, &worker, &error));
    leaseq_worker_options_free(&options);
    return worker;
}

static leaseq_task *task_of(leaseq_worker *worker, const char *id) {
    leaseq_task *task = NULL;
    OK(leaseq_worker_next(worker, 20000, &task, &error));
    CHECK(task != NULL && leaseq_task_id_len(task) == strlen(id) &&
          memcmp(leaseq_task_id(task), id, strlen(id)) == 0);
    return task;
}

static void complete(leaseq_task **task, const char *result) {
    OK(leaseq_task_complete(*task, result, result == NULL ? 0 : strlen(result), NULL, &error));
    leaseq_task_free(task);
}

/* The job of an item, to be freed after the item was copied. */
static leaseq_item item_of(leaseq_job **job, const char *id, const leaseq_item_options *options) {
    OK(leaseq_job_new("next", TEXT("{\"n\":2}"), NULL, job, &error));
    return (leaseq_item){.data = leaseq_job_data(*job),
                         .data_len = leaseq_job_data_len(*job),
                         .id = id,
                         .id_len = strlen(id),
                         .options = options};
}

static void a_chain(leaseq_client *client, leaseq_queue *queue) {
    leaseq_item_options *first = NULL, *second = NULL;
    leaseq_job *job = NULL;
    OK(leaseq_item_options_new(&first, &error));
    OK(leaseq_item_options_new(&second, &error));
    OK(leaseq_item_options_set_queue(second, "more", &error));
    leaseq_item third = item_of(&job, "3", NULL);
    OK(leaseq_item_options_add_follow_up(second, LEASEQ_ON_COMPLETED, &third, true, &error));
    third.id = "silent", third.id_len = 6;
    OK(leaseq_item_options_add_follow_up(second, LEASEQ_ON_ENDED, &third, false, &error));
    leaseq_job_free(&job);
    leaseq_item next = item_of(&job, "2", second);
    OK(leaseq_item_options_add_follow_up(first, LEASEQ_ON_COMPLETED, &next, true, &error));
    leaseq_job_free(&job);
    leaseq_job_free(&job);
    leaseq_job_free(NULL);
    OK(leaseq_item_options_set_id(first, "1", 1, &error));
    OK(leaseq_queue_enqueue(queue, "first", TEXT("{}"), first, NULL, &error));
    leaseq_item_options_free(&first);
    leaseq_item_options_free(&second);

    leaseq_worker *worker = worker_of(client);
    leaseq_task *task = task_of(worker, "1");
    CHECK(leaseq_task_previous_id(task) == NULL && leaseq_task_previous_id_len(task) == 0);
    CHECK(leaseq_task_previous(task) == NULL && leaseq_task_previous_len(task) == 0);
    complete(&task, "[\"one\"]");
    task = task_of(worker, "2");
    CHECK(strcmp(leaseq_task_name(task), "next") == 0);
    CHECK(strcmp(leaseq_task_queue(task), "more") == 0);
    CHECK(strcmp(leaseq_task_args(task), "{\"n\":2}") == 0);
    CHECK(leaseq_task_previous_id_len(task) == 1 && *leaseq_task_previous_id(task) == '1');
    CHECK(strcmp(leaseq_task_previous(task), "[\"one\"]") == 0);
    CHECK(leaseq_task_previous_len(task) == 7);
    complete(&task, NULL);
    /* The one before it had no result. */
    task = task_of(worker, "3");
    CHECK(leaseq_task_previous_id_len(task) == 1 && *leaseq_task_previous_id(task) == '2');
    CHECK(leaseq_task_previous(task) == NULL);
    complete(&task, NULL);
    /* This one has not asked. */
    task = task_of(worker, "silent");
    CHECK(leaseq_task_previous_id(task) == NULL && leaseq_task_previous(task) == NULL);
    complete(&task, NULL);
    OK(leaseq_worker_next(worker, LEASEQ_WAIT_FOREVER, &task, &error));
    CHECK(task == NULL && leaseq_worker_exit_status(worker) == 0);
    leaseq_worker_free(&worker);
}

/* A job that follows a group, and members that are jobs. */
static void a_group(leaseq_client *client, leaseq_queue *queue) {
    leaseq_job *job = NULL;
    leaseq_group *group = NULL;
    leaseq_item last = item_of(&job, "last", NULL);
    leaseq_follow_up follow_up = {.item = &last, .on = LEASEQ_ON_COMPLETED, .with_trigger = true};
    OK(leaseq_queue_create_group(queue, TEXT("group"), &follow_up, 1, &group, &error));
    leaseq_job_free(&job);
    for (uint32_t place = 0; place < 2; place++) {
        leaseq_item_options *options = NULL;
        OK(leaseq_item_options_new(&options, &error));
        OK(leaseq_item_options_set_id(options, place == 0 ? "0" : "1", 1, &error));
        OK(leaseq_item_options_set_group(options, group, place, &error));
        OK(leaseq_queue_enqueue(queue, "first", TEXT("{}"), options, NULL, &error));
        leaseq_item_options_free(&options);
    }
    OK(leaseq_queue_seal_group(queue, group, 2, NULL, &error));
    leaseq_group_free(&group);
    leaseq_worker *worker = worker_of(client);
    leaseq_task *task = task_of(worker, "0");
    complete(&task, NULL);
    task = task_of(worker, "1");
    complete(&task, NULL);
    task = task_of(worker, "last");
    CHECK(leaseq_task_previous_id_len(task) == 5);
    CHECK(memcmp(leaseq_task_previous_id(task), "group", 5) == 0);
    CHECK(leaseq_task_previous(task) == NULL);
    complete(&task, NULL);
    leaseq_worker_free(&worker);
}

static void wrong_jobs(void) {
    leaseq_job *job = NULL;
    FAILS(LEASEQ_INVALID, leaseq_job_new("x", TEXT("[1]"), NULL, &job, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_new("x", TEXT("{"), NULL, &job, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_new("", TEXT("{}"), NULL, &job, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_new("\xff", TEXT("{}"), NULL, &job, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_new("x", "{}", (size_t)-1, NULL, &job, &error));
    CHECK(job == NULL && leaseq_job_data(NULL) == NULL && leaseq_job_data_len(NULL) == 0);
    leaseq_job_options *options = NULL;
    OK(leaseq_job_options_new(&options, &error));
    OK(leaseq_job_options_set_meta(options, "a", "b", &error));
    OK(leaseq_job_new("x", TEXT("{}"), options, &job, &error));
    const char data[] = "{\"v\":1,\"job\":\"x\",\"args\":{},\"meta\":{\"a\":\"b\"}}";
    CHECK(leaseq_job_data_len(job) == sizeof data - 1);
    CHECK(memcmp(leaseq_job_data(job), data, sizeof data - 1) == 0);
    leaseq_job_free(&job);
    OK(leaseq_job_options_set_timeout_ms(options, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_new("x", TEXT("{}"), options, &job, &error));
    leaseq_job_options_free(&options);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "chains");
    wrong_jobs();
    a_chain(client, queue);
    a_group(client, queue);
    CHECK(counts_of(queue).ready == 0);
    end(queue, client);
    return done();
}
