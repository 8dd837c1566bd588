/* The holder of a lease learns within 5 s that another client has cancelled its item. */
#include "check.h"

#include <poll.h>

int main(void) {
    leaseq_client *worker = connected(), *canceller = connected();
    leaseq_queue *queue = queue_of(worker, "cancelled"), *other = queue_of(canceller, "cancelled");
    add(queue, "a", "x");
    leaseq_lease *lease = leased(queue, 600000);
    CHECK(!leaseq_lease_is_cancelled(lease));
    int fd = -1;
    OK(leaseq_lease_cancelled_fd(lease, &fd, &error));
    bool cancelled = false;
    OK(leaseq_queue_cancel(other, "a", 1, &cancelled, &error));
    CHECK(cancelled);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    CHECK(poll(&readable, 1, 5000) == 1 && readable.revents == POLLIN);
    CHECK(leaseq_lease_is_cancelled(lease));
    leaseq_lease_free(&lease);
    end(other, canceller);
    end(queue, worker);
    return done();
}
