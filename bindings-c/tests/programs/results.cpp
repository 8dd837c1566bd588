// Results of retained items, unique keys and replacement, with leaseq.hpp.
#include <iostream>
#include <leaseq.hpp>

static void show(const leaseq::Queue &queue, std::string_view id) {
    leaseq_item_info *info = nullptr;
    leaseq::check([&](leaseq_error **error) {
        return leaseq_queue_get(queue.get(), id.data(), id.size(), &info, error);
    });
    std::cout << id << ' ' << leaseq_state_name(leaseq_item_info_state(info)) << " \"";
    if (leaseq_item_info_result(info) == nullptr) std::cout << "nothing";
    std::cout.write(leaseq_item_info_result(info),
                    static_cast<std::streamsize>(leaseq_item_info_result_len(info)));
    std::cout << "\"\n";
    leaseq_item_info_free(&info);
}

int main() {
    const leaseq::milliseconds hour(3600000);
    leaseq::Client client;
    leaseq::Queue queue = client.queue("results");
    leaseq::ItemOptions options;
    options.unique = "key";
    options.retain = hour;
    for (const char *id : {"a", "b"}) {
        options.id = id;
        std::cout << queue.add_item(id, options);
    }
    options.replace = true;
    std::cout << queue.add_item("b", options) << '\n';

    leaseq::CompleteOptions fine;
    fine.result = "fine";
    std::cout << queue.complete(*queue.lease(), fine) << '\n';
    show(queue, "b");

    leaseq::ItemOptions plain;
    for (const char *id : {"c", "d", "e"}) {
        plain.id = id;
        queue.add_item(id, plain);
    }
    leaseq::LeaseOptions at_once;
    at_once.wait = leaseq::milliseconds(0);
    leaseq::CompleteOptions several;
    several.results = {"1", std::nullopt, std::string_view()};
    several.retain = hour;
    auto done = queue.complete_and_lease(queue.lease_many(3, at_once), 1, at_once, several);
    for (const char *id : {"c", "d", "e"}) show(queue, id);

    fine.retain = leaseq::milliseconds(0);
    fine.strict = true;
    plain.id = "f";
    queue.add_item("f", plain);
    std::cout << queue.complete(*queue.lease(), fine) << '\n';
    show(queue, "f");

    const auto ends = queue.outcome_many({"b", "f"}, leaseq::milliseconds(1000));
    std::cout << *ends[0]->result() << ' ' << (ends[1]->kind() == LEASEQ_OUTCOME_GONE) << '\n';
    std::cout << queue.outcome("g", leaseq::milliseconds(0), true).has_value() << '\n';

    leaseq_group *group = nullptr;
    leaseq::check([&](leaseq_error **error) {
        return leaseq_queue_create_group(queue.get(), "group", 5, nullptr, 0, &group, error);
    });
    std::cout << queue.group_outcome("group", leaseq::milliseconds(1)).has_value();
    leaseq_item_options *member = nullptr;
    leaseq::check([&](leaseq_error **error) { return leaseq_item_options_new(&member, error); });
    leaseq::check([&](leaseq_error **error) {
        return leaseq_item_options_set_group(member, group, 0, error);
    });
    leaseq::check([&](leaseq_error **error) {
        return leaseq_queue_add_item(queue.get(), "x", 1, member, nullptr, error);
    });
    leaseq_item_options_free(&member);
    leaseq::check([&](leaseq_error **error) {
        return leaseq_queue_seal_group(queue.get(), group, 1, nullptr, error);
    });
    leaseq_group_free(&group);
    queue.complete(*queue.lease());
    const auto ended = queue.group_outcome("group");
    std::cout << ended->completed() << ended->info.completed;
    std::cout << (queue.group_outcome("none")->end == LEASEQ_GROUP_GONE) << '\n';
    return 0;
}
