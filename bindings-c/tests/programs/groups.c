/* Groups: handles, and what is added when all members have ended. */
#include "check.h"

static leaseq_item_options *member(const leaseq_group *group, uint32_t place) {
    leaseq_item_options *options = NULL;
    OK(leaseq_item_options_new(&options, &error));
    OK(leaseq_item_options_set_group(options, group, place, &error));
    return options;
}

static bool add_member(leaseq_queue *queue, const leaseq_group *group, uint32_t place) {
    leaseq_item_options *options = member(group, place);
    bool added = false;
    OK(leaseq_queue_add_item(queue, "x", 1, options, &added, &error));
    leaseq_item_options_free(&options);
    return added;
}

static void names(leaseq_queue *queue) {
    leaseq_group *group = NULL, *same = NULL, *read = NULL;
    OK(leaseq_queue_create_group(queue, "\xff\0", 2, NULL, 0, &group, &error));
    OK(leaseq_queue_create_group(queue, "\xff\0", 2, NULL, 0, &same, &error));
    CHECK(strcmp(leaseq_group_queue(group), leaseq_queue_name(queue)) == 0);
    CHECK(leaseq_group_id_len(group) == 2 && memcmp(leaseq_group_id(group), "\xff\0", 2) == 0);
    CHECK(strcmp(leaseq_group_generation(group), leaseq_group_generation(same)) == 0);
    leaseq_group_free(&same);
    OK(leaseq_group_new(leaseq_group_queue(group), leaseq_group_id(group),
                        leaseq_group_id_len(group), leaseq_group_generation(group), &same, &error));
    bool removed = false;
    OK(leaseq_queue_remove_group(queue, same, &removed, &error));
    CHECK(removed);
    OK(leaseq_queue_remove_group(queue, group, &removed, &error));
    CHECK(!removed);
    leaseq_group_info info;
    memset(&info, 1, sizeof info);
    OK(leaseq_queue_group(queue, "\xff\0", 2, &read, &info, sizeof info, &error));
    CHECK(read == NULL && info.changed_at_ms == 0 && info.ended == 0);
    leaseq_group_free(&same);
    FAILS(LEASEQ_INVALID, leaseq_group_new("q", "", 0, "1aaaaa", &same, &error));
    FAILS(LEASEQ_INVALID, leaseq_group_new("", TEXT("g"), "1aaaaa", &same, &error));
    FAILS(LEASEQ_INVALID, leaseq_group_new("q", TEXT("g"), "?", &same, &error));
    CHECK(same == NULL);
    leaseq_group_free(&group);
    CHECK(leaseq_group_queue(NULL) == NULL && leaseq_group_id(NULL) == NULL);
    CHECK(leaseq_group_id_len(NULL) == 0 && leaseq_group_generation(NULL) == NULL);
    leaseq_group_free(NULL);
}

static void cancels(leaseq_queue *queue, leaseq_queue *other) {
    leaseq_group *group = NULL;
    OK(leaseq_queue_create_group(queue, TEXT("cancelled"), NULL, 0, &group, &error));
    CHECK(add_member(queue, group, 0) && add_member(other, group, 1));
    bool cancelled = false;
    OK(leaseq_queue_cancel_group(queue, group, &cancelled, &error));
    CHECK(cancelled);
    OK(leaseq_queue_cancel_group(queue, group, NULL, &error));
    leaseq_place_state states[2];
    size_t found = 0;
    OK(leaseq_queue_group_places(queue, group, 0, states, 2, &found, &error));
    CHECK(found == 2 && states[0] == LEASEQ_PLACE_ENDED && states[1] == LEASEQ_PLACE_ENDED);
    OK(leaseq_queue_seal_group(queue, group, 2, NULL, &error));
    OK(leaseq_queue_cancel_group(queue, group, &cancelled, &error));
    CHECK(!cancelled);
    leaseq_group_free(&group);
}

