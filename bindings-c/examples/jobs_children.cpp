// Runs jobs in child processes, which may crash: jobs_children QUEUE, with the URL in LEASEQ_URL.
// It is its own child.
#include <csignal>
#include <iostream>
#include <leaseq.hpp>

using namespace std::chrono_literals;

static int run_child() {
    leaseq::Child child;
    child.handle("resize", [](leaseq::Task &task) -> std::optional<std::string> {
        // A library that crashes ends this process, and no other job.
        if (task.args().find("broken") != std::string_view::npos) std::abort();
        return "\"small\"";
    });
    child.retry("resize", 1).timeout("resize", 1min);
    child.run();
    return 0;
}

int main(int argc, char **argv) try {
    if (argc == 3 && std::string_view(argv[2]) == "--child") return run_child();
    if (argc != 2) {
        std::cerr << "usage: jobs_children QUEUE\n";
        return 1;
    }
    leaseq::Client client;
    leaseq::Queue queue = client.queue(argv[1]);
    leaseq::ItemOptions kept;
    kept.retain = 1min;
    for (const char *file : {"cat.png", "broken.png", "dog.png"}) {
        kept.id = file;
        queue.enqueue("resize", R"({"file":")" + std::string(file) + R"("})", kept);
    }
    leaseq::Worker worker(client);
    worker.queue(argv[1]).slots(2).burst().children("/proc/self/exe", {argv[1], "--child"});
    const int status = worker.run();
    for (const char *file : {"cat.png", "broken.png", "dog.png"}) {
        const auto end = queue.outcome(file, 1s);
        std::cout << file << ": " << (end->completed() ? *end->result() : end->error()) << '\n';
    }
    return status;
} catch (const leaseq::Error &error) {
    std::cerr << leaseq_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
