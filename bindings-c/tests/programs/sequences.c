/* Makes random calls with random handles, freed ones (NULL) included, and random arguments. Every
 * call must behave as the conventions of the header say. A failure prints the seed, and LEASEQ_SEED
 * repeats it. */
#include "check.h"

#define CALLS 4000
#define SLOTS 4

static leaseq_client *clients[SLOTS];
static leaseq_queue *queues[SLOTS];
static leaseq_lease *leases[SLOTS];
static leaseq_waiter *waiters[SLOTS];
static leaseq_item_options *item_options[SLOTS];
static leaseq_lease_options *lease_options[SLOTS];
static leaseq_complete_options *complete_options[SLOTS];

static uint64_t seed, state;
/* Number of calls that succeeded. */
static int done_well;

static uint64_t below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

#define ANY(of) ((of)[below(sizeof(of) / sizeof *(of))])

static const int64_t times[] = {0, 1, 5, 1000, -1, INT64_MIN, INT64_MAX, 2592000000, 2592000001};
/* Short, so that a run ends. */
static const int64_t waits[] = {0, 0, 0, 1, 5, -2, INT64_MIN};
static const char *const names[] = {"a", "b", "c", "", "a b", "\xff\xfe", NULL};
static const char *const ids[] = {"x", "y", "z", "", "\n", NULL};
static const int32_t numbers[] = {0, 1, 3, 9, 10, -1, INT32_MAX, INT32_MIN};
/* A valid length: 4 bytes of data, or an array of handles. */
static const size_t counts[] = {0, 1, 2, SLOTS};
static const char bytes[] = "data";

/* Status and error agree, and the status is never LEASEQ_INTERNAL. */
static leaseq_status told(const char *call, leaseq_status status) {
    bool right = leaseq_error_status(error) == status && (error != NULL) == (status != LEASEQ_OK) &&
                 (strlen(leaseq_error_message(error)) > 0) == (status != LEASEQ_OK) &&
                 (status == LEASEQ_OK || status == LEASEQ_INVALID || status == LEASEQ_LEASE_LOST ||
                  status == LEASEQ_CLOSED);
    if (!right) {
        fprintf(stderr, "LEASEQ_SEED=%llu: %s: %s: %s\n", (unsigned long long)seed, call,
                leaseq_status_name(status), leaseq_error_message(error));
        _exit(1);
    }
    leaseq_error_free(&error);
    checks++;
    done_well += status == LEASEQ_OK;
    return status;
}

#define CALL(call) told(#call, (call))
/* Sometimes NULL, for a result that is not wanted. */
#define PERHAPS(result) (below(2) ? (result) : NULL)

static void connection(void) {
    leaseq_client **client = &ANY(clients), *other = ANY(clients);
    leaseq_names *all = NULL;
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
        leaseq_client_free(client);
        CALL(leaseq_connect(below(4) ? NULL : "no url", client, &error));
        break;
    case 3:
        leaseq_client_free(client);
        break;
    case 4:
        CALL(leaseq_client_close(other, &error));
        break;
    case 5:
        CALL(leaseq_client_cancel_waits(other, &error));
        break;
    case 6:
        CALL(leaseq_client_allow_waits(other, &error));
        break;
    default:
        if (CALL(leaseq_client_queues(other, &all, &error))) CHECK(all == NULL);
        leaseq_names_get(all, leaseq_names_len(all));
        leaseq_names_free(&all);
    }
}

