/* Waiting for the ends of items. */
#include "testee.h"

#include <string.h>

static cJSON *hexadecimal(const char *data, size_t len) {
    char digits[2 * len + 1];
    for (size_t i = 0; i < len; i++) {
        digits[2 * i] = "0123456789abcdef"[(unsigned char)data[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[(unsigned char)data[i] & 15];
    }
    digits[2 * len] = 0;
    return cJSON_CreateString(digits);
}

static cJSON *say_outcome(const leaseq_outcome *outcome) {
    static const char *const kinds[] = {"none",      "completed", "dead",
                                        "cancelled", "removed",   "gone"};
    if (outcome == NULL) return cJSON_CreateNull();
    leaseq_end_kind kind = leaseq_outcome_kind(outcome);
    const char *result = leaseq_outcome_result(outcome);
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "kind", kinds[kind]);
    cJSON_AddItemToObject(said, "result",
                          result == NULL ? cJSON_CreateNull()
                                         : hexadecimal(result, leaseq_outcome_result_len(outcome)));
    cJSON_AddItemToObject(said, "error",
                          kind == LEASEQ_OUTCOME_DEAD
                              ? cJSON_CreateString(leaseq_outcome_error(outcome))
                              : cJSON_CreateNull());
    cJSON_AddBoolToObject(said, "retained", leaseq_outcome_retained(outcome));
    return said;
}

cJSON *outcome(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "ids"), *id = NULL;
    int64_t wait_ms = number(call->request, "wait_ms", LEASEQ_WAIT_FOREVER);
    bool expect = cJSON_IsTrue(cJSON_GetObjectItem(call->request, "expect"));
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_bytes ids[len + 1];
    leaseq_outcome *outcomes[len + 1];
    outcomes[0] = NULL;
    if (strcmp(op, "outcome") == 0) {
        leaseq_bytes one = bytes(cJSON_GetObjectItem(call->request, "id"));
        leaseq_queue_outcome(call->queue, one.data, one.len, wait_ms, expect, outcomes,
                             &call->error);
        cJSON *said = say_outcome(outcomes[0]);
        leaseq_outcome_free(outcomes);
        return said;
    }
    cJSON_ArrayForEach(id, list) ids[i++] = bytes(id);
    leaseq_status statuses[len + 1];
    leaseq_queue_outcome_many(call->queue, ids, len, wait_ms, expect, outcomes, statuses,
                              &call->error);
    cJSON *said = cJSON_CreateArray();
    for (i = 0; i < len; i++) {
        cJSON *one = say_outcome(outcomes[i]);
        if (statuses[i] != LEASEQ_OK) {
            cJSON_Delete(one);
            one = cJSON_CreateObject();
            cJSON_AddStringToObject(one, "fails", leaseq_status_name(statuses[i]));
        }
        cJSON_AddItemToArray(said, one);
        leaseq_outcome_free(&outcomes[i]);
    }
    return said;
}
