/* Rates of a C program, one call at a time and in batches of 500, beside beanstalkd if installed.
 *
 * bench [--quick] [--peers] [--json FILE]
 *
 * Starts its own servers on free loopback ports: a redis-server without persistence, and with
 * --peers a beanstalkd, and a redis-server for PING. The sides take turns in one run; the ratios of
 * the medians count. Data of 100 bytes; one thread, one connection. */
#include "bench.h"

enum { MOST_ROUNDS = 15, MOST_SIDES = 8 };

typedef struct {
    double add[MOST_ROUNDS], process[MOST_ROUNDS];
} Rates;

static Side sides[MOST_SIDES];
static Rates rates[MOST_SIDES];
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

/* Compares the medians of two sides. */
static void report_ratios(Report *report, int side, int peer, const char *name, int rounds,
                          double at_least) {
    double add = median(rates[side].add, rounds) / median(rates[peer].add, rounds);
    double process = median(rates[side].process, rounds) / median(rates[peer].process, rounds);
    report_ratio(report, &sides[side], name, "add", add, at_least);
    report_ratio(report, &sides[side], name, "process", process, at_least);
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
    if (peers) sides[count++] = ping_side("PING, one at a time");
    /* A missing peer is reported, and the others are measured. */
    bool beside = peers && can_run("beanstalkd");
    if (beside) {
        sides[count++] = beanstalkd_side("beanstalkd, pipelined by 500", 500);
        sides[count++] = beanstalkd_side("beanstalkd, one at a time", 1);
    }
    int jobs = count;
    sides[count++] = jobs_side("jobs, lease and complete", JOBS_BARE);
    sides[count++] = jobs_side("jobs, worker with 100 threads", JOBS_POOL);
    sides[count++] = jobs_side("jobs, worker with one thread", JOBS_ONE_THREAD);
    for (int round = -1; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            const Side *side = &sides[i];
            int items = quick ? side->batch * 2 : side->batch == 1 ? 2000 : 50000;
            double add = rate_of(side, side->add, items);
            double process = rate_of(side, side->process, items);
            if (round < 0) continue; /* warm-up */
            rates[i].add[round] = add;
            rates[i].process[round] = process;
        }
    }

    Report report = report_new(quick, peers);
    for (int i = 0; i < count; i++) {
        double add = median(rates[i].add, rounds), process = median(rates[i].process, rounds);
        bool is_limit = peers && i == 2;
        if (i < jobs)
            report_rate(&report, &sides[i], is_limit ? "one round trip" : "add", add, NULL);
        report_rate(&report, &sides[i], is_limit ? "two round trips" : "process", process, NULL);
    }
    for (int i = jobs + 1; i < count; i++) {
        double process = median(rates[i].process, rounds);
        double ratio = process / median(rates[jobs].process, rounds);
        report_ratio(&report, &sides[i], "lease and complete", "process", ratio, 0.6);
    }
    if (peers) report_ratios(&report, 1, 2, "PING", rounds, 0);
    if (beside) {
        report_ratios(&report, 0, 3, "beanstalkd", rounds, 1);
        report_ratios(&report, 1, 4, "beanstalkd", rounds, 0);
    }
    if (peers && !beside) {
        Side missing = {.target = "5", .name = "beanstalkd", .server = "beanstalkd", .batch = 500};
        report_rate(&report, &missing, "add", 0, "not installed");
        report_rate(&report, &missing, "process", 0, "not installed");
    }
    report_print(&report);
    if (json != NULL) report_write(&report, json);
    stop_servers();
    return 0;
}
