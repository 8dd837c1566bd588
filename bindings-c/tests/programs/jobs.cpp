// Handlers as functions of C++, and what they throw.
#include <algorithm>
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
    enqueue("hopeless", "hopeless", "{}");
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
    int hopeless = 0;
    worker.handle("hopeless", [&](leaseq::Task &) {
        ++hopeless;
        throw leaseq::Bury("\xff");
    });
    worker.retry("hopeless", 3, 0ms, 0ms);
    CHECK(worker.run() == 0);

    const auto end_of = [&](const char *id) { return queue.outcome(id, 20s); };
    CHECK(end_of("greets")->result() == R"({"to":"ann"})");
    CHECK(end_of("fails")->error().find("Exception: ") == 0);
    CHECK(end_of("unreadable")->error() == "std::runtime_error: caf\xef\xbf\xbd");
    // Whatever the text is, a job ends as its handler says.
    CHECK(end_of("hopeless")->error() == "Bury: \xef\xbf\xbd" && hopeless == 1);
    CHECK(end_of("earlier")->error().find("EndRefused: ") == 0);
    CHECK(end_of("busy")->completed());
    CHECK(busy_error.find("TooBusy: later") != std::string::npos);
    CHECK(end_of("buried")->error() == "Bury: hopeless");
    CHECK(end_of("discarded")->completed() && end_of("snoozes")->completed() && snoozed);

    // Each job of a chain gets the result of the one before it.
    leaseq::NewJob failing{"fail"}, last{"note", R"({"n":3})"}, first{"greet", R"({"to":"bob"})"};
    failing.on_success.push_back({"note", "{}"});
    failing.on_failure.push_back({"note", R"({"n":1})"});
    last.queue = "more";
    first.options.id = "first";
    first.on_success.push_back({"greet"});
    first.on_success[0].on_end.push_back(last);
    std::string notes;
    leaseq::Worker chain(client);
    chain.queue("cpp").queue("more").slots(1).burst();
    chain.handle("greet", [](leaseq::Task &task) -> std::optional<std::string> {
        CHECK(task.previous_id().value_or("") == (task.id() == "first" ? "" : "first"));
        CHECK(task.previous().has_value() == task.previous_id().has_value());
        return task.previous() ? "\"after " + std::string(*task.previous()).substr(1) : "\"bob\"";
    });
    chain.handle("fail", [](leaseq::Task &) { throw 7; }).retry("fail", 1);
    chain.handle("note", [&](leaseq::Task &task) {
        notes += std::string(task.queue()) + ' ' + std::string(task.args()) + ' ' +
                 std::string(task.previous().value_or("-")) + '\n';
    });
    CHECK(queue.enqueue(first) && queue.enqueue(failing));
    CHECK(!queue.enqueue(first));
    CHECK(chain.run() == 0);
    CHECK(notes.find("cpp {\"n\":1} -\n") != std::string::npos);
    CHECK(notes.find("more {\"n\":3} \"after bob\"\n") != std::string::npos);
    CHECK(std::count(notes.begin(), notes.end(), '\n') == 2);

    // Jobs have retries, timeouts and meta texts of their own, and give them to those that follow.
    leaseq::NewJob flaky{"flaky"}, slow{"slow"}, bad{"slow"};
    flaky.job_options.attempts = 3;
    flaky.job_options.base = flaky.job_options.cap = 0ms;
    flaky.job_options.retry_on = {"(anonymous namespace)::TooBusy"};
    slow.job_options.timeout = 50ms;
    slow.job_options.attempts = 1;
    slow.job_options.meta = {{"tenant", "ann"}};
    flaky.on_success.push_back(slow);
    bad.job_options.timeout = -1ms;
    int tries = 0, timeouts = 0;
    leaseq::Worker own(client);
    own.queue("cpp").slots(1).burst();
    own.handle("flaky", [&](leaseq::Task &task) {
        CHECK(task.max_attempts() == 3);
        if (++tries < 3) throw TooBusy("not yet");
    });
    own.retry("flaky", 1);
    own.handle("slow", [&](leaseq::Task &task) {
        char tenant[8];
        CHECK(leaseq_task_meta(task.get(), "tenant", tenant, sizeof tenant, nullptr, nullptr) ==
              LEASEQ_OK);
        CHECK(tenant == std::string("ann"));
        while (!task.is_cancelled()) task.progress("working");
        timeouts += task.cancel_reason() == LEASEQ_CANCEL_TIMEOUT;
        throw leaseq::Stopped();
    });
    CHECK(queue.enqueue(flaky));
    try {
        queue.enqueue(bad);
        CHECK(false);
    } catch (const leaseq::Error &error) {
        CHECK(error.status() == LEASEQ_INVALID);
    }
    CHECK(own.run() == 0);
    CHECK(tries == 3 && timeouts == 1);

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
