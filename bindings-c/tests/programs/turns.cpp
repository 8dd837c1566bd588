// From one batch to the next with leaseq.hpp.
#include <iostream>
#include <leaseq.hpp>

int main() {
    leaseq::Client client;
    leaseq::Queue queue = client.queue("turns");
    for (const char *data : {"a", "b", "c"}) queue.add_item(data);
    leaseq::LeaseOptions options;
    options.wait = leaseq::milliseconds(0);
    std::vector<leaseq::Lease> leases = queue.lease_many(2, options);
    while (!leases.empty()) {
        for (const leaseq::Lease &lease : leases) std::cout << lease.data() << ' ';
        leaseq::CompletedAndLeased done = queue.complete_and_lease(leases, 2, options);
        for (std::size_t i = 0; i < leases.size(); i++)
            std::cout << (done.completed[i] && leases[i].completed() == true ? "done " : "not ");
        leases = std::move(done.leases);
    }
    return 0;
}
