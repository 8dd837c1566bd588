/* Writes answers. */
#include "testee.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes all digits: cJSON's own numbers are floating. */
cJSON *say_number(int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    return cJSON_CreateRaw(digits);
}

void put(cJSON *object, const char *name, uint64_t value) {
    cJSON_AddItemToObject(object, name, say_number((int64_t)value));
}

void put_unless(int64_t nothing, cJSON *object, const char *name, int64_t value) {
    cJSON_AddItemToObject(object, name, value == nothing ? cJSON_CreateNull() : say_number(value));
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

cJSON *say_counts(const leaseq_counts *counts) {
    cJSON *said = cJSON_CreateObject(), *by = cJSON_AddArrayToObject(said, "ready_by_priority"),
          *totals = cJSON_AddObjectToObject(said, "totals");
    for (int i = 0; i < 10; i++)
        cJSON_AddItemToArray(by, say_number((int64_t)counts->ready_by_priority[i]));
    put(said, "ready", counts->ready);
    put(said, "delayed", counts->delayed);
    put(said, "leased", counts->leased);
    put(said, "dead", counts->dead);
    put(said, "completed", counts->completed);
    put(said, "cancelled", counts->cancelled);
    put(said, "held", counts->held);
    put_unless(-1, said, "oldest_ready_ms", counts->oldest_ready_ms);
    cJSON_AddBoolToObject(said, "paused", counts->paused != 0);
    cJSON_AddBoolToObject(said, "rate_limited", counts->rate_limited != 0);
    put(totals, "added", counts->total_added);
    put(totals, "leased", counts->total_leased);
    put(totals, "completed", counts->total_completed);
    put(totals, "expired", counts->total_expired);
    put(totals, "failed", counts->total_failed);
    put(totals, "died", counts->total_died);
    put(totals, "removed", counts->total_removed);
    put(totals, "replaced", counts->total_replaced);
    put(totals, "expired_unleased", counts->total_expired_unleased);
    put(totals, "cancelled", counts->total_cancelled);
    return said;
}

cJSON *say_light_report(const leaseq_light_report *report) {
    cJSON *said = cJSON_CreateObject();
    put(said, "promoted", report->promoted);
    put(said, "expired", report->expired);
    put(said, "died", report->died);
    put(said, "removed", report->removed);
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
