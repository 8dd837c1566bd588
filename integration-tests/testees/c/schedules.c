/* Schedules of a queue, its history and events. */
#include "testee.h"

#include <stdlib.h>
#include <string.h>

static leaseq_schedule_options *schedule_options(const cJSON *request, leaseq_error **error) {
    leaseq_schedule_options *options = NULL;
    const char *cron = text(request, "cron"), *missed = text(request, "missed"),
               *owner = text(request, "owner");
    int64_t most = number(request, "missed", -2);
    if (missed != NULL) most = strcmp(missed, "skip") == 0 ? LEASEQ_MISSED_SKIP : LEASEQ_MISSED_ONE;
    leaseq_status status = leaseq_schedule_options_new(&options, error);
    if (!status && cron != NULL)
        status = leaseq_schedule_options_set_cron(options, cron, text(request, "zone"), error);
    if (!status && cron == NULL)
        status =
            leaseq_schedule_options_set_every_ms(options, number(request, "every_ms", 0), error);
    /* 0 as a number is no number of missed ticks, but LEASEQ_MISSED_ONE here. */
    if (!status && missed == NULL && most == 0) most = INT64_MAX;
    if (!status && most != -2) status = leaseq_schedule_options_set_missed(options, most, error);
    if (!status)
        status =
            leaseq_schedule_options_set_grace_ms(options, number(request, "grace_ms", -1), error);
    if (!status)
        status = leaseq_schedule_options_set_overlap(
            options, cJSON_IsTrue(cJSON_GetObjectItem(request, "overlap")), error);
    if (!status)
        status = leaseq_schedule_options_set_owner(options, owner == NULL ? "" : owner,
                                                   (uint64_t)number(request, "revision", 0), error);
    if (status) leaseq_schedule_options_free(&options);
    return options;
}

/* Reads a schedule, whose options are to be freed. */
static bool read_schedule(const cJSON *request, leaseq_schedule *schedule,
                          leaseq_item_options **item, leaseq_schedule_options **options,
                          leaseq_error **error) {
    const cJSON *of = cJSON_GetObjectItem(request, "item");
    leaseq_bytes data = bytes(cJSON_GetObjectItem(of, "data"));
    *options = NULL;
    *item = item_options(of, error);
    if (*item != NULL) *options = schedule_options(request, error);
    *schedule = (leaseq_schedule){text(request, "name"), data.data, data.len, *item, *options};
    return *options != NULL;
}

static const char *const done_names[] = {"none",      "added",    "updated",
                                         "unchanged", "outdated", "removed"};

cJSON *put_schedule(Call *call, const char *op) {
    leaseq_schedule schedule;
    leaseq_item_options *item = NULL;
    leaseq_schedule_options *options = NULL;
    leaseq_scheduled done = LEASEQ_SCHEDULED_NONE;
    (void)op;
    if (read_schedule(call->request, &schedule, &item, &options, &call->error))
        leaseq_queue_put_schedule(call->queue, &schedule, &done, &call->error);
    leaseq_item_options_free(&item);
    leaseq_schedule_options_free(&options);
    return cJSON_CreateString(done_names[done]);
}

cJSON *sync_schedules(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "schedules"), *each = NULL;
    size_t count = (size_t)cJSON_GetArraySize(list), read = 0;
    leaseq_schedule schedules[count + 1];
    leaseq_item_options *items[count + 1];
    leaseq_schedule_options *options[count + 1];
    leaseq_synced *synced = NULL;
    bool valid = true;
    (void)op;
    cJSON_ArrayForEach(each, list) {
        if (!valid) break;
        valid = read_schedule(each, &schedules[read], &items[read], &options[read], &call->error);
        read++;
    }
    if (valid)
        leaseq_queue_sync_schedules(call->queue, text(call->request, "owner"),
                                    (uint64_t)number(call->request, "revision", 0), schedules,
                                    count, &synced, &call->error);
    for (size_t i = 0; i < read; i++) {
        leaseq_item_options_free(&items[i]);
        leaseq_schedule_options_free(&options[i]);
    }
    cJSON *said = cJSON_CreateObject();
    for (int i = LEASEQ_SCHEDULED_ADDED; i <= LEASEQ_SCHEDULED_REMOVED; i++)
        cJSON_AddArrayToObject(said, done_names[i]);
    for (size_t i = 0; i < leaseq_synced_len(synced); i++)
        cJSON_AddItemToArray(cJSON_GetObjectItem(said, done_names[leaseq_synced_done(synced, i)]),
                             cJSON_CreateString(leaseq_synced_name(synced, i)));
    leaseq_synced_free(&synced);
    return said;
}

static void put_text(cJSON *object, const char *name, const char *value) {
    cJSON_AddItemToObject(object, name,
                          value == NULL ? cJSON_CreateNull() : cJSON_CreateString(value));
}

