/* Settings of a queue, and pausing it. */
#include "testee.h"

#include <string.h>

static void put_rate(cJSON *said, const char *name, uint64_t count, int64_t period_ms,
                     uint64_t burst) {
    if (count == 0) {
        cJSON_AddNullToObject(said, name);
        return;
    }
    cJSON *rate = cJSON_AddObjectToObject(said, name);
    put(rate, "count", count);
    put(rate, "period_ms", (uint64_t)period_ms);
    put(rate, "burst", burst);
}

static cJSON *say_settings(const leaseq_settings *settings) {
    cJSON *said = cJSON_CreateObject();
    put_unless(0, said, "max_attempts", (int64_t)settings->max_attempts);
    put(said, "retain_ms", (uint64_t)settings->retain_ms);
    put_unless(0, said, "max_dead", (int64_t)settings->max_dead);
    put_unless(0, said, "max_retained", (int64_t)settings->max_retained);
    put_unless(0, said, "max_dead_age_ms", settings->max_dead_age_ms);
    put_unless(0, said, "max_retained_age_ms", settings->max_retained_age_ms);
    put(said, "key_limit", settings->key_limit);
    put_unless(0, said, "events", (int64_t)settings->events);
    put(said, "revision", settings->revision);
    cJSON_AddBoolToObject(said, "paused", settings->paused != 0);
    put_unless(-1, said, "paused_until_ms", settings->paused_until_ms);
    put_unless(-1, said, "paused_at_ms", settings->paused_at_ms);
    cJSON_AddStringToObject(said, "paused_by", settings->paused_by);
    cJSON_AddStringToObject(said, "pause_reason", settings->pause_reason);
    put_unless(-1, said, "rate_limited_until_ms", settings->rate_limited_until_ms);
    put_rate(said, "rate", settings->rate, settings->rate_period_ms, settings->rate_burst);
    put_rate(said, "key_rate", settings->key_rate, settings->key_rate_period_ms,
             settings->key_rate_burst);
    return said;
}

/* Names one setting in the change. */
static void name(const cJSON *field, leaseq_settings_options *options, leaseq_error **error) {
    static const struct {
        const char *name;
        leaseq_setting setting;
    } all[] = {
        {"max_attempts", LEASEQ_SETTING_MAX_ATTEMPTS},
        {"retain_ms", LEASEQ_SETTING_RETAIN},
        {"max_dead", LEASEQ_SETTING_MAX_DEAD},
        {"max_retained", LEASEQ_SETTING_MAX_RETAINED},
        {"max_dead_age_ms", LEASEQ_SETTING_MAX_DEAD_AGE},
        {"max_retained_age_ms", LEASEQ_SETTING_MAX_RETAINED_AGE},
        {"rate", LEASEQ_SETTING_RATE},
        {"key_limit", LEASEQ_SETTING_KEY_LIMIT},
        {"key_rate", LEASEQ_SETTING_KEY_RATE},
        {"events", LEASEQ_SETTING_EVENTS},
    };
    int64_t value = (int64_t)cJSON_GetNumberValue(field);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, field->string) != 0) continue;
        if (cJSON_IsNull(field)) {
            leaseq_settings_options_remove(options, all[i].setting, error);
            return;
        }
        switch (all[i].setting) {
        case LEASEQ_SETTING_MAX_ATTEMPTS:
            leaseq_settings_options_set_max_attempts(options, (uint32_t)value, error);
            break;
        case LEASEQ_SETTING_RETAIN:
            leaseq_settings_options_set_retain_ms(options, value, error);
            break;
        case LEASEQ_SETTING_MAX_DEAD:
            leaseq_settings_options_set_max_dead(options, (uint64_t)value, error);
            break;
        case LEASEQ_SETTING_MAX_RETAINED:
            leaseq_settings_options_set_max_retained(options, (uint64_t)value, error);
            break;
        case LEASEQ_SETTING_MAX_DEAD_AGE:
            leaseq_settings_options_set_max_dead_age_ms(options, value, error);
            break;
        case LEASEQ_SETTING_MAX_RETAINED_AGE:
            leaseq_settings_options_set_max_retained_age_ms(options, value, error);
            break;
        case LEASEQ_SETTING_KEY_LIMIT:
            leaseq_settings_options_set_key_limit(options, (uint32_t)value, error);
            break;
        case LEASEQ_SETTING_EVENTS:
            leaseq_settings_options_set_events(options, (uint64_t)value, error);
            break;
        case LEASEQ_SETTING_RATE:
            leaseq_settings_options_set_rate(options, (uint32_t)number(field, "count", 0),
                                             number(field, "period_ms", 0),
                                             (uint32_t)number(field, "burst", 0), error);
            break;
        case LEASEQ_SETTING_KEY_RATE:
            leaseq_settings_options_set_key_rate(options, (uint32_t)number(field, "count", 0),
                                                 number(field, "period_ms", 0),
                                                 (uint32_t)number(field, "burst", 0), error);
            break;
        }
    }
}

cJSON *configure(Call *call, const char *op) {
    leaseq_settings_options *options = NULL;
    leaseq_settings settings;
    bool configured = false;
    const cJSON *field = NULL, *change = cJSON_GetObjectItem(call->request, "change");
    (void)op;
    leaseq_settings_options_new(&options, &call->error);
    cJSON_ArrayForEach(field, change) {
        if (call->error == NULL) name(field, options, &call->error);
    }
    if (call->error == NULL && cJSON_HasObjectItem(call->request, "revision")) {
        uint64_t revision = (uint64_t)number(call->request, "revision", 0);
        leaseq_settings_options_expect_revision(options, revision, &call->error);
    }
    if (call->error == NULL) {
        leaseq_queue_configure(call->queue, options, &settings, sizeof settings, &configured,
                               &call->error);
    }
    leaseq_settings_options_free(&options);
    return configured ? say_settings(&settings) : NULL;
}

cJSON *settings(Call *call, const char *op) {
    leaseq_settings found;
    (void)op;
    leaseq_queue_settings(call->queue, &found, sizeof found, &call->error);
    return call->error == NULL ? say_settings(&found) : NULL;
}

cJSON *pause_or_resume(Call *call, const char *op) {
    const char *by = text(call->request, "by"), *reason = text(call->request, "reason");
    if (strcmp(op, "resume") == 0) {
        leaseq_queue_resume(call->queue, &call->error);
    } else if (cJSON_HasObjectItem(call->request, "duration_ms")) {
        int64_t duration_ms = number(call->request, "duration_ms", 0);
        leaseq_queue_pause_with(call->queue, duration_ms, by, reason, &call->error);
    } else {
        leaseq_queue_pause(call->queue, by, reason, &call->error);
    }
    return NULL;
}
