// Adds three items and processes all that are ready: worker_cpp QUEUE, with the URL in LEASEQ_URL.
#include <chrono>
#include <iostream>
#include <leaseq.hpp>

using namespace std::chrono_literals;

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: worker_cpp QUEUE\n";
        return 1;
    }
    leaseq::Client client;
    leaseq::Queue queue = client.queue(argv[1]);

    queue.add_item("hello");
    leaseq::ItemOptions urgent;
    urgent.id = "order-17";
    urgent.priority = 5;
    if (!queue.add_item("your order", urgent)) std::cout << "it is there already\n";
    queue.add_item("goodbye");

    leaseq::LeaseOptions options;
    options.duration = 30s;
    options.wait = 100ms;
    options.keep_alive = true;
    while (auto lease = queue.lease(options)) {
        try {
            std::cout << "working on " << lease->data() << '\n';
            queue.complete(*lease);
        } catch (const leaseq::Error &) {
            throw;
        } catch (const std::exception &error) {
            // The work failed: retry in a minute.
            queue.fail(*lease, error.what(), 60s);
        }
    }
    return 0;
} catch (const leaseq::Error &error) {
    std::cerr << leaseq_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
