/* How fast a program in C is, singly and in batches of 500, beside beanstalkd when it is there.
 *
 * bench [--quick] [--peers] [--json FILE]
 *
 * Starts servers of its own on free loopback ports: a redis-server without persistence, and for
 * --peers a beanstalkd. Everything is measured in turns in one run, and medians are compared: the
 * ratios count. Data of 100 bytes; one thread, one connection. */
#include "bench.h"

enum { MOST_ROUNDS = 15 };

typedef struct {
    double add[MOST_ROUNDS], process[MOST_ROUNDS];
} Rates;

static Side sides[4];
static Rates rates[4];
static int count;

static double median(const double *values, int rounds) {
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, rounds * sizeof *values);
    for (int i = 1; i < rounds; i++) {
        for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
            double swap = sorted[j];
            sorted[j] = sorted[j - 1];
            sorted[j - 1] = swap;
        }
    }
    return sorted[rounds / 2];
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double rate_of(const Side *side, void (*work)(void *, int, int), int items) {
    double begun = now();
    work(side->state, items, side->batch);
    return items / (now() - begun);
}

int main(int argc, char **argv) {
    bool quick = false, peers = false;
    const char *json = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--peers") == 0) {
            peers = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else {
            fail("usage: bench [--quick] [--peers] [--json FILE]");
        }
    }
    int rounds = quick ? 1 : 9;

    sides[count++] = leaseq_side("leaseq, batches of 500", 500);
    sides[count++] = leaseq_side("leaseq, one at a time", 1);
    /* A peer that is not there is reported, and the rest goes on. */
    bool beside = peers && can_run("beanstalkd");
    if (beside) {
        sides[count++] = beanstalkd_side("beanstalkd, pipelined by 500", 500);
        sides[count++] = beanstalkd_side("beanstalkd, one at a time", 1);
    }
    for (int round = -1; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            const Side *side = &sides[i];
            int items = quick ? side->batch * 2 : side->batch == 1 ? 2000 : 50000;
            double add = rate_of(side, side->add, items);
            double process = rate_of(side, side->process, items);
            if (round < 0) continue; /* to warm up */
            rates[i].add[round] = add;
            rates[i].process[round] = process;
        }
    }

    Report report = report_new(quick, peers);
    for (int i = 0; i < count; i++) {
        double add = median(rates[i].add, rounds), process = median(rates[i].process, rounds);
        report_rate(&report, &sides[i], "add", add, NULL);
        report_rate(&report, &sides[i], "process", process, NULL);
    }
    for (int i = 0; beside && i < 2; i++) {
        double add = median(rates[i].add, rounds) / median(rates[i + 2].add, rounds);
        double process = median(rates[i].process, rounds) / median(rates[i + 2].process, rounds);
        report_ratio(&report, &sides[i], "add", add, i == 0);
        report_ratio(&report, &sides[i], "process", process, i == 0);
    }
    if (peers && !beside) {
        Side missing = {.name = "beanstalkd", .server = "beanstalkd", .batch = 500};
        report_rate(&report, &missing, "add", 0, "not installed");
        report_rate(&report, &missing, "process", 0, "not installed");
    }
    report_print(&report);
    if (json != NULL) report_write(&report, json);
    stop_servers();
    return 0;
}
