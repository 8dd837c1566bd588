/* Groups of the queue. */
#include "testee.h"

#include <string.h>

leaseq_group *group_of(cJSON *fields, leaseq_error **error) {
    leaseq_bytes id = bytes(cJSON_GetObjectItem(fields, "id"));
    leaseq_group *group = NULL;
    leaseq_group_new(text(fields, "queue"), id.data, id.len, text(fields, "generation"), &group,
                     error);
    return group;
}

static cJSON *say_group(const leaseq_group *group) {
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "queue", leaseq_group_queue(group));
    put_bytes(said, "id", leaseq_group_id(group), leaseq_group_id_len(group));
    cJSON_AddStringToObject(said, "generation", leaseq_group_generation(group));
    return said;
}

cJSON *create_group(Call *call, const char *op) {
    (void)op;
    leaseq_bytes id = bytes(cJSON_GetObjectItem(call->request, "id"));
    cJSON *list = cJSON_GetObjectItem(call->request, "follow_ups"), *each = NULL;
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_follow_up follow_ups[len + 1];
    leaseq_item items[len + 1];
    bool valid = true;
    leaseq_group *group = NULL;
    cJSON_ArrayForEach(each, list) {
        if (!valid) break;
        items[i] = item_of(cJSON_GetObjectItem(each, "item"), &call->error);
        valid = items[i].options != NULL;
        follow_ups[i] = (leaseq_follow_up){
            .item = &items[i],
            .on = on_of(each),
            .with_trigger = cJSON_IsTrue(cJSON_GetObjectItem(each, "with_trigger")),
        };
        i++;
    }
    if (valid)
        leaseq_queue_create_group(call->queue, id.data, id.len, follow_ups, len, &group,
                                  &call->error);
    for (size_t j = 0; j < i; j++) {
        leaseq_item_options *options = (leaseq_item_options *)items[j].options;
        leaseq_item_options_free(&options);
    }
    cJSON *said = group == NULL ? NULL : say_group(group);
    leaseq_group_free(&group);
    return said;
}

cJSON *change_group(Call *call, const char *op) {
    leaseq_group *group = group_of(cJSON_GetObjectItem(call->request, "group"), &call->error);
    if (group == NULL) return NULL;
    bool done = false;
    if (strcmp(op, "seal_group") == 0) {
        uint32_t places = (uint32_t)number(call->request, "places", 0);
        leaseq_queue_seal_group(call->queue, group, places, &done, &call->error);
    } else if (strcmp(op, "cancel_group") == 0) {
        leaseq_queue_cancel_group(call->queue, group, &done, &call->error);
    } else {
        leaseq_queue_remove_group(call->queue, group, &done, &call->error);
    }
    leaseq_group_free(&group);
    return cJSON_CreateBool(done);
}

cJSON *look_at_group(Call *call, const char *op) {
    (void)op;
    leaseq_bytes id = bytes(cJSON_GetObjectItem(call->request, "id"));
    leaseq_group *group = NULL;
    leaseq_group_info info;
    leaseq_queue_group(call->queue, id.data, id.len, &group, &info, sizeof info, &call->error);
    if (group == NULL) return NULL;
    cJSON *said = cJSON_CreateObject();
    cJSON_AddItemToObject(said, "group", say_group(group));
    put_unless(0, said, "places", info.places);
    put(said, "ended", info.ended);
    put(said, "completed", info.completed);
    cJSON_AddBoolToObject(said, "has_ended", info.has_ended == 1);
    put(said, "changed_at_ms", (uint64_t)info.changed_at_ms);
    leaseq_group_free(&group);
    return said;
}

cJSON *group_outcome(Call *call, const char *op) {
    (void)op;
    static const char *const kinds[] = {"open", "completed", "ended", "gone"};
    leaseq_bytes id = bytes(cJSON_GetObjectItem(call->request, "id"));
    int64_t wait_ms = number(call->request, "wait_ms", LEASEQ_WAIT_FOREVER);
    bool expect = cJSON_IsTrue(cJSON_GetObjectItem(call->request, "expect"));
    leaseq_group_end end = LEASEQ_GROUP_OPEN;
    leaseq_group_info info;
    leaseq_queue_group_outcome(call->queue, id.data, id.len, wait_ms, expect, &end, &info,
                               sizeof info, &call->error);
    if (end == LEASEQ_GROUP_OPEN) return NULL;
    bool gone = end == LEASEQ_GROUP_GONE;
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "kind", kinds[end]);
    cJSON_AddItemToObject(said, "places",
                          gone ? cJSON_CreateNull() : cJSON_CreateNumber(info.places));
    cJSON_AddItemToObject(said, "ended",
                          gone ? cJSON_CreateNull() : cJSON_CreateNumber(info.ended));
    cJSON_AddItemToObject(said, "completed",
                          gone ? cJSON_CreateNull() : cJSON_CreateNumber(info.completed));
    return said;
}

cJSON *group_places(Call *call, const char *op) {
    (void)op;
    static const char *const names[] = {"open", "ended", "completed"};
    leaseq_group *group = group_of(cJSON_GetObjectItem(call->request, "group"), &call->error);
    if (group == NULL) return NULL;
    leaseq_place_state states[1000];
    size_t found = 0;
    uint32_t first = (uint32_t)number(call->request, "first", 0);
    leaseq_queue_group_places(call->queue, group, first, states, 1000, &found, &call->error);
    leaseq_group_free(&group);
    cJSON *said = cJSON_CreateArray();
    for (size_t i = 0; i < found; i++)
        cJSON_AddItemToArray(said, cJSON_CreateString(names[states[i]]));
    return said;
}
