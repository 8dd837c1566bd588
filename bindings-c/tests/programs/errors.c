/* Errors say what to do, and belong to the caller. */
#include "check.h"

int main(void) {
    leaseq_client *client = NULL;
    const char *url = "redis://user:secret@127.0.0.1:1/?timeout_ms=100&connect_timeout_ms=50";
    CHECK(leaseq_connect(url, &client, &error) == LEASEQ_UNAVAILABLE);
    CHECK(client == NULL && leaseq_error_status(error) == LEASEQ_UNAVAILABLE);
    CHECK(leaseq_error_retryable(error) && !leaseq_error_outcome_unknown(error));
    CHECK(strstr(leaseq_error_message(error), "secret") == NULL);
    CHECK(strstr(leaseq_error_message(error), "127.0.0.1:1") != NULL);
    leaseq_error_free(&error);
    CHECK(error == NULL);
    leaseq_error_free(&error);
    leaseq_error_free(NULL);

    /* The previous values of the variables do not matter. */
    leaseq_error *garbage = (leaseq_error *)(void *)0x10;
    client = (leaseq_client *)(void *)0x10;
    CHECK(leaseq_connect("nonsense", &client, &garbage) == LEASEQ_INVALID && client == NULL);
    CHECK(!leaseq_error_retryable(garbage) && strlen(leaseq_error_message(garbage)) > 0);
    leaseq_error_free(&garbage);
    garbage = (leaseq_error *)(void *)0x10;
    CHECK(leaseq_connect(NULL, &client, &garbage) == LEASEQ_OK && garbage == NULL);

    /* The caller may ignore the error. */
    leaseq_queue *queue = NULL;
    CHECK(leaseq_client_queue(client, "a b", &queue, NULL) == LEASEQ_INVALID);
    CHECK(leaseq_client_queue(client, "q", &queue, NULL) == LEASEQ_OK);
    /* A queue keeps its connections after the client's handle is freed. */
    leaseq_client_free(&client);
    OK(leaseq_queue_add_item(queue, TEXT("data"), NULL, NULL, &error));
    leaseq_lease *lease = leased(queue, 1000);
    leaseq_queue_free(&queue);
    CHECK(leaseq_lease_data_len(lease) == 4);
    leaseq_lease_free(&lease);

    /* Freed handles are NULL, so their use is detected. */
    FAILS(LEASEQ_INVALID, leaseq_queue_pause(queue, NULL, NULL, &error));
    FAILS(LEASEQ_INVALID, leaseq_client_close(client, &error));
    CHECK(leaseq_lease_data(lease) == NULL);

    unsetenv("LEASEQ_URL");
    unsetenv("REDIS_URL");
    FAILS(LEASEQ_INVALID, leaseq_connect(NULL, &client, &error));
    return done();
}
