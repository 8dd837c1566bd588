/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file leaseq_jobs.hpp
 * The worker of jobs for C++17; leaseq.hpp includes it.
 */
#ifndef LEASEQ_JOBS_HPP
#define LEASEQ_JOBS_HPP

#include "leaseq.hpp"

#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <functional>
#include <map>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace leaseq {

/** A job that a handler runs; see ::leaseq_task. */
class Task {
  public:
    explicit Task(leaseq_task *task) noexcept : task_(task) {}
    leaseq_task *get() const noexcept { return task_; }
    /** What is viewed lives as long as the task. */
    std::string_view name() const noexcept { return leaseq_task_name(get()); }
    std::string_view queue() const noexcept { return leaseq_task_queue(get()); }
    std::string_view id() const noexcept {
        return {leaseq_task_id(get()), leaseq_task_id_len(get())};
    }
    /** A JSON object. */
    std::string_view args() const noexcept {
        return {leaseq_task_args(get()), leaseq_task_args_len(get())};
    }
    std::string_view last_error() const noexcept { return leaseq_task_last_error(get()); }
    /** The id of the job or group whose end has added this job; nothing: a program has added it. */
    std::optional<std::string_view> previous_id() const noexcept {
        const char *id = leaseq_task_previous_id(get());
        if (id == nullptr) return std::nullopt;
        return std::string_view(id, leaseq_task_previous_id_len(get()));
    }
    /** The result of the job whose success has added this one; see leaseq_task_previous(). */
    std::optional<std::string_view> previous() const noexcept {
        const char *result = leaseq_task_previous(get());
        if (result == nullptr) return std::nullopt;
        return std::string_view(result, leaseq_task_previous_len(get()));
    }
    unsigned attempt() const noexcept { return leaseq_task_attempt(get()); }
    unsigned max_attempts() const noexcept { return leaseq_task_max_attempts(get()); }
    std::uint64_t generation() const noexcept { return leaseq_task_generation(get()); }
    milliseconds remaining() const noexcept {
        return milliseconds(leaseq_task_remaining_ms(get()));
    }
    leaseq_cancel_reason cancel_reason() const noexcept { return leaseq_task_cancel_reason(get()); }
    bool is_cancelled() const noexcept { return cancel_reason() != LEASEQ_CANCEL_NONE; }
    /** Readable when is_cancelled() becomes true; see leaseq_task_cancelled_fd(). */
    int cancelled_fd() const {
        int fd = -1;
        check([&](leaseq_error **error) { return leaseq_task_cancelled_fd(get(), &fd, error); });
        return fd;
    }
    /** This much time from now on. */
    void more_time(milliseconds time) const {
        check([&](leaseq_error **error) {
            return leaseq_task_more_time(get(), time.count(), error);
        });
    }
    /** Up to 1,024 bytes. */
    void progress(std::string_view progress) const {
        check([&](leaseq_error **error) {
            return leaseq_task_progress(get(), progress.data(), progress.size(), error);
        });
    }

  private:
    leaseq_task *task_;
};

