/* The steps of a handler of the scenarios. */
#include "jobs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5 };

static const char *reason(leaseq_task *task) {
    static const char *const words[] = {"", "user", "timeout", "shutdown", "lost"};
    return words[leaseq_task_cancel_reason(task)];
}

/* Waits for a moment, or until the task is to stop. */
static void pause_a_moment(Run *run) {
    int fd = -1;
    if (leaseq_task_cancelled_fd(run->task, &fd, NULL) != LEASEQ_OK) abort();
    bool told = leaseq_task_cancel_reason(run->task) != LEASEQ_CANCEL_NONE;
    struct pollfd cancelled = {.fd = told ? -1 : fd, .events = POLLIN};
    poll(&cancelled, 1, LOOK_MS);
    run->given_up = is_forgotten(run->notes);
}

static End stopped(Run *run) {
    note(run->notes, false, "%s cancelled %s", run->id, reason(run->task));
    return (End){.how = STOPS};
}

/* Goes on with what the job is told; or ends if it is to stop, unless it ignores that. */
static End wait_told(Run *run, bool ignores) {
    cJSON *next;
    while ((next = told(run->notes, run->id)) == NULL) {
        if (run->given_up) return (End){.how = STOPS};
        if (!ignores && leaseq_task_cancel_reason(run->task) != LEASEQ_CANCEL_NONE)
            return stopped(run);
        pause_a_moment(run);
    }
    cJSON *rest = run->steps, *step;
    run->steps = next;
    while ((step = cJSON_DetachItemFromArray(rest, 0)) != NULL) cJSON_AddItemToArray(next, step);
    cJSON_Delete(rest);
    return (End){.how = GOES_ON};
}

End step(Run *run, const char *name, const cJSON *value) {
    leaseq_task *task = run->task;
    int64_t n = cJSON_IsNumber(value) ? (int64_t)value->valuedouble : 0;
    const char *words = cJSON_GetStringValue(value);
    End on = {.how = GOES_ON};
    if (strcmp(name, "return") == 0) return (End){.how = DONE, .value = value};
    if (strcmp(name, "raise") == 0) return (End){.how = RAISES, .value = value};
    if (strcmp(name, "panic") == 0) return (End){.how = PANICS};
    if (strcmp(name, "snooze_ms") == 0) return (End){.how = SNOOZES, .value = value};
    if (strcmp(name, "discard") == 0) return (End){HAS_POLICY, NULL, LEASEQ_POLICY_DISCARD};
    if (strcmp(name, "bury") == 0) return (End){HAS_POLICY, NULL, LEASEQ_POLICY_BURY};
    if (strcmp(name, "retry_after_ms") == 0)
        return (End){HAS_POLICY, value, LEASEQ_POLICY_RETRY_AFTER};
    if (strcmp(name, "wait") == 0) return wait_told(run, false);
    if (strcmp(name, "ignore") == 0) return wait_told(run, true);
    if (strcmp(name, "say") == 0) {
        note(run->notes, false, "%s %s", run->id, words);
    } else if (strcmp(name, "progress") == 0) {
        leaseq_task_progress(task, words, strlen(words), NULL);
    } else if (strcmp(name, "more_time_ms") == 0) {
        leaseq_task_more_time(task, n, NULL);
    } else if (strcmp(name, "meta") == 0) {
        char meta[256];
        leaseq_task_meta(task, words, meta, sizeof meta, NULL, NULL);
        note(run->notes, false, "%s %s=%s", run->id, words, meta);
    } else if (strcmp(name, "previous") == 0) {
        const char *id = leaseq_task_previous_id(task), *result = leaseq_task_previous(task);
        note(run->notes, false, "%s previous %.*s %s", run->id,
             (int)leaseq_task_previous_id_len(task), id == NULL ? "" : id,
             result == NULL ? "null" : result);
    } else if (strcmp(name, "sleep_ms") == 0) {
        for (; n > 0; n -= LOOK_MS) {
            if (leaseq_task_cancel_reason(task) != LEASEQ_CANCEL_NONE) return stopped(run);
            pause_a_moment(run);
        }
    } else if (strcmp(name, "block_ms") == 0) {
        poll(NULL, 0, (int)n);
    } else if (strcmp(name, "skip_from") == 0) {
        if (leaseq_task_attempt(task) >= n) cJSON_DeleteItemFromArray(run->steps, 0);
    } else if (strcmp(name, "cancelled") == 0) {
        while (leaseq_task_cancel_reason(task) == LEASEQ_CANCEL_NONE && !run->given_up)
            pause_a_moment(run);
        note(run->notes, false, "%s cancelled %s", run->id, reason(task));
    } else {
        fprintf(stderr, "unknown step %s\n", name);
        abort();
    }
    return on;
}
