/* Retained items and their results, unique keys, and items that replace others. */
#include "check.h"

#define HOUR 3600000

static leaseq_item_options *item_options(const char *id) {
    leaseq_item_options *options = NULL;
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_id(options, id, strlen(id), &error));
    return options;
}

/* Adds an item, frees the options, and returns whether it was added. */
static bool added(leaseq_queue *queue, const char *data, leaseq_item_options *options) {
    bool added = false;
    OK(leaseq_queue_add_item(queue, data, strlen(data), options, &added, &error));
    leaseq_item_options_free(&options);
    return added;
}

static leaseq_item_info *info_of(leaseq_queue *queue, const char *id) {
    leaseq_item_info *info = NULL;
    OK(leaseq_queue_get(queue, id, strlen(id), &info, &error));
    return info;
}

static bool is(const char *bytes, size_t len, const char *expected) {
    return bytes != NULL && len == strlen(expected) && memcmp(bytes, expected, len) == 0;
}

static bool has_result(const leaseq_item_info *info, const char *expected) {
    return is(leaseq_item_info_result(info), leaseq_item_info_result_len(info), expected);
}

static void one_result(leaseq_queue *queue) {
    leaseq_item_options *options = item_options("kept");
    OK(leaseq_item_options_set_retain_ms(options, HOUR, &error));
    CHECK(added(queue, "data", options));
    leaseq_item_info *info = info_of(queue, "kept");
    CHECK(leaseq_item_info_retain_ms(info) == HOUR && leaseq_item_info_ended_at_ms(info) == -1);
    CHECK(leaseq_item_info_result(info) == NULL && leaseq_item_info_result_len(info) == 0);
    CHECK(leaseq_item_info_unique(info) == NULL && leaseq_item_info_unique_len(info) == 0);
    leaseq_item_info_free(&info);

    leaseq_complete_options *done_how = NULL;
    OK(leaseq_complete_options_new(&done_how, &error));
    char result[] = "a\0b";
    OK(leaseq_complete_options_set_result(done_how, result, 3, &error));
    memset(result, 'x', sizeof result);
    bool completed = false;
    leaseq_lease *lease = leased(queue, 30000);
    OK(leaseq_queue_complete_with(queue, lease, done_how, &completed, &error));
    CHECK(completed && leaseq_lease_completed(lease) == LEASEQ_COMPLETED_YES);
    leaseq_lease_free(&lease);
    info = info_of(queue, "kept");
    CHECK(leaseq_item_info_state(info) == LEASEQ_STATE_COMPLETED);
    CHECK(leaseq_item_info_result_len(info) == 3);
    CHECK(memcmp(leaseq_item_info_result(info), "a\0b", 3) == 0);
    int64_t ended_at = leaseq_item_info_ended_at_ms(info);
    CHECK(ended_at > 0 && leaseq_item_info_at_ms(info) == ended_at + HOUR);
    leaseq_item_info_free(&info);
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.completed == 1 && counts.cancelled == 0 && counts.leased == 0);
    leaseq_page *page = NULL;
    OK(leaseq_queue_list(queue, LEASEQ_STATE_COMPLETED, NULL, 10, &page, &error));
    CHECK(leaseq_page_len(page) == 1);
    leaseq_page_free(&page);
    CHECK(!added(queue, "again", item_options("kept")));
    uint64_t removed = 0;
    OK(leaseq_queue_purge(queue, LEASEQ_STATE_COMPLETED, &removed, &error));
    CHECK(removed == 1);

    /* NULL takes the result away again; the retention is that of the call. */
    OK(leaseq_complete_options_set_result(done_how, NULL, 0, &error));
    OK(leaseq_complete_options_set_retain_ms(done_how, HOUR, &error));
    add(queue, "none", "data");
    lease = leased(queue, 30000);
    OK(leaseq_queue_complete_with(queue, lease, done_how, NULL, &error));
    leaseq_lease_free(&lease);
    info = info_of(queue, "none");
    CHECK(leaseq_item_info_state(info) == LEASEQ_STATE_COMPLETED);
    CHECK(leaseq_item_info_result(info) == NULL && leaseq_item_info_retain_ms(info) == 0);
    leaseq_item_info_free(&info);
    leaseq_complete_options_free(&done_how);
}

