/* Writes answers. */
#include "testee.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes all digits: cJSON's own numbers are floating. */
cJSON *say_number(int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    return cJSON_CreateRaw(digits);
}

static void put(cJSON *object, const char *name, uint64_t value) {
    cJSON_AddItemToObject(object, name, say_number((int64_t)value));
}

/* A number, or null for the value that means nothing. */
static void put_unless(int64_t nothing, cJSON *object, const char *name, int64_t value) {
    cJSON_AddItemToObject(object, name, value == nothing ? cJSON_CreateNull() : say_number(value));
}

static void put_bytes(cJSON *object, const char *name, const char *data, size_t len) {
    char *digits = malloc(2 * len + 1);
    for (size_t i = 0; i < len; i++) {
        digits[2 * i] = "0123456789abcdef"[(unsigned char)data[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[data[i] & 15];
    }
    digits[2 * len] = 0;
    cJSON_AddStringToObject(object, name, digits);
    free(digits);
}

cJSON *say_bools(const bool *values, size_t count) {
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) cJSON_AddItemToArray(all, cJSON_CreateBool(values[i]));
    return all;
}

cJSON *say_names(const leaseq_names *names) {
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < leaseq_names_len(names); i++)
        cJSON_AddItemToArray(all, cJSON_CreateString(leaseq_names_get(names, i)));
    return all;
}

/* The fields that leases and items share. */
#define PUT_ITEM(object, of, kind)                                                                 \
    put_bytes(object, "id", kind##_id(of), kind##_id_len(of));                                     \
    put_bytes(object, "data", kind##_data(of), kind##_data_len(of));                               \
    put(object, "priority", (uint64_t)kind##_priority(of));                                        \
    put(object, "failures", kind##_failures(of));                                                  \
    put(object, "expiries", kind##_expiries(of));                                                  \
    put_unless(0, object, "max_attempts", kind##_max_attempts(of));                                \
    cJSON_AddStringToObject(object, "last_error", kind##_last_error(of))

cJSON *say_lease(const leaseq_lease *lease, const char *queue) {
    if (lease == NULL) return NULL;
    cJSON *said = cJSON_CreateObject();
    PUT_ITEM(said, lease, leaseq_lease);
    cJSON_AddStringToObject(said, "queue", queue);
    put(said, "attempt", leaseq_lease_attempt(lease));
    put(said, "generation", leaseq_lease_generation(lease));
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
    put(said, "added_at_ms", (uint64_t)leaseq_item_info_added_at_ms(item));
    put_unless(-1, said, "at_ms", leaseq_item_info_at_ms(item));
    return said;
}

cJSON *say_page(const leaseq_page *page) {
    cJSON *said = cJSON_CreateObject(), *items = cJSON_AddArrayToObject(said, "items");
    for (size_t i = 0; i < leaseq_page_len(page); i++)
        cJSON_AddItemToArray(items, say_item(leaseq_page_item(page, i)));
    const char *cursor = leaseq_page_cursor(page);
    cJSON_AddItemToObject(said, "cursor",
                          cursor == NULL ? cJSON_CreateNull() : cJSON_CreateString(cursor));
    return said;
}

cJSON *say_counts(const leaseq_counts *counts) {
    cJSON *said = cJSON_CreateObject(), *by = cJSON_AddArrayToObject(said, "ready_by_priority"),
          *totals = cJSON_AddObjectToObject(said, "totals");
    for (int i = 0; i < 10; i++)
        cJSON_AddItemToArray(by, say_number((int64_t)counts->ready_by_priority[i]));
    put(said, "ready", counts->ready);
    put(said, "delayed", counts->delayed);
    put(said, "leased", counts->leased);
    put(said, "dead", counts->dead);
    put_unless(-1, said, "oldest_ready_ms", counts->oldest_ready_ms);
    cJSON_AddBoolToObject(said, "paused", counts->paused != 0);
    put(totals, "added", counts->total_added);
    put(totals, "leased", counts->total_leased);
    put(totals, "completed", counts->total_completed);
    put(totals, "expired", counts->total_expired);
    put(totals, "failed", counts->total_failed);
    put(totals, "died", counts->total_died);
    put(totals, "removed", counts->total_removed);
    return said;
}

cJSON *say_light_report(const leaseq_light_report *report) {
    cJSON *said = cJSON_CreateObject();
    put(said, "promoted", report->promoted);
    put(said, "expired", report->expired);
    put(said, "died", report->died);
    put_unless(-1, said, "next_in_ms", report->next_in_ms);
    return said;
}

cJSON *say_report(const leaseq_report *report) {
    cJSON *said = cJSON_CreateObject(), *found = cJSON_AddObjectToObject(said, "found"),
          *mended = cJSON_AddObjectToObject(said, "mended");
    cJSON_AddBoolToObject(said, "sound", leaseq_report_is_sound(report));
    put(said, "items", leaseq_report_items(report));
    for (size_t i = 0; i < leaseq_report_kinds(report); i++) {
        put(found, leaseq_report_kind(report, i), leaseq_report_found(report, i));
        put(mended, leaseq_report_kind(report, i), leaseq_report_mended(report, i));
    }
    return said;
}

cJSON *say_error(const leaseq_error *error) {
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "kind", leaseq_status_name(leaseq_error_status(error)));
    cJSON_AddStringToObject(said, "message", leaseq_error_message(error));
    cJSON_AddBoolToObject(said, "unknown", leaseq_error_outcome_unknown(error));
    return said;
}
