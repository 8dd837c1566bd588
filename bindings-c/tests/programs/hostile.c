/* Ids and data are arbitrary bytes; values outside the limits are refused without any effect. */
#include "check.h"

static void round_trip(leaseq_queue *queue, const void *id, size_t id_len, const void *data,
                       size_t data_len) {
    leaseq_item item = {.data = data, .data_len = data_len, .id = id, .id_len = id_len};
    bool yes = false;
    OK(leaseq_queue_add_items(queue, &item, 1, &yes, &error));
    CHECK(yes);
    leaseq_item_info *info = NULL;
    OK(leaseq_queue_get(queue, id, id_len, &info, &error));
    CHECK(leaseq_item_info_id_len(info) == id_len &&
          memcmp(leaseq_item_info_id(info), id, id_len) == 0);
    CHECK(leaseq_item_info_data_len(info) == data_len && leaseq_item_info_data(info) != NULL);
    CHECK(data_len == 0 || memcmp(leaseq_item_info_data(info), data, data_len) == 0);
    leaseq_item_info_free(&info);
    leaseq_lease *lease = leased(queue, 30000);
    CHECK(leaseq_lease_id_len(lease) == id_len && memcmp(leaseq_lease_id(lease), id, id_len) == 0);
    CHECK(leaseq_lease_data_len(lease) == data_len && leaseq_lease_data(lease) != NULL);
    CHECK(data_len == 0 || memcmp(leaseq_lease_data(lease), data, data_len) == 0);
    OK(leaseq_queue_complete(queue, lease, &yes, &error));
    CHECK(yes);
    leaseq_lease_free(&lease);
}

static void bytes(leaseq_queue *queue) {
    static char all[512], big[8 << 20];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (char)i;
    for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * 31 >> 3);
    round_trip(queue, "\0", 1, "", 0);
    round_trip(queue, "a\0b", 3, "\0\0", 2);
    round_trip(queue, TEXT("\r\n*1\r\n$8\r\nFLUSHALL\r\n"), TEXT("'; DROP TABLE items; --"));
    round_trip(queue, TEXT("{other}:ready %s%n"), TEXT("\xff\xfe\x80"));
    round_trip(queue, all, sizeof all, all, sizeof all);
    round_trip(queue, "big", 3, big, sizeof big);
    /* Two ids that differ only after a NUL. */
    leaseq_item items[2] = {{.data = "1", .data_len = 1, .id = "x\0a", .id_len = 3},
                            {.data = "2", .data_len = 1, .id = "x\0b", .id_len = 3}};
    bool yes[2] = {false, false};
    OK(leaseq_queue_add_items(queue, items, 2, yes, &error));
    CHECK(yes[0] && yes[1]);
    OK(leaseq_queue_remove(queue, "x\0a", 3, yes, &error));
    CHECK(yes[0]);
    OK(leaseq_queue_remove(queue, "x\0b", 3, yes, &error));
    CHECK(yes[0]);
}

