/* The parts of the testee in C. Requests and answers, in JSON: see `testees/README.md`. */
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
/* Gives a lease, or NULL, a name, and answers with it. */
cJSON *keep(const char *name, leaseq_lease *lease, const char *queue);
/* The same for many: NAME/0, NAME/1, and so on. */
cJSON *keep_all(const char *name, leaseq_lease **leases, size_t count, const char *queue);

/* Execute an operation on the queue. Return the answer, or NULL for null, or set the error. */
cJSON *operate(Call *call, const char *op);
cJSON *add(Call *call, const char *op);
cJSON *lease(Call *call, const char *op);
cJSON *settle(Call *call, const char *op);
cJSON *look(Call *call, const char *op);
cJSON *get_many(Call *call, const char *op);
cJSON *outcome(Call *call, const char *op);
cJSON *both(Call *call, const char *op);
cJSON *by_id(Call *call, const char *op);
cJSON *attach(Call *call, const char *op);
cJSON *revise(Call *call, const char *op);
cJSON *create_group(Call *call, const char *op);
cJSON *change_group(Call *call, const char *op);
cJSON *look_at_group(Call *call, const char *op);
cJSON *group_outcome(Call *call, const char *op);
cJSON *group_places(Call *call, const char *op);
cJSON *wait_cancelled(Call *call, const char *op);
cJSON *configure(Call *call, const char *op);
cJSON *settings(Call *call, const char *op);
cJSON *set_key_limits(Call *call, const char *op);
cJSON *get_keys(Call *call, const char *op);
cJSON *pause_or_resume(Call *call, const char *op);
cJSON *put_schedule(Call *call, const char *op);
cJSON *sync_schedules(Call *call, const char *op);
cJSON *history(Call *call, const char *op);
cJSON *events(Call *call, const char *op);
cJSON *schedules(Call *call, const char *op);
cJSON *change_schedule(Call *call, const char *op);

/* The field of a request by this name; NULL, or the given number, if it is missing. */
const char *text(const cJSON *request, const char *name);
int64_t number(const cJSON *request, const char *name, int64_t otherwise);

/* The bytes of these digits. They overwrite the digits, so call this only once. */
leaseq_bytes bytes(cJSON *digits);

/* The options of the request, to be freed; NULL if one of them is refused. */
leaseq_item_options *item_options(const cJSON *request, leaseq_error **error);
leaseq_lease_options *lease_options(const cJSON *request, leaseq_error **error);
leaseq_complete_options *complete_options(const cJSON *request, leaseq_error **error);
/* What the call adds if it ends the items of `count` leases; NULL if nothing. */
/* An item with options of its own, NULL after an error; the caller frees them. */
leaseq_item item_of(const cJSON *fields, leaseq_error **error);
/* The group that an answer has named, to be freed; NULL after an error. */
leaseq_group *group_of(cJSON *fields, leaseq_error **error);
/* The end that fires a follow-up. */
int32_t on_of(const cJSON *fields);
leaseq_items *adds(const cJSON *request, size_t count, leaseq_error **error);
void free_adds(leaseq_items *adds, size_t count);

/* NONE for a word that is no state. */
leaseq_state state_of(const char *word);

/* Add a number to an object; the second writes null for the value that means nothing. */
void put(cJSON *object, const char *name, uint64_t value);
void put_unless(int64_t nothing, cJSON *object, const char *name, int64_t value);

/* Add bytes as hexadecimal digits. */
void put_bytes(cJSON *object, const char *name, const char *data, size_t len);
void put_optional(cJSON *object, const char *name, const char *data, size_t len);

/* Answers; NULL gives null. */
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
