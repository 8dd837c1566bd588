// How leases ended, reasons of releases, and an item that is failed as dead, with leaseq.hpp.
#include <iostream>
#include <leaseq.hpp>

int main() {
    const leaseq::milliseconds at_once(0);
    leaseq::Client client;
    leaseq::Queue queue = client.queue("history");
    queue.add_item("data");
    auto lease = queue.lease();
    if (!lease->endings().empty() || lease->releases()) return 1;
    queue.fail(*lease, "no paper");
    leaseq::LeaseOptions brief;
    brief.duration = leaseq::milliseconds(1);
    lease = queue.lease(brief);
    lease = queue.lease();
    queue.release(*lease, at_once, "\"no ink\"");
    lease = queue.lease();
    const leaseq::time_point first_at = lease->releases().value().first_at;
    queue.release(*lease, at_once, "\"no ink\"");

    lease = queue.lease();
    leaseq::time_point before{};
    for (const leaseq::Ending &ending : lease->endings()) {
        if (ending.at <= leaseq::time_point{} || ending.at < before) return 2;
        before = ending.at;
        std::cout << leaseq_ending_name(ending.kind) << ' ';
    }
    const leaseq::Releases releases = lease->releases().value();
    if (releases.first_at != first_at || first_at < before) return 3;
    std::cout << releases.reason << ' ' << releases.count << '\n';
    queue.release(*lease);
    lease = queue.lease();
    std::cout << (lease->releases() ? "some" : "none") << '\n';

    try {
        queue.fail(*lease, "no such address", leaseq::milliseconds(1), true);
    } catch (const leaseq::Error &error) {
        std::cout << leaseq_status_name(error.status()) << ' ';
    }
    std::cout << leaseq_state_name(queue.fail(*lease, "no such address", at_once, true)) << '\n';
    return 0;
}
