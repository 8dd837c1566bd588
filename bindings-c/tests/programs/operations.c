/* Every operation, for one item and for many. */
#include "check.h"

static void one_item(leaseq_queue *queue) {
    leaseq_item_options *options = NULL;
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_id(options, TEXT("order-17"), &error));
    OK(leaseq_item_options_set_priority(options, 5, &error));
    OK(leaseq_item_options_set_max_attempts(options, 9, &error));
    bool added = false;
    OK(leaseq_queue_add_item(queue, TEXT("first"), options, &added, &error));
    CHECK(added);
    OK(leaseq_queue_add_item(queue, TEXT("other"), options, &added, &error));
    CHECK(!added);
    leaseq_item_options_free(&options);
    CHECK(options == NULL);

    uint64_t len = 0;
    OK(leaseq_queue_len(queue, &len, &error));
    CHECK(len == 1);
    CHECK(counts_of(queue).oldest_ready_ms >= 0);

    leaseq_lease *lease = leased(queue, 30000);
    CHECK(counts_of(queue).oldest_ready_ms == -1);
    CHECK(is_id(lease, "order-17"));
    CHECK(leaseq_lease_data_len(lease) == 5 && memcmp(leaseq_lease_data(lease), "first", 5) == 0);
    CHECK(leaseq_lease_attempt(lease) == 1 && leaseq_lease_failures(lease) == 0);
    CHECK(leaseq_lease_expiries(lease) == 0 && leaseq_lease_max_attempts(lease) == 9);
    CHECK(leaseq_lease_priority(lease) == 5 && leaseq_lease_last_error_len(lease) == 0);
    CHECK(strcmp(leaseq_lease_last_error(lease), "") == 0);
    CHECK(leaseq_lease_generation(lease) > 0 && !leaseq_lease_is_lost(lease));
    CHECK(leaseq_lease_waited_ms(lease) >= 0 && leaseq_lease_waited_ms(lease) < 20000);
    CHECK(leaseq_lease_waited_ms(NULL) == 0);
    CHECK(leaseq_lease_remaining_ms(lease) > 20000 && leaseq_lease_remaining_ms(lease) <= 30000);
    OK(leaseq_queue_processing(queue, &len, &error));
    CHECK(len == 1);

    int64_t before = leaseq_lease_deadline_ms(lease), deadline = 0;
    OK(leaseq_queue_extend(queue, lease, 60000, &deadline, &error));
    CHECK(deadline > before && deadline == leaseq_lease_deadline_ms(lease));
    OK(leaseq_queue_set_progress(queue, lease, TEXT("3 of 10"), &error));
    leaseq_item_info *seen = NULL;
    OK(leaseq_queue_get(queue, TEXT("order-17"), &seen, &error));
    CHECK(leaseq_item_info_progress_len(seen) == 7);
    CHECK(memcmp(leaseq_item_info_progress(seen), "3 of 10", 7) == 0);
    leaseq_item_info_free(&seen);
    OK(leaseq_queue_release(queue, lease, 0, NULL, 0, &error));
    FAILS(LEASEQ_LEASE_LOST, leaseq_queue_set_progress(queue, lease, NULL, 0, &error));
    FAILS(LEASEQ_LEASE_LOST, leaseq_queue_extend(queue, lease, 60000, NULL, &error));
    FAILS(LEASEQ_LEASE_LOST, leaseq_queue_release(queue, lease, 0, NULL, 0, &error));
    leaseq_lease_free(&lease);
    CHECK(lease == NULL);

    lease = leased(queue, 30000);
    CHECK(leaseq_lease_attempt(lease) == 1);
    leaseq_state state = LEASEQ_STATE_NONE;
    OK(leaseq_queue_fail(queue, lease, TEXT("out of paper"), 0, false, &state, &error));
    CHECK(state == LEASEQ_STATE_READY);
    FAILS(LEASEQ_LEASE_LOST, leaseq_queue_fail(queue, lease, NULL, 0, 0, false, &state, &error));
    CHECK(state == LEASEQ_STATE_NONE);
    leaseq_lease_free(&lease);

    lease = leased(queue, 30000);
    CHECK(leaseq_lease_attempt(lease) == 2 && leaseq_lease_failures(lease) == 1);
    CHECK(strcmp(leaseq_lease_last_error(lease), "out of paper") == 0);
    bool completed = false;
    OK(leaseq_queue_complete(queue, lease, &completed, &error));
    CHECK(completed && !leaseq_lease_is_lost(lease));
    OK(leaseq_queue_complete(queue, lease, &completed, &error));
    CHECK(!completed);
    leaseq_lease_free(&lease);

    OK(leaseq_queue_lease(queue, 30000, 0, &lease, &error));
    CHECK(lease == NULL);
}

