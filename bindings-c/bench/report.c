/* Prints the figures as a table, and writes them as JSON like all benchmarks of this project. */
#include "bench.h"

#include <sys/utsname.h>

Report report_new(bool quick, bool peers) { return (Report){.quick = quick, .peers = peers}; }

static Line *next(Report *report) { return &report->lines[report->count++]; }

void report_rate(Report *report, const Side *side, const char *what, double rate, const char *why) {
    Line *line = next(report);
    *line = (Line){.figure = rate, .unit = "items/s", .why = why};
    line->server = side->server;
    line->batch = side->batch;
    line->target = side->target;
    snprintf(line->what, sizeof line->what, "%s: %s", side->name, what);
}

void report_ratio(Report *report, const Side *side, const char *peer, const char *what,
                  double ratio, double at_least) {
    Line *line = next(report);
    *line = (Line){.figure = ratio, .unit = "\xc3\x97", .at_least = at_least};
    line->batch = side->batch;
    line->target = side->target;
    snprintf(line->what, sizeof line->what, "%s / %s: %s", side->name, peer, what);
}

static void machine(const Report *report, char *text, size_t size) {
    struct utsname name;
    uname(&name);
    snprintf(text, size,
             "linux %s, %ld cores; redis-server%s on loopback, no persistence; data of %d bytes; "
             "one thread, one connection",
             name.machine, sysconf(_SC_NPROCESSORS_ONLN), report->peers ? " and beanstalkd" : "",
             DATA);
}

void report_print(const Report *report) {
    char where[256];
    machine(report, where, sizeof where);
    printf("%s\n", where);
    if (report->quick) {
        printf("--quick: one small round, to see that it works; the figures mean nothing\n");
    }
    for (int i = 0; i < report->count; i++) {
        const Line *line = &report->lines[i];
        if (line->why != NULL) {
            printf("  %-50s %12s %-8s %s\n", line->what, "none", "", line->why);
            continue;
        }
        const char *held = line->figure >= line->at_least ? "ok" : "MISSED";
        printf("  %-50s %12.*f %-8s", line->what, line->figure < 100 ? 2 : 0, line->figure,
               line->unit);
        if (line->at_least > 0) printf(" >= %.2f  %s", line->at_least, held);
        printf("\n");
    }
}

void report_write(const Report *report, const char *path) {
    char where[256];
    machine(report, where, sizeof where);
    FILE *file = fopen(path, "w");
    if (file == NULL) fail("cannot write the figures");
    fprintf(file, "{\n  \"machine\": \"%s\",\n  \"quick\": %s,\n  \"figures\": [", where,
            report->quick ? "true" : "false");
    for (int i = 0; i < report->count; i++) {
        const Line *line = &report->lines[i];
        fprintf(file, "%s\n    { \"target\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", ",
                i ? "," : "", line->target, line->what, line->unit);
        fprintf(file, "\"server\": \"%s\", \"persistence\": \"none\", \"data\": %d, ",
                line->server == NULL ? "both" : line->server, DATA);
        fprintf(file, "\"concurrency\": \"batches of %d\", ", line->batch);
        fprintf(file, "\"note\": \"%s\", ", line->why == NULL ? "" : line->why);
        if (line->why != NULL) {
            fprintf(file, "\"figure\": null, ");
        } else {
            fprintf(file, "\"figure\": %.3f, ", line->figure);
        }
        if (line->at_least > 0) {
            fprintf(file, "\"limit\": %.1f, \"bound\": \"AtLeast\", \"held\": %s }", line->at_least,
                    line->figure >= line->at_least ? "true" : "false");
        } else {
            fprintf(file, "\"limit\": null, \"bound\": null, \"held\": null }");
        }
    }
    fprintf(file, "\n  ]\n}\n");
    if (fclose(file) != 0) fail("cannot write the figures");
    printf("figures written to %s\n", path);
}
