// Handlers as functions of C++, and what they throw.
#include <iostream>
#include <leaseq.hpp>

using namespace std::chrono_literals;

namespace {

int checks = 0;

void check(bool right, const char *what) {
    if (!right) {
        std::cerr << "not so: " << what << '\n';
        std::exit(1);
    }
    checks++;
}
#define CHECK(what) check((what), #what)

struct TooBusy : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace

int main() {
    leaseq::Client client;
    leaseq::Queue queue = client.queue("cpp");
    leaseq::ItemOptions kept;
    kept.retain = 60s;
    const auto enqueue = [&](const char *id, const char *name, const char *args) {
        kept.id = id;
        CHECK(queue.enqueue(name, args, kept));
    };
    enqueue("greets", "greet", R"({"to":"ann"})");
    enqueue("fails", "fail", "{}");
    enqueue("busy", "busy", "{}");
    enqueue("buried", "bury", "{}");
    enqueue("discarded", "discard", "{}");
    enqueue("snoozes", "snooze", "{}");
    enqueue("unreadable", "throw", R"({"what":"text"})");
    enqueue("earlier", "throw", R"({"what":"time"})");

    std::string busy_error;
    bool snoozed = false;
    leaseq::Worker worker(client);
    worker.queue("cpp").slots(1).burst();
    worker.handle("greet", [](leaseq::Task &task) -> std::optional<std::string> {
        CHECK(task.name() == "greet" && task.queue() == "cpp" && task.id() == "greets");
        CHECK(task.attempt() == 1 && !task.is_cancelled() && task.remaining() > 1min);
        task.progress("half");
        task.more_time(1h);
        return std::string(task.args());
    });
    worker.handle("fail", [](leaseq::Task &) { throw 7; }).retry("fail", 1);
    worker.handle("busy", [&](leaseq::Task &task) {
        if (task.attempt() == 1) throw TooBusy("later");
        busy_error = task.last_error();
    });
    worker.retry("busy", 2, 0ms, 0ms);
    worker.handle("bury", [](leaseq::Task &) { throw leaseq::Bury("hopeless"); });
    worker.handle("discard", [](leaseq::Task &) { throw leaseq::Discard("nothing to do"); });
    worker.handle("snooze", [&](leaseq::Task &task) {
        CHECK(task.attempt() == 1);
        if (!std::exchange(snoozed, true)) throw leaseq::Snooze{0ms};
    });
    // What cannot be reported as it was thrown.
    worker.handle("throw", [](leaseq::Task &task) {
        if (task.id() == "unreadable") throw std::runtime_error("caf\xe9");
        throw leaseq::Snooze{-1ms};
    });
    worker.retry("throw", 1);
    CHECK(worker.run() == 0);

    const auto end_of = [&](const char *id) { return queue.outcome(id, 20s); };
    CHECK(end_of("greets")->result() == R"({"to":"ann"})");
    CHECK(end_of("fails")->error().find("Exception: ") == 0);
    CHECK(end_of("unreadable")->error().find("EndRefused: ") == 0);
    CHECK(end_of("earlier")->error().find("EndRefused: ") == 0);
    CHECK(end_of("busy")->completed());
    CHECK(busy_error.find("TooBusy: later") != std::string::npos);
    CHECK(end_of("buried")->error() == "Bury: hopeless");
    CHECK(end_of("discarded")->completed() && end_of("snoozes")->completed() && snoozed);

    // One that is told to end, by another thread, while a handler waits.
    leaseq::Worker waiting(client);
    waiting.queue("cpp").slots(2);
    waiting.handle("wait", [&](leaseq::Task &task) {
        waiting.drain(10ms);
        while (!task.is_cancelled()) task.progress("still here");
        CHECK(task.cancel_reason() == LEASEQ_CANCEL_SHUTDOWN);
        throw leaseq::Stopped();
    });
    CHECK(queue.enqueue("wait", "{}"));
    waiting.start();
    CHECK(waiting.run() == 0);

    leaseq::Worker wrong(client);
    try {
        wrong.queue("cpp").run();
        CHECK(false);
    } catch (const leaseq::Error &error) {
        CHECK(error.status() == LEASEQ_INVALID);
    }
    std::cout << checks << " checks\n";
    return 0;
}
