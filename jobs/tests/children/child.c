/* A child process of a worker in C: what docs/child-protocol.md describes. Its one job,
 * `test.steps`, has the steps `return`, `raise`, `exit`, `abort`, `segfault`, `block` and
 * `until_cancelled`. */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int worker;

static void write_all(const void *data, size_t size) {
    const char *next = data;
    while (size > 0) {
        ssize_t written = write(worker, next, size);
        if (written <= 0) _exit(1);
        next += written;
        size -= (size_t)written;
    }
}

static void send_text(const char *json) {
    uint32_t head = htonl((uint32_t)strlen(json));
    write_all(&head, sizeof head);
    write_all(json, strlen(json));
}

/* Sends and frees a message. */
static void send_message(cJSON *message) {
    char *json = cJSON_PrintUnformatted(message);
    if (!json) _exit(1);
    send_text(json);
    free(json);
    cJSON_Delete(message);
}

static cJSON *message_about(const char *type, double task) {
    cJSON *message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "type", type);
    cJSON_AddNumberToObject(message, "task", task);
    return message;
}

static int read_all(void *data, size_t size) {
    char *next = data;
    while (size > 0) {
        ssize_t got = read(worker, next, size);
        if (got <= 0) return 0;
        next += got;
        size -= (size_t)got;
    }
    return 1;
}

/* The next message; NULL at the end. */
static cJSON *receive(void) {
    uint32_t head;
    if (!read_all(&head, sizeof head)) return NULL;
    size_t size = ntohl(head);
    char *json = malloc(size + 1);
    if (!json || !read_all(json, size)) _exit(1);
    json[size] = '\0';
    cJSON *message = cJSON_Parse(json);
    free(json);
    return message;
}

static const char *type_of(const cJSON *message) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(message, "type"));
    return type ? type : "";
}

static void wait_for_cancel(void) {
    for (;;) {
        cJSON *message = receive();
        if (!message) _exit(1);
        int is_cancel = strcmp(type_of(message), "cancel") == 0;
        cJSON_Delete(message);
        if (is_cancel) return;
    }
}

static void run(const cJSON *job) {
    double task = cJSON_GetNumberValue(cJSON_GetObjectItem(job, "task"));
    send_message(message_about("started", task));
    const cJSON *steps = cJSON_GetObjectItem(cJSON_GetObjectItem(job, "args"), "steps");
    const cJSON *step;
    cJSON *answer = message_about("done", task);
    cJSON_ArrayForEach(step, steps) {
        const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(step, 0));
        const cJSON *value = cJSON_GetArrayItem(step, 1);
        if (strcmp(name, "return") == 0) {
            cJSON_AddItemToObject(answer, "result", cJSON_Duplicate(value, 1));
        } else if (strcmp(name, "raise") == 0) {
            cJSON_Delete(answer);
            answer = message_about("failed", task);
            cJSON_AddItemToArray(cJSON_AddArrayToObject(answer, "classes"),
                                 cJSON_Duplicate(value, 1));
            cJSON_AddStringToObject(answer, "message",
                                    cJSON_GetStringValue(cJSON_GetArrayItem(step, 2)));
        } else if (strcmp(name, "exit") == 0) {
            _exit((int)cJSON_GetNumberValue(value));
        } else if (strcmp(name, "abort") == 0) {
            abort();
        } else if (strcmp(name, "segfault") == 0) {
            raise(SIGSEGV);
        } else if (strcmp(name, "block") == 0) {
            for (;;) pause();
        } else if (strcmp(name, "until_cancelled") == 0) {
            wait_for_cancel();
        }
    }
    send_message(answer);
}

int main(void) {
    /* Out of the way of code that reads its standard input. */
    worker = fcntl(0, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY);
    if (worker < 0 || null < 0 || dup2(null, 0) < 0) return 1;
    close(null);
    /* If the worker has ended before, the connection is closed. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return 1;
    send_text("{\"type\":\"hello\",\"version\":1,"
              "\"jobs\":{\"test.steps\":{\"queue\":\"steps\",\"retry\":{\"max\":1}}}}");
    for (;;) {
        send_text("{\"type\":\"ready\"}");
        cJSON *message = receive();
        while (message && strcmp(type_of(message), "cancel") == 0) {
            cJSON_Delete(message);
            message = receive();
        }
        if (!message || strcmp(type_of(message), "run") != 0) return 0;
        run(message);
        cJSON_Delete(message);
    }
}
