/* What the parts of the benchmark know of each other. */
#ifndef BENCH_H
#define BENCH_H

#include <leaseq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 100 };

/* Something that is measured. */
typedef struct {
    const char *name, *server;
    int batch;
    void *state;
    /* Adds so many items. */
    void (*add)(void *state, int items, int batch);
    /* Takes so many items, does nothing with them, and completes them. */
    void (*process)(void *state, int items, int batch);
} Side;

Side leaseq_side(const char *name, int batch);
Side beanstalkd_side(const char *name, int batch);

/* Whether the PATH has this program. */
bool can_run(const char *program);
/* Starts a server that listens on this port; it ends with stop_servers(), or with this program. */
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
    /* 0: the figure only informs. */
    double at_least;
    /* Why there is no figure; NULL when there is one. */
    const char *why;
    /* "redis" or a peer's; NULL for a ratio. */
    const char *server;
    int batch;
} Line;

typedef struct {
    bool quick, peers;
    int count;
    Line lines[16];
} Report;

Report report_new(bool quick, bool peers);
/* A rate of one side; with a reason why it could not be had, that instead. */
void report_rate(Report *report, const Side *side, const char *what, double rate, const char *why);
void report_ratio(Report *report, const Side *side, const char *what, double ratio, bool target);
void report_print(const Report *report);
void report_write(const Report *report, const char *path);

#endif