/** Thrown by a handler: retry the job after this delay, if it has an attempt left. */
struct RetryAfter : std::runtime_error {
    RetryAfter(milliseconds after, const std::string &message)
        : std::runtime_error(message), delay(after) {}
    milliseconds delay;
};
/** Thrown by a handler: the job has nothing more to do, and ends as completed, without a result. */
struct Discard : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/** Thrown by a handler: the job is dead, whatever attempts it has left. */
struct Bury : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/** Thrown by a handler: run the job again after this delay, without using an attempt. */
struct Snooze {
    milliseconds delay;
};
/** Thrown by a handler that stops because its task is cancelled. */
struct Stopped {};
/** Thrown by a handler: the arguments do not fit it. The job is released for newer workers. */
struct InvalidArgs : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** Handlers and the options of their jobs, of a Worker or a Child. */
template <typename Self> class Handlers {
  public:
    /** Runs a task. Its result, JSON, is kept with a job that is retained. */
    using Handler = std::function<std::optional<std::string>(Task &)>;

    /** Leases from this queue, or from all that match a pattern. */
    Self &queue(const std::string &name, std::uint32_t weight = 1) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_add_queue(options, name.c_str(), weight, error);
        });
    }
    /** Registers a handler: a function of a Task that returns nothing or a result. What it throws
     * fails the job, with the name of its type as the class. */
    template <typename Function> Self &handle(const std::string &name, Function function) {
        set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_add_job(options, name.c_str(), error);
        });
        if constexpr (std::is_void_v<std::invoke_result_t<Function &, Task &>>) {
            handlers_[name] = [function](Task &task) mutable -> std::optional<std::string> {
                function(task);
                return std::nullopt;
            };
        } else {
            handlers_[name] = std::move(function);
        }
        return self();
    }
    Self &timeout(const std::string &name, milliseconds timeout) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_set_job_timeout_ms(options, name.c_str(), timeout.count(),
                                                            error);
        });
    }
    Self &retry(const std::string &name, std::uint32_t attempts,
                milliseconds base = milliseconds(1000), milliseconds cap = milliseconds(600000)) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_set_job_retry(options, name.c_str(), attempts,
                                                       base.count(), cap.count(), error);
        });
    }
    /** Errors of this class are retried, and no others but those that are named so. */
    Self &retry_on(const std::string &name, const std::string &class_name) {
        return retry_class(name, class_name, true);
    }
    /** Errors of this class are never retried. */
    Self &retry_never(const std::string &name, const std::string &class_name) {
        return retry_class(name, class_name, false);
    }
    /** For the other options. */
    leaseq_worker_options *options() const noexcept { return options_.get(); }

  protected:
    Handlers() {
        leaseq_worker_options *options = nullptr;
        check([&](leaseq_error **error) { return leaseq_worker_options_new(&options, error); });
        options_.reset(options);
    }

    template <typename Call> Self &set(Call &&call) {
        check([&](leaseq_error **error) { return call(options_.get(), error); });
        return self();
    }

    static std::int32_t call(leaseq_task *handle, void *context) noexcept {
        Task task(handle);
        std::string refused; // why the task was not ended
        const auto end = [&](auto &&call) {
            leaseq_error *error = nullptr;
            if (call(&error) == LEASEQ_OK) return;
            refused = leaseq_error_message(error);
            leaseq_error_free(&error);
        };
        const auto fail = [&](const char *name, const char *message, std::int32_t policy,
                              milliseconds delay = milliseconds(0)) {
            end([&](leaseq_error **error) {
                return leaseq_task_fail(handle, name, message, policy, delay.count(), nullptr,
                                        error);
            });
        };
        try {
            const auto &handlers = static_cast<Handlers *>(context)->handlers_;
            const auto handler = handlers.find(std::string(task.name()));
            if (handler == handlers.end()) throw InvalidArgs("there is no handler");
            if (const auto result = handler->second(task)) {
                end([&](leaseq_error **error) {
                    return leaseq_task_complete(handle, result->data(), result->size(), nullptr,
                                                error);
                });
            }
        } catch (const RetryAfter &after) {
            fail("RetryAfter", after.what(), LEASEQ_POLICY_RETRY_AFTER, after.delay);
        } catch (const Discard &discard) {
            fail("Discard", discard.what(), LEASEQ_POLICY_DISCARD);
        } catch (const Bury &bury) {
            fail("Bury", bury.what(), LEASEQ_POLICY_BURY);
        } catch (const Snooze &snooze) {
            end([&](leaseq_error **error) {
                return leaseq_task_snooze(handle, snooze.delay.count(), nullptr, error);
            });
        } catch (const Stopped &) {
            end([&](leaseq_error **error) { return leaseq_task_stopped(handle, nullptr, error); });
        } catch (const InvalidArgs &invalid) {
            end([&](leaseq_error **error) {
                return leaseq_task_refuse_args(handle, invalid.what(), nullptr, error);
            });
        } catch (const std::exception &error) {
            fail(class_of(error).c_str(), error.what(), LEASEQ_POLICY_RETRY);
        } catch (...) {
            fail("Exception", "the handler has thrown what is no std::exception",
                 LEASEQ_POLICY_RETRY);
        }
        // What cannot be reported, such as a text that is not UTF-8, is no success. If the handler
        // had ended the task itself, this does nothing.
        if (!refused.empty()) {
            leaseq_task_fail(handle, "EndRefused", refused.c_str(), LEASEQ_POLICY_RETRY, 0, nullptr,
                             nullptr);
        }
        return 0;
    }

    /** The name of its type. */
    static std::string class_of(const std::exception &error) {
        const char *name = typeid(error).name();
        int status = 0;
        const std::unique_ptr<char, void (*)(void *)> readable(
            abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
        return status == 0 ? readable.get() : name;
    }

  private:
    Self &self() noexcept { return static_cast<Self &>(*this); }

    Self &retry_class(const std::string &name, const std::string &class_name, bool retried) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_add_job_retry_class(options, name.c_str(),
                                                             class_name.c_str(), retried, error);
        });
    }

    Handle<leaseq_worker_options, leaseq_worker_options_free> options_;
    std::map<std::string, Handler> handlers_;
};

