/* What a worker of the testee is told. */
#include "jobs.h"

const cJSON *jobs_of(const cJSON *request) {
    static cJSON *work;
    const cJSON *jobs = cJSON_GetObjectItem(request, "jobs");
    if (jobs != NULL) return jobs;
    if (work == NULL) work = cJSON_Parse("{\"work\": {}}");
    return work;
}

static leaseq_status add_classes(leaseq_worker_options *options, const char *job,
                                 const cJSON *names, bool retried, leaseq_error **error) {
    const cJSON *name;
    leaseq_status status = LEASEQ_OK;
    cJSON_ArrayForEach(name, names) {
        if (!status)
            status = leaseq_worker_options_add_job_retry_class(options, job, name->valuestring,
                                                               retried, error);
    }
    return status;
}

static leaseq_status add_job(leaseq_worker_options *options, const cJSON *job,
                             leaseq_error **error) {
    const char *name = job->string;
    const cJSON *retry = cJSON_GetObjectItem(job, "retry");
    int64_t timeout = number(job, "timeout_ms", -1);
    leaseq_status status = leaseq_worker_options_add_job(options, name, error);
    if (!status && timeout >= 0)
        status = leaseq_worker_options_set_job_timeout_ms(options, name, timeout, error);
    if (!status && retry != NULL)
        status = leaseq_worker_options_set_job_retry(
            options, name, (uint32_t)number(retry, "max", 10), number(retry, "base_ms", 1000),
            number(retry, "cap_ms", 600000), error);
    if (!status) status = add_classes(options, name, cJSON_GetObjectItem(retry, "on"), true, error);
    if (!status)
        status = add_classes(options, name, cJSON_GetObjectItem(retry, "never"), false, error);
    return status;
}

static leaseq_status add_queues(leaseq_worker_options *options, const cJSON *request,
                                leaseq_error **error) {
    const cJSON *queues = cJSON_GetObjectItem(request, "queues"), *queue;
    if (queues == NULL)
        return leaseq_worker_options_add_queue(options, text(request, "queue"), 1, error);
    leaseq_status status = LEASEQ_OK;
    cJSON_ArrayForEach(queue, queues) {
        if (!status)
            status = leaseq_worker_options_add_queue(options, text(queue, "name"),
                                                     (uint32_t)number(queue, "weight", 1), error);
    }
    return status;
}

leaseq_worker_options *worker_options(const cJSON *request, leaseq_error **error) {
    leaseq_worker_options *options = NULL;
    const cJSON *job;
    int64_t slots = number(request, "slots", -1), prefetch = number(request, "prefetch", -1),
            most = number(request, "max_jobs", 0), lease = number(request, "lease_ms", -1),
            kill_after = number(request, "kill_after_ms", -1);
    leaseq_status status = leaseq_worker_options_new(&options, error);
    if (!status) status = add_queues(options, request, error);
    cJSON_ArrayForEach(job, jobs_of(request)) {
        if (!status) status = add_job(options, job, error);
    }
    if (!status && slots >= 0)
        status = leaseq_worker_options_set_slots(options, (uint32_t)slots, error);
    if (!status && prefetch >= 0)
        status = leaseq_worker_options_set_prefetch(options, (uint32_t)prefetch, error);
    if (!status) status = leaseq_worker_options_set_max_jobs(options, (uint64_t)most, error);
    if (!status && lease >= 0) status = leaseq_worker_options_set_lease_ms(options, lease, error);
    if (!status && kill_after >= 0)
        status = leaseq_worker_options_set_kill_after_ms(options, kill_after, error);
    if (!status)
        status = leaseq_worker_options_set_strict_order(
            options, cJSON_IsTrue(cJSON_GetObjectItem(request, "strict")), error);
    if (!status)
        status = leaseq_worker_options_set_burst(
            options, cJSON_IsTrue(cJSON_GetObjectItem(request, "burst")), error);
    if (!status)
        status = leaseq_worker_options_set_owns_process(
            options, cJSON_IsTrue(cJSON_GetObjectItem(request, "process")), error);
    if (status) leaseq_worker_options_free(&options);
    return options;
}
