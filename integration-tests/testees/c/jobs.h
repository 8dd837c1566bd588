/* Jobs and workers of the testee. Requests and answers: `testees/README.md`. */
#ifndef JOBS_H
#define JOBS_H

#include "testee.h"

#include <pthread.h>

/* What the handlers of a worker have done, and what they are to do next. */
typedef struct Notes Notes;
Notes *new_notes(void);
/* Each note is also appended to this file. */
void log_to(Notes *notes, const char *path);
/* Notes what a handler has done; in the log only, or for whoever asks as well. */
void note(Notes *notes, bool in_log_only, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
cJSON *seen(Notes *notes);
/* The number of this run of the job, from 0. */
int count_run(Notes *notes, const char *job);
void tell(Notes *notes, const char *job, const cJSON *steps);
/* The next steps that the job is told; NULL if there are none yet. */
cJSON *told(Notes *notes, const char *job);
/* Nobody asks any more: handlers that wait end. */
void forget(Notes *notes);
bool is_forgotten(Notes *notes);

/* What handlers get as their context. */
typedef struct {
    Notes *notes;
    /* Names, the outermost first; may be NULL. */
    const cJSON *middleware;
} Script;
/* The handler: it does what the arguments of its job say. */
int32_t run_script(leaseq_task *task, void *script);

/* One run of a job. */
typedef struct {
    leaseq_task *task;
    Notes *notes;
    /* The id, a text. */
    char id[LEASEQ_MAX_ID + 1];
    /* What is left to do. */
    cJSON *steps;
    /* Nobody listens any more. */
    bool given_up;
} Run;

/* How the run ends; the task is ended after the log says that it has. */
typedef struct {
    enum { GOES_ON, DONE, RAISES, PANICS, HAS_POLICY, SNOOZES, STOPS } how;
    const cJSON *value;
    int32_t policy;
} End;

/* Does a step. */
End step(Run *run, const char *name, const cJSON *value);

/* Serves the notes to children, until it is stopped. */
typedef struct {
    Notes *notes;
    char folder[32], path[48];
    int listener;
    pthread_t thread;
} Server;
Server *serve_notes(Notes *notes);
void stop_serving(Server **server);
leaseq_status set_children(leaseq_worker_options *options, const cJSON *request,
                           const Server *server, leaseq_error **error);

cJSON *enqueue(Call *call, const char *op);
cJSON *result(Call *call, const char *op);
cJSON *work_on_jobs(Call *call, const char *op);
/* Aborts the workers of a client, and forgets what was seen. */
void close_workers(const char *client);

leaseq_worker_options *worker_options(const cJSON *request, leaseq_error **error);
/* The jobs of a worker; by default `work`. */
const cJSON *jobs_of(const cJSON *request);

#endif
