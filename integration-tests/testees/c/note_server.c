/* Children reach the notes by a socket: the program in `testees/children`. */
#include "jobs.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct {
    Notes *notes;
    int socket;
} Connection;

/* The answer to a request; NULL if the child has gone away. */
static cJSON *answer(const Connection *connection, const cJSON *request) {
    const char *what = text(request, "note"), *job = text(request, "run");
    cJSON *steps = NULL;
    if (what != NULL) {
        note(connection->notes, false, "%s", what);
        return cJSON_CreateNull();
    }
    if (job != NULL) return cJSON_CreateNumber(count_run(connection->notes, job));
    while ((steps = told(connection->notes, text(request, "told"))) == NULL) {
        struct pollfd gone = {.fd = connection->socket, .events = POLLIN};
        if (poll(&gone, 1, 5) != 0 || is_forgotten(connection->notes)) break;
    }
    return steps;
}

/* Answers the one request of a connection. */
static void *serve(void *of) {
    Connection *connection = of;
    FILE *stream = fdopen(dup(connection->socket), "r");
    char *line = NULL;
    size_t size = 0;
    if (stream != NULL && getline(&line, &size, stream) > 0) {
        cJSON *request = cJSON_Parse(line), *said = answer(connection, request);
        if (said != NULL) {
            char *json = cJSON_PrintUnformatted(said);
            /* A child may be killed at any time. */
            send(connection->socket, json, strlen(json), MSG_NOSIGNAL);
            send(connection->socket, "\n", 1, MSG_NOSIGNAL);
            cJSON_free(json);
        }
        cJSON_Delete(said);
        cJSON_Delete(request);
    }
    free(line);
    if (stream != NULL) fclose(stream);
    close(connection->socket);
    free(connection);
    return NULL;
}

static void *accept_all(void *of) {
    Server *server = of;
    int socket;
    while ((socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        Connection *connection = malloc(sizeof *connection);
        *connection = (Connection){server->notes, socket};
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, connection) != 0) abort();
        pthread_detach(thread);
    }
    return NULL;
}

Server *serve_notes(Notes *notes) {
    Server *server = calloc(1, sizeof *server);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    server->notes = notes;
    strcpy(server->folder, "/tmp/leaseq-testee-XXXXXX");
    if (mkdtemp(server->folder) == NULL) abort();
    snprintf(server->path, sizeof server->path, "%s/notes", server->folder);
    strcpy(address.sun_path, server->path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 64) != 0 ||
        pthread_create(&server->thread, NULL, accept_all, server) != 0)
        abort();
    return server;
}

void stop_serving(Server **server) {
    if (*server == NULL) return;
    shutdown((*server)->listener, SHUT_RDWR);
    pthread_join((*server)->thread, NULL);
    close((*server)->listener);
    unlink((*server)->path);
    rmdir((*server)->folder);
    free(*server);
    *server = NULL;
}
