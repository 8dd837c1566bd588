/* Adding jobs, and waiting for their ends. */
#include "jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* By their names: the digits of the ids. */
static cJSON *refs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static leaseq_status set_retry(leaseq_job_options *options, const cJSON *retry,
                               leaseq_error **error) {
    const cJSON *name;
    leaseq_status status = leaseq_job_options_set_retry(options, (uint32_t)number(retry, "max", 10),
                                                        number(retry, "base_ms", 1000),
                                                        number(retry, "cap_ms", 600000), error);
    cJSON_ArrayForEach(name, cJSON_GetObjectItem(retry, "on")) {
        if (!status)
            status = leaseq_job_options_add_retry_class(options, name->valuestring, true, error);
    }
    cJSON_ArrayForEach(name, cJSON_GetObjectItem(retry, "never")) {
        if (!status)
            status = leaseq_job_options_add_retry_class(options, name->valuestring, false, error);
    }
    return status;
}

static leaseq_job_options *job_options(const cJSON *request, leaseq_error **error) {
    leaseq_job_options *options = NULL;
    const cJSON *retry = cJSON_GetObjectItem(request, "retry"), *meta;
    int64_t timeout = number(request, "timeout_ms", -1);
    leaseq_status status = leaseq_job_options_new(&options, error);
    if (!status && timeout >= 0)
        status = leaseq_job_options_set_timeout_ms(options, timeout, error);
    if (!status && retry != NULL) status = set_retry(options, retry, error);
    cJSON_ArrayForEach(meta, cJSON_GetObjectItem(request, "meta")) {
        if (!status)
            status = leaseq_job_options_set_meta(options, meta->string, meta->valuestring, error);
    }
    if (status) leaseq_job_options_free(&options);
    return options;
}

static leaseq_item_options *with_followers(const cJSON *job, const cJSON *next,
                                           leaseq_error **error);

/* Adds this job at that end, and the further ones of its chain behind it. */
static leaseq_status follow(leaseq_item_options *options, int32_t on, const cJSON *job,
                            const cJSON *next, leaseq_error **error) {
    leaseq_item_options *its = with_followers(job, next, error);
    leaseq_job_options *its_job = its == NULL ? NULL : job_options(job, error);
    char *args = cJSON_PrintUnformatted(cJSON_GetObjectItem(job, "args"));
    leaseq_job *made = NULL;
    if (its_job != NULL)
        leaseq_job_new(text(job, "job"), args, strlen(args), its_job, &made, error);
    leaseq_item item = {
        .data = leaseq_job_data(made), .data_len = leaseq_job_data_len(made), .options = its};
    if (made != NULL) leaseq_item_options_add_follow_up(options, on, &item, true, error);
    cJSON_free(args);
    leaseq_job_free(&made);
    leaseq_job_options_free(&its_job);
    leaseq_item_options_free(&its);
    return leaseq_error_status(*error);
}

/* The options of a job, with what follows it: the `next` job of its chain, and those that it names.
 */
static leaseq_item_options *with_followers(const cJSON *job, const cJSON *next,
                                           leaseq_error **error) {
    leaseq_item_options *options = item_options(job, error);
    leaseq_status status = options == NULL ? leaseq_error_status(*error) : LEASEQ_OK;
    const cJSON *chain = cJSON_GetObjectItem(job, "then"), *one = NULL;
    if (!status && next != NULL)
        status = follow(options, LEASEQ_ON_COMPLETED, next, next->next, error);
    if (!status && chain != NULL && chain->child != NULL)
        status = follow(options, LEASEQ_ON_COMPLETED, chain->child, chain->child->next, error);
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(job, "on_failure")) {
        if (!status) status = follow(options, LEASEQ_ON_DEAD, one, NULL, error);
    }
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(job, "on_end")) {
        if (!status) status = follow(options, LEASEQ_ON_ENDED, one, NULL, error);
    }
    if (status) leaseq_item_options_free(&options);
    return options;
}

cJSON *enqueue(Call *call, const char *op) {
    const char *name = text(call->request, "as"), *id = text(call->request, "id");
    (void)op;
    if (name != NULL && id != NULL) {
        pthread_mutex_lock(&lock);
        if (refs == NULL) refs = cJSON_CreateObject();
        cJSON_DeleteItemFromObjectCaseSensitive(refs, name);
        cJSON_AddStringToObject(refs, name, id);
        pthread_mutex_unlock(&lock);
    }
    leaseq_item_options *options = with_followers(call->request, NULL, &call->error);
    leaseq_job_options *job = options == NULL ? NULL : job_options(call->request, &call->error);
    char *args = cJSON_PrintUnformatted(cJSON_GetObjectItem(call->request, "args"));
    bool added = false;
    if (job != NULL)
        leaseq_queue_enqueue_with(call->queue, text(call->request, "job"), args, strlen(args),
                                  options, job, &added, &call->error);
    cJSON_free(args);
    leaseq_job_options_free(&job);
    leaseq_item_options_free(&options);
    return cJSON_CreateBool(added);
}

static cJSON *say_end(const leaseq_outcome *outcome) {
    cJSON *said = cJSON_CreateObject();
    const char *result = leaseq_outcome_result(outcome);
    switch (leaseq_outcome_kind(outcome)) {
    case LEASEQ_OUTCOME_COMPLETED:
        if (!leaseq_outcome_retained(outcome)) {
            cJSON_Delete(said);
            return cJSON_CreateString("not_retained");
        }
        cJSON_AddItemToObject(
            said, "value",
            result == NULL ? cJSON_CreateNull()
                           : cJSON_ParseWithLength(result, leaseq_outcome_result_len(outcome)));
        return said;
    case LEASEQ_OUTCOME_DEAD:
        cJSON_AddStringToObject(said, "failed", leaseq_outcome_error(outcome));
        return said;
    default:
        cJSON_Delete(said);
        break;
    }
    switch (leaseq_outcome_kind(outcome)) {
    case LEASEQ_OUTCOME_CANCELLED:
        return cJSON_CreateString("cancelled");
    case LEASEQ_OUTCOME_REMOVED:
        return cJSON_CreateString("removed");
    case LEASEQ_OUTCOME_GONE:
        return cJSON_CreateString("gone");
    default:
        return NULL;
    }
}

cJSON *result(Call *call, const char *op) {
    (void)op;
    pthread_mutex_lock(&lock);
    cJSON *digits =
        cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(refs, text(call->request, "ref")), true);
    pthread_mutex_unlock(&lock);
    leaseq_bytes id = bytes(digits);
    leaseq_outcome *outcome = NULL;
    leaseq_queue_outcome(call->queue, id.data, id.len, number(call->request, "wait_ms", 30000),
                         false, &outcome, &call->error);
    cJSON *said = say_end(outcome);
    leaseq_outcome_free(&outcome);
    cJSON_Delete(digits);
    return said;
}
