/* The testee in C: a thread for each request. Requests and answers: `testees/README.md`. */
#include "jobs.h"

#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *clients, *leases;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int by_name(const void *a, const void *b) {
    return strcmp(((const Place *)a)->name, ((const Place *)b)->name);
}

/* The slot of this name, which may be empty. Its address does not change. */
static Place *place(void **all, const char *name) {
    Place *wanted = calloc(1, sizeof *wanted);
    wanted->name = strdup(name);
    pthread_mutex_lock(&lock);
    Place *found = *(Place **)tsearch(wanted, all, by_name);
    pthread_mutex_unlock(&lock);
    if (found != wanted) {
        free(wanted->name);
        free(wanted);
    }
    return found;
}

leaseq_lease *held(const char *name) { return place(&leases, name)->handle; }

cJSON *keep(const char *name, leaseq_lease *lease, const char *queue) {
    if (lease == NULL) return NULL;
    Place *at = place(&leases, name);
    leaseq_lease *before = at->handle;
    leaseq_lease_free(&before);
    free(at->queue);
    at->handle = lease;
    at->queue = strdup(queue);
    return say_lease(lease, queue);
}

cJSON *keep_all(const char *name, leaseq_lease **leases, size_t count, const char *queue) {
    cJSON *said = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        char numbered[64];
        snprintf(numbered, sizeof numbered, "%s/%zu", name == NULL ? "" : name, i);
        cJSON_AddItemToArray(said, keep(numbered, leases[i], queue));
    }
    return said;
}

/* Operations on the process and its clients; all others are on a queue. */
static cJSON *obey(Call *call) {
    const char *op = text(call->request, "op"), *name = text(call->request, "lease");
    /* A call is cancelled only with all others of its client; a NUL ends a text. */
    if (strcmp(op, "hello") == 0)
        return cJSON_Parse("{\"can\": [\"chains\", \"follow_ups\", \"hang\", \"jobs\", "
                           "\"children\", \"fork_children\"]}");
    if (strcmp(op, "look") == 0) return say_lease(held(name), place(&leases, name)->queue);
    if (strcmp(op, "drop") == 0) {
        leaseq_lease_free((leaseq_lease **)&place(&leases, name)->handle);
    } else if (strcmp(op, "connect") == 0) {
        leaseq_client *opened = NULL, *before = call->client->handle;
        if (leaseq_connect(text(call->request, "url"), &opened, &call->error)) return NULL;
        call->client->handle = opened;
        leaseq_client_free(&before);
    } else if (strcmp(op, "close") == 0) {
        close_workers(text(call->request, "client"));
        leaseq_client_close(call->client->handle, &call->error);
    } else if (strcmp(op, "queues") == 0) {
        leaseq_names *names = NULL;
        leaseq_client_queues(call->client->handle, &names, &call->error);
        cJSON *said = say_names(names);
        leaseq_names_free(&names);
        return said;
    } else if (strcmp(op, "registry") == 0) {
        leaseq_names *answer = NULL;
        char *arguments = cJSON_PrintUnformatted(cJSON_GetObjectItem(call->request, "arguments"));
        leaseq_client_call_registry(call->client->handle, text(call->request, "operation"),
                                    arguments, &answer, &call->error);
        const char *said = leaseq_names_get(answer, 0);
        cJSON *gives = said == NULL ? NULL : cJSON_Parse(said);
        leaseq_names_free(&answer);
        free(arguments);
        return gives;
    } else if (call->error == NULL) {
        return operate(call, op);
    }
    return NULL;
}

static void *serve(void *of) {
    Call *call = of;
    cJSON *gives = obey(call), *answer = cJSON_CreateObject();
    if (gives == NULL) gives = cJSON_CreateNull();
    cJSON_AddNumberToObject(answer, "n", (double)number(call->request, "n", 0));
    if (call->error != NULL) {
        cJSON_AddItemToObject(answer, "fails", say_error(call->error));
        cJSON_Delete(gives);
    } else {
        cJSON_AddItemToObject(answer, "gives", gives);
    }
    char *line = cJSON_PrintUnformatted(answer);
    pthread_mutex_lock(&lock);
    puts(line);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    cJSON_free(line);
    cJSON_Delete(answer);
    cJSON_Delete(call->request);
    leaseq_queue_free(&call->queue);
    leaseq_error_free(&call->error);
    free(call);
    return NULL;
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    sigset_t signals;
    /* For the thread of a worker that owns the process. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    while (getline(&line, &size, stdin) > 0) {
        Call *call = calloc(1, sizeof *call);
        call->request = cJSON_Parse(line);
        const char *client = text(call->request, "client"), *queue = text(call->request, "queue");
        if (client != NULL) call->client = place(&clients, client);
        /* Here, because its thread may run only after a later request has replaced the client. */
        if (client != NULL && queue != NULL && strcmp(text(call->request, "op"), "look") != 0)
            leaseq_client_queue(call->client->handle, queue, &call->queue, &call->error);
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, call) != 0) return 1;
        pthread_detach(thread);
    }
    free(line);
    return 0;
}