static void limits(leaseq_client *client, leaseq_queue *queue) {
    static char over[(8 << 20) + 1];
    bool added = true;
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, over, sizeof over, NULL, &added, &error));
    CHECK(!added);
    /* Impossible lengths: nothing is read. */
    size_t bad[] = {(size_t)-1, (size_t)-1 / 2, ((size_t)1 << 63) - 1, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        leaseq_item item = {.data = "x", .data_len = 1, .id = "x", .id_len = bad[i]};
        FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, &item, 1, NULL, &error));
        item = (leaseq_item){.data = "x", .data_len = bad[i]};
        FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, &item, 1, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "x", bad[i], NULL, NULL, &error));
        FAILS(LEASEQ_INVALID, leaseq_queue_remove(queue, "x", bad[i], NULL, &error));
        leaseq_item_info *info = NULL;
        FAILS(LEASEQ_INVALID, leaseq_queue_get(queue, "x", bad[i], &info, &error));
        if (bad[i] > (size_t)1 << 62) {
            leaseq_lease *lease = NULL;
            leaseq_status status;
            size_t count = 7;
            FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, &item, bad[i], &added, &error));
            FAILS(LEASEQ_INVALID,
                  leaseq_queue_complete_many(queue, &lease, bad[i], NULL, &added, &error));
            FAILS(LEASEQ_INVALID,
                  leaseq_queue_release_many(queue, &lease, bad[i], 0, NULL, 0, &status, &error));
            FAILS(LEASEQ_INVALID,
                  leaseq_queue_lease_many(queue, 1000, 0, NULL, &lease, bad[i], &count, &error));
            CHECK(count == 0);
            leaseq_leases_free(&lease, bad[i]);
        }
    }
    FAILS(LEASEQ_INVALID, leaseq_queue_remove(queue, "", 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_remove(queue, over, 513, NULL, &error));
    leaseq_item item = {.data = NULL, .data_len = 1};
    FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, &item, 1, NULL, &error));
    item = (leaseq_item){.id = "", .id_len = 0};
    FAILS(LEASEQ_INVALID, leaseq_queue_add_items(queue, &item, 1, NULL, &error));

    leaseq_lease *lease = NULL;
    int64_t durations[] = {0, -1, -5, INT64_MIN, 2592000001, INT64_MAX};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        FAILS(LEASEQ_INVALID, leaseq_queue_lease(queue, durations[i], 0, &lease, &error));
        CHECK(lease == NULL);
    }
    FAILS(LEASEQ_INVALID, leaseq_queue_lease(queue, 1000, -2, &lease, &error));
    size_t count = 0;
    FAILS(LEASEQ_INVALID, leaseq_queue_lease_many(queue, 1000, 0, NULL, &lease, 0, &count, &error));

    add(queue, "one", "data");
    lease = leased(queue, 30000);
    FAILS(LEASEQ_INVALID, leaseq_queue_extend(queue, lease, 0, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_set_progress(queue, lease, over, 1025, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_set_progress(queue, lease, NULL, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_release(queue, lease, -1, NULL, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_release(queue, lease, 31622400001, NULL, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_fail(queue, lease, NULL, 5, 0, false, NULL, &error));
    leaseq_queue *other = queue_of(client, "other");
    FAILS(LEASEQ_INVALID, leaseq_queue_complete(other, lease, NULL, &error));
    leaseq_queue_free(&other);
    leaseq_lease *pair[2] = {lease, NULL};
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_many(queue, pair, 2, NULL, NULL, &error));
    /* A long text that is not UTF-8: its beginning is stored. */
    memset(over, 0xe4, 3000);
    OK(leaseq_queue_fail(queue, lease, over, 3000, 0, false, NULL, &error));
    leaseq_lease_free(&lease);
    lease = leased(queue, 30000);
    size_t len = leaseq_lease_last_error_len(lease);
    CHECK(len > 1000 && len <= 1024 && len == strlen(leaseq_lease_last_error(lease)));
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);

    leaseq_page *page = NULL;
    leaseq_state state = LEASEQ_STATE_READY;
    FAILS(LEASEQ_INVALID, leaseq_queue_list(queue, 0, NULL, 10, &page, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_list(queue, 8, NULL, 10, &page, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_list(queue, state, NULL, 0, &page, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_list(queue, state, NULL, 1001, &page, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_list(queue, state, "nonsense", 10, &page, &error));
    leaseq_list_options *listing = NULL;
    OK(leaseq_list_options_new(&listing, &error));
    FAILS(LEASEQ_INVALID, leaseq_list_options_set_id_prefix(listing, "x", (size_t)-1, &error));
    FAILS(LEASEQ_INVALID, leaseq_list_options_set_data_contains(listing, "x", 1025, &error));
    OK(leaseq_list_options_set_since_ms(listing, INT64_MAX, &error));
    OK(leaseq_list_options_set_until_ms(listing, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_list_with(queue, state, NULL, listing, &page, &error));
    OK(leaseq_list_options_set_until_ms(listing, INT64_MAX, &error));
    OK(leaseq_queue_list_with(queue, state, NULL, listing, &page, &error));
    CHECK(leaseq_page_len(page) == 0);
    leaseq_page_free(&page);
    leaseq_list_options_free(&listing);
    FAILS(LEASEQ_INVALID, leaseq_queue_purge(queue, -1, NULL, &error));
    leaseq_counts counts;
    FAILS(LEASEQ_INVALID, leaseq_queue_counts(queue, &counts, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_counts(queue, &counts, (size_t)-1, &error));
    char id[8];
    FAILS(LEASEQ_INVALID, leaseq_new_id(id, sizeof id, &error));
}

static void names_and_urls(leaseq_client *client) {
    const char *names[] = {"", "a b", "{a}", "a/b", "\xc3\xa4", "\xff"};
    leaseq_queue *queue = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FAILS(LEASEQ_INVALID, leaseq_client_queue(client, names[i], &queue, &error));
        CHECK(queue == NULL);
    }
    const char *urls[] = {"",
                          "nonsense",
                          "http://localhost/",
                          "redis://h/?no_such_option=1",
                          "memory:?timeout_ms=-1",
                          "\xff"};
    leaseq_client *none = NULL;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        FAILS(LEASEQ_INVALID, leaseq_connect(urls[i], &none, &error));
        CHECK(none == NULL);
    }
}

static void options(void) {
    leaseq_item_options *item = NULL;
    OK(leaseq_item_options_new(&item, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_priority(item, 10, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_priority(item, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_delay_ms(item, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_id(item, NULL, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_id(item, "x", 513, &error));
    leaseq_item_options_free(&item);
    leaseq_connect_options *connect = NULL;
    leaseq_client *client = NULL;
    OK(leaseq_connect_options_new(&connect, &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_options_set_namespace(connect, "\xff", &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_options_set_timeout_ms(connect, -1, &error));
    OK(leaseq_connect_options_set_ca_file(connect, "/nonexistent.pem", &error));
    OK(leaseq_connect_options_set_connect_timeout_ms(connect, 500, &error));
    OK(leaseq_connect_options_set_timeout_ms(connect, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_with("memory:", connect, &client, &error));
    OK(leaseq_connect_options_set_timeout_ms(connect, 5000, &error));
    OK(leaseq_connect_options_set_namespace(connect, "mine", &error));
    // The embedded engine has neither TLS nor a namespace.
    FAILS(LEASEQ_INVALID, leaseq_connect_with("memory:", connect, &client, &error));
    leaseq_connect_options_free(&connect);
    OK(leaseq_connect_options_new(&connect, &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_options_set_fsync(connect, "all", &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_options_set_fsync(connect, "11", &error));
    OK(leaseq_connect_options_set_replicas(connect, 1, &error));
    // Nor replicas, nor another disk.
    FAILS(LEASEQ_INVALID, leaseq_connect_with("memory:", connect, &client, &error));
    OK(leaseq_connect_options_set_replicas(connect, (size_t)-1, &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_with("redis://127.0.0.1:1", connect, &client, &error));
    OK(leaseq_connect_options_set_replicas(connect, 0, &error));
    OK(leaseq_connect_options_set_fsync(connect, "local", &error));
    FAILS(LEASEQ_INVALID, leaseq_connect_with("memory:", connect, &client, &error));
    leaseq_connect_options_free(&connect);
    OK(leaseq_connect_options_new(&connect, &error));
    OK(leaseq_connect_options_set_timeout_ms(connect, 5000, &error));
    OK(leaseq_connect_options_set_max_data(connect, 3, &error));
    OK(leaseq_connect_with("memory:", connect, &client, &error));
    leaseq_connect_options_free(&connect);
    leaseq_queue *queue = queue_of(client, "q");
    OK(leaseq_queue_add_item(queue, "123", 3, NULL, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_add_item(queue, "1234", 4, NULL, NULL, &error));
    leaseq_lease_options *lease = NULL;
    OK(leaseq_lease_options_new(&lease, &error));
    FAILS(LEASEQ_INVALID, leaseq_lease_options_set_keep_alive(lease, -1, &error));
    OK(leaseq_lease_options_set_keep_alive(lease, 10, &error));
    leaseq_lease *none = NULL;
    FAILS(LEASEQ_INVALID, leaseq_queue_lease_with(queue, 1000, 0, lease, &none, &error));
    leaseq_lease_options_free(&lease);
    end(queue, client);
}

static int32_t never(leaseq_task *task, void *context) {
    (void)task, (void)context;
    abort();
}

/* What workers, their children and producers of jobs are told. */
static void jobs(leaseq_client *client, leaseq_queue *queue) {
    const char *texts[] = {"x", NULL}, *broken[] = {"\xff"};
    leaseq_job_options *job = NULL;
    OK(leaseq_job_options_new(&job, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_options_set_timeout_ms(job, -1, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_options_set_retry(job, 1, -1, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_options_add_retry_class(job, "\xff", true, &error));
    FAILS(LEASEQ_INVALID, leaseq_job_options_set_meta(job, "a", "\xff", &error));
    /* Limits are those of the job, when it is added. */
    OK(leaseq_job_options_set_timeout_ms(job, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue_with(queue, "x", "{}", 2, NULL, job, NULL, &error));
    OK(leaseq_job_options_set_timeout_ms(job, INT64_MAX, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue_with(queue, "x", "{}", 2, NULL, job, NULL, &error));
    OK(leaseq_job_options_set_timeout_ms(job, 1, &error));
    OK(leaseq_job_options_set_retry(job, 0, 0, INT64_MAX, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_enqueue_with(queue, "x", "{}", 2, NULL, job, NULL, &error));
    leaseq_job_options_free(&job);
    leaseq_job_options_free(&job);
    leaseq_job_options_free(NULL);

    leaseq_worker_options *options = NULL;
    leaseq_worker *worker = NULL;
    OK(leaseq_worker_options_new(&options, &error));
    FAILS(LEASEQ_INVALID, leaseq_child_run(options, never, NULL, &error));
    OK(leaseq_worker_options_add_job(options, "x", &error));
    FAILS(LEASEQ_INVALID, leaseq_child_run(options, never, NULL, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_worker_options_add_job_retry_class(options, "y", "E", true, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children_memory(options, 1, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children(options, "x", texts, 2, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children(options, "x", broken, 1, &error));
    FAILS(LEASEQ_INVALID,
          leaseq_worker_options_set_children(options, "x", texts, (size_t)-1, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children_start_timeout_ms(options, 1, &error));
    OK(leaseq_worker_options_add_queue(options, "hostile", 1, &error));
    OK(leaseq_worker_options_set_children(options, "true", NULL, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_options_set_children_start_timeout_ms(options, -1, &error));
    OK(leaseq_worker_options_set_children_start_timeout_ms(options, 0, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    /* It ends without a word. */
    OK(leaseq_worker_options_set_children_start_timeout_ms(options, 5000, &error));
    FAILS(LEASEQ_INVALID, leaseq_worker_start(client, options, &worker, &error));
    CHECK(worker == NULL);
    leaseq_worker_options_free(&options);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "hostile");
    jobs(client, queue);
    bytes(queue);
    limits(client, queue);
    names_and_urls(client);
    options();
    leaseq_counts counts = counts_of(queue);
    CHECK(counts.ready + counts.delayed + counts.leased + counts.dead == 0);
    end(queue, client);
    return done();
}
