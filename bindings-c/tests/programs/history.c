/* How the leases of an item ended, why it was released, and items that are failed as dead. */
#include "check.h"

static leaseq_item_info *read_item(leaseq_queue *queue, const char *id) {
    leaseq_item_info *info = NULL;
    OK(leaseq_queue_get(queue, id, strlen(id), &info, &error));
    CHECK(info != NULL);
    return info;
}

/* Nothing has happened to a new item. */
static void nothing_yet(leaseq_queue *queue) {
    add(queue, "new", "data");
    leaseq_item_info *info = read_item(queue, "new");
    CHECK(leaseq_item_info_endings(info) == 0);
    CHECK(leaseq_item_info_ending(info, 0) == LEASEQ_ENDING_NONE);
    CHECK(leaseq_item_info_ending_at_ms(info, 0) == -1);
    CHECK(leaseq_item_info_releases_count(info) == 0);
    CHECK(leaseq_item_info_releases_first_at_ms(info) == -1);
    CHECK(leaseq_item_info_releases_reason_len(info) == 0);
    CHECK(strcmp(leaseq_item_info_releases_reason(info), "") == 0);
    leaseq_item_info_free(&info);
    leaseq_lease *lease = leased(queue, 30000);
    CHECK(leaseq_lease_endings(lease) == 0);
    CHECK(leaseq_lease_ending(lease, 0) == LEASEQ_ENDING_NONE);
    CHECK(leaseq_lease_ending_at_ms(lease, 0) == -1);
    CHECK(leaseq_lease_releases_count(lease) == 0);
    CHECK(leaseq_lease_releases_first_at_ms(lease) == -1);
    CHECK(leaseq_lease_releases_reason_len(lease) == 0);
    CHECK(strcmp(leaseq_lease_releases_reason(lease), "") == 0);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

/* Handles that are not there, before and after they were. */
static void no_handles(void) {
    leaseq_item_info *info = NULL;
    leaseq_lease *lease = NULL;
    for (size_t i = 0; i < 3; i++) {
        size_t index = i == 2 ? SIZE_MAX : i;
        CHECK(leaseq_item_info_endings(info) == 0 && leaseq_lease_endings(lease) == 0);
        CHECK(leaseq_item_info_ending(info, index) == LEASEQ_ENDING_NONE);
        CHECK(leaseq_lease_ending(lease, index) == LEASEQ_ENDING_NONE);
        CHECK(leaseq_item_info_ending_at_ms(info, index) == -1);
        CHECK(leaseq_lease_ending_at_ms(lease, index) == -1);
    }
    CHECK(leaseq_item_info_releases_count(info) == 0 && leaseq_lease_releases_count(lease) == 0);
    CHECK(leaseq_item_info_releases_reason(info) == NULL);
    CHECK(leaseq_lease_releases_reason(lease) == NULL);
    CHECK(leaseq_item_info_releases_reason_len(info) == 0);
    CHECK(leaseq_lease_releases_reason_len(lease) == 0);
    CHECK(leaseq_item_info_releases_first_at_ms(info) == -1);
    CHECK(leaseq_lease_releases_first_at_ms(lease) == -1);
}

static void endings(leaseq_queue *queue) {
    add(queue, "ends", "data");
    leaseq_lease *late = leased(queue, 1), *lease = leased(queue, 30000);
    CHECK(leaseq_lease_endings(late) == 0 && leaseq_lease_endings(lease) == 1);
    OK(leaseq_queue_fail(queue, lease, TEXT("no paper"), 0, false, NULL, &error));
    leaseq_lease_free(&lease);
    leaseq_lease_free(&late);

    lease = leased(queue, 30000);
    CHECK(leaseq_lease_endings(lease) == 2);
    CHECK(leaseq_lease_ending(lease, 0) == LEASEQ_ENDING_EXPIRED);
    CHECK(leaseq_lease_ending(lease, 1) == LEASEQ_ENDING_FAILED);
    CHECK(leaseq_lease_ending(lease, 2) == LEASEQ_ENDING_NONE);
    CHECK(leaseq_lease_ending(lease, SIZE_MAX) == LEASEQ_ENDING_NONE);
    CHECK(leaseq_lease_ending_at_ms(lease, 2) == -1);
    CHECK(leaseq_lease_ending_at_ms(lease, SIZE_MAX) == -1);
    int64_t first = leaseq_lease_ending_at_ms(lease, 0), last = leaseq_lease_ending_at_ms(lease, 1);
    leaseq_item_info *info = read_item(queue, "ends");
    /* Times of one clock, in one unit. */
    CHECK(leaseq_item_info_added_at_ms(info) <= first && first <= last);
    CHECK(last <= leaseq_lease_deadline_ms(lease) - 30000);
    CHECK(leaseq_item_info_endings(info) == 2);
    CHECK(leaseq_item_info_ending(info, 0) == LEASEQ_ENDING_EXPIRED);
    CHECK(leaseq_item_info_ending(info, 1) == LEASEQ_ENDING_FAILED);
    CHECK(leaseq_item_info_ending(info, SIZE_MAX) == LEASEQ_ENDING_NONE);
    CHECK(leaseq_item_info_ending_at_ms(info, 0) == first);
    CHECK(leaseq_item_info_ending_at_ms(info, 1) == last);
    CHECK(leaseq_item_info_ending_at_ms(info, SIZE_MAX) == -1);
    leaseq_item_info_free(&info);

    CHECK(strcmp(leaseq_ending_name(LEASEQ_ENDING_NONE), "none") == 0);
    CHECK(strcmp(leaseq_ending_name(leaseq_lease_ending(lease, 0)), "expired") == 0);
    CHECK(strcmp(leaseq_ending_name(leaseq_lease_ending(lease, 1)), "failed") == 0);
    CHECK(strcmp(leaseq_ending_name(-1), "unknown") == 0);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

static void dead(leaseq_queue *queue) {
    add(queue, "dies", "data");
    leaseq_lease *lease = leased(queue, 30000);
    leaseq_status status = LEASEQ_INTERNAL;
    leaseq_state state = LEASEQ_STATE_READY;
    const int64_t delays[] = {1, 31622400000, 31622400001, INT64_MAX, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        FAILS(LEASEQ_INVALID,
              leaseq_queue_fail(queue, lease, TEXT("no"), delays[i], true, &state, &error));
        CHECK(state == LEASEQ_STATE_NONE);
        FAILS(LEASEQ_INVALID, leaseq_queue_fail_many(queue, &lease, NULL, NULL, 1, delays[i], true,
                                                     &status, &state, &error));
    }
    CHECK(!leaseq_lease_is_settled(lease) && counts_of(queue).total_failed == 1);
    OK(leaseq_queue_fail(queue, lease, TEXT("no such address"), 0, true, &state, &error));
    CHECK(state == LEASEQ_STATE_DEAD && leaseq_lease_is_settled(lease));
    FAILS(LEASEQ_LEASE_LOST, leaseq_queue_fail(queue, lease, NULL, 0, 0, true, &state, &error));
    CHECK(state == LEASEQ_STATE_NONE);

    leaseq_page *page = NULL;
    OK(leaseq_queue_list(queue, LEASEQ_STATE_DEAD, NULL, 10, &page, &error));
    CHECK(leaseq_page_len(page) == 1);
    const leaseq_item_info *item = leaseq_page_item(page, 0);
    CHECK(leaseq_item_info_endings(item) == 1 && leaseq_item_info_max_attempts(item) == 0);
    CHECK(leaseq_item_info_ending(item, 0) == LEASEQ_ENDING_FAILED);
    CHECK(leaseq_item_info_ending_at_ms(item, 0) == leaseq_item_info_at_ms(item));
    leaseq_page_free(&page);

    /* Many, one of which is lost. */
    add(queue, "dies too", "data");
    leaseq_lease *both[2] = {lease, leased(queue, 30000)};
    leaseq_status statuses[2];
    leaseq_state states[2];
    OK(leaseq_queue_fail_many(queue, both, NULL, NULL, 2, 0, true, statuses, states, &error));
    CHECK(statuses[0] == LEASEQ_LEASE_LOST && states[0] == LEASEQ_STATE_NONE);
    CHECK(statuses[1] == LEASEQ_OK && states[1] == LEASEQ_STATE_DEAD);
    leaseq_leases_free(both, 2);
    OK(leaseq_queue_purge(queue, LEASEQ_STATE_DEAD, NULL, &error));
}

static void reasons(leaseq_queue *queue) {
    static char longest[LEASEQ_MAX_REASON];
    memset(longest, ':', sizeof longest);
    const leaseq_bytes all[] = {
        {TEXT("rate limit")},
        {TEXT("a\0b")},
        {TEXT("\0")},
        {TEXT("a:b;c:1:2:F3")},
        {TEXT("'; DROP TABLE item; -- \"\\\"")},
        {TEXT("\r\n*1\r\n$8\r\nFLUSHALL\r\n")},
        {TEXT(" %s%n{other} ")},
        {TEXT("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\xa6\x80 \xef\xbf\xbd")},
        {longest, sizeof longest},
    };
    add(queue, "waits", "data");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int64_t first = -1;
        for (uint32_t count = 1; count <= 2; count++) {
            leaseq_lease *lease = leased(queue, 30000);
            leaseq_status status = LEASEQ_INTERNAL;
            if (count == 1)
                OK(leaseq_queue_release(queue, lease, 0, all[i].data, all[i].len, &error));
            else
                OK(leaseq_queue_release_many(queue, &lease, 1, 0, all[i].data, all[i].len, &status,
                                             &error));
            CHECK(status == (count == 1 ? LEASEQ_INTERNAL : LEASEQ_OK));
            leaseq_lease_free(&lease);
            leaseq_item_info *info = read_item(queue, "waits");
            CHECK(leaseq_item_info_releases_count(info) == count);
            CHECK(leaseq_item_info_releases_reason_len(info) == all[i].len);
            const char *reason = leaseq_item_info_releases_reason(info);
            CHECK(memcmp(reason, all[i].data, all[i].len) == 0 && reason[all[i].len] == 0);
            if (count == 1) first = leaseq_item_info_releases_first_at_ms(info);
            CHECK(first >= leaseq_item_info_added_at_ms(info));
            CHECK(leaseq_item_info_releases_first_at_ms(info) == first);
            CHECK(leaseq_item_info_endings(info) == 0);
            leaseq_item_info_free(&info);
        }
        leaseq_lease *lease = leased(queue, 30000);
        CHECK(leaseq_lease_releases_count(lease) == 2 && leaseq_lease_attempt(lease) == 1);
        CHECK(leaseq_lease_releases_first_at_ms(lease) == first);
        CHECK(leaseq_lease_releases_reason_len(lease) == all[i].len);
        CHECK(memcmp(leaseq_lease_releases_reason(lease), all[i].data, all[i].len) == 0);
        CHECK(leaseq_lease_releases_reason(lease)[all[i].len] == 0);
        OK(leaseq_queue_release(queue, lease, 0, all[i].data, all[i].len, &error));
        leaseq_lease_free(&lease);
    }
    /* A length of 0 is no reason, whatever the pointer. */
    leaseq_lease *lease = leased(queue, 30000);
    OK(leaseq_queue_release(queue, lease, 0, "x", 0, &error));
    leaseq_lease_free(&lease);
    lease = leased(queue, 30000);
    CHECK(leaseq_lease_releases_count(lease) == 0 && leaseq_lease_releases_reason_len(lease) == 0);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

static void refused(leaseq_queue *queue) {
    static char over[LEASEQ_MAX_REASON + 1];
    memset(over, 'x', sizeof over);
    const leaseq_bytes all[] = {
        {over, sizeof over}, {over, SIZE_MAX}, {over, SIZE_MAX / 2},   {NULL, 1}, {NULL, SIZE_MAX},
        {TEXT("\xff")},      {TEXT("a\xc3")},  {TEXT("\xed\xa0\x80")}, /* a lone surrogate */
        {TEXT("\xc0\x80")},                                            /* a NUL in two bytes */
    };
    add(queue, "refused", "data");
    leaseq_lease *lease = leased(queue, 30000);
    leaseq_status status = LEASEQ_INTERNAL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        FAILS(LEASEQ_INVALID,
              leaseq_queue_release(queue, lease, 0, all[i].data, all[i].len, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_release_many(queue, &lease, 1, 0, all[i].data,
                                                        all[i].len, &status, &error));
    }
    FAILS(LEASEQ_INVALID, leaseq_queue_release(NULL, lease, 0, TEXT("x"), &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_release(queue, NULL, 0, TEXT("x"), &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_release(queue, lease, -1, TEXT("x"), &error));
    /* Nothing has changed. */
    CHECK(!leaseq_lease_is_settled(lease) && counts_of(queue).leased == 1);
    leaseq_item_info *info = read_item(queue, "refused");
    CHECK(leaseq_item_info_releases_count(info) == 0);
    leaseq_item_info_free(&info);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "history");
    no_handles();
    nothing_yet(queue);
    endings(queue);
    dead(queue);
    reasons(queue);
    refused(queue);
    end(queue, client);
    return done();
}
