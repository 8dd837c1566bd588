/* The workers of the testee. */
#include "jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A worker that was started under its name. */
typedef struct Worker {
    struct Worker *next;
    char *client, *name;
    Script script;
    Server *server;
    cJSON *request;
    leaseq_worker *handle;
    /* Of its start, or its end. */
    leaseq_error *error;
    bool ended, in_children;
    int32_t status;
    uint64_t started;
} Worker;

static Worker *workers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool owns_process(const Worker *worker) {
    return cJSON_IsTrue(cJSON_GetObjectItem(worker->request, "process"));
}

static int64_t grace_of(const Worker *worker) { return number(worker->request, "grace_ms", 25000); }

/* The first signal ends the worker in order, the second one without a grace period. */
static void *heed_signals(void *of) {
    Worker *worker = of;
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigwait(&signals, &signal);
    leaseq_worker_drain(worker->handle, grace_of(worker), NULL);
    sigwait(&signals, &signal);
    leaseq_worker_drain(worker->handle, 0, NULL);
    sigwait(&signals, &signal);
    leaseq_worker_abort(worker->handle, NULL);
    _exit(1);
}

static void *run(void *of) {
    Worker *worker = of;
    leaseq_error *error = NULL;
    if (worker->in_children) {
        leaseq_worker_wait(worker->handle, LEASEQ_WAIT_FOREVER, NULL, &error);
    } else {
        leaseq_worker_run(worker->handle, run_script, &worker->script, &error);
    }
    if (owns_process(worker)) _exit(leaseq_worker_exit_status(worker->handle));
    stop_serving(&worker->server);
    pthread_mutex_lock(&lock);
    worker->error = error;
    worker->status = leaseq_worker_exit_status(worker->handle);
    worker->started = leaseq_worker_started(worker->handle);
    worker->ended = true;
    leaseq_worker_free(&worker->handle);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The last one that was started under this name; NULL if there is none. With the lock. */
static Worker *find(const char *client, const char *name) {
    Worker *at = workers;
    while (at != NULL && (strcmp(at->client, client) != 0 || strcmp(at->name, name) != 0))
        at = at->next;
    return at;
}

static void start_thread(void *(*body)(void *), Worker *worker) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, worker) != 0) abort();
    pthread_detach(thread);
}

static void start(const Call *call, const char *client, const char *name) {
    Worker *worker = calloc(1, sizeof *worker);
    worker->client = strdup(client);
    worker->name = strdup(name);
    worker->request = cJSON_Duplicate(call->request, true);
    worker->in_children = cJSON_GetObjectItem(worker->request, "children") != NULL;
    worker->script.middleware = cJSON_GetObjectItem(worker->request, "middleware");
    pthread_mutex_lock(&lock);
    /* One that is started again goes on with the notes of the last one. */
    const Worker *last = find(client, name);
    Notes *notes = worker->script.notes = last == NULL ? new_notes() : last->script.notes;
    worker->next = workers;
    workers = worker;
    pthread_mutex_unlock(&lock);
    if (text(worker->request, "log") != NULL) log_to(notes, text(worker->request, "log"));
    leaseq_worker_options *options = worker_options(worker->request, &worker->error);
    if (options != NULL && worker->in_children) {
        worker->server = serve_notes(notes);
        set_children(options, worker->request, worker->server, &worker->error);
    }
    if (worker->error == NULL)
        leaseq_worker_start(call->client->handle, options, &worker->handle, &worker->error);
    leaseq_worker_options_free(&options);
    if (worker->handle == NULL) {
        stop_serving(&worker->server);
        worker->ended = true;
        return;
    }
    if (owns_process(worker)) start_thread(heed_signals, worker);
    start_thread(run, worker);
}

cJSON *work_on_jobs(Call *call, const char *op) {
    const char *client = text(call->request, "client"), *name = text(call->request, "worker");
    cJSON *said = NULL;
    if (name == NULL) name = "worker";
    if (strcmp(op, "start_worker") == 0) {
        start(call, client, name);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    Worker *worker = find(client, name);
    if (worker == NULL) abort();
    if (strcmp(op, "end_worker") == 0) {
        leaseq_worker_drain(worker->handle, grace_of(worker), NULL);
    } else if (strcmp(op, "tell") == 0) {
        tell(worker->script.notes, text(call->request, "job"),
             cJSON_GetObjectItem(call->request, "steps"));
    } else if (strcmp(op, "seen") == 0) {
        said = seen(worker->script.notes);
    } else {
        while (!worker->ended) pthread_cond_wait(&changed, &lock);
        call->error = worker->error;
        worker->error = NULL;
        said = cJSON_CreateObject();
        cJSON_AddNumberToObject(said, "status", worker->status);
        cJSON_AddNumberToObject(said, "started", (double)worker->started);
    }
    pthread_mutex_unlock(&lock);
    return said;
}

void close_workers(const char *client) {
    pthread_mutex_lock(&lock);
    for (Worker *at = workers; at != NULL; at = at->next) {
        if (strcmp(at->client, client) != 0) continue;
        leaseq_worker_abort(at->handle, NULL);
        forget(at->script.notes);
        at->client[0] = 0;
    }
    pthread_mutex_unlock(&lock);
}
