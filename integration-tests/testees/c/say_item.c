/* Writes leases and items. */
#include "testee.h"

#include <stdlib.h>

void put_bytes(cJSON *object, const char *name, const char *data, size_t len) {
    char *digits = malloc(2 * len + 1);
    for (size_t i = 0; i < len; i++) {
        digits[2 * i] = "0123456789abcdef"[(unsigned char)data[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[data[i] & 15];
    }
    digits[2 * len] = 0;
    cJSON_AddStringToObject(object, name, digits);
    free(digits);
}

/* Nothing for NULL. */
void put_optional(cJSON *object, const char *name, const char *data, size_t len) {
    if (data == NULL) {
        cJSON_AddNullToObject(object, name);
    } else {
        put_bytes(object, name, data, len);
    }
}

static cJSON *say_ending(leaseq_ending kind, int64_t at_ms) {
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "kind", leaseq_ending_name(kind));
    put(said, "at_ms", (uint64_t)at_ms);
    return said;
}

static cJSON *say_releases(const char *reason, uint32_t count, int64_t first_at_ms) {
    if (count == 0) return cJSON_CreateNull();
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "reason", reason);
    put(said, "count", count);
    put(said, "first_at_ms", (uint64_t)first_at_ms);
    return said;
}

/* The fields that leases and items share. */
#define PUT_ITEM(object, of, kind)                                                                 \
    put_bytes(object, "id", kind##_id(of), kind##_id_len(of));                                     \
    put_bytes(object, "data", kind##_data(of), kind##_data_len(of));                               \
    put_optional(object, "key", kind##_key(of), kind##_key_len(of));                               \
    put(object, "priority", (uint64_t)kind##_priority(of));                                        \
    put(object, "failures", kind##_failures(of));                                                  \
    put(object, "expiries", kind##_expiries(of));                                                  \
    put_unless(0, object, "max_attempts", kind##_max_attempts(of));                                \
    cJSON_AddStringToObject(object, "last_error", kind##_last_error(of));                          \
    cJSON *endings = cJSON_AddArrayToObject(object, "endings");                                    \
    for (size_t i = 0; i < kind##_endings(of); i++)                                                \
        cJSON_AddItemToArray(endings,                                                              \
                             say_ending(kind##_ending(of, i), kind##_ending_at_ms(of, i)));        \
    cJSON_AddItemToObject(object, "releases",                                                      \
                          say_releases(kind##_releases_reason(of), kind##_releases_count(of),      \
                                       kind##_releases_first_at_ms(of)))

cJSON *say_lease(const leaseq_lease *lease, const char *queue) {
    if (lease == NULL) return NULL;
    cJSON *said = cJSON_CreateObject();
    PUT_ITEM(said, lease, leaseq_lease);
    cJSON_AddStringToObject(said, "queue", queue);
    const char *trigger = leaseq_lease_trigger_id(lease);
    cJSON *by = trigger == NULL ? cJSON_CreateNull() : cJSON_CreateObject();
    if (trigger != NULL) {
        put_bytes(by, "id", trigger, leaseq_lease_trigger_id_len(lease));
        put_optional(by, "result", leaseq_lease_trigger_result(lease),
                     leaseq_lease_trigger_result_len(lease));
    }
    cJSON_AddItemToObject(said, "trigger", by);
    put(said, "attempt", leaseq_lease_attempt(lease));
    put(said, "generation", leaseq_lease_generation(lease));
    put(said, "waited_ms", (uint64_t)leaseq_lease_waited_ms(lease));
    put(said, "deadline_ms", (uint64_t)leaseq_lease_deadline_ms(lease));
    cJSON_AddBoolToObject(said, "lost", leaseq_lease_is_lost(lease));
    leaseq_completed completed = leaseq_lease_completed(lease);
    cJSON_AddItemToObject(said, "completed",
                          completed == LEASEQ_COMPLETED_UNKNOWN ? cJSON_CreateNull()
                                                                : cJSON_CreateBool(completed));
    return said;
}

cJSON *say_item(const leaseq_item_info *item) {
    if (item == NULL) return NULL;
    cJSON *said = cJSON_CreateObject();
    PUT_ITEM(said, item, leaseq_item_info);
    cJSON_AddStringToObject(said, "state", leaseq_state_name(leaseq_item_info_state(item)));
    cJSON_AddStringToObject(said, "generation", leaseq_item_info_generation(item));
    put(said, "added_at_ms", (uint64_t)leaseq_item_info_added_at_ms(item));
    put_unless(-1, said, "at_ms", leaseq_item_info_at_ms(item));
    put_unless(-1, said, "ended_at_ms", leaseq_item_info_ended_at_ms(item));
    put_unless(0, said, "retain_ms", leaseq_item_info_retain_ms(item));
    put_unless(-1, said, "expires_at_ms", leaseq_item_info_expires_at_ms(item));
    put_optional(said, "result", leaseq_item_info_result(item), leaseq_item_info_result_len(item));
    put_optional(said, "progress", leaseq_item_info_progress(item),
                 leaseq_item_info_progress_len(item));
    put_optional(said, "unique", leaseq_item_info_unique(item), leaseq_item_info_unique_len(item));
    cJSON_AddBoolToObject(said, "cancel_requested", leaseq_item_info_cancel_requested(item));
    cJSON_AddItemToObject(said, "followed_by", cJSON_Parse(leaseq_item_info_follow_ups(item)));
    return said;
}

cJSON *say_page(const leaseq_page *page) {
    cJSON *said = cJSON_CreateObject(), *items = cJSON_AddArrayToObject(said, "items");
    for (size_t i = 0; i < leaseq_page_len(page); i++)
        cJSON_AddItemToArray(items, say_item(leaseq_page_item(page, i)));
    const char *cursor = leaseq_page_cursor(page);
    cJSON_AddItemToObject(said, "cursor",
                          cursor == NULL ? cJSON_CreateNull() : cJSON_CreateString(cursor));
    put(said, "examined", leaseq_page_examined(page));
    return said;
}
