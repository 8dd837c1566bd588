/* Dispatch, and the operations for operators. */
#include "testee.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *count(Call *call, const char *op) {
    leaseq_counts counts;
    uint64_t number = 0;
    if (strcmp(op, "counts") == 0) {
        leaseq_queue_counts(call->queue, &counts, sizeof counts, &call->error);
        return say_counts(&counts);
    }
    if (strcmp(op, "queue_len") == 0) {
        leaseq_queue_len(call->queue, &number, &call->error);
    } else {
        leaseq_queue_processing(call->queue, &number, &call->error);
    }
    return say_number((int64_t)number);
}

static cJSON *clean(Call *call, const char *op) {
    leaseq_light_report light;
    leaseq_report *report = NULL;
    if (strcmp(op, "light_clean") == 0) {
        leaseq_queue_light_clean(call->queue, &light, sizeof light, &call->error);
        return say_light_report(&light);
    }
    if (strcmp(op, "deep_clean") == 0) {
        leaseq_queue_deep_clean(call->queue, &report, &call->error);
    } else {
        leaseq_queue_check(call->queue, &report, &call->error);
    }
    cJSON *said = say_report(report);
    leaseq_report_free(&report);
    return said;
}

static cJSON *look(Call *call, const char *op) {
    leaseq_item_info *item = NULL;
    leaseq_page *page = NULL;
    cJSON *said;
    if (strcmp(op, "get") == 0) {
        leaseq_bytes id = bytes(cJSON_GetObjectItem(call->request, "id"));
        leaseq_queue_get(call->queue, id.data, id.len, &item, &call->error);
        said = say_item(item);
        leaseq_item_info_free(&item);
    } else {
        leaseq_state state = state_of(text(call->request, "state"));
        size_t limit = (size_t)number(call->request, "limit", 100);
        leaseq_queue_list(call->queue, state, text(call->request, "cursor"), limit, &page,
                          &call->error);
        said = say_page(page);
        leaseq_page_free(&page);
    }
    return said;
}

static cJSON *get_many(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "ids"), *id = NULL;
    cJSON *said = cJSON_CreateArray();
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_bytes ids[len + 1];
    leaseq_item_info *items[len + 1];
    (void)op;
    cJSON_ArrayForEach(id, list) ids[i++] = bytes(id);
    bool with_data = !cJSON_IsFalse(cJSON_GetObjectItem(call->request, "with_data"));
    leaseq_queue_get_many(call->queue, ids, len, with_data, items, &call->error);
    for (i = 0; i < len; i++) {
        cJSON_AddItemToArray(said, items[i] == NULL ? cJSON_CreateNull() : say_item(items[i]));
        leaseq_item_info_free(&items[i]);
    }
    return said;
}

static cJSON *purge(Call *call, const char *op) {
    uint64_t removed = 0;
    leaseq_state state = state_of(text(call->request, "state"));
    (void)op;
    leaseq_queue_purge(call->queue, state, &removed, &call->error);
    return say_number((int64_t)removed);
}

static cJSON *pause_or_resume(Call *call, const char *op) {
    if (strcmp(op, "pause") == 0) {
        leaseq_queue_pause(call->queue, &call->error);
    } else {
        leaseq_queue_resume(call->queue, &call->error);
    }
    return NULL;
}

static cJSON *drop_queue(Call *call, const char *op) {
    bool dropped = false;
    (void)op;
    leaseq_queue_drop_queue(call->queue, &dropped, &call->error);
    return cJSON_CreateBool(dropped);
}

static const struct {
    const char *op;
    cJSON *(*serve)(Call *call, const char *op);
} operations[] = {
    {"add_item", add},
    {"add_items", add},
    {"lease", lease},
    {"lease_many", lease},
    {"complete", settle},
    {"complete_many", settle},
    {"complete_and_lease", both},
    {"extend", settle},
    {"extend_many", settle},
    {"release", settle},
    {"release_many", settle},
    {"fail", settle},
    {"fail_many", settle},
    {"light_clean", clean},
    {"deep_clean", clean},
    {"check", clean},
    {"queue_len", count},
    {"processing", count},
    {"counts", count},
    {"get", look},
    {"get_many", get_many},
    {"list", look},
    {"remove", by_id},
    {"remove_many", by_id},
    {"requeue", by_id},
    {"bury", by_id},
    {"revise", revise},
    {"revise_many", revise},
    {"purge", purge},
    {"pause", pause_or_resume},
    {"resume", pause_or_resume},
    {"drop_queue", drop_queue},
};

cJSON *operate(Call *call, const char *op) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(op, operations[i].op) == 0) return operations[i].serve(call, op);
    fprintf(stderr, "unknown operation %s\n", op);
    exit(1);
}
