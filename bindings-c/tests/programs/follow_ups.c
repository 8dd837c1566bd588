/* Follow-ups: how arguments are converted. What they mean is in the scenarios. */
#include "check.h"

static leaseq_item_options *made(void) {
    leaseq_item_options *options = NULL;
    OK(leaseq_item_options_new(&options, &error));
    return options;
}

static void chains(leaseq_queue *queue, leaseq_queue *mail) {
    leaseq_item_options *last = made(), *sent = made(), *first = made();
    leaseq_item back = {.data = "3", .data_len = 1, .id = "back", .id_len = 4, .options = last};
    OK(leaseq_item_options_set_queue(last, leaseq_queue_name(queue), &error));
    OK(leaseq_item_options_set_queue(sent, "mail", &error));
    OK(leaseq_item_options_add_follow_up(sent, LEASEQ_ON_ENDED, &back, false, &error));
    leaseq_item next = {.data = "2", .data_len = 1, .id = "sent", .id_len = 4, .options = sent};
    OK(leaseq_item_options_add_follow_up(first, LEASEQ_ON_COMPLETED, &next, true, &error));
    for (int32_t on = -1; on < 6; on += on == 0 ? 4 : 1) {
        FAILS(LEASEQ_INVALID, leaseq_item_options_add_follow_up(first, on, &next, true, &error));
    }
    FAILS(LEASEQ_INVALID, leaseq_item_options_set_queue(sent, "\xff", &error));
    /* They were copied. */
    leaseq_item_options_free(&last);
    leaseq_item_options_free(&sent);
    OK(leaseq_queue_add_item(queue, "1", 1, first, NULL, &error));
    leaseq_item_options_free(&first);

    leaseq_lease *lease = leased(queue, 60000);
    CHECK(leaseq_lease_trigger_id(lease) == NULL && leaseq_lease_trigger_id_len(lease) == 0);
    CHECK(leaseq_lease_trigger_result(lease) == NULL);
    leaseq_complete_options *done = NULL;
    OK(leaseq_complete_options_new(&done, &error));
    OK(leaseq_complete_options_set_result(done, "a\0b", 3, &error));
    OK(leaseq_queue_complete_with(queue, lease, done, NULL, &error));
    leaseq_complete_options_free(&done);
    leaseq_lease *second = leased(mail, 60000);
    CHECK(is_id(second, "sent"));
    CHECK(leaseq_lease_trigger_id_len(second) == leaseq_lease_id_len(lease));
    CHECK(memcmp(leaseq_lease_trigger_id(second), leaseq_lease_id(lease),
                 leaseq_lease_id_len(lease)) == 0);
    CHECK(leaseq_lease_trigger_result_len(second) == 3);
    CHECK(memcmp(leaseq_lease_trigger_result(second), "a\0b", 3) == 0);
    OK(leaseq_queue_complete(mail, second, NULL, &error));
    leaseq_lease_free(&second);
    leaseq_lease_free(&lease);
    lease = leased(queue, 60000);
    CHECK(is_id(lease, "back") && leaseq_lease_trigger_id(lease) == NULL);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

static void calls(leaseq_queue *queue, leaseq_queue *mail) {
    add(queue, "a", "x");
    add(queue, "b", "x");
    leaseq_lease *leases[2] = {leased(queue, 60000), leased(queue, 60000)};
    leaseq_item_options *elsewhere = made();
    OK(leaseq_item_options_set_queue(elsewhere, "mail", &error));
    leaseq_item items[] = {{.data = "c", .data_len = 1, .id = "c", .id_len = 1},
                           {.data = "d", .data_len = 1, .options = elsewhere}};
    leaseq_items adds[] = {{items, 2}, {NULL, 0}};
    leaseq_complete_options *done = NULL;
    OK(leaseq_complete_options_new(&done, &error));
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_adds(done, NULL, 1, &error));
    leaseq_items wrong = {NULL, 1};
    FAILS(LEASEQ_INVALID, leaseq_complete_options_set_adds(done, &wrong, 1, &error));
    OK(leaseq_complete_options_set_adds(done, adds, 1, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_complete_many(queue, leases, 2, done, NULL, &error));
    OK(leaseq_complete_options_set_adds(done, adds, 2, &error));
    bool completed[2];
    OK(leaseq_queue_complete_many(queue, leases, 2, done, completed, &error));
    CHECK(completed[0] && completed[1]);
    leaseq_complete_options_free(&done);
    leaseq_leases_free(leases, 2);
    CHECK(counts_of(queue).ready == 1 && counts_of(mail).ready == 1);
    leaseq_lease *lease = leased(queue, 60000);
    CHECK(is_id(lease, "c"));
    OK(leaseq_queue_fail_many(queue, &lease, NULL, adds, 1, 0, true, NULL, NULL, &error));
    leaseq_lease_free(&lease);
    CHECK(counts_of(queue).dead == 1 && counts_of(mail).ready == 2);
    leaseq_item_options_free(&elsewhere);
    bool dropped = false;
    OK(leaseq_queue_drop_queue(queue, false, &dropped, &error));
    CHECK(dropped);
    OK(leaseq_queue_drop_queue(mail, true, &dropped, &error));
    CHECK(dropped);
}

static void attaches(leaseq_queue *queue) {
    add(queue, "a", "x");
    leaseq_item next = {.data = "y", .data_len = 1, .id = "next", .id_len = 4};
    leaseq_attachment all[2] = {
        {.to = {.id = "a", .id_len = 1}, .item = &next, .on = LEASEQ_ON_COMPLETED},
        {.to = {.id = "none", .id_len = 4}, .item = &next, .on = LEASEQ_ON_DEAD},
    };
    all[0].with_trigger = true;
    bool attached[2] = {false, true};
    OK(leaseq_queue_attach(queue, all, attached, &error));
    CHECK(attached[0]);
    OK(leaseq_queue_attach_many(queue, all, 2, attached, &error));
    CHECK(attached[0] && !attached[1]);
    OK(leaseq_queue_attach_many(queue, NULL, 0, NULL, &error));
    all[1].on = 4;
    FAILS(LEASEQ_INVALID, leaseq_queue_attach_many(queue, all, 2, attached, &error));
    all[1].on = LEASEQ_ON_ENDED;
    all[1].item = NULL;
    FAILS(LEASEQ_INVALID, leaseq_queue_attach_many(queue, all, 2, attached, &error));
    FAILS(LEASEQ_INVALID, leaseq_queue_attach(queue, NULL, NULL, &error));
    leaseq_lease *lease = leased(queue, 60000);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
    lease = leased(queue, 60000);
    CHECK(is_id(lease, "next") && leaseq_lease_trigger_id_len(lease) == 1);
    OK(leaseq_queue_complete(queue, lease, NULL, &error));
    leaseq_lease_free(&lease);
}

int main(void) {
    leaseq_client *client = connected();
    leaseq_queue *queue = queue_of(client, "follow-ups"), *mail = queue_of(client, "mail");
    chains(queue, mail);
    attaches(queue);
    calls(queue, mail);
    CHECK(leaseq_lease_trigger_id(NULL) == NULL && leaseq_lease_trigger_id_len(NULL) == 0);
    CHECK(leaseq_lease_trigger_result(NULL) == NULL && leaseq_lease_trigger_result_len(NULL) == 0);
    leaseq_queue_free(&mail);
    end(queue, client);
    return done();
}