static void ends(leaseq_queue *queue, leaseq_queue *other) {
    leaseq_item all = {.data = "all", .data_len = 3};
    leaseq_follow_up follow_ups[] = {{.item = &all, .on = LEASEQ_ON_DEAD, .with_trigger = true}};
    leaseq_group *group = NULL, *read = NULL;
    OK(leaseq_queue_create_group(queue, TEXT("g"), follow_ups, 1, &group, &error));
    CHECK(add_member(queue, group, 0) && add_member(other, group, 1) &&
          add_member(other, group, 2));
    leaseq_group_info info;
    OK(leaseq_queue_group(queue, TEXT("g"), &read, &info, sizeof info, &error));
    CHECK(strcmp(leaseq_group_generation(read), leaseq_group_generation(group)) == 0);
    CHECK(info.places == 0 && info.changed_at_ms > 0 && info.has_ended == 0);
    leaseq_group_free(&read);
    bool sealed = false;
    OK(leaseq_queue_seal_group(queue, group, 3, &sealed, &error));
    CHECK(sealed);
    OK(leaseq_queue_seal_group(queue, group, 2, &sealed, &error));
    CHECK(!sealed);
    leaseq_lease *first = leased(queue, 60000);
    OK(leaseq_queue_complete(queue, first, NULL, &error));
    leaseq_lease_free(&first);
    leaseq_place_state states[4];
    size_t found = 9;
    OK(leaseq_queue_group_places(queue, group, 0, states, 4, &found, &error));
    CHECK(found == 3 && states[0] == LEASEQ_PLACE_COMPLETED && states[1] == LEASEQ_PLACE_OPEN);
    OK(leaseq_queue_group_places(queue, group, 2, states, 4, &found, &error));
    CHECK(found == 1 && states[0] == LEASEQ_PLACE_OPEN);
    OK(leaseq_queue_group_places(queue, group, 0, states, 2, &found, &error));
    CHECK(found == 2);
    OK(leaseq_queue_group_places(queue, group, 0, NULL, 0, &found, &error));
    CHECK(found == 0);
    uint64_t removed = 0;
    OK(leaseq_queue_purge(other, LEASEQ_STATE_READY, &removed, &error));
    CHECK(removed == 2);
    leaseq_lease *last = leased(queue, 60000);
    CHECK(leaseq_lease_data_len(last) == 3 && leaseq_lease_trigger_id_len(last) == 1);
    CHECK(leaseq_lease_trigger_result(last) == NULL);
    OK(leaseq_queue_complete(queue, last, NULL, &error));
    leaseq_lease_free(&last);
    OK(leaseq_queue_group(queue, TEXT("g"), &read, &info, sizeof info, &error));
    CHECK(info.has_ended == 1 && info.places == 3 && info.ended == 3 && info.completed == 1);
    leaseq_group_free(&read);
    OK(leaseq_queue_group_places(queue, group, 1, states, 4, &found, &error));
    CHECK(found == 2 && states[0] == LEASEQ_PLACE_ENDED && states[1] == LEASEQ_PLACE_ENDED);
    leaseq_group_free(&group);
}

static void jobs(leaseq_queue *queue) {
    leaseq_group *group = NULL;
    OK(leaseq_queue_create_group(queue, TEXT("jobs"), NULL, 0, &group, &error));
    leaseq_item_options *options = member(group, 0);
    bool added = false;
    OK(leaseq_queue_enqueue(queue, "step", TEXT("{}"), options, &added, &error));
    CHECK(added);
    OK(leaseq_queue_seal_group(queue, group, 1, NULL, &error));
    leaseq_lease *lease = leased(queue, 60000);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
    leaseq_group *read = NULL;
    leaseq_group_info info;
    OK(leaseq_queue_group(queue, TEXT("jobs"), &read, &info, sizeof info, &error));
    CHECK(info.has_ended == 1);
    leaseq_group_free(&read);
    leaseq_item_options_free(&options);
    leaseq_group_free(&group);
}

