/* Reads requests. */
#include "testee.h"

#include <stdlib.h>
#include <string.h>

const char *text(const cJSON *request, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItem(request, name));
}

int64_t number(const cJSON *request, const char *name, int64_t otherwise) {
    const cJSON *field = cJSON_GetObjectItem(request, name);
    return cJSON_IsNumber(field) ? (int64_t)field->valuedouble : otherwise;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

leaseq_bytes bytes(cJSON *digits) {
    char *at = cJSON_GetStringValue(digits);
    if (at == NULL) return (leaseq_bytes){0};
    size_t len = strlen(at) / 2;
    for (size_t i = 0; i < len; i++) at[i] = (char)(digit(at[2 * i]) << 4 | digit(at[2 * i + 1]));
    return (leaseq_bytes){at, len};
}

/* An item with options of its own; their owner frees them. */
leaseq_item item_of(const cJSON *fields, leaseq_error **error) {
    leaseq_bytes data = bytes(cJSON_GetObjectItem(fields, "data"));
    return (leaseq_item){.data = data.data == NULL ? "" : data.data,
                         .data_len = data.len,
                         .options = item_options(fields, error)};
}

int32_t on_of(const cJSON *fields) {
    const char *word = text(fields, "on");
    return strcmp(word, "completed") == 0 ? LEASEQ_ON_COMPLETED
           : strcmp(word, "dead") == 0    ? LEASEQ_ON_DEAD
                                          : LEASEQ_ON_ENDED;
}

static leaseq_status add_follow_up(leaseq_item_options *options, const cJSON *fields,
                                   leaseq_error **error) {
    leaseq_item item = item_of(cJSON_GetObjectItem(fields, "item"), error);
    if (item.options == NULL) return leaseq_error_status(*error);
    bool with_trigger = cJSON_IsTrue(cJSON_GetObjectItem(fields, "with_trigger"));
    leaseq_status status =
        leaseq_item_options_add_follow_up(options, on_of(fields), &item, with_trigger, error);
    leaseq_item_options *own = (leaseq_item_options *)item.options;
    leaseq_item_options_free(&own);
    return status;
}

leaseq_items *adds(const cJSON *request, size_t count, leaseq_error **error) {
    const cJSON *add = cJSON_GetObjectItem(request, "add"),
                *all = cJSON_GetObjectItem(request, "adds"), *one = NULL;
    if (add == NULL && all == NULL) return NULL;
    leaseq_items *made = calloc(count + 1, sizeof *made);
    for (size_t i = 0; i < count; i++) {
        const cJSON *items = all == NULL ? add : cJSON_GetArrayItem(all, (int)i);
        leaseq_item *own = calloc((size_t)cJSON_GetArraySize(items) + 1, sizeof *own);
        made[i].items = own;
        cJSON_ArrayForEach(one, items) {
            leaseq_item item = item_of(one, error);
            if (item.options != NULL) own[made[i].count++] = item;
        }
    }
    return made;
}

void free_adds(leaseq_items *adds, size_t count) {
    for (size_t i = 0; adds != NULL && i < count; i++) {
        for (size_t n = 0; n < adds[i].count; n++) {
            leaseq_item_options *own = (leaseq_item_options *)adds[i].items[n].options;
            leaseq_item_options_free(&own);
        }
        free((void *)adds[i].items);
    }
    free(adds);
}

leaseq_item_options *item_options(const cJSON *request, leaseq_error **error) {
    leaseq_item_options *options = NULL;
    leaseq_bytes id = bytes(cJSON_GetObjectItem(request, "id")),
                 unique = bytes(cJSON_GetObjectItem(request, "unique")),
                 key = bytes(cJSON_GetObjectItem(request, "key"));
    int64_t priority = number(request, "priority", -1), delay = number(request, "delay_ms", -1),
            due_at = number(request, "due_at_ms", -1), retain = number(request, "retain_ms", -1),
            unique_for = number(request, "unique_for_ms", -1),
            expires_in = number(request, "expires_in_ms", -1),
            attempts = number(request, "max_attempts", -1);
    bool replace = cJSON_IsTrue(cJSON_GetObjectItem(request, "replace")),
         successor = cJSON_IsTrue(cJSON_GetObjectItem(request, "successor"));
    leaseq_status status = leaseq_item_options_new(&options, error);
    if (!status && id.data != NULL)
        status = leaseq_item_options_set_id(options, id.data, id.len, error);
    if (!status && priority >= 0)
        status = leaseq_item_options_set_priority(options, (int32_t)priority, error);
    if (!status && delay >= 0) status = leaseq_item_options_set_delay_ms(options, delay, error);
    if (!status && due_at >= 0) status = leaseq_item_options_set_due_at_ms(options, due_at, error);
    if (!status && attempts >= 0)
        status = leaseq_item_options_set_max_attempts(options, (uint32_t)attempts, error);
    if (!status && retain >= 0) status = leaseq_item_options_set_retain_ms(options, retain, error);
    if (!status && unique.data != NULL)
        status = leaseq_item_options_set_unique(options, unique.data, unique.len, error);
    if (!status && key.data != NULL)
        status = leaseq_item_options_set_key(options, key.data, key.len, error);
    if (!status && unique_for >= 0)
        status = leaseq_item_options_set_unique_for_ms(options, unique_for, error);
    if (!status && replace) status = leaseq_item_options_set_replace(options, replace, error);
    if (!status && successor) status = leaseq_item_options_set_successor(options, true, error);
    if (!status && expires_in >= 0)
        status = leaseq_item_options_set_expires_in_ms(options, expires_in, error);
    if (!status && text(request, "queue") != NULL)
        status = leaseq_item_options_set_queue(options, text(request, "queue"), error);
    const cJSON *follow_up = NULL;
    cJSON_ArrayForEach(follow_up, cJSON_GetObjectItem(request, "follow_ups")) {
        if (!status) status = add_follow_up(options, follow_up, error);
    }
    if (!status && cJSON_HasObjectItem(request, "place")) {
        leaseq_group *group = group_of(cJSON_GetObjectItem(request, "group"), error);
        uint32_t place = (uint32_t)number(request, "place", 0);
        status = group == NULL ? leaseq_error_status(*error)
                               : leaseq_item_options_set_group(options, group, place, error);
        leaseq_group_free(&group);
    }
    if (status) leaseq_item_options_free(&options);
    return options;
}

leaseq_lease_options *lease_options(const cJSON *request, leaseq_error **error) {
    leaseq_lease_options *options = NULL;
    int64_t limit = number(request, "keep_alive_limit_ms", 0);
    leaseq_status status = leaseq_lease_options_new(&options, error);
    if (!status && cJSON_IsTrue(cJSON_GetObjectItem(request, "keep_alive")))
        status = leaseq_lease_options_set_keep_alive(options, limit, error);
    if (status) leaseq_lease_options_free(&options);
    return options;
}

leaseq_complete_options *complete_options(const cJSON *request, leaseq_error **error) {
    leaseq_complete_options *options = NULL;
    bool strict = cJSON_IsTrue(cJSON_GetObjectItem(request, "strict"));
    int64_t retain = number(request, "retain_ms", -1);
    cJSON *list = cJSON_GetObjectItem(request, "results"), *one = NULL;
    size_t count = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_bytes result = bytes(cJSON_GetObjectItem(request, "result")), results[count + 1];
    cJSON_ArrayForEach(one, list) results[i++] = bytes(one);
    leaseq_status status = leaseq_complete_options_new(&options, error);
    if (!status) status = leaseq_complete_options_set_strict(options, strict, error);
    if (!status && retain >= 0)
        status = leaseq_complete_options_set_retain_ms(options, retain, error);
    if (!status && result.data != NULL)
        status = leaseq_complete_options_set_result(options, result.data, result.len, error);
    if (!status && list != NULL)
        status = leaseq_complete_options_set_results(options, results, count, error);
    const cJSON *leases = cJSON_GetObjectItem(request, "leases");
    size_t given = leases == NULL ? 1 : (size_t)cJSON_GetArraySize(leases);
    leaseq_items *added = status ? NULL : adds(request, given, error);
    if (!status && *error != NULL) status = leaseq_error_status(*error);
    if (!status && added != NULL)
        status = leaseq_complete_options_set_adds(options, added, given, error);
    free_adds(added, given);
    if (status) leaseq_complete_options_free(&options);
    return options;
}

leaseq_state state_of(const char *word) {
    leaseq_state state = LEASEQ_STATE_HELD;
    while (state != LEASEQ_STATE_NONE && strcmp(leaseq_state_name(state), word) != 0) state--;
    return state;
}
