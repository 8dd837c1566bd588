// Keys and their limits with leaseq.hpp.
#include <iostream>
#include <leaseq.hpp>

int main() {
    leaseq::Client client;
    leaseq::Queue queue = client.queue("keys");
    for (const char *key : {"a", "a", "a", "b"}) {
        leaseq::ItemOptions options;
        options.key = key;
        queue.add_item(key, options);
    }
    queue.add_item("plain");
    queue.set_key_limits({{"a", 2}, {"b", 0}});
    leaseq::LeaseOptions at_once;
    at_once.wait = leaseq::milliseconds(0);
    for (const leaseq::Lease &lease : queue.lease_many(5, at_once))
        std::cout << lease.key().value_or("none") << ' ';
    for (const leaseq_key_info &key : queue.get_keys({"a", "b"}))
        std::cout << key.limit << key.own_limit << key.leased << ' ';
    std::cout << queue.counts().held << '\n';
    return 0;
}
