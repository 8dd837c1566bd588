/* leaseq, on its own redis-server. */
#include "bench.h"

static leaseq_error *error;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) fail(leaseq_error_message(error));
}

static void add(void *state, int items, int batch) {
    char data[DATA];
    memset(data, 'x', sizeof data);
    if (batch == 1) {
        for (int i = 0; i < items; i++) {
            ok(leaseq_queue_add_item(state, data, sizeof data, NULL, NULL, &error));
        }
        return;
    }
    leaseq_item *all = calloc(batch, sizeof *all);
    bool *added = calloc(batch, sizeof *added);
    for (int i = 0; i < batch; i++) all[i] = (leaseq_item){.data = data, .data_len = sizeof data};
    for (int done = 0; done < items; done += batch) {
        ok(leaseq_queue_add_items(state, all, batch, added, &error));
        for (int i = 0; i < batch; i++) {
            if (!added[i]) fail("not added");
        }
    }
    free(all);
    free(added);
}

static void process(void *state, int items, int batch) {
    leaseq_lease **leases = calloc(batch, sizeof(leaseq_lease *));
    bool *completed = calloc(batch, sizeof *completed);
    for (int done = 0; done < items;) {
        size_t count = 0;
        if (batch == 1) {
            ok(leaseq_queue_lease(state, 60000, 0, leases, &error));
            if (leases[0] == NULL) fail("nothing to lease");
            ok(leaseq_queue_complete(state, leases[0], completed, &error));
            count = 1;
        } else {
            ok(leaseq_queue_lease_many(state, 60000, 0, NULL, leases, batch, &count, &error));
            if (count == 0) fail("nothing to lease");
            ok(leaseq_queue_complete_many(state, leases, count, NULL, completed, &error));
        }
        for (size_t i = 0; i < count; i++) {
            if (leaseq_lease_data_len(leases[i]) != DATA || !completed[i]) fail("wrong");
        }
        leaseq_leases_free(leases, count);
        done += (int)count;
    }
    free(leases);
    free(completed);
}

leaseq_client *leaseq_client_of_bench(void) {
    static leaseq_client *client;
    if (client == NULL) {
        char port[8], url[64];
        snprintf(port, sizeof port, "%d", free_port());
        start_server((char *[]){"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                                "--loglevel", "warning", "--dir", "/tmp", NULL});
        close(connect_to(atoi(port)));
        snprintf(url, sizeof url, "redis://127.0.0.1:%s/", port);
        ok(leaseq_connect(url, &client, &error));
    }
    return client;
}

Side leaseq_side(const char *name, int batch) {
    char queue_name[16];
    snprintf(queue_name, sizeof queue_name, "by-%d", batch);
    leaseq_queue *queue = NULL;
    ok(leaseq_client_queue(leaseq_client_of_bench(), queue_name, &queue, &error));
    return (Side){.name = name,
                  .target = "5",
                  .server = "redis",
                  .batch = batch,
                  .state = queue,
                  .add = add,
                  .process = process};
}
