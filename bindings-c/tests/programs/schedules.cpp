// Schedules with leaseq.hpp, and what is refused.
#include <iostream>
#include <leaseq.hpp>

using leaseq::milliseconds;

/** What is thrown, by its status and message. */
template <typename Call> static void refused(Call &&call) {
    try {
        call();
        std::cout << "nothing was thrown\n";
    } catch (const leaseq::Error &error) {
        std::cout << error.status() << ' ' << error.what() << '\n';
    }
}

static void show(const leaseq::ScheduleInfo &info) {
    std::cout << info.name << ' ';
    if (const auto *cron = std::get_if<leaseq::Cron>(&info.rule)) {
        std::cout << cron->expression << ' ' << cron->zone;
    } else {
        std::cout << std::get<milliseconds>(info.rule).count();
    }
    std::cout << " \"" << info.data << "\" " << info.priority << ' ' << info.delay.count() << ' '
              << info.max_attempts.value_or(0) << ' ' << info.retain.count() << ' '
              << info.unique.value_or("-").size() << ' ' << info.unique_for.count() << ' '
              << info.replace << info.successor << ' ' << info.key.value_or("-") << ' '
              << info.expires_in.value_or(milliseconds(-1)).count() << " owner \"" << info.owner
              << "\" " << info.revision << " missed " << info.missed << ' '
              << info.grace.value_or(milliseconds(-1)).count() << info.overlap << info.paused
              << info.next.has_value() << info.last_id.has_value() << info.paused_at.has_value()
              << info.paused_by << info.pause_reason << '\n';
}

int main() {
    leaseq::Client client;
    leaseq::Queue queue = client.queue("schedules");
    leaseq::Schedule report{"report", leaseq::Cron{"0 9 * * mon-fri", "Europe/Berlin"},
                            "yesterday"};
    report.options.priority = 3;
    report.options.delay = milliseconds(5);
    report.options.max_attempts = 7;
    report.options.retain = milliseconds(8);
    report.options.unique = std::string_view("a\0b", 3);
    report.options.unique_for = milliseconds(9);
    report.options.replace = true;
    report.options.successor = true;
    report.options.key = "customer";
    report.options.expires_in = milliseconds(10);
    report.missed = 5;
    report.grace = milliseconds(0);
    report.overlap = true;
    std::cout << (queue.put_schedule(report, "app", 2) == LEASEQ_SCHEDULED_ADDED)
              << (queue.put_schedule(report, "app", 2) == LEASEQ_SCHEDULED_UNCHANGED)
              << (queue.put_schedule(report, "app", 1) == LEASEQ_SCHEDULED_OUTDATED) << '\n';
    for (const leaseq::ScheduleInfo &info : queue.schedules()) show(info);
    std::cout << '"' << queue.schedules(false).at(0).data << "\"\n";

    const leaseq::Schedule hourly{"hourly", milliseconds(3600000), std::string("x\0y", 3)};
    const auto synced = queue.sync_schedules("app", 3, {hourly});
    std::cout << synced.added.at(0) << ' ' << synced.removed.at(0) << ' ' << synced.updated.size()
              << synced.unchanged.size() << synced.outdated.size() << '\n';
    std::cout << queue.sync_schedules("app", 1, {report}).outdated.size() << '\n';

    std::cout << queue.pause_schedule("hourly") << queue.schedules().at(0).paused
              << queue.run_now("hourly") << queue.resume_schedule("hourly")
              << queue.schedules().at(0).paused << queue.pause_schedule("none")
              << queue.resume_schedule("none") << queue.run_now("none") << '\n';
    std::cout << queue.lease()->data().size() << ' '
              << queue.schedules().at(0).last_id->substr(0, 7) << '\n';
    queue.pause_schedule("hourly", "ada", "sends twice");
    const leaseq::ScheduleInfo paused = queue.schedules().at(0);
    std::cout << paused.paused_at.has_value() << paused.paused_by << ' ' << paused.pause_reason
              << '\n';
    std::cout << queue.remove_schedule("hourly") << queue.remove_schedule("hourly")
              << queue.schedules().size() << '\n';

    const leaseq::time_point friday(milliseconds(1800014400000));
    for (const auto &time : leaseq::schedule_times(report.rule, 2, friday))
        std::cout << time.time_since_epoch().count() << ' ';
    std::cout << leaseq::schedule_times(milliseconds(1000)).size() << '\n';

    const std::string nul("a\0b", 3);
    refused([&] { queue.put_schedule({"s", milliseconds(99)}); });
    refused([&] { queue.put_schedule({"", milliseconds(100)}); });
    refused([&] { queue.put_schedule({nul, milliseconds(100)}); });
    refused([&] { queue.put_schedule({"s", leaseq::Cron{"* * *"}}); });
    refused([&] { queue.put_schedule({"s", leaseq::Cron{"* * * * *", "Nowhere"}}); });
    refused([&] { queue.put_schedule({"s", leaseq::Cron{"* * * * *", nul}}); });
    refused([&] { queue.put_schedule({"s", leaseq::Cron{nul}}); });
    refused([&] { queue.put_schedule({"s", milliseconds(100)}, nul, 1); });
    leaseq::Schedule wrong{"s", milliseconds(100)};
    wrong.grace = milliseconds(-1);
    refused([&] { queue.put_schedule(wrong); });
    wrong.grace.reset();
    wrong.missed = 1001;
    refused([&] { queue.put_schedule(wrong); });
    wrong.missed = LEASEQ_MISSED_SKIP;
    wrong.options.priority = 10;
    refused([&] { queue.put_schedule(wrong); });
    refused([&] { queue.sync_schedules("", 1, {}); });
    refused([&] { queue.sync_schedules("app", 4, {hourly, hourly}); });
    refused([&] { queue.run_now(nul); });
    refused([&] { queue.pause_schedule("hourly", nul); });
    refused([&] { queue.pause_schedule("hourly", "", std::string(257, 'y')); });
    refused([&] { leaseq::schedule_times(report.rule, 1001); });
    refused([&] { leaseq::schedule_times(report.rule, 1, leaseq::time_point(milliseconds(-5))); });
    std::cout << queue.schedules().size() << '\n';
    return 0;
}
