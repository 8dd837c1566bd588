/* Shared by the parts of the benchmark. */
#ifndef BENCH_H
#define BENCH_H

#include <leaseq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 100 };

/* A system that is measured. */
typedef struct {
    const char *name, *server, *target;
    int batch;
    void *state;
    /* Adds this number of items. */
    void (*add)(void *state, int items, int batch);
    /* Leases this number of items and completes them. */
    void (*process)(void *state, int items, int batch);
} Side;

/* On a redis-server of its own. */
leaseq_client *leaseq_client_of_bench(void);
Side leaseq_side(const char *name, int batch);
/* Where jobs are. */
typedef struct {
    leaseq_client *client;
    leaseq_queue *queue;
} Jobs;
/* A loop that leases and completes; a worker with a thread for each slot; one with a single thread.
 */
typedef enum { JOBS_BARE, JOBS_POOL, JOBS_ONE_THREAD } JobsKind;
Side jobs_side(const char *name, JobsKind kind);
Side beanstalkd_side(const char *name, int batch);
Side ping_side(const char *name);

/* Whether the PATH has this program. */
bool can_run(const char *program);
/* Starts a server that listens on this port, until stop_servers() or the end of this program. */
void start_server(char *const *arguments);
int free_port(void);
/* A connection to a loopback port, retried for 10 s. */
int connect_to(int port);
void stop_servers(void);
_Noreturn void fail(const char *why);

typedef struct {
    char what[96];
    double figure;
    const char *unit;
    /* The number of the target; 0: no limit. */
    const char *target;
    double at_least;
    /* Why there is no figure; NULL if there is one. */
    const char *why;
    /* "redis" or a peer's; NULL for a ratio. */
    const char *server;
    int batch;
} Line;

typedef struct {
    bool quick, peers;
    int count;
    Line lines[24];
} Report;

Report report_new(bool quick, bool peers);
/* A rate of one side, or the reason why there is none. */
void report_rate(Report *report, const Side *side, const char *what, double rate, const char *why);
void report_ratio(Report *report, const Side *side, const char *peer, const char *what,
                  double ratio, double at_least);
void report_print(const Report *report);
void report_write(const Report *report, const char *path);

#endif
