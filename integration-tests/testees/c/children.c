/* Workers whose handlers run in children: the program in `testees/children`. */
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>

/* The jobs and their options, in the words of the protocol. */
static char *declared(const cJSON *request) {
    static const char *const words[][2] = {
        {"max", "max"}, {"base_ms", "base"}, {"cap_ms", "cap"}, {"on", "on"}, {"never", "never"}};
    cJSON *said = cJSON_CreateObject();
    const cJSON *options;
    cJSON_ArrayForEach(options, jobs_of(request)) {
        cJSON *job = cJSON_AddObjectToObject(said, options->string),
              *timeout = cJSON_GetObjectItem(options, "timeout_ms"),
              *retry = cJSON_GetObjectItem(options, "retry");
        cJSON_AddStringToObject(job, "queue", text(request, "queue"));
        if (timeout != NULL)
            cJSON_AddItemToObject(job, "timeout_ms", cJSON_Duplicate(timeout, true));
        cJSON *rules = retry == NULL ? NULL : cJSON_AddObjectToObject(job, "retry");
        for (size_t i = 0; rules != NULL && i < sizeof words / sizeof *words; i++) {
            const cJSON *rule = cJSON_GetObjectItem(retry, words[i][0]);
            if (rule != NULL)
                cJSON_AddItemToObject(rules, words[i][1], cJSON_Duplicate(rule, true));
        }
    }
    char *json = cJSON_PrintUnformatted(said);
    cJSON_Delete(said);
    return json;
}

leaseq_status set_children(leaseq_worker_options *options, const cJSON *request,
                           const Server *server, leaseq_error **error) {
    const cJSON *asked = cJSON_GetObjectItem(request, "children");
    const char *log = text(request, "log");
    bool forks = cJSON_IsTrue(cJSON_GetObjectItem(asked, "fork"));
    bool broken = cJSON_IsTrue(cJSON_GetObjectItem(asked, "broken"));
    char *jobs = declared(request), *set[5] = {NULL};
    /* `env` sets variables for the child only, and becomes its program. */
    if (asprintf(&set[0], "LEASEQ_TESTEE_SOCKET=%s", server->path) < 0 ||
        asprintf(&set[1], "LEASEQ_TESTEE_JOBS=%s", jobs) < 0 ||
        asprintf(&set[2], "LEASEQ_TESTEE_SLOTS=%d", (int)number(request, "slots", 10)) < 0 ||
        asprintf(&set[3], "LEASEQ_TESTEE_LOG%s=%s", log == NULL ? "_NOT" : "",
                 log == NULL ? "" : log) < 0 ||
        asprintf(&set[4], "LEASEQ_TESTEE_NO_STARTS=%s", broken ? server->folder : "") < 0)
        abort();
    const char *args[] = {"PYTHONDONTWRITEBYTECODE=1",
                          set[0],
                          set[1],
                          set[2],
                          set[3],
                          set[4],
                          "python3",
                          CHILD_PROGRAM,
                          "--fork"};
    size_t count = sizeof args / sizeof *args - (forks ? 0 : 1);
    leaseq_status status = leaseq_worker_options_set_children(options, "env", args, count, error);
    if (!status)
        status = leaseq_worker_options_set_children_max_jobs(
            options, (uint64_t)number(asked, "max_jobs", 0), error);
    if (!status)
        status = leaseq_worker_options_set_children_memory(
            options, 0, (uint64_t)number(asked, "memory_limit_mib", 0) << 20, error);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) free(set[i]);
    cJSON_free(jobs);
    return status;
}
