/* What the handlers of a worker have done, and what they are to do next. */
#include "jobs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct Notes {
    pthread_mutex_t lock;
    /* A list of texts; numbers by job; lists of steps by job. */
    cJSON *seen, *runs, *told;
    int log;
    bool forgotten;
};

Notes *new_notes(void) {
    Notes *notes = calloc(1, sizeof *notes);
    pthread_mutex_init(&notes->lock, NULL);
    notes->seen = cJSON_CreateArray();
    notes->runs = cJSON_CreateObject();
    notes->told = cJSON_CreateObject();
    notes->log = -1;
    return notes;
}

void log_to(Notes *notes, const char *path) {
    pthread_mutex_lock(&notes->lock);
    if (notes->log >= 0) close(notes->log);
    notes->log = open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666);
    pthread_mutex_unlock(&notes->lock);
}

/* In one write, so that no kill can mix lines. */
static void append(int log, const char *what) {
    struct timespec now;
    char line[1200];
    clock_gettime(CLOCK_REALTIME, &now);
    long long micros = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    int len = snprintf(line, sizeof line, "%lld %s\n", micros, what);
    if (write(log, line, (size_t)len) != len) abort();
}

void note(Notes *notes, bool in_log_only, const char *format, ...) {
    char what[1100];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    pthread_mutex_lock(&notes->lock);
    if (notes->log >= 0) append(notes->log, what);
    if (!in_log_only) cJSON_AddItemToArray(notes->seen, cJSON_CreateString(what));
    pthread_mutex_unlock(&notes->lock);
}

cJSON *seen(Notes *notes) {
    pthread_mutex_lock(&notes->lock);
    cJSON *said = cJSON_Duplicate(notes->seen, true);
    pthread_mutex_unlock(&notes->lock);
    return said;
}

int count_run(Notes *notes, const char *job) {
    pthread_mutex_lock(&notes->lock);
    cJSON *count = cJSON_GetObjectItemCaseSensitive(notes->runs, job);
    if (count == NULL) count = cJSON_AddNumberToObject(notes->runs, job, 0);
    int run = count->valueint;
    cJSON_SetNumberValue(count, run + 1);
    pthread_mutex_unlock(&notes->lock);
    return run;
}

void tell(Notes *notes, const char *job, const cJSON *steps) {
    pthread_mutex_lock(&notes->lock);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(notes->told, job);
    if (list == NULL) list = cJSON_AddArrayToObject(notes->told, job);
    cJSON_AddItemToArray(list, cJSON_Duplicate(steps, true));
    pthread_mutex_unlock(&notes->lock);
}

cJSON *told(Notes *notes, const char *job) {
    pthread_mutex_lock(&notes->lock);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(notes->told, job);
    cJSON *steps = list == NULL ? NULL : cJSON_DetachItemFromArray(list, 0);
    pthread_mutex_unlock(&notes->lock);
    return steps;
}

void forget(Notes *notes) {
    pthread_mutex_lock(&notes->lock);
    notes->forgotten = true;
    pthread_mutex_unlock(&notes->lock);
}

bool is_forgotten(Notes *notes) {
    pthread_mutex_lock(&notes->lock);
    bool forgotten = notes->forgotten;
    pthread_mutex_unlock(&notes->lock);
    return forgotten;
}