static void many_results(leaseq_queue *queue) {
    const char *ids[] = {"r0", "r1", "r2"};
    for (int i = 0; i < 3; i++) add(queue, ids[i], "data");
    leaseq_lease *leases[3], *next[1];
    size_t count = 0;
    OK(leaseq_queue_lease_many(queue, 30000, 0, NULL, leases, 3, &count, &error));
    CHECK(count == 3);
    leaseq_complete_options *options = NULL;
    OK(leaseq_complete_options_new(&options, &error));
    OK(leaseq_complete_options_set_retain_ms(options, HOUR, &error));
    const leaseq_bytes results[] = {{"one", 3}, {NULL, 0}, {"", 0}};
    OK(leaseq_complete_options_set_results(options, results, 3, &error));
    bool completed[3];
    /* One for each lease. */
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_many(queue, leases, 2, options, completed, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_with(queue, leases[0], options, completed, &error));
    OK(leaseq_complete_options_set_results(options, results, 2, &error));
    OK(leaseq_queue_complete_many(queue, leases, 2, options, completed, &error));
    CHECK(completed[0] && completed[1]);
    OK(leaseq_complete_options_set_results(options, results + 2, 1, &error));
    OK(leaseq_queue_complete_and_lease(queue, leases + 2, 1, options, completed, 30000, 0, NULL,
                                       next, 1, &count, &error));
    CHECK(completed[0] && count == 0);
    const char *expected[] = {"one", NULL, ""};
    for (int i = 0; i < 3; i++) {
        leaseq_lease_free(&leases[i]);
        leaseq_item_info *info = info_of(queue, ids[i]);
        CHECK(leaseq_item_info_state(info) == LEASEQ_STATE_COMPLETED);
        CHECK(expected[i] == NULL ? leaseq_item_info_result(info) == NULL
                                  : has_result(info, expected[i]));
        leaseq_item_info_free(&info);
    }
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_retain_ms(options, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_results(options, NULL, 1, &error));
    const leaseq_bytes wrong = {NULL, 1};
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_results(options, &wrong, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_result(options, "x", SIZE_MAX, &error));
    leaseq_complete_options_free(&options);
}

static leaseq_item_options *keyed(const char *id, const char *key, bool replace) {
    leaseq_item_options *options = item_options(id);
    OK(leaseq_item_options_set_unique(options, key, strlen(key), &error));
    OK(leaseq_item_options_set_replace(options, replace, &error));
    return options;
}