static void strict(leaseq_queue *queue) {
    leaseq_complete_options *strict = NULL;
    OK(leaseq_complete_options_new(&strict, &error));
    OK(leaseq_complete_options_set_strict(strict, true, &error));
    add(queue, "strict", "data");
    leaseq_lease *late = leased(queue, 1), *next = NULL;
    /* The lease of a late holder expires, and another worker gets the item. */
    next = leased(queue, 30000);
    CHECK(leaseq_lease_expiries(next) == 1);
    EVENTUALLY(leaseq_lease_is_lost(late));
    bool completed = true;
    OK(leaseq_queue_complete_with(queue, late, strict, &completed, &error));
    CHECK(!completed);
    OK(leaseq_queue_complete_with(queue, next, strict, &completed, &error));
    CHECK(completed);
    leaseq_lease_free(&late);
    leaseq_lease_free(&next);
    leaseq_complete_options_free(&strict);
}

enum { MANY = 1200 };

static void many_items(leaseq_queue *queue) {
    static leaseq_item items[MANY];
    static char ids[MANY][16];
    static bool answers[MANY];
    static leaseq_lease *leases[MANY];
    static leaseq_status statuses[MANY];
    static leaseq_state states[MANY];
    static int64_t deadlines[MANY];
    static leaseq_bytes texts[MANY];
    for (int i = 0; i < MANY; i++) {
        int len = snprintf(ids[i], sizeof ids[i], "many-%d", i);
        items[i] = (leaseq_item){.data = ids[i], .data_len = len, .id = ids[i], .id_len = len};
        texts[i] = (leaseq_bytes){.data = ids[i], .len = len};
    }
    OK(leaseq_queue_add_items(queue, items, MANY, answers, &error));
    for (int i = 0; i < MANY; i++) CHECK(answers[i]);
    OK(leaseq_queue_add_items(queue, items, MANY, answers, &error));
    for (int i = 0; i < MANY; i++) CHECK(!answers[i]);

    size_t count = 0, all = 0;
    while (all < MANY) {
        OK(leaseq_queue_lease_many(queue, 30000, 0, NULL, leases + all, MANY - all, &count,
                                   &error));
        CHECK(count > 0 && count <= LEASEQ_MAX_LEASES);
        all += count;
    }
    for (int i = 0; i < MANY; i++) CHECK(is_id(leases[i], ids[i]));
    OK(leaseq_queue_lease_many(queue, 30000, 0, NULL, &(leaseq_lease *){NULL}, 1, &count, &error));
    CHECK(count == 0);

    OK(leaseq_queue_extend_many(queue, leases, MANY, 60000, statuses, deadlines, &error));
    for (int i = 0; i < MANY; i++) {
        CHECK(statuses[i] == LEASEQ_OK && deadlines[i] == leaseq_lease_deadline_ms(leases[i]));
    }
    /* An operator removes one of the items. */
    bool removed = false;
    OK(leaseq_queue_remove(queue, TEXT("many-7"), &removed, &error));
    CHECK(removed);
    OK(leaseq_queue_extend_many(queue, leases, 10, 60000, statuses, deadlines, &error));
    for (int i = 0; i < 10; i++) {
        CHECK(statuses[i] == (i == 7 ? LEASEQ_LEASE_LOST : LEASEQ_OK));
        CHECK((deadlines[i] == 0) == (i == 7));
    }
    CHECK(leaseq_lease_is_lost(leases[7]));
    OK(leaseq_queue_release_many(queue, leases, 10, 0, NULL, 0, statuses, &error));
    for (int i = 0; i < 10; i++) CHECK(statuses[i] == (i == 7 ? LEASEQ_LEASE_LOST : LEASEQ_OK));
    OK(leaseq_queue_fail_many(queue, leases, texts, NULL, 20, 3600000, false, statuses, states,
                              &error));
    for (int i = 0; i < 20; i++) {
        CHECK(statuses[i] == (i < 10 ? LEASEQ_LEASE_LOST : LEASEQ_OK));
        CHECK(states[i] == (i < 10 ? LEASEQ_STATE_NONE : LEASEQ_STATE_DELAYED));
    }
    OK(leaseq_queue_fail_many(queue, leases + 20, NULL, NULL, 1, 0, false, NULL, NULL, &error));
    OK(leaseq_queue_complete_many(queue, leases, MANY, NULL, answers, &error));
    /* A holder that released or failed the item may still complete it; a removed item is gone. */
    for (int i = 0; i < MANY; i++) CHECK(answers[i] == (i != 7));
    OK(leaseq_queue_complete_many(queue, leases, MANY, NULL, NULL, &error));
    leaseq_leases_free(leases, MANY);
    for (int i = 0; i < MANY; i++) CHECK(leases[i] == NULL);
    leaseq_leases_free(leases, MANY);

    OK(leaseq_queue_add_items(queue, NULL, 0, NULL, &error));
    OK(leaseq_queue_complete_many(queue, NULL, 0, NULL, NULL, &error));
    OK(leaseq_queue_remove_many(queue, NULL, 0, NULL, &error));
    OK(leaseq_queue_add_items(queue, items, MANY, NULL, &error));
    static leaseq_item_ref refs[MANY];
    for (int i = 0; i < MANY; i++)
        refs[i] = (leaseq_item_ref){.id = items[i].id, .id_len = items[i].id_len};
    OK(leaseq_queue_remove_many(queue, refs, MANY, answers, &error));
    for (int i = 0; i < MANY; i++) CHECK(answers[i]);
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.ready + counts.delayed + counts.leased + counts.dead == 0);
}