static void waits(leaseq_queue *queue) {
    leaseq_group *group = NULL;
    leaseq_group_info info;
    leaseq_group_end end = LEASEQ_GROUP_GONE;
    OK(leaseq_queue_create_group(queue, TEXT("w"), NULL, 0, &group, &error));
    OK(leaseq_queue_group_outcome(queue, TEXT("w"), 1, false, &end, &info, sizeof info, &error));
    CHECK(end == LEASEQ_GROUP_OPEN && info.places == 0);
    OK(leaseq_queue_group_outcome(queue, TEXT("none"), LEASEQ_WAIT_FOREVER, false, &end, &info,
                                  sizeof info, &error));
    CHECK(end == LEASEQ_GROUP_GONE && info.changed_at_ms == 0);
    OK(leaseq_queue_group_outcome(queue, TEXT("none"), 0, true, &end, &info, sizeof info, &error));
    CHECK(end == LEASEQ_GROUP_OPEN);
    for (uint32_t place = 0; place < 2; place++) {
        leaseq_item_options *options = member(group, place);
        OK(leaseq_queue_add_item(queue, "x", 1, options, NULL, &error));
        leaseq_item_options_free(&options);
    }
    OK(leaseq_queue_seal_group(queue, group, 2, NULL, &error));
    for (int n = 0; n < 2; n++) {
        leaseq_lease *lease = leased(queue, 60000);
        OK(leaseq_queue_complete(queue, lease, NULL, &error));
        leaseq_lease_free(&lease);
    }
    OK(leaseq_queue_group_outcome(queue, TEXT("w"), LEASEQ_WAIT_FOREVER, false, &end, &info,
                                  sizeof info, &error));
    CHECK(end == LEASEQ_GROUP_COMPLETED && info.places == 2 && info.completed == 2);
    CHECK(info.has_ended == 1 && info.changed_at_ms > 0);
    FAILS(LEASEQ_INVALID,
          leaseq_queue_group_outcome(queue, "", 0, 0, false, &end, &info, sizeof info, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_group_outcome(queue, TEXT("w"), -2, false, &end, &info,
                                                     sizeof info, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_queue_group_outcome(queue, TEXT("w"), 0, false, &end, &info, 0, &error));
    leaseq_group_free(&group);
}

static void mistakes(leaseq_queue *queue, leaseq_queue *other) {
    leaseq_item item = {.data = "x", .data_len = 1};
    leaseq_follow_up wrong = {.item = &item, .on = 4};
    leaseq_group *group = NULL;
    leaseq_place_state state;
    size_t found = 0;
    FAILS(LEASEQ_INVALID, leaseq_queue_create_group(queue, TEXT("m"), &wrong, 1, &group, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_create_group(queue, "", 0, NULL, 0, &group, &error));
    CHECK(group == NULL);
    OK(leaseq_queue_create_group(queue, TEXT("m"), NULL, 0, &group, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_seal_group(queue, group, 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_seal_group(queue, group, 100001, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_seal_group(other, group, 1, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_cancel_group(other, group, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_remove_group(other, group, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_group_places(other, group, 0, &state, 1, &found, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_group_places(queue, group, 0, NULL, 1, &found, &error));
    leaseq_item_options *options = member(group, 100000);
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "x", 1, options, NULL, &error));
    OK(leaseq_item_options_set_group(options, group, 99999, &error));
    OK(leaseq_item_options_set_replace(options, true, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "x", 1, options, NULL, &error));
    leaseq_item_options_free(&options);
    leaseq_group_free(&group);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "groups"), *other = queue_of(client, "members");
    names(queue);
    cancels(queue, other);
    ends(queue, other);
    jobs(queue);
    waits(queue);
    mistakes(queue, other);
    leaseq_queue_free(&other);
    end(queue, client);
    return done();
}
