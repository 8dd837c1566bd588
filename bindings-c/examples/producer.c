/* Adds each line of its input as an item: producer QUEUE < LINES, with the URL in LEASEQ_URL. */
#include <leaseq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 500 };

static leaseq_error *error;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "producer: %s\n", leaseq_error_message(error));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: producer QUEUE < LINES\n");
        return 1;
    }
    leaseq_client *client = NULL;
    leaseq_queue *queue = NULL;
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_client_queue(client, argv[1], &queue, &error));

    /* A batch costs little more than one item. */
    static leaseq_item items[BATCH];
    static char lines[BATCH][1024];
    size_t count = 0, all = 0;
    bool more = true;
    while (more) {
        more = fgets(lines[count], sizeof lines[count], stdin) != NULL;
        if (more) {
            items[count].data = lines[count];
            items[count].data_len = strcspn(lines[count], "\n");
            count++;
        }
        if (count == BATCH || !more) {
            ok(leaseq_queue_add_items(queue, items, count, NULL, &error));
            all += count;
            count = 0;
        }
    }
    printf("%zu items added\n", all);

    leaseq_queue_free(&queue);
    ok(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    return 0;
}