static void keys(leaseq_queue *queue) {
    leaseq_item_options *options = keyed("a", "key", false);
    OK(leaseq_item_options_set_unique_for_ms(options, HOUR, &error));
    CHECK(added(queue, "1", options));
    CHECK(!added(queue, "2", keyed("b", "key", false)));
    CHECK(added(queue, "3", keyed("c", "key", true)));
    leaseq_item_info *info = info_of(queue, "c");
    CHECK(is(leaseq_item_info_unique(info), leaseq_item_info_unique_len(info), "key"));
    leaseq_item_info_free(&info);
    CHECK(info_of(queue, "a") == NULL && counts_of(queue).total_replaced == 1);
    OK(leaseq_queue_remove(queue, "c", 1, NULL, &error));
    CHECK(!added(queue, "4", keyed("d", "key", true)));

    leaseq_lease *lease = NULL;
    CHECK(added(queue, "5", item_options("e")));
    OK(leaseq_queue_lease(queue, HOUR, 0, &lease, &error));
    options = item_options("e");
    OK(leaseq_item_options_set_successor(options, true, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "6", 1, options, NULL, &error));
    OK(leaseq_item_options_set_replace(options, true, &error));
    CHECK(added(queue, "6", options) && counts_of(queue).ready == 0);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
    info = info_of(queue, "e");
    CHECK(is(leaseq_item_info_data(info), leaseq_item_info_data_len(info), "6"));
    leaseq_item_info_free(&info);
    OK(leaseq_queue_remove(queue, "e", 1, NULL, &error));

    options = item_options("wrong");
    char key[LEASEQ_MAX_UNIQUE + 1] = {0};
    OK(leaseq_item_options_set_unique(options, key, LEASEQ_MAX_UNIQUE, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_unique(options, key, sizeof key, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_unique(options, NULL, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_unique_for_ms(options, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_retain_ms(options, -1, &error));
    OK(leaseq_item_options_set_unique_for_ms(options, HOUR, &error));
    /* NULL takes the key away again, without which there is no time for it. */
    OK(leaseq_item_options_set_unique(options, NULL, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "x", 1, options, NULL, &error));
    leaseq_item_options_free(&options);
}

static void nothing(void) {
    CHECK(leaseq_item_info_result(NULL) == NULL && leaseq_item_info_result_len(NULL) == 0);
    CHECK(leaseq_item_info_unique(NULL) == NULL && leaseq_item_info_unique_len(NULL) == 0);
    CHECK(leaseq_item_info_ended_at_ms(NULL) == -1 && leaseq_item_info_retain_ms(NULL) == 0);
    CHECK(strcmp(leaseq_state_name(LEASEQ_STATE_COMPLETED), "completed") == 0);
    CHECK(strcmp(leaseq_state_name(LEASEQ_STATE_CANCELLED), "cancelled") == 0);
}

static void ends(leaseq_queue *queue, leaseq_client *client) {
    leaseq_outcome *outcome = NULL, *outcomes[4];
    leaseq_item_options *options = item_options("awaited");
    OK(leaseq_item_options_set_retain_ms(options, HOUR, &error));
    CHECK(added(queue, "data", options));
    OK(leaseq_queue_outcome(queue, "awaited", 7, 0, false, &outcome, &error));
    CHECK(outcome == NULL && leaseq_outcome_kind(outcome) == LEASEQ_OUTCOME_NONE);
    CHECK(leaseq_outcome_result(NULL) == NULL && leaseq_outcome_result_len(NULL) == 0);
    CHECK(leaseq_outcome_error(NULL) == NULL && leaseq_outcome_error_len(NULL) == 0);
    CHECK(!leaseq_outcome_retained(NULL));
    // A wait that is cancelled ends as if its time were over.
    OK(leaseq_client_cancel_waits(client, &error));
    OK(leaseq_queue_outcome(queue, "awaited", 7, LEASEQ_WAIT_FOREVER, false, &outcome, &error));
    CHECK(outcome == NULL);
    OK(leaseq_client_allow_waits(client, &error));

    leaseq_lease *lease = leased(queue, HOUR);
    leaseq_complete_options *done = NULL;
    OK(leaseq_complete_options_new(&done, &error));
    OK(leaseq_complete_options_set_result(done, "fine", 4, &error));
    OK(leaseq_queue_complete_with(queue, lease, done, NULL, &error));
    leaseq_complete_options_free(&done);
    leaseq_lease_free(&lease);
    add(queue, "dies", "x");
    lease = leased(queue, HOUR);
    OK(leaseq_queue_fail(queue, lease, TEXT("broken"), 0, true, NULL, &error));
    leaseq_lease_free(&lease);
    add(queue, "open", "x");
    leaseq_bytes ids[] = {{"awaited", 7}, {"dies", 4}, {"never", 5}, {"open", 4}};
    leaseq_status statuses[4];
    OK(leaseq_queue_outcome_many(queue, ids, 4, 1, false, outcomes, statuses, &error));
    for (size_t i = 0; i < 4; i++) CHECK(statuses[i] == LEASEQ_OK);
    CHECK(leaseq_outcome_kind(outcomes[0]) == LEASEQ_OUTCOME_COMPLETED);
    CHECK(is(leaseq_outcome_result(outcomes[0]), leaseq_outcome_result_len(outcomes[0]), "fine"));
    CHECK(leaseq_outcome_error_len(outcomes[0]) == 0);
    CHECK(leaseq_outcome_retained(outcomes[0]) && !leaseq_outcome_retained(outcomes[1]));
    CHECK(leaseq_outcome_kind(outcomes[1]) == LEASEQ_OUTCOME_DEAD);
    CHECK(strcmp(leaseq_outcome_error(outcomes[1]), "broken") == 0);
    CHECK(leaseq_outcome_result(outcomes[1]) == NULL);
    CHECK(leaseq_outcome_kind(outcomes[2]) == LEASEQ_OUTCOME_GONE && outcomes[3] == NULL);
    for (size_t i = 0; i < 4; i++) leaseq_outcome_free(&outcomes[i]);
    // An error for every item is one of the call, and the places are valid whatever was in them.
    memset(outcomes, 0xEE, sizeof outcomes);
    memset(statuses, 0xEE, sizeof statuses);
    FAILS(LEASEQ_INVALID,
          leaseq_queue_outcome_many(queue, NULL, 4, 0, false, outcomes, statuses, &error));
    for (size_t i = 0; i < 4; i++) {
        CHECK(outcomes[i] == NULL && statuses[i] == LEASEQ_INVALID);
    }
    leaseq_client *closed = connected();
    leaseq_queue *other = queue_of(closed, "results");
    OK(leaseq_client_close(closed, &error));
    FAILS(LEASEQ_CLOSED,
          leaseq_queue_outcome_many(other, ids, 4, 0, false, outcomes, statuses, &error));
    for (size_t i = 0; i < 4; i++) CHECK(outcomes[i] == NULL && statuses[i] == LEASEQ_CLOSED);
    leaseq_item_info *infos[4];
    memset(infos, 0xEE, sizeof infos);
    FAILS(LEASEQ_INVALID, leaseq_queue_get_many(queue, NULL, 4, false, infos, &error));
    for (size_t i = 0; i < 4; i++) CHECK(infos[i] == NULL);
    bool yes[2] = {true, true};
    FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, NULL, 2, yes, &error));
    CHECK(!yes[0] && !yes[1]);
    yes[0] = yes[1] = true;
    FAILS(LEASEQ_INVALID, leaseq_queue_remove_many(queue, NULL, 2, yes, &error));
    CHECK(!yes[0] && !yes[1]);
    FAILS(LEASEQ_INVALID, leaseq_queue_extend_many(queue, NULL, 4, 1000, statuses, NULL, &error));
    for (size_t i = 0; i < 4; i++) CHECK(statuses[i] == LEASEQ_INVALID);
    leaseq_queue_free(&other);
    leaseq_client_free(&closed);
    FAILS(LEASEQ_INVALID, leaseq_queue_outcome(queue, "", 0, 0, false, &outcome, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_outcome(queue, "a", 1, -2, false, &outcome, &error));
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "results");
    one_result(queue);
    many_results(queue);
    keys(queue);
    nothing();
    ends(queue, client);
    end(queue, client);
    return done();
}
