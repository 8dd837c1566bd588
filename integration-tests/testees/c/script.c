/* The handler of the scenarios: it does what the arguments of its job say. */
#include "jobs.h"

#include <string.h>

#define ON_PURPOSE "on purpose"

/* Does the steps. The values of the last one live as long as `kept`. */
static End do_steps(Run *run, cJSON **kept) {
    cJSON *next;
    while ((next = cJSON_DetachItemFromArray(run->steps, 0)) != NULL) {
        bool named = cJSON_IsObject(next);
        const char *name = named ? next->child->string : cJSON_GetStringValue(next);
        End end = step(run, name, named ? next->child : NULL);
        cJSON_Delete(*kept);
        *kept = next;
        if (end.how != GOES_ON) return end;
    }
    return (End){.how = DONE};
}

static int32_t report(leaseq_task *task, End end) {
    int64_t ms = cJSON_IsNumber(end.value) ? (int64_t)end.value->valuedouble : 0;
    const char *classes[8] = {cJSON_GetStringValue(end.value)};
    char *text = NULL;
    size_t count = 1;
    switch (end.how) {
    case DONE:
        text =
            cJSON_IsNull(end.value) || end.value == NULL ? NULL : cJSON_PrintUnformatted(end.value);
        leaseq_task_complete(task, text, text == NULL ? 0 : strlen(text), NULL, NULL);
        cJSON_free(text);
        return 0;
    case RAISES:
        if (cJSON_IsArray(end.value)) {
            const cJSON *one;
            count = 0;
            cJSON_ArrayForEach(one, end.value) classes[count++] = one->valuestring;
        }
        leaseq_task_fail_classes(task, classes, count, ON_PURPOSE, LEASEQ_POLICY_RETRY, 0, NULL,
                                 NULL);
        return 0;
    case HAS_POLICY:
        leaseq_task_fail(task, "Policy", ON_PURPOSE, end.policy, ms, NULL, NULL);
        return 0;
    case SNOOZES:
        leaseq_task_snooze(task, ms, NULL, NULL);
        return 0;
    case STOPS:
        leaseq_task_stopped(task, NULL, NULL);
        return 0;
    default:
        return 1;
    }
}

int32_t run_script(leaseq_task *task, void *context) {
    const Script *script = context;
    Run run = {.task = task, .notes = script->notes};
    memcpy(run.id, leaseq_task_id(task), leaseq_task_id_len(task));
    cJSON *args = cJSON_Parse(leaseq_task_args(task)), *kept = NULL, *name;
    cJSON *steps = cJSON_DetachItemFromObject(args, "steps");
    bool fits = cJSON_IsArray(steps) && cJSON_GetArraySize(args) == 0;
    cJSON_Delete(args);
    if (!fits) {
        cJSON_Delete(steps);
        leaseq_task_refuse_args(task, "not steps", NULL, NULL);
        return 0;
    }
    /* A program in C calls one function around another. */
    cJSON_ArrayForEach(name, script->middleware)
        note(run.notes, false, "%s %s before", run.id, name->valuestring);
    int number = count_run(run.notes, run.id), last = cJSON_GetArraySize(steps) - 1;
    note(run.notes, false, "%s start %u", run.id, leaseq_task_attempt(task));
    run.steps = steps;
    /* Of several lists each is for one run, and the last one for all later runs. */
    if (cJSON_IsArray(cJSON_GetArrayItem(steps, 0))) {
        run.steps = cJSON_DetachItemFromArray(steps, number < last ? number : last);
        cJSON_Delete(steps);
    }
    End end = do_steps(&run, &kept);
    note(run.notes, true, "%s end", run.id);
    for (int i = cJSON_GetArraySize(script->middleware); i-- > 0;)
        note(run.notes, false, "%s %s after", run.id,
             cJSON_GetArrayItem(script->middleware, i)->valuestring);
    int32_t returned = report(task, end);
    cJSON_Delete(run.steps);
    cJSON_Delete(kept);
    return returned;
}
