/* Settings of a queue, and pauses that end by themselves. */
#include "check.h"

#define HOUR 3600000

static leaseq_settings_options *change(void) {
    leaseq_settings_options *options = NULL;
    OK(leaseq_settings_options_new(&options, &error));
    return options;
}

/* Makes the change, frees it, and returns whether it was not refused. */
static bool configured(leaseq_queue *queue, leaseq_settings_options *options,
                       leaseq_settings *settings) {
    bool configured = false;
    OK(leaseq_queue_configure(queue, options, settings, sizeof *settings, &configured, &error));
    leaseq_settings_options_free(&options);
    CHECK(options == NULL);
    return configured;
}

static leaseq_settings settings_of(leaseq_queue *queue) {
    leaseq_settings settings;
    memset(&settings, 0xff, sizeof settings);
    OK(leaseq_queue_settings(queue, &settings, sizeof settings, &error));
    return settings;
}

static void what_is_named_changes(leaseq_queue *queue) {
    leaseq_settings settings = settings_of(queue);
    CHECK(settings.max_attempts == 0 && settings.retain_ms == 0 && settings.max_dead == 0);
    CHECK(settings.max_retained == 0 && settings.max_dead_age_ms == 0);
    CHECK(settings.max_retained_age_ms == 0 && settings.revision == 0);
    CHECK(settings.paused == 0 && settings.paused_until_ms == -1);
    CHECK(settings.paused_at_ms == -1 && settings.paused_by[0] == 0 &&
          settings.pause_reason[0] == 0);

    leaseq_settings_options *options = change();
    OK(leaseq_settings_options_set_max_attempts(options, 5, &error));
    OK(leaseq_settings_options_set_retain_ms(options, 1000, &error));
    OK(leaseq_settings_options_set_max_dead(options, 10, &error));
    OK(leaseq_settings_options_set_max_retained(options, 20, &error));
    OK(leaseq_settings_options_set_max_dead_age_ms(options, HOUR, &error));
    OK(leaseq_settings_options_set_max_retained_age_ms(options, 2 * HOUR, &error));
    OK(leaseq_settings_options_set_rate(options, 10, 1000, 0, &error));
    OK(leaseq_settings_options_set_key_rate(options, 2, 3000, 7, &error));
    OK(leaseq_settings_options_set_events(options, 100, &error));
    OK(leaseq_settings_options_expect_revision(options, 0, &error));
    CHECK(configured(queue, options, &settings) && settings.events == 100);
    CHECK(settings.rate == 10 && settings.rate_period_ms == 1000 && settings.rate_burst == 10);
    CHECK(settings.key_rate == 2 && settings.key_rate_period_ms == 3000);
    CHECK(settings.key_rate_burst == 7 && settings.rate_limited_until_ms == -1);
    CHECK(settings.max_attempts == 5 && settings.retain_ms == 1000 && settings.max_dead == 10);
    CHECK(settings.max_retained == 20 && settings.max_dead_age_ms == HOUR);
    CHECK(settings.max_retained_age_ms == 2 * HOUR && settings.revision > 0);
    leaseq_settings read = settings_of(queue);
    CHECK(memcmp(&settings, &read, sizeof read) == 0);

    options = change();
    OK(leaseq_settings_options_remove(options, LEASEQ_SETTING_RETAIN, &error));
    OK(leaseq_settings_options_remove(options, LEASEQ_SETTING_MAX_DEAD, &error));
    OK(leaseq_settings_options_set_rate(options, 10, 1000, 30, &error));
    CHECK(configured(queue, options, &settings));
    CHECK(settings.retain_ms == 0 && settings.max_dead == 0 && settings.max_attempts == 5);
    CHECK(settings.rate_burst == 30 && settings.revision > read.revision);
    options = change();
    OK(leaseq_settings_options_remove(options, LEASEQ_SETTING_RATE, &error));
    OK(leaseq_settings_options_remove(options, LEASEQ_SETTING_KEY_RATE, &error));
    OK(leaseq_settings_options_remove(options, LEASEQ_SETTING_EVENTS, &error));
    CHECK(configured(queue, options, &settings) && settings.rate == 0 && settings.events == 0);
    CHECK(settings.rate_period_ms == 0 && settings.rate_burst == 0 && settings.key_rate == 0);
    CHECK(configured(queue, NULL, &read) && read.revision == settings.revision);
    OK(leaseq_queue_configure(queue, NULL, &read, sizeof read, NULL, &error));

    /* A program that was compiled with an older header knows fewer fields. */
    leaseq_settings part;
    memset(&part, 0xff, sizeof part);
    OK(leaseq_queue_settings(queue, &part, 2 * sizeof part.max_attempts, &error));
    CHECK(part.max_attempts == 5 && part.retain_ms == 0 && part.max_dead == UINT64_MAX);
}

static void another_revision_is_refused(leaseq_queue *queue) {
    leaseq_settings before = settings_of(queue), settings;
    memset(&settings, 0xff, sizeof settings);
    leaseq_settings_options *options = change();
    OK(leaseq_settings_options_set_max_attempts(options, 6, &error));
    OK(leaseq_settings_options_expect_revision(options, before.revision + 1, &error));
    CHECK(!configured(queue, options, &settings));
    CHECK(settings.revision == 0 && settings.max_attempts == 0);
    settings = settings_of(queue);
    CHECK(memcmp(&settings, &before, sizeof before) == 0);
}

