/* The worker of the demo that runs jobs, in C. `src/demo/worker.rs` describes its input,
 * `src/demo/jobs.rs` the jobs. */
#include "sha256.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <leaseq.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static leaseq_error *error;
static int results;

static void ok(leaseq_status status) {
    if (status != LEASEQ_OK) {
        fprintf(stderr, "demo_handler: %s\n", leaseq_error_message(error));
        exit(1);
    }
}

/* Appends a line of JSON about a file, in one write. */
static void note(const char *path, const char *key, cJSON *value) {
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "id", path);
    cJSON_AddItemToObject(line, key, value);
    char *text = cJSON_PrintUnformatted(line);
    size_t len = strlen(text);
    text[len] = '\n';
    if (write(results, text, len + 1) != (ssize_t)len + 1) {
        perror("demo_handler: the results");
        exit(1);
    }
    cJSON_free(text);
    cJSON_Delete(line);
}

/* The SHA-256 of a file of the project. Returns false if it cannot be read. */
static bool digest(const char *path, char *hex) {
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", ROOT, path);
    FILE *file = fopen(full, "rb");
    if (file == NULL) return false;
    char *data = NULL;
    size_t len = 0, size = 0, more;
    do {
        size = 2 * size + 65536;
        data = realloc(data, size);
        more = fread(data + len, 1, size - len, file);
        len += more;
    } while (len == size);
    fclose(file);
    sha256_hex(data, len, hex);
    free(data);
    return true;
}

static int32_t run(leaseq_task *task, void *context) {
    (void)context;
    if (strcmp(leaseq_task_name(task), "demo.tally") == 0) return 0;
    cJSON *args = cJSON_Parse(leaseq_task_args(task));
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(args, "path"));
    const cJSON *failures = cJSON_GetObjectItem(args, "failures");
    char hex[65];
    leaseq_settled settled;
    if (path == NULL || !cJSON_IsNumber(failures)) {
        leaseq_task_refuse_args(task, "a path and a number of failures", NULL, NULL);
    } else if ((int)leaseq_task_attempt(task) <= failures->valueint) {
        leaseq_task_fail(task, "Flaky", "on purpose", LEASEQ_POLICY_RETRY, 0, NULL, NULL);
    } else if (!digest(path, hex)) {
        leaseq_task_fail(task, "FileError", path, LEASEQ_POLICY_RETRY, 0, NULL, NULL);
    } else {
        note(path, "sha256", cJSON_CreateString(hex));
        if (leaseq_task_complete(task, NULL, 0, &settled, NULL) == LEASEQ_OK &&
            settled == LEASEQ_SETTLED_COMPLETED)
            note(path, "completed", cJSON_CreateTrue());
    }
    cJSON_Delete(args);
    return 0;
}

static void *run_worker(void *worker) {
    leaseq_error *failed = NULL;
    if (leaseq_worker_run(worker, run, NULL, &failed) != LEASEQ_OK) {
        fprintf(stderr, "demo_handler: %s\n", leaseq_error_message(failed));
        exit(1);
    }
    return NULL;
}

/* The next line of the input, `quit` at its end. */
static const char *next_order(void) {
    static char line[64];
    if (fgets(line, sizeof line, stdin) == NULL) return "quit";
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* Works until the next line. */
static const char *go(leaseq_client *client, const leaseq_worker_options *options) {
    leaseq_worker *worker = NULL;
    pthread_t thread;
    ok(leaseq_worker_start(client, options, &worker, &error));
    if (pthread_create(&thread, NULL, run_worker, worker) != 0) exit(1);
    const char *order = next_order();
    ok(leaseq_worker_drain(worker, 25000, &error));
    pthread_join(thread, NULL);
    leaseq_worker_free(&worker);
    return order;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: demo_handler QUEUE RESULTS LEASE_MS BATCH\n");
        return 1;
    }
    char queue[256];
    snprintf(queue, sizeof queue, "%s.jobs", argv[1]);
    results = open(argv[2], O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666);
    leaseq_client *client = NULL;
    leaseq_worker_options *options = NULL;
    ok(leaseq_connect(NULL, &client, &error));
    ok(leaseq_worker_options_new(&options, &error));
    ok(leaseq_worker_options_add_queue(options, queue, 1, &error));
    ok(leaseq_worker_options_set_slots(options, (uint32_t)atoi(argv[4]), &error));
    ok(leaseq_worker_options_add_job(options, "demo.tally", &error));
    ok(leaseq_worker_options_add_job(options, "demo.digest", &error));
    ok(leaseq_worker_options_set_job_retry(options, "demo.digest", 3, 100, 600000, &error));
    const char *order = "rest";
    while (strcmp(order, "quit") != 0) {
        if (strcmp(order, "go") == 0) {
            order = go(client, options);
        } else {
            printf("resting\n");
            fflush(stdout);
            order = next_order();
        }
    }
    leaseq_worker_options_free(&options);
    ok(leaseq_client_close(client, &error));
    leaseq_client_free(&client);
    close(results);
    return 0;
}
