// Adds jobs, and runs them with lambdas: jobs_cpp QUEUE, with the URL in LEASEQ_URL.
#include <iostream>
#include <leaseq.hpp>

using namespace std::chrono_literals;

struct TooBusy : std::runtime_error {
    using std::runtime_error::runtime_error;
};

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: jobs_cpp QUEUE\n";
        return 1;
    }
    leaseq::Client client;
    leaseq::Queue queue = client.queue(argv[1]);
    leaseq::ItemOptions kept;
    kept.id = "sum";
    kept.retain = 1min;
    queue.enqueue("add", R"({"a":1,"b":2})", kept);
    queue.enqueue("call", "{}");

    leaseq::Worker worker(client);
    worker.queue(argv[1]).slots(1).burst();
    // What it returns is the result of the job, JSON.
    worker.handle("add", [](leaseq::Task &task) -> std::optional<std::string> {
        int a = 0, b = 0;
        if (std::sscanf(task.args().data(), R"({"a":%d,"b":%d})", &a, &b) != 2)
            throw leaseq::InvalidArgs("two numbers are needed");
        return std::to_string(a + b);
    });
    // What it throws fails the job: by these rules it is tried again at once, if it is a TooBusy.
    worker.handle("call", [](leaseq::Task &task) {
        if (task.attempt() == 1) throw TooBusy("try again");
        std::cout << "attempt " << task.attempt() << ", after " << task.last_error() << '\n';
    });
    worker.retry("call", 5, 0ms).retry_on("call", "TooBusy");
    const int status = worker.run();
    std::cout << "sum: " << *queue.outcome("sum", 1s)->result() << '\n';
    return status;
} catch (const leaseq::Error &error) {
    std::cerr << leaseq_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
