/* Operations that read items. */
#include "testee.h"

#include <string.h>

/* NULL after an error. */
static leaseq_list_options *listing(Call *call) {
    cJSON *request = call->request;
    leaseq_list_options *options = NULL;
    leaseq_bytes prefix = bytes(cJSON_GetObjectItem(request, "id_prefix"));
    leaseq_bytes data = bytes(cJSON_GetObjectItem(request, "data_contains"));
    const char *part = text(request, "error_contains");
    bool with_data = !cJSON_IsFalse(cJSON_GetObjectItem(request, "with_data"));
    leaseq_error **error = &call->error;
    leaseq_status done = leaseq_list_options_new(&options, error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_limit(options, (size_t)number(request, "limit", 100), error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_reverse(
            options, cJSON_IsTrue(cJSON_GetObjectItem(request, "reverse")), error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_since_ms(options, number(request, "since_ms", -1), error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_until_ms(options, number(request, "until_ms", -1), error);
    if (done == LEASEQ_OK) done = leaseq_list_options_set_data(options, with_data, error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_id_prefix(options, prefix.data, prefix.len, error);
    if (done == LEASEQ_OK)
        done = leaseq_list_options_set_data_contains(options, data.data, data.len, error);
    if (done == LEASEQ_OK && part != NULL)
        done = leaseq_list_options_set_error_contains(options, part, error);
    if (done != LEASEQ_OK) leaseq_list_options_free(&options);
    return options;
}

cJSON *look(Call *call, const char *op) {
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
        leaseq_list_options *options = listing(call);
        if (options != NULL)
            leaseq_queue_list_with(call->queue, state, text(call->request, "cursor"), options,
                                   &page, &call->error);
        said = say_page(page);
        leaseq_page_free(&page);
        leaseq_list_options_free(&options);
    }
    return said;
}

cJSON *get_many(Call *call, const char *op) {
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