static cJSON *say_schedule(const leaseq_schedule_info *info) {
    cJSON *said = cJSON_CreateObject();
    int64_t missed = leaseq_schedule_info_missed(info);
    put_text(said, "name", leaseq_schedule_info_name(info));
    put_bytes(said, "data", leaseq_schedule_info_data(info), leaseq_schedule_info_data_len(info));
    put_text(said, "cron", leaseq_schedule_info_cron(info));
    put_text(said, "zone", leaseq_schedule_info_zone(info));
    put_unless(0, said, "every_ms", leaseq_schedule_info_every_ms(info));
    put_text(said, "owner", leaseq_schedule_info_owner(info));
    put(said, "revision", leaseq_schedule_info_revision(info));
    if (missed > 0) {
        put(said, "missed", (uint64_t)missed);
    } else {
        put_text(said, "missed", missed == LEASEQ_MISSED_SKIP ? "skip" : "one");
    }
    put_unless(-1, said, "grace_ms", leaseq_schedule_info_grace_ms(info));
    cJSON_AddBoolToObject(said, "overlap", leaseq_schedule_info_overlap(info));
    put(said, "priority", (uint64_t)leaseq_schedule_info_priority(info));
    put(said, "delay_ms", (uint64_t)leaseq_schedule_info_delay_ms(info));
    put_unless(0, said, "max_attempts", leaseq_schedule_info_max_attempts(info));
    put_unless(0, said, "retain_ms", leaseq_schedule_info_retain_ms(info));
    put_optional(said, "unique", leaseq_schedule_info_unique(info),
                 leaseq_schedule_info_unique_len(info));
    put_unless(0, said, "unique_for_ms", leaseq_schedule_info_unique_for_ms(info));
    cJSON_AddBoolToObject(said, "replace", leaseq_schedule_info_replace(info));
    cJSON_AddBoolToObject(said, "successor", leaseq_schedule_info_successor(info));
    put_optional(said, "key", leaseq_schedule_info_key(info), leaseq_schedule_info_key_len(info));
    put_unless(-1, said, "expires_in_ms", leaseq_schedule_info_expires_in_ms(info));
    cJSON_AddBoolToObject(said, "paused", leaseq_schedule_info_paused(info));
    put_unless(-1, said, "paused_at_ms", leaseq_schedule_info_paused_at_ms(info));
    put_text(said, "paused_by", leaseq_schedule_info_paused_by(info));
    put_text(said, "pause_reason", leaseq_schedule_info_pause_reason(info));
    put_unless(-1, said, "next_ms", leaseq_schedule_info_next_ms(info));
    put_text(said, "last_id", leaseq_schedule_info_last_id(info));
    return said;
}

cJSON *history(Call *call, const char *op) {
    if (strcmp(op, "record_history") == 0) {
        char *measured = cJSON_PrintUnformatted(cJSON_GetObjectItem(call->request, "measured"));
        bool done = false;
        leaseq_queue_record_history(call->queue, measured, &done, &call->error);
        free(measured);
        return cJSON_CreateBool(done);
    }
    leaseq_names *rows = NULL;
    leaseq_queue_history(call->queue, text(call->request, "kind"), &rows, &call->error);
    const char *said = leaseq_names_get(rows, 0);
    cJSON *gives = said == NULL ? NULL : cJSON_Parse(said);
    leaseq_names_free(&rows);
    return gives;
}

cJSON *events(Call *call, const char *op) {
    const cJSON *after = cJSON_GetObjectItem(call->request, "after");
    leaseq_names *page = NULL;
    (void)op;
    leaseq_queue_events(call->queue, cJSON_GetStringValue(after),
                        (size_t)number(call->request, "limit", 100),
                        number(call->request, "wait_ms", 0), &page, &call->error);
    const char *said = leaseq_names_get(page, 0);
    cJSON *gives = said == NULL ? NULL : cJSON_Parse(said);
    leaseq_names_free(&page);
    return gives;
}

cJSON *schedules(Call *call, const char *op) {
    leaseq_schedules *all = NULL;
    (void)op;
    bool with_data = !cJSON_IsFalse(cJSON_GetObjectItem(call->request, "with_data"));
    leaseq_queue_schedules(call->queue, with_data, &all, &call->error);
    cJSON *said = cJSON_CreateArray();
    for (size_t i = 0; i < leaseq_schedules_len(all); i++)
        cJSON_AddItemToArray(said, say_schedule(leaseq_schedules_get(all, i)));
    leaseq_schedules_free(&all);
    return said;
}

cJSON *change_schedule(Call *call, const char *op) {
    const char *name = text(call->request, "name");
    bool done = false;
    if (strcmp(op, "remove_schedule") == 0) {
        leaseq_queue_remove_schedule(call->queue, name, &done, &call->error);
    } else if (strcmp(op, "pause_schedule") == 0) {
        leaseq_queue_pause_schedule(call->queue, name, text(call->request, "by"),
                                    text(call->request, "reason"), &done, &call->error);
    } else if (strcmp(op, "resume_schedule") == 0) {
        leaseq_queue_resume_schedule(call->queue, name, &done, &call->error);
    } else {
        leaseq_queue_run_now(call->queue, name, &done, &call->error);
    }
    return cJSON_CreateBool(done);
}