static void wrong_values_are_refused(leaseq_queue *queue) {
    leaseq_settings settings;
    leaseq_settings_options *options = change();
    FAILS(LEASEQ_INVALID, leaseq_settings_options_set_retain_ms(options, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_settings_options_set_max_dead_age_ms(options, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_settings_options_set_max_retained_age_ms(options, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_settings_options_set_rate(options, 1, -1, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_settings_options_set_key_rate(options, 1, -1, 1, &error));
    for (int32_t setting = -1; setting <= LEASEQ_SETTING_EVENTS + 1;
         setting += LEASEQ_SETTING_EVENTS + 2)
        FAILS(LEASEQ_INVALID, leaseq_settings_options_remove(options, setting, &error));
    OK(leaseq_settings_options_set_max_dead(options, 0, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_queue_configure(queue, options, &settings, sizeof settings, NULL, &error));
    OK(leaseq_settings_options_set_max_dead(options, UINT64_MAX, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_queue_configure(queue, options, &settings, sizeof settings, NULL, &error));
    leaseq_settings_options_free(&options);
    FAILS(LEASEQ_INVALID, leaseq_queue_settings(queue, &settings, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_pause_with(queue, 0, NULL, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_pause_with(queue, -1, NULL, NULL, &error));
}

static void a_pause_says_who(leaseq_queue *queue) {
    char by[130], reason[258];
    memset(by, 'x', sizeof by);
    memset(reason, 'y', sizeof reason);
    by[129] = reason[257] = 0;
    FAILS(LEASEQ_INVALID, leaseq_queue_pause(queue, by, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_pause_with(queue, HOUR, NULL, reason, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_pause(queue, "\xff", NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_pause(queue, "a\nb", NULL, &error));
    CHECK(settings_of(queue).paused == 0);
    by[128] = reason[256] = 0;
    OK(leaseq_queue_pause(queue, by, reason, &error));
    leaseq_settings settings = settings_of(queue);
    CHECK(strcmp(settings.paused_by, by) == 0 && strcmp(settings.pause_reason, reason) == 0);
    CHECK(settings.paused_at_ms > HOUR && settings.paused_until_ms == -1);
    OK(leaseq_queue_pause_with(queue, HOUR, "ada", NULL, &error));
    settings = settings_of(queue);
    CHECK(strcmp(settings.paused_by, "ada") == 0 && settings.pause_reason[0] == 0);
    OK(leaseq_queue_resume(queue, &error));
    CHECK(settings_of(queue).paused_at_ms == -1 && settings_of(queue).paused_by[0] == 0);

    leaseq_schedule_options *options = NULL;
    OK(leaseq_schedule_options_new(&options, &error));
    OK(leaseq_schedule_options_set_every_ms(options, HOUR, &error));
    leaseq_schedule schedule = {"s", "x", 1, NULL, options};
    OK(leaseq_queue_put_schedule(queue, &schedule, NULL, &error));
    leaseq_schedule_options_free(&options);
    bool paused = false;
    FAILS(LEASEQ_INVALID, leaseq_queue_pause_schedule(queue, "s", "a\nb", NULL, &paused, &error));
    OK(leaseq_queue_pause_schedule(queue, "s", "ada", "sends twice", &paused, &error));
    CHECK(paused);
    leaseq_schedules *all = NULL;
    OK(leaseq_queue_schedules(queue, false, &all, &error));
    const leaseq_schedule_info *info = leaseq_schedules_get(all, 0);
    CHECK(strcmp(leaseq_schedule_info_paused_by(info), "ada") == 0);
    CHECK(strcmp(leaseq_schedule_info_pause_reason(info), "sends twice") == 0);
    CHECK(leaseq_schedule_info_paused_at_ms(info) > HOUR);
    CHECK(leaseq_schedule_info_data_len(info) == 0);
    leaseq_schedules_free(&all);
    OK(leaseq_queue_remove_schedule(queue, "s", NULL, &error));
}

static void a_pause_ends(leaseq_queue *queue) {
    add(queue, "a", "x");
    OK(leaseq_queue_pause_with(queue, HOUR, NULL, NULL, &error));
    leaseq_settings settings = settings_of(queue);
    CHECK(settings.paused == 1 && settings.paused_until_ms > HOUR);
    OK(leaseq_queue_pause(queue, NULL, NULL, &error));
    CHECK(settings_of(queue).paused_until_ms == -1);
    OK(leaseq_queue_pause_with(queue, 50, NULL, NULL, &error));
    leaseq_lease *lease = leased(queue, 1000);
    leaseq_lease_free(&lease);
    OK(leaseq_queue_resume(queue, &error));
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "settings");
    what_is_named_changes(queue);
    another_revision_is_refused(queue);
    wrong_values_are_refused(queue);
    a_pause_says_who(queue);
    a_pause_ends(queue);
    end(queue, client);
    return done();
}
