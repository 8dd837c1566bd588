/* The operations of producers and workers: adding, leasing, and settling leases. */
#include "testee.h"

#include <string.h>

cJSON *add(Call *call, const char *op) {
    bool many = strcmp(op, "add_items") == 0;
    cJSON *list = many ? cJSON_GetObjectItem(call->request, "items") : NULL;
    size_t count = many ? (size_t)cJSON_GetArraySize(list) : 1, read = 0;
    leaseq_item items[count + 1];
    leaseq_item_options *options[count + 1];
    bool added[count + 1];
    cJSON *next = many ? list->child : call->request;
    for (; read < count; read++, next = next->next) {
        leaseq_bytes data = bytes(cJSON_GetObjectItem(next, "data"));
        options[read] = item_options(next, &call->error);
        if (options[read] == NULL) break;
        items[read] = (leaseq_item){data.data, data.len, NULL, 0, options[read]};
    }
    if (call->error == NULL && many) {
        leaseq_queue_add_items(call->queue, items, count, added, &call->error);
    } else if (call->error == NULL) {
        leaseq_queue_add_item(call->queue, items->data, items->data_len, options[0], added,
                              &call->error);
    }
    for (size_t i = 0; i < read; i++) leaseq_item_options_free(&options[i]);
    if (call->error != NULL) return NULL;
    return many ? say_bools(added, count) : cJSON_CreateBool(added[0]);
}

cJSON *lease(Call *call, const char *op) {
    bool many = strcmp(op, "lease_many") == 0;
    const char *name = text(call->request, "as"), *queue = leaseq_queue_name(call->queue);
    int64_t duration = number(call->request, "duration_ms", 0),
            wait = number(call->request, "wait_ms", LEASEQ_WAIT_FOREVER);
    leaseq_lease_options *options = lease_options(call->request, &call->error);
    if (options == NULL) return NULL;
    size_t count = many ? (size_t)number(call->request, "count", 0) : 1;
    leaseq_lease *got[count + 1];
    got[0] = NULL;
    if (many) {
        leaseq_queue_lease_many(call->queue, duration, wait, options, got, count, &count,
                                &call->error);
    } else {
        leaseq_queue_lease_with(call->queue, duration, wait, options, got, &call->error);
    }
    leaseq_lease_options_free(&options);
    if (!many) return keep(name == NULL ? "" : name, got[0], queue);
    return keep_all(name, got, count, queue);
}

/* The answer for many: for each lease its value, or the error for a lost lease. */
static cJSON *say_each(const leaseq_status *statuses, size_t count, cJSON *(*say)(size_t, void *),
                       void *values) {
    cJSON *said = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *one = statuses[i] == LEASEQ_OK ? say(i, values) : cJSON_CreateObject();
        if (statuses[i] != LEASEQ_OK)
            cJSON_AddStringToObject(one, "fails", leaseq_status_name(statuses[i]));
        cJSON_AddItemToArray(said, one);
    }
    return said;
}

static cJSON *say_deadline(size_t i, void *all) { return say_number(((int64_t *)all)[i]); }

static cJSON *say_null(size_t i, void *all) {
    (void)i, (void)all;
    return cJSON_CreateNull();
}

static cJSON *say_state(size_t i, void *all) {
    return cJSON_CreateString(leaseq_state_name(((leaseq_state *)all)[i]));
}

cJSON *settle(Call *call, const char *op) {
    const cJSON *names = cJSON_GetObjectItem(call->request, "leases"), *name = NULL;
    const char *lone = text(call->request, "lease"), *why = text(call->request, "error"),
               *reason = text(call->request, "reason");
    size_t reason_len = reason == NULL ? 0 : strlen(reason);
    bool dead = cJSON_IsTrue(cJSON_GetObjectItem(call->request, "dead"));
    size_t count = lone != NULL ? 1 : (size_t)cJSON_GetArraySize(names), i = 0;
    int64_t duration = number(call->request, "duration_ms", 0);
    int64_t delay = number(call->request, "delay_ms", 0), deadlines[count + 1];
    leaseq_bytes texts[count + 1];
    leaseq_lease *all[count + 1];
    leaseq_status statuses[count + 1];
    leaseq_state states[count + 1];
    if (lone != NULL) all[0] = held(lone);
    cJSON_ArrayForEach(name, names) all[i++] = held(name->valuestring);
    for (i = 0; i <= count; i++) {
        texts[i] = (leaseq_bytes){why, why == NULL ? 0 : strlen(why)};
        statuses[i] = LEASEQ_OK;
    }
    const leaseq_queue *queue = call->queue;
    leaseq_error **error = &call->error;
    if (strcmp(op, "extend") == 0) {
        leaseq_queue_extend(queue, all[0], duration, deadlines, error);
        return say_number(deadlines[0]);
    }
    if (strcmp(op, "extend_many") == 0) {
        leaseq_queue_extend_many(queue, all, count, duration, statuses, deadlines, error);
        return say_each(statuses, count, say_deadline, deadlines);
    }
    if (strcmp(op, "set_progress") == 0) {
        leaseq_bytes progress = bytes(cJSON_GetObjectItem(call->request, "progress"));
        leaseq_queue_set_progress(queue, all[0], progress.data, progress.len, error);
        return NULL;
    }
    if (strcmp(op, "release") == 0) {
        leaseq_queue_release(queue, all[0], delay, reason, reason_len, error);
        return NULL;
    }
    if (strcmp(op, "release_many") == 0) {
        leaseq_queue_release_many(queue, all, count, delay, reason, reason_len, statuses, error);
        return say_each(statuses, count, say_null, NULL);
    }
    if (strcmp(op, "fail") == 0 && cJSON_GetObjectItem(call->request, "add") == NULL) {
        leaseq_queue_fail(queue, all[0], why, texts[0].len, delay, dead, states, error);
        return say_state(0, states);
    }
    if (strncmp(op, "fail", 4) == 0) {
        leaseq_items *added = adds(call->request, count, error);
        if (*error == NULL)
            leaseq_queue_fail_many(queue, all, texts, added, count, delay, dead, statuses, states,
                                   error);
        free_adds(added, count);
        return lone != NULL ? say_state(0, states) : say_each(statuses, count, say_state, states);
    }
    bool done[count + 1];
    leaseq_complete_options *options = complete_options(call->request, error);
    if (options == NULL) return NULL;
    if (lone != NULL) {
        leaseq_queue_complete_with(queue, all[0], options, done, error);
    } else {
        leaseq_queue_complete_many(queue, all, count, options, done, error);
    }
    leaseq_complete_options_free(&options);
    return lone != NULL ? cJSON_CreateBool(done[0]) : say_bools(done, count);
}