static void make(void) {
    leaseq_queue **queue = &ANY(queues);
    leaseq_waiter **waiter = &ANY(waiters);
    leaseq_item_options **item = &ANY(item_options);
    leaseq_lease_options **lease = &ANY(lease_options);
    leaseq_complete_options **complete = &ANY(complete_options);
    switch (below(7)) {
    case 0:
    case 1:
        leaseq_queue_free(queue);
        if (CALL(leaseq_client_queue(ANY(clients), ANY(names), queue, &error)))
            CHECK(*queue == NULL);
        break;
    case 2:
        leaseq_waiter_free(waiter);
        CALL(leaseq_waiter_new(ANY(queues), waiter, &error));
        break;
    case 3:
        leaseq_item_options_free(item);
        if (below(4)) CALL(leaseq_item_options_new(item, &error));
        break;
    case 4:
        CALL(leaseq_item_options_set_id(*item, bytes, ANY(counts), &error));
        CALL(leaseq_item_options_set_priority(*item, ANY(numbers), &error));
        CALL(leaseq_item_options_set_delay_ms(*item, ANY(times), &error));
        CALL(leaseq_item_options_set_max_attempts(*item, (uint32_t)ANY(numbers), &error));
        CALL(leaseq_item_options_set_retain_ms(*item, ANY(times), &error));
        CALL(leaseq_item_options_set_unique(*item, PERHAPS(bytes), below(3), &error));
        CALL(leaseq_item_options_set_unique_for_ms(*item, ANY(times), &error));
        CALL(leaseq_item_options_set_replace(*item, below(2), &error));
        CALL(leaseq_item_options_set_successor(*item, below(2), &error));
        if (below(2)) CALL(leaseq_item_options_set_expires_in_ms(*item, ANY(times), &error));
        break;
    case 5:
        leaseq_lease_options_free(lease);
        if (below(4)) CALL(leaseq_lease_options_new(lease, &error));
        CALL(leaseq_lease_options_set_keep_alive(*lease, ANY(times), &error));
        break;
    default:
        leaseq_complete_options_free(complete);
        if (below(4)) CALL(leaseq_complete_options_new(complete, &error));
        CALL(leaseq_complete_options_set_strict(*complete, below(2), &error));
        if (below(2)) CALL(leaseq_complete_options_set_retain_ms(*complete, ANY(times), &error));
        if (below(2)) CALL(leaseq_complete_options_set_result(*complete, bytes, below(5), &error));
        leaseq_bytes results[2] = {{bytes, below(5)}, {NULL, below(2)}};
        if (below(2))
            CALL(leaseq_complete_options_set_results(*complete, results, below(3), &error));
    }
}

static void fill(leaseq_queue *queue) {
    leaseq_item items[SLOTS];
    bool added[SLOTS];
    for (size_t i = 0; i < SLOTS; i++) {
        const char *id = ANY(ids);
        items[i] = (leaseq_item){.data = bytes,
                                 .data_len = below(5),
                                 .id = id,
                                 .id_len = id == NULL ? below(3) : strlen(id),
                                 .options = ANY(item_options)};
    }
    if (below(3)) {
        CALL(leaseq_queue_add_items(queue, PERHAPS(items), ANY(counts), PERHAPS(added), &error));
    } else {
        CALL(leaseq_queue_add_item(queue, PERHAPS(bytes), below(5), ANY(item_options),
                                   PERHAPS(added), &error));
    }
}

