#include <leaseq.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static leaseq_error *error;

__attribute__((unused)) static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "%s\n", leaseq_error_message(error));
        exit(1);
    }
}

__attribute__((unused)) static bool send_mail(const char *data, size_t len) {
    return data != NULL && len > 0;
}

int main(void) {
    //--- client
    //--- queue < client
    leaseq_client *client = NULL;
    leaseq_queue *queue = NULL;
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_client_queue(client, "emails", &queue, &error));
    //--- item < queue
    leaseq_item_options *order = NULL;
    ok(leaseq_item_options_new(&order, &error));
    ok(leaseq_item_options_set_id(order, "order-17", 8, &error));
    ok(leaseq_queue_add_item(queue, "your order", 10, order, NULL, &error));
    leaseq_item_options_free(&order);
    //--- lease < item
    leaseq_lease *lease = NULL;
    ok(leaseq_queue_lease(queue, 30000, LEASEQ_WAIT_FOREVER, &lease, &error));
    //--- lost < lease
    ok(leaseq_queue_release(queue, lease, 0, NULL, 0, &error));
    //--- dead < queue
    leaseq_item_options *order = NULL;
    leaseq_lease *lease = NULL;
    ok(leaseq_item_options_new(&order, &error));
    ok(leaseq_item_options_set_id(order, "order-17", 8, &error));
    ok(leaseq_item_options_set_max_attempts(order, 1, &error));
    ok(leaseq_queue_add_item(queue, "your order", 10, order, NULL, &error));
    leaseq_item_options_free(&order);
    ok(leaseq_queue_lease(queue, 30000, LEASEQ_WAIT_FOREVER, &lease, &error));
    ok(leaseq_queue_fail(queue, lease, "no such address", 15, 0, false, NULL, &error));
    leaseq_lease_free(&lease);
    //--- example
    return 0;
}
