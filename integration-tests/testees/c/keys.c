/* The limits of keys. */
#include "testee.h"

cJSON *set_key_limits(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "limits"), *one = NULL;
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_key_limit limits[len + 1];
    (void)op;
    cJSON_ArrayForEach(one, list) {
        leaseq_bytes key = bytes(cJSON_GetObjectItem(one, "key"));
        bool unset = cJSON_IsNull(cJSON_GetObjectItem(one, "limit"));
        uint32_t limit = unset ? 0 : (uint32_t)number(one, "limit", 0);
        limits[i++] = (leaseq_key_limit){key.data, key.len, limit};
    }
    leaseq_queue_set_key_limits(call->queue, limits, len, &call->error);
    return NULL;
}

cJSON *get_keys(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "keys"), *one = NULL;
    cJSON *said = cJSON_CreateArray();
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_bytes keys[len + 1];
    leaseq_key_info infos[len + 1];
    (void)op;
    cJSON_ArrayForEach(one, list) keys[i++] = bytes(one);
    leaseq_queue_get_keys(call->queue, keys, len, infos, &call->error);
    for (i = 0; i < len; i++) {
        cJSON *info = cJSON_CreateObject();
        put_bytes(info, "key", keys[i].data, keys[i].len);
        put(info, "limit", infos[i].limit);
        cJSON_AddBoolToObject(info, "own_limit", infos[i].own_limit != 0);
        put(info, "leased", infos[i].leased);
        cJSON_AddItemToArray(said, info);
    }
    return said;
}
