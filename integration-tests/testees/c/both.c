/* Completing and leasing in one call. */
#include "testee.h"

cJSON *both(Call *call, const char *op) {
    const cJSON *names = cJSON_GetObjectItem(call->request, "leases"), *name = NULL;
    size_t before = (size_t)cJSON_GetArraySize(names), i = 0,
           count = (size_t)number(call->request, "count", 0);
    int64_t duration = number(call->request, "duration_ms", 0),
            wait = number(call->request, "wait_ms", LEASEQ_WAIT_FOREVER);
    leaseq_lease *all[before + 1], *next[count + 1];
    bool done[before + 1];
    (void)op;
    leaseq_lease_options *options = lease_options(call->request, &call->error);
    if (options == NULL) return NULL;
    leaseq_complete_options *complete = complete_options(call->request, &call->error);
    if (complete == NULL) {
        leaseq_lease_options_free(&options);
        return NULL;
    }
    cJSON_ArrayForEach(name, names) all[i++] = held(name->valuestring);
    leaseq_queue_complete_and_lease(call->queue, all, before, complete, done, duration, wait,
                                    options, next, count, &count, &call->error);
    leaseq_complete_options_free(&complete);
    leaseq_lease_options_free(&options);
    const char *queue = leaseq_queue_name(call->queue);
    cJSON *said = cJSON_CreateObject();
    cJSON_AddItemToObject(said, "completed", say_bools(done, before));
    cJSON_AddItemToObject(said, "leases", keep_all(text(call->request, "as"), next, count, queue));
    return said;
}
