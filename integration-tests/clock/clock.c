/* Gives a process the time of the tests, when preloaded. LEASEQ_CLOCK names a file that it maps,
 * with two 64-bit numbers: the mode and milliseconds. Mode 0: the real time. 1: the time stands
 * still at that many milliseconds since 1970. 2: the real time plus that many milliseconds.
 *
 * Only the wall clock changes; clocks that measure durations stay real. This code allocates
 * nothing, because an allocator may read the time while it starts. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *told;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("LEASEQ_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) told = map;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed || !told || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return (int)failed;
    int64_t mode = told[0], ms = told[1];
    if (mode == 1) {
        now->tv_sec = ms / 1000;
        now->tv_nsec = ms % 1000 * 1000000;
    } else if (mode == 2) {
        int64_t nanoseconds = now->tv_nsec + ms % 1000 * 1000000;
        now->tv_sec += ms / 1000 + nanoseconds / 1000000000;
        now->tv_nsec = nanoseconds % 1000000000;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}