static void operators(leaseq_client *client, leaseq_queue *queue) {
    leaseq_item_options *options = NULL;
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_max_attempts(options, 1, &error));
    OK(leaseq_item_options_set_priority(options, 3, &error));
    leaseq_item item = {
        .data = "x", .data_len = 1, .id = "mortal", .id_len = 6, .options = options};
    OK(leaseq_queue_add_items(queue, &item, 1, NULL, &error));
    OK(leaseq_item_options_set_delay_ms(options, 3600000, &error));
    OK(leaseq_item_options_set_id(options, TEXT("later"), &error));
    OK(leaseq_queue_add_item(queue, TEXT("y"), options, NULL, &error));
    leaseq_item_options_free(&options);

    leaseq_counts counts = counts_of(queue);
    CHECK(counts.ready == 1 && counts.ready_by_priority[3] == 1 && counts.delayed == 1);
    CHECK(counts.paused == 0 && counts.total_added > 1200);

    leaseq_item_info *info = NULL;
    OK(leaseq_queue_get(queue, TEXT("nobody"), &info, &error));
    CHECK(info == NULL);
    OK(leaseq_queue_get(queue, TEXT("mortal"), &info, &error));
    CHECK(leaseq_item_info_id_len(info) == 6 &&
          memcmp(leaseq_item_info_id(info), "mortal", 6) == 0);
    CHECK(leaseq_item_info_data_len(info) == 1 && *leaseq_item_info_data(info) == 'x');
    CHECK(leaseq_item_info_state(info) == LEASEQ_STATE_READY);
    CHECK(leaseq_item_info_priority(info) == 3 && leaseq_item_info_max_attempts(info) == 1);
    CHECK(leaseq_item_info_failures(info) == 0 && leaseq_item_info_expiries(info) == 0);
    CHECK(leaseq_item_info_added_at_ms(info) > 0 && leaseq_item_info_at_ms(info) == -1);
    leaseq_item_info_free(&info);
    CHECK(info == NULL);

    OK(leaseq_queue_pause(queue, NULL, NULL, &error));
    CHECK(counts_of(queue).paused == 1);
    leaseq_lease *lease = NULL;
    OK(leaseq_queue_lease(queue, 30000, 0, &lease, &error));
    CHECK(lease == NULL);
    OK(leaseq_queue_resume(queue, &error));
    lease = leased(queue, 30000);
    leaseq_state state = LEASEQ_STATE_NONE;
    OK(leaseq_queue_fail(queue, lease, "a\0b", 3, 0, false, &state, &error));
    CHECK(state == LEASEQ_STATE_DEAD);
    leaseq_lease_free(&lease);

    leaseq_page *page = NULL;
    OK(leaseq_queue_list(queue, LEASEQ_STATE_DEAD, NULL, 10, &page, &error));
    CHECK(leaseq_page_len(page) == 1 && leaseq_page_cursor(page) == NULL);
    const leaseq_item_info *dead = leaseq_page_item(page, 0);
    CHECK(leaseq_item_info_state(dead) == LEASEQ_STATE_DEAD && leaseq_item_info_at_ms(dead) > 0);
    CHECK(leaseq_item_info_last_error_len(dead) == 3);
    CHECK(memcmp(leaseq_item_info_last_error(dead), "a\0b", 4) == 0);
    CHECK(leaseq_page_item(page, 1) == NULL);
    leaseq_page_free(&page);

    bool requeued = false;
    OK(leaseq_queue_requeue(queue, TEXT("mortal"), &requeued, &error));
    CHECK(requeued);
    leaseq_item_ref ids[] = {{TEXT("mortal"), NULL}, {TEXT("nobody"), NULL}};
    bool answers[2] = {true, true};
    OK(leaseq_queue_requeue_many(queue, ids, 2, answers, &error));
    CHECK(!answers[0] && !answers[1]);

    leaseq_item_info *seen_item = NULL;
    OK(leaseq_queue_get(queue, TEXT("mortal"), &seen_item, &error));
    leaseq_revision revision = {.id = "mortal", .id_len = 6, .data = "new", .data_len = 3};
    revision.if_generation = leaseq_item_info_generation(seen_item);
    bool revised = false;
    OK(leaseq_queue_revise(queue, &revision, &revised, &error));
    CHECK(revised);
    OK(leaseq_queue_revise(queue, &revision, &revised, &error));
    CHECK(!revised);
    ids[0].if_generation = revision.if_generation;
    OK(leaseq_queue_bury_many(queue, ids, 2, "no", 2, answers, &error));
    CHECK(!answers[0] && !answers[1]);
    OK(leaseq_queue_remove_many(queue, ids, 2, answers, &error));
    CHECK(!answers[0] && !answers[1]);
    leaseq_item_info_free(&seen_item);
    revision = (leaseq_revision){.id = "mortal", .id_len = 6, .if_generation = "?", .data = ""};
    FAILS(LEASEQ_INVALID, leaseq_queue_revise(queue, &revision, &revised, &error));
    revision.if_generation = NULL;
    OK(leaseq_queue_revise_many(queue, &revision, 1, &revised, &error));
    CHECK(revised);
    OK(leaseq_queue_bury(queue, TEXT("mortal"), NULL, 0, answers, &error));
    CHECK(answers[0]);
    OK(leaseq_queue_get(queue, TEXT("mortal"), &seen_item, &error));
    CHECK(leaseq_item_info_data_len(seen_item) == 0);
    CHECK(strcmp(leaseq_item_info_last_error(seen_item), "buried by an operator") == 0);
    leaseq_item_info_free(&seen_item);
    OK(leaseq_queue_requeue(queue, TEXT("mortal"), &requeued, &error));
    CHECK(requeued);

    uint64_t removed = 0;
    OK(leaseq_queue_purge(queue, LEASEQ_STATE_READY, &removed, &error));
    CHECK(removed == 1);
    OK(leaseq_queue_purge(queue, LEASEQ_STATE_DELAYED, NULL, &error));

    for (int i = 0; i < 25; i++) {
        char id[16];
        snprintf(id, sizeof id, "p%02d", i);
        add(queue, id, "z");
    }
    char cursor[64] = "";
    size_t seen = 0, pages = 0;
    do {
        OK(leaseq_queue_list(queue, LEASEQ_STATE_READY, *cursor ? cursor : NULL, 10, &page,
                             &error));
        for (size_t i = 0; i < leaseq_page_len(page); i++, seen++) {
            char id[32];
            snprintf(id, sizeof id, "p%02zu", seen);
            CHECK(memcmp(leaseq_item_info_id(leaseq_page_item(page, i)), id, 3) == 0);
        }
        const char *next = leaseq_page_cursor(page);
        snprintf(cursor, sizeof cursor, "%s", next != NULL ? next : "");
        leaseq_page_free(&page);
        CHECK(++pages < 10);
    } while (*cursor);
    CHECK(seen == 25 && pages >= 3);

    leaseq_names *names = NULL;
    OK(leaseq_client_queues(client, &names, &error));
    CHECK(leaseq_names_len(names) == 1 && strcmp(leaseq_names_get(names, 0), "operations") == 0);
    CHECK(leaseq_names_get(names, 1) == NULL);
    leaseq_names_free(&names);
}

