/* Servers for the benchmark, on free loopback ports. */
#include "bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MOST = 4 };

static pid_t servers[MOST];
static int started;

void stop_servers(void) {
    while (started > 0) {
        pid_t server = servers[--started];
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
}

void fail(const char *why) {
    fprintf(stderr, "bench: %s\n", why);
    stop_servers();
    _exit(1);
}

bool can_run(const char *program) {
    char paths[4096], file[4352];
    const char *all = getenv("PATH");
    snprintf(paths, sizeof paths, "%s", all == NULL ? "" : all);
    char *rest = paths;
    for (char *path; (path = strsep(&rest, ":")) != NULL;) {
        snprintf(file, sizeof file, "%s/%s", path, program);
        if (access(file, X_OK) == 0) return true;
    }
    return false;
}

void start_server(char *const *arguments) {
    pid_t parent = getpid(), server = fork();
    if (server < 0 || started == MOST) fail("cannot start a server");
    if (server == 0) {
        /* The server must not outlive the benchmark. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) execvp(arguments[0], arguments);
        fprintf(stderr, "bench: cannot run %s; `make setup` installs it\n", arguments[0]);
        _exit(127);
    }
    servers[started++] = server;
}

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int free_port(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0 || bind(probe, (struct sockaddr *)&address, size) != 0 ||
        getsockname(probe, (struct sockaddr *)&address, &size) != 0) {
        fail("no free port");
    }
    close(probe);
    return ntohs(address.sin_port);
}

int connect_to(int port) {
    struct sockaddr_in address = loopback(port);
    for (int tries = 0; tries < 1000; tries++) {
        int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
        if (connection < 0) break;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) {
            return connection;
        }
        close(connection);
        poll(NULL, 0, 10);
    }
    fail("a server does not start");
}
