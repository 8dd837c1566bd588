/* Dispatch, and the operations for operators. */
#include "jobs.h"

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

static cJSON *purge(Call *call, const char *op) {
    uint64_t removed = 0;
    leaseq_state state = state_of(text(call->request, "state"));
    (void)op;
    leaseq_queue_purge(call->queue, state, &removed, &call->error);
    return say_number((int64_t)removed);
}

static cJSON *drop_queue(Call *call, const char *op) {
    bool dropped = false;
    (void)op;
    leaseq_queue_drop_queue(call->queue, false, &dropped, &call->error);
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
    {"set_progress", settle},
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
    {"outcome", outcome},
    {"outcome_many", outcome},
    {"list", look},
    {"remove", by_id},
    {"remove_many", by_id},
    {"requeue", by_id},
    {"bury", by_id},
    {"cancel_item", by_id},
    {"cancel_many", by_id},
    {"attach", attach},
    {"attach_many", attach},
    {"wait_cancelled", wait_cancelled},
    {"create_group", create_group},
    {"seal_group", change_group},
    {"cancel_group", change_group},
    {"remove_group", change_group},
    {"group", look_at_group},
    {"group_outcome", group_outcome},
    {"group_places", group_places},
    {"revise", revise},
    {"revise_many", revise},
    {"put_schedule", put_schedule},
    {"sync_schedules", sync_schedules},
    {"record_history", history},
    {"history", history},
    {"events", events},
    {"schedules", schedules},
    {"remove_schedule", change_schedule},
    {"pause_schedule", change_schedule},
    {"resume_schedule", change_schedule},
    {"run_now", change_schedule},
    {"purge", purge},
    {"configure", configure},
    {"settings", settings},
    {"set_key_limits", set_key_limits},
    {"get_keys", get_keys},
    {"pause", pause_or_resume},
    {"resume", pause_or_resume},
    {"drop_queue", drop_queue},
    {"enqueue", enqueue},
    {"result", result},
    {"start_worker", work_on_jobs},
    {"end_worker", work_on_jobs},
    {"worker_exit", work_on_jobs},
    {"tell", work_on_jobs},
    {"seen", work_on_jobs},
};

cJSON *operate(Call *call, const char *op) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(op, operations[i].op) == 0) return operations[i].serve(call, op);
    fprintf(stderr, "unknown operation %s\n", op);
    exit(1);
}
