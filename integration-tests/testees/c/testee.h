/* The parts of the testee in C. What it is told and tells, in JSON: see `testees/README.md`. */
#ifndef TESTEE_H
#define TESTEE_H

#include <cjson/cJSON.h>
#include <leaseq.h>

/* A client, or a lease and its queue, under a name. */
typedef struct {
    char *name, *queue;
    void *handle;
} Place;

/* A request while it is served. */
typedef struct {
    cJSON *request;
    Place *client;
    leaseq_queue *queue;
    leaseq_error *error;
} Call;

/* The lease of this name. */
leaseq_lease *held(const char *name);
/* Gives a lease, or NULL, a name, and tells it. */
cJSON *keep(const char *name, leaseq_lease *lease, const char *queue);
/* The same for many: NAME/0, NAME/1, and so on. */
cJSON *keep_all(const char *name, leaseq_lease **leases, size_t count, const char *queue);

/* Do an operation on the queue: the answer, or NULL for null; or the error is set. */
cJSON *operate(Call *call, const char *op);
cJSON *add(Call *call, const char *op);
cJSON *lease(Call *call, const char *op);
cJSON *settle(Call *call, const char *op);
cJSON *both(Call *call, const char *op);

/* What a request says by this name: NULL, or a number instead, if it says nothing. */
const char *text(const cJSON *request, const char *name);
int64_t number(const cJSON *request, const char *name, int64_t otherwise);

/* The bytes that these digits are. They take the place of the digits: can be asked once. */
leaseq_bytes bytes(cJSON *digits);

/* Options as the request has them, to be freed; NULL if one of them is refused. */
leaseq_item_options *item_options(const cJSON *request, leaseq_error **error);
leaseq_lease_options *lease_options(const cJSON *request, leaseq_error **error);

/* NONE for a word that is no state. */
leaseq_state state_of(const char *word);

/* Answers; what is NULL gives null. */
cJSON *say_number(int64_t value);
cJSON *say_bools(const bool *values, size_t count);
cJSON *say_names(const leaseq_names *names);
cJSON *say_lease(const leaseq_lease *lease, const char *queue);
cJSON *say_item(const leaseq_item_info *item);
cJSON *say_page(const leaseq_page *page);
cJSON *say_counts(const leaseq_counts *counts);
cJSON *say_light_report(const leaseq_light_report *report);
cJSON *say_report(const leaseq_report *report);
cJSON *say_error(const leaseq_error *error);

#endif
