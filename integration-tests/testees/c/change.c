/* Operations that change items in the queue. */
#include "testee.h"

#include <poll.h>
#include <string.h>

/* Operations on ids: one, or many. */
cJSON *by_id(Call *call, const char *op) {
    cJSON *list = cJSON_GetObjectItem(call->request, "ids"), *id = NULL;
    const cJSON *generations = cJSON_GetObjectItem(call->request, "if_generation");
    size_t len = (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_item_ref items[len + 1];
    bool done[len + 1], any = true;
    cJSON_ArrayForEach(id, list) {
        leaseq_bytes given = bytes(id);
        const char *generation = cJSON_GetStringValue(cJSON_GetArrayItem(generations, (int)i));
        items[i++] = (leaseq_item_ref){given.data, given.len, generation};
        any = any && generation == NULL;
    }
    bool cancel = strncmp(op, "cancel", 6) == 0;
    if (strcmp(op, "remove") == 0 || strcmp(op, "cancel_item") == 0) {
        leaseq_bytes given = bytes(cJSON_GetObjectItem(call->request, "id"));
        items[0] = (leaseq_item_ref){given.data, given.len, cJSON_GetStringValue(generations)};
        any = items[0].if_generation == NULL;
        if (cancel && any) {
            leaseq_queue_cancel(call->queue, given.data, given.len, done, &call->error);
        } else if (cancel) {
            leaseq_queue_cancel_many(call->queue, items, 1, done, &call->error);
        } else if (any) {
            leaseq_queue_remove(call->queue, given.data, given.len, done, &call->error);
        } else {
            leaseq_queue_remove_many(call->queue, items, 1, done, &call->error);
        }
        return cJSON_CreateBool(done[0]);
    }
    const char *reason = text(call->request, "error");
    size_t reason_len = reason == NULL ? 0 : strlen(reason);
    bool bury = strcmp(op, "bury") == 0;
    if (cancel) {
        leaseq_queue_cancel_many(call->queue, items, len, done, &call->error);
    } else if (strcmp(op, "remove_many") == 0) {
        leaseq_queue_remove_many(call->queue, items, len, done, &call->error);
    } else if (len == 1 && any && bury) {
        leaseq_queue_bury(call->queue, items[0].id, items[0].id_len, reason, reason_len, done,
                          &call->error);
    } else if (bury) {
        leaseq_queue_bury_many(call->queue, items, len, reason, reason_len, done, &call->error);
    } else if (len == 1 && any) {
        leaseq_queue_requeue(call->queue, items[0].id, items[0].id_len, done, &call->error);
    } else {
        leaseq_queue_requeue_many(call->queue, items, len, done, &call->error);
    }
    return say_bools(done, len);
}

/* Waits until the descriptor of a lease tells that its item is to be cancelled. */
cJSON *wait_cancelled(Call *call, const char *op) {
    leaseq_lease *lease = held(text(call->request, "lease"));
    struct pollfd told = {.fd = -1, .events = POLLIN};
    (void)op;
    if (leaseq_lease_cancelled_fd(lease, &told.fd, &call->error)) return NULL;
    while (poll(&told, 1, -1) < 0) {
    }
    return cJSON_CreateBool(leaseq_lease_is_cancelled(lease));
}

cJSON *attach(Call *call, const char *op) {
    bool one = strcmp(op, "attach") == 0;
    cJSON *list = cJSON_GetObjectItem(call->request, "attachments"), *each = NULL;
    size_t len = one ? 1 : (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_attachment attachments[len + 1];
    leaseq_item items[len + 1];
    bool done[len + 1], valid = true;
    if (one) list = call->request;
    for (each = one ? list : list->child; valid && i < len; each = each->next, i++) {
        leaseq_bytes id = bytes(cJSON_GetObjectItem(each, "id"));
        items[i] = item_of(cJSON_GetObjectItem(each, "item"), &call->error);
        valid = items[i].options != NULL;
        attachments[i] = (leaseq_attachment){
            .to = {id.data, id.len, text(each, "if_generation")},
            .item = &items[i],
            .on = on_of(each),
            .with_trigger = cJSON_IsTrue(cJSON_GetObjectItem(each, "with_trigger")),
        };
    }
    if (valid && one) {
        leaseq_queue_attach(call->queue, attachments, done, &call->error);
    } else if (valid) {
        leaseq_queue_attach_many(call->queue, attachments, len, done, &call->error);
    }
    for (size_t j = 0; j < i; j++) {
        leaseq_item_options *options = (leaseq_item_options *)items[j].options;
        leaseq_item_options_free(&options);
    }
    if (!valid) return NULL;
    return one ? cJSON_CreateBool(done[0]) : say_bools(done, len);
}

cJSON *revise(Call *call, const char *op) {
    bool one = strcmp(op, "revise") == 0;
    cJSON *list = cJSON_GetObjectItem(call->request, "revisions"), *each = NULL;
    size_t len = one ? 1 : (size_t)cJSON_GetArraySize(list), i = 0;
    leaseq_revision revisions[len + 1];
    leaseq_item_options *options[len + 1];
    bool done[len + 1], valid = true;
    if (one) list = call->request;
    for (each = one ? list : list->child; i < len; each = each->next, i++) {
        leaseq_bytes data = bytes(cJSON_GetObjectItem(each, "data"));
        options[i] = item_options(each, &call->error);
        valid = valid && options[i] != NULL;
        revisions[i] = (leaseq_revision){.data = data.data,
                                         .data_len = data.len,
                                         .if_generation = text(each, "if_generation"),
                                         .options = options[i]};
        if (!valid) break;
    }
    if (valid && one) {
        leaseq_queue_revise(call->queue, revisions, done, &call->error);
    } else if (valid) {
        leaseq_queue_revise_many(call->queue, revisions, len, done, &call->error);
    }
    for (size_t j = 0; j < i; j++) leaseq_item_options_free(&options[j]);
    if (!valid) return NULL;
    return one ? cJSON_CreateBool(done[0]) : say_bools(done, len);
}