/* What is known of an item agrees with itself, whatever has happened to it. */
#define AGREES(of, kind)                                                                           \
    do {                                                                                           \
        size_t endings = kind##_endings(of), any = below(20);                                      \
        CHECK(endings <= 16);                                                                      \
        CHECK((kind##_ending(of, any) == LEASEQ_ENDING_NONE) == (any >= endings));                 \
        CHECK((kind##_ending_at_ms(of, any) == -1) == (any >= endings));                           \
        bool released = kind##_releases_count(of) > 0;                                             \
        CHECK((kind##_releases_reason_len(of) > 0) == released);                                   \
        CHECK((kind##_releases_first_at_ms(of) == -1) == !released);                               \
        CHECK((kind##_releases_reason(of) == NULL) == ((of) == NULL));                             \
    } while (0)

static void take(leaseq_queue *queue) {
    leaseq_waiter *waiter = ANY(waiters);
    leaseq_lease **lease = &ANY(leases);
    size_t count = 7, room = ANY(counts);
    int64_t duration = ANY(times), wait = ANY(waits);
    switch (below(5)) {
    case 0:
        leaseq_lease_free(lease);
        if (CALL(leaseq_queue_lease(queue, duration, wait, lease, &error))) CHECK(*lease == NULL);
        break;
    case 1:
        leaseq_lease_free(lease);
        CALL(leaseq_queue_lease_with(queue, duration, wait, ANY(lease_options), lease, &error));
        break;
    case 2:
        leaseq_leases_free(leases, SLOTS);
        if (CALL(leaseq_queue_lease_many(queue, duration, wait, ANY(lease_options), leases, room,
                                         &count, &error)))
            CHECK(count == 0);
        CHECK(count <= room);
        break;
    case 3:
        CALL(leaseq_waiter_begin(waiter, room, duration, wait, ANY(lease_options), &error));
        break;
    default:
        leaseq_leases_free(leases, SLOTS);
        CALL(leaseq_waiter_take(waiter, leases, room, &count, &error));
        CHECK(count <= room && leaseq_waiter_fd(waiter) >= -1);
    }
    CHECK(leaseq_lease_is_lost(*lease) == (leaseq_lease_remaining_ms(*lease) <= 0) || *lease);
    AGREES(*lease, leaseq_lease);
}

static void settle(leaseq_queue *queue) {
    leaseq_lease *lease = ANY(leases);
    leaseq_bytes texts[SLOTS] = {{bytes, 4}, {NULL, 0}, {bytes, 0}, {bytes, 1}};
    leaseq_status statuses[SLOTS];
    leaseq_state states[SLOTS];
    int64_t deadlines[SLOTS], delay = ANY(times);
    bool done[SLOTS];
    size_t count = ANY(counts);
    bool dead = below(4) == 0;
    const leaseq_complete_options *how = ANY(complete_options);
    switch (below(10)) {
    case 9:
        CALL(leaseq_queue_set_progress(queue, lease, PERHAPS(bytes), below(5), &error));
        break;
    case 0:
        CALL(leaseq_queue_complete(queue, lease, PERHAPS(done), &error));
        break;
    case 1:
        CALL(leaseq_queue_complete_with(queue, lease, how, PERHAPS(done), &error));
        break;
    case 2:
        CALL(leaseq_queue_complete_many(queue, leases, count, how, PERHAPS(done), &error));
        break;
    case 3:
        CALL(leaseq_queue_extend(queue, lease, delay, PERHAPS(deadlines), &error));
        break;
    case 4:
        CALL(leaseq_queue_extend_many(queue, leases, count, delay, PERHAPS(statuses),
                                      PERHAPS(deadlines), &error));
        break;
    case 5:
        CALL(leaseq_queue_release(queue, lease, delay, PERHAPS(bytes), below(5), &error));
        break;
    case 6:
        CALL(leaseq_queue_release_many(queue, leases, count, delay, PERHAPS(bytes), below(5),
                                       PERHAPS(statuses), &error));
        break;
    case 7:
        CALL(leaseq_queue_fail(queue, lease, PERHAPS(bytes), below(5), delay, dead, PERHAPS(states),
                               &error));
        break;
    default:
        CALL(leaseq_queue_fail_many(queue, leases, PERHAPS(texts), NULL, count, delay, dead,
                                    PERHAPS(statuses), PERHAPS(states), &error));
    }
    if (below(2)) leaseq_lease_free(&ANY(leases));
}

static void look(leaseq_queue *queue) {
    leaseq_item_info *info = NULL;
    leaseq_page *page = NULL;
    leaseq_report *report = NULL;
    leaseq_light_report light;
    leaseq_counts counted;
    uint64_t number = 7;
    bool done[2];
    const char *id = ANY(ids);
    size_t len = id == NULL ? below(3) : strlen(id);
    leaseq_item_ref several[2] = {{id, len, ANY(names)}, {"z", 1, NULL}};
    leaseq_revision revision = {.id = id, .id_len = len, .data = ANY(names)};
    switch (below(12)) {
    case 0:
        if (CALL(leaseq_queue_get(queue, id, len, &info, &error))) CHECK(info == NULL);
        AGREES(info, leaseq_item_info);
        break;
    case 1:
        CALL(leaseq_queue_list(queue, ANY(numbers), ANY(names), below(3), &page, &error));
        AGREES(leaseq_page_item(page, 0), leaseq_item_info);
        leaseq_page_item(page, leaseq_page_len(page));
        leaseq_page_free(&page);
        break;
    case 2:
        CALL(leaseq_queue_remove(queue, id, len, PERHAPS(done), &error));
        break;
    case 3:
        CALL(leaseq_queue_remove_many(queue, several, below(3), PERHAPS(done), &error));
        break;
    case 4:
        CALL(leaseq_queue_requeue(queue, id, len, PERHAPS(done), &error));
        CALL(leaseq_queue_requeue_many(queue, several, below(3), PERHAPS(done), &error));
        break;
    case 5:
        CALL(leaseq_queue_light_clean(queue, PERHAPS(&light), below(sizeof light + 1), &error));
        break;
    case 6:
        CALL(below(2) ? leaseq_queue_check(queue, &report, &error)
                      : leaseq_queue_deep_clean(queue, &report, &error));
        CHECK(report == NULL || leaseq_report_is_sound(report));
        CHECK(leaseq_report_kind(report, leaseq_report_kinds(report)) == NULL);
        leaseq_report_free(&report);
        break;
    case 7:
        CALL(leaseq_queue_counts(queue, PERHAPS(&counted), below(sizeof counted + 1), &error));
        break;
    case 10:
        CALL(leaseq_queue_bury(queue, id, len, PERHAPS("no"), below(3), PERHAPS(done), &error));
        CALL(leaseq_queue_bury_many(queue, several, below(3), PERHAPS("no"), below(3),
                                    PERHAPS(done), &error));
        break;
    case 11:
        CALL(leaseq_queue_revise(queue, PERHAPS(&revision), PERHAPS(done), &error));
        CALL(leaseq_queue_revise_many(queue, &revision, below(2), PERHAPS(done), &error));
        break;
    case 8:
        CALL(below(3) ? leaseq_queue_resume(queue, &error)
                      : leaseq_queue_pause(queue, NULL, NULL, &error));
        break;
    default:
        CALL(leaseq_queue_len(queue, PERHAPS(&number), &error));
        CALL(leaseq_queue_purge(queue, ANY(numbers), PERHAPS(&number), &error));
    }
    leaseq_item_info_free(&info);
    CHECK(info == NULL && page == NULL && report == NULL);
}

int main(void) {
    const char *given = getenv("LEASEQ_SEED");
    seed = given == NULL ? (uint64_t)now_ms() * 2654435761 + (uint64_t)getpid()
                         : strtoull(given, NULL, 10);
    state = seed ^ 0x9e3779b97f4a7c15; /* must not be 0 */
    for (int i = 0; i < CALLS; i++) {
        leaseq_queue *queue = ANY(queues);
        switch (below(12)) {
        case 0:
            connection();
            break;
        case 1:
        case 2:
            make();
            break;
        case 3:
        case 4:
            fill(queue);
            break;
        case 5:
        case 6:
        case 7:
            take(queue);
            break;
        case 8:
        case 9:
        case 10:
            settle(queue);
            break;
        default:
            look(queue);
        }
    }
    for (size_t i = 0; i < SLOTS; i++) {
        leaseq_item_options_free(&item_options[i]);
        leaseq_lease_options_free(&lease_options[i]);
        leaseq_complete_options_free(&complete_options[i]);
        leaseq_waiter_free(&waiters[i]);
        leaseq_lease_free(&leases[i]);
        leaseq_queue_free(&queues[i]);
        leaseq_client_free(&clients[i]);
    }
    /* Otherwise only errors were tested. */
    CHECK(done_well > CALLS / 8);
    return done();
}