static void cleaning(leaseq_queue *queue) {
    add(queue, "expires", "data");
    leaseq_lease *lease = NULL;
    for (int i = 0; i < 26; i++) {
        leaseq_lease_free(&lease);
        lease = leased(queue, i < 25 ? 3600000 : 20);
    }
    leaseq_light_report light;
    OK(leaseq_queue_light_clean(queue, &light, sizeof light, &error));
    EVENTUALLY(leaseq_lease_remaining_ms(lease) == 0);
    uint64_t expired = light.expired;
    while (expired == 0) {
        OK(leaseq_queue_light_clean(queue, &light, sizeof light, &error));
        expired += light.expired;
    }
    CHECK(expired == 1 && light.promoted == 0 && light.died == 0 && light.next_in_ms > 3000000);
    leaseq_lease_free(&lease);

    /* A program compiled when the struct had one field. */
    struct {
        uint64_t ready;
        uint64_t mine;
    } small = {0, 42};
    OK(leaseq_queue_counts(queue, (leaseq_counts *)(void *)&small, 8, &error));
    CHECK(small.ready == 1 && small.mine == 42);
    /* A program newer than the library. */
    struct {
        leaseq_counts counts;
        uint64_t later;
    } large;
    memset(&large, 0xff, sizeof large);
    OK(leaseq_queue_counts(queue, &large.counts, sizeof large, &error));
    CHECK(large.counts.ready == 1 && large.later == 0);

    leaseq_report *report = NULL;
    OK(leaseq_queue_check(queue, &report, &error));
    CHECK(leaseq_report_is_sound(report) && leaseq_report_items(report) == 26);
    CHECK(leaseq_report_kinds(report) == 0 && leaseq_report_details(report) == 0);
    CHECK(leaseq_report_kind(report, 0) == NULL && leaseq_report_detail(report, 0) == NULL);
    CHECK(leaseq_report_found(report, 0) == 0 && leaseq_report_mended(report, 0) == 0);
    leaseq_report_free(&report);
    OK(leaseq_queue_deep_clean(queue, &report, &error));
    CHECK(leaseq_report_is_sound(report));
    leaseq_report_free(&report);
    CHECK(report == NULL);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "operations");
    one_item(queue);
    strict(queue);
    many_items(queue);
    operators(client, queue);
    cleaning(queue);

    char id[LEASEQ_NEW_ID_SIZE], other[LEASEQ_NEW_ID_SIZE];
    OK(leaseq_new_id(id, sizeof id, &error));
    OK(leaseq_new_id(other, sizeof other, &error));
    CHECK(strlen(id) == 36 && strcmp(id, other) != 0);
    CHECK(leaseq_abi_version() == LEASEQ_ABI_VERSION);
    CHECK(strcmp(leaseq_state_name(LEASEQ_STATE_DEAD), "dead") == 0);
    CHECK(strcmp(leaseq_state_name(77), "unknown") == 0);
    CHECK(strcmp(leaseq_status_name(-3), "UNKNOWN") == 0 && strlen(leaseq_version()) >= 5);
    end(queue, client);
    return done();
}