/** Runs jobs in handlers, on one thread for each slot; see ::leaseq_worker.
 *
 * @code
 * leaseq::Worker worker(client);
 * worker.queue("mail").handle("mail.send", [](leaseq::Task &task) { send(task.args()); });
 * return worker.run();
 * @endcode
 */
class Worker : public Handlers<Worker> {
  public:
    /** The client must live longer. */
    explicit Worker(const Client &client) : client_(client.get()) {}
    /** The threads of run() and drain() know its address. */
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    Worker &slots(std::uint32_t slots) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_set_slots(options, slots, error);
        });
    }
    /** Ends when the queues have nothing more to lease. */
    Worker &burst(bool burst = true) {
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_set_burst(options, burst, error);
        });
    }
    /** Runs jobs in child processes, which have the handlers: a program that uses a Child. */
    Worker &children(const std::string &program, const std::vector<std::string> &args = {}) {
        is_parent_ = true;
        std::vector<const char *> texts;
        for (const auto &arg : args) texts.push_back(arg.c_str());
        return set([&](leaseq_worker_options *options, leaseq_error **error) {
            return leaseq_worker_options_set_children(options, program.c_str(), texts.data(),
                                                      texts.size(), error);
        });
    }

    /** Starts to lease. Options that are set later have no effect. */
    void start() {
        leaseq_worker *worker = nullptr;
        check([&](leaseq_error **error) {
            return leaseq_worker_start(client_, options(), &worker, error);
        });
        handle_.reset(worker);
    }
    leaseq_worker *get() const noexcept { return handle_.get(); }

    /** Runs jobs until drain() is called, or a burst ends; starts the worker unless start() has.
     * Returns the exit status for the process. A worker runs once: when it has ended, this returns
     * the same status again. */
    int run() {
        if (!handle_) start();
        check([&](leaseq_error **error) {
            if (is_parent_) return leaseq_worker_wait(get(), LEASEQ_WAIT_FOREVER, nullptr, error);
            return leaseq_worker_run(get(), &Worker::call, static_cast<Handlers *>(this), error);
        });
        return leaseq_worker_exit_status(get());
    }

    /** From another thread, after start(): ends the worker in order. */
    void drain(milliseconds grace = milliseconds(25000)) const {
        check(
            [&](leaseq_error **error) { return leaseq_worker_drain(get(), grace.count(), error); });
    }

  private:
    leaseq_client *client_;
    bool is_parent_ = false;
    Handle<leaseq_worker, leaseq_worker_free> handle_;
};

/** Runs jobs in this process, which a worker has started as its child; see leaseq_child_run(). It
 * needs no client. */
class Child : public Handlers<Child> {
  public:
    /** Runs jobs, one at a time on this thread, until the worker has no more for this child. */
    void run() {
        check([&](leaseq_error **error) {
            return leaseq_child_run(options(), &Child::call, static_cast<Handlers *>(this), error);
        });
    }
};

} // namespace leaseq

#endif
