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
    leaseq_item_options *options = item_options(call->request, &call->error);
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
