/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file leaseq.hpp
 * leaseq.h for C++17: handles that free themselves, and errors that are thrown.
 *
 * The operations of a worker and a producer are here by name, with schedules in
 * leaseq_schedules.hpp and workers of jobs in leaseq_jobs.hpp, which it includes. For everything
 * else, each handle gives what leaseq.h takes by get(), and leaseq::check() throws what it answers:
 *
 * @code
 * leaseq::check([&](leaseq_error **error) { return leaseq_queue_resume(queue.get(), error); });
 * @endcode
 */
#ifndef LEASEQ_HPP
#define LEASEQ_HPP

#include "leaseq.h"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leaseq {

using milliseconds = std::chrono::milliseconds;

/** A time on the clock of the server. */
using time_point = std::chrono::time_point<std::chrono::system_clock, milliseconds>;

/** Waits until there is something. */
inline constexpr milliseconds forever{LEASEQ_WAIT_FOREVER};

/** What every call throws that fails. */
class Error : public std::runtime_error {
  public:
    /** Takes over the error. */
    Error(leaseq_status status, leaseq_error *error)
        : std::runtime_error(leaseq_error_message(error)), status_(status),
          outcome_unknown_(leaseq_error_outcome_unknown(error)),
          retryable_(leaseq_error_retryable(error)) {
        leaseq_error_free(&error);
    }
    /** Of what leaseq.h would not notice. */
    Error(leaseq_status status, const std::string &message)
        : std::runtime_error(message), status_(status), outcome_unknown_(false), retryable_(false) {
    }
    leaseq_status status() const noexcept { return status_; }
    bool outcome_unknown() const noexcept { return outcome_unknown_; }
    bool retryable() const noexcept { return retryable_; }

  private:
    leaseq_status status_;
    bool outcome_unknown_, retryable_;
};

/** Calls `call(&error)`, and throws what it answers unless that is `LEASEQ_OK`. */
template <typename Call> void check(Call &&call) {
    leaseq_error *error = nullptr;
    leaseq_status status = std::forward<Call>(call)(&error);
    if (status != LEASEQ_OK) throw Error(status, error);
}

/** A handle of leaseq.h that frees itself. */
template <typename T, void (*Free)(T **)> struct Freed {
    void operator()(T *handle) const noexcept { Free(&handle); }
};
template <typename T, void (*Free)(T **)> using Handle = std::unique_ptr<T, Freed<T, Free>>;

/** The end of a lease without completion. */
struct Ending {
    /** For an expired lease: when it was reclaimed. */
    time_point at;
    leaseq_ending kind;
};

/** Releases for the same reason, one after the other. */
struct Releases {
    /** Lives as long as the lease. */
    std::string_view reason;
    unsigned count;
    time_point first_at;
};

/** A claim on one item until a deadline; see ::leaseq_lease. Its end gives nothing back: an item
 * that was not completed, released or failed is delivered again when the lease has run out. */
class Lease {
  public:
    explicit Lease(leaseq_lease *lease) noexcept : handle_(lease) {}
    leaseq_lease *get() const noexcept { return handle_.get(); }
    /** Lives as long as the lease, as data() does. */
    std::string_view id() const noexcept {
        return {leaseq_lease_id(get()), leaseq_lease_id_len(get())};
    }
    std::string_view data() const noexcept {
        return {leaseq_lease_data(get()), leaseq_lease_data_len(get())};
    }
    /** Nothing if the item has no key. Lives as long as the lease. */
    std::optional<std::string_view> key() const noexcept {
        const char *key = leaseq_lease_key(get());
        if (key == nullptr) return std::nullopt;
        return std::string_view(key, leaseq_lease_key_len(get()));
    }
    std::string_view last_error() const noexcept {
        return {leaseq_lease_last_error(get()), leaseq_lease_last_error_len(get())};
    }
    /** How the item's last 16 failed or expired leases ended, the oldest first, also before a
     * requeue. */
    std::vector<Ending> endings() const {
        std::vector<Ending> endings(leaseq_lease_endings(get()));
        for (std::size_t i = 0; i < endings.size(); i++) {
            endings[i].at = time_point(milliseconds(leaseq_lease_ending_at_ms(get(), i)));
            endings[i].kind = leaseq_lease_ending(get(), i);
        }
        return endings;
    }
    /** Nothing if there was none; see leaseq_lease_releases_count(). */
    std::optional<Releases> releases() const noexcept {
        const unsigned count = leaseq_lease_releases_count(get());
        if (count == 0) return std::nullopt;
        const std::string_view reason(leaseq_lease_releases_reason(get()),
                                      leaseq_lease_releases_reason_len(get()));
        const milliseconds first(leaseq_lease_releases_first_at_ms(get()));
        return Releases{reason, count, time_point(first)};
    }
    unsigned attempt() const noexcept { return leaseq_lease_attempt(get()); }
    std::uint64_t generation() const noexcept { return leaseq_lease_generation(get()); }
    /** For how long the item was ready before it was leased; see leaseq_lease_waited_ms(). */
    milliseconds waited() const noexcept { return milliseconds(leaseq_lease_waited_ms(get())); }
    milliseconds remaining() const noexcept {
        return milliseconds(leaseq_lease_remaining_ms(get()));
    }
    bool is_lost() const noexcept { return leaseq_lease_is_lost(get()); }
    bool is_settled() const noexcept { return leaseq_lease_is_settled(get()); }
    /** See leaseq_lease_is_cancelled(). */
    bool is_cancelled() const noexcept { return leaseq_lease_is_cancelled(get()); }
    /** Readable when is_cancelled() becomes true; see leaseq_lease_cancelled_fd(). */
    int cancelled_fd() const {
        int fd = -1;
        check([&](leaseq_error **error) { return leaseq_lease_cancelled_fd(get(), &fd, error); });
        return fd;
    }
    /** Nothing if that is unknown; see ::leaseq_completed. */
    std::optional<bool> completed() const noexcept {
        const leaseq_completed completed = leaseq_lease_completed(get());
        if (completed == LEASEQ_COMPLETED_UNKNOWN) return std::nullopt;
        return completed == LEASEQ_COMPLETED_YES;
    }

  private:
    Handle<leaseq_lease, leaseq_lease_free> handle_;
};

/** How an item is added; see ::leaseq_item_options. */
struct ItemOptions {
    /** Without one: a random UUID. */
    std::optional<std::string_view> id = std::nullopt;
    int priority = 0;
    milliseconds delay{0};
    /** When it is due, since 1970, by the server's clock; not together with a delay. */
    std::optional<milliseconds> due_at = std::nullopt;
    std::optional<std::uint32_t> max_attempts = std::nullopt;
    /** How long the item stays after its completion; zero: not at all. */
    milliseconds retain{0};
    /** Only one item of the queue may have this key. */
    std::optional<std::string_view> unique = std::nullopt;
    milliseconds unique_for{0};
    /** No more items of a key are leased at the same time than its limit allows. */
    std::optional<std::string_view> key = std::nullopt;
    /** Take the place of an item with the id or the key, unless that is leased. */
    bool replace = false;
    /** With `replace`: wait for a leased item, and take its place when the lease ends. */
    bool successor = false;
    /** The item is dead after this time if it is not leased then; without it: never. */
    std::optional<milliseconds> expires_in = std::nullopt;
};

/** Instead of what the worker says of a job; see ::leaseq_job_options. */
struct JobOptions {
    /** How long its handler may run before it is cancelled. */
    std::optional<milliseconds> timeout = std::nullopt;
    /** How often it is tried; without it, the worker also says how long it waits before. */
    std::optional<std::uint32_t> attempts = std::nullopt;
    /** The longest pause before the second attempt, and before any. */
    milliseconds base{1000}, cap{600000};
    /** Only errors of these classes are retried; if it is empty, those that the worker names. */
    std::vector<std::string> retry_on = {};
    /** Errors of these classes are never retried; if it is empty, those that the worker names. */
    std::vector<std::string> retry_never = {};
    /** Names and texts for the handler; see leaseq_task_meta(). */
    std::vector<std::pair<std::string, std::string>> meta = {};
};

/** A job to add, with the jobs that follow it: each is added, exactly once, when this one has
 * succeeded, is dead, or has ended in any way. Up to 16 of them, in up to 16 levels, 64 KiB in
 * total. */
struct NewJob {
    std::string name;
    /** A JSON object. */
    std::string args = "{}";
    ItemOptions options = {};
    JobOptions job_options = {};
    /** Without one: that of the job before. */
    std::optional<std::string> queue = std::nullopt;
    std::vector<NewJob> on_success = {};
    std::vector<NewJob> on_failure = {};
    std::vector<NewJob> on_end = {};
};

/** How items are leased; see ::leaseq_lease_options. */
struct LeaseOptions {
    milliseconds duration{30000};
    milliseconds wait = forever;
    bool keep_alive = false;
    /** Zero: no limit. */
    milliseconds keep_alive_limit{0};
};

/** How items are completed; see ::leaseq_complete_options. */
struct CompleteOptions {
    /** Of a call for one item. */
    std::optional<std::string_view> result = std::nullopt;
    /** Of a call for many items: one for each, or none at all. */
    std::vector<std::optional<std::string_view>> results = {};
    /** Without it: as the item was added. */
    std::optional<milliseconds> retain = std::nullopt;
    bool strict = false;
};

/** What Queue::complete_and_lease() has done. */
struct CompletedAndLeased {
    /** For each lease, in their order. */
    std::vector<bool> completed;
    std::vector<Lease> leases;
};

/** How an item has ended. */
class Outcome {
  public:
    explicit Outcome(leaseq_outcome *outcome) noexcept : handle_(outcome) {}
    leaseq_outcome *get() const noexcept { return handle_.get(); }
    leaseq_end_kind kind() const noexcept { return leaseq_outcome_kind(get()); }
    bool completed() const noexcept { return kind() == LEASEQ_OUTCOME_COMPLETED; }
    /** Whether the item was completed and is retained; if not, its result is not known. */
    bool retained() const noexcept { return leaseq_outcome_retained(get()); }
    /** The result of a completed item, which lives as long as the outcome. */
    std::optional<std::string_view> result() const noexcept {
        const char *data = leaseq_outcome_result(get());
        if (data == nullptr) return std::nullopt;
        return std::string_view(data, leaseq_outcome_result_len(get()));
    }
    /** The last error of a dead item, which lives as long as the outcome. */
    std::string_view error() const noexcept {
        return {leaseq_outcome_error(get()), leaseq_outcome_error_len(get())};
    }

  private:
    Handle<leaseq_outcome, leaseq_outcome_free> handle_;
};

/** How a group has ended: one of `LEASEQ_GROUP_COMPLETED`, `LEASEQ_GROUP_ENDED` and
 * `LEASEQ_GROUP_GONE`. */
struct GroupOutcome {
    leaseq_group_end end;
    /** What the group is then; zero if it is gone. */
    leaseq_group_info info;
    bool completed() const noexcept { return end == LEASEQ_GROUP_COMPLETED; }
};

struct Schedule;
struct ScheduleInfo;
struct SyncedSchedules;

/** One queue; see ::leaseq_queue. */
class Queue {
  public:
    explicit Queue(leaseq_queue *queue) noexcept : handle_(queue) {}
    leaseq_queue *get() const noexcept { return handle_.get(); }

    /** True: it is stored and will be delivered. False: an item with this id exists, or the unique
     * key is taken. */
    bool add_item(std::string_view data, const ItemOptions &options = {}) {
        const auto all = adding(options);
        bool added = false;
        check([&](leaseq_error **error) {
            return leaseq_queue_add_item(get(), data.data(), data.size(), all.get(), &added, error);
        });
        return added;
    }

    /** True: cancelled, or leased and marked; see leaseq_queue_cancel(). */
    bool cancel(std::string_view id) {
        bool cancelled = false;
        check([&](leaseq_error **error) {
            return leaseq_queue_cancel(get(), id.data(), id.size(), &cancelled, error);
        });
        return cancelled;
    }

    /** Waits until the item has ended. Nothing: it has not within `wait`; see
     * leaseq_queue_outcome(). */
    std::optional<Outcome> outcome(std::string_view id,
                                   milliseconds wait = milliseconds(LEASEQ_WAIT_FOREVER),
                                   bool expect = false) {
        leaseq_outcome *outcome = nullptr;
        check([&](leaseq_error **error) {
            return leaseq_queue_outcome(get(), id.data(), id.size(), wait.count(), expect, &outcome,
                                        error);
        });
        if (outcome == nullptr) return std::nullopt;
        return Outcome(outcome);
    }

    /** Waits until a group has ended. Nothing: it has not within `wait`; see
     * leaseq_queue_group_outcome(). */
    std::optional<GroupOutcome> group_outcome(std::string_view id,
                                              milliseconds wait = milliseconds(LEASEQ_WAIT_FOREVER),
                                              bool expect = false) {
        GroupOutcome outcome{};
        check([&](leaseq_error **error) {
            return leaseq_queue_group_outcome(get(), id.data(), id.size(), wait.count(), expect,
                                              &outcome.end, &outcome.info, sizeof outcome.info,
                                              error);
        });
        if (outcome.end == LEASEQ_GROUP_OPEN) return std::nullopt;
        return outcome;
    }

    /** Waits until all of the items have ended, in the order of the ids. With `statuses`, that
     * receives `LEASEQ_OK` for each, or why this item could not be asked about: the client asks
     * about up to 1,000 in a request. An invalid id is an error of the call. */
    std::vector<std::optional<Outcome>>
    outcome_many(const std::vector<std::string_view> &ids,
                 milliseconds wait = milliseconds(LEASEQ_WAIT_FOREVER), bool expect = false,
                 std::vector<leaseq_status> *statuses = nullptr) {
        std::vector<leaseq_bytes> all;
        all.reserve(ids.size());
        for (const std::string_view &id : ids) all.push_back(bytes(id));
        std::vector<leaseq_outcome *> given(ids.size() + 1);
        std::vector<std::optional<Outcome>> outcomes;
        outcomes.reserve(ids.size());
        if (statuses != nullptr) statuses->resize(ids.size());
        leaseq_status *const each = statuses == nullptr ? nullptr : statuses->data();
        check([&](leaseq_error **error) {
            return leaseq_queue_outcome_many(get(), all.data(), all.size(), wait.count(), expect,
                                             given.data(), each, error);
        });
        for (std::size_t i = 0; i < ids.size(); i++) {
            outcomes.emplace_back();
            if (given[i] != nullptr) outcomes.back().emplace(given[i]);
        }
        return outcomes;
    }

    /** Nothing: there was none in the time to wait. */
    [[nodiscard]] std::optional<Lease> lease(const LeaseOptions &options = {}) {
        std::vector<Lease> leases = lease_many(1, options);
        if (leases.empty()) return std::nullopt;
        return std::move(leases.front());
    }

    /** Up to `count` leases: waits for the first, then takes what is there. */
    [[nodiscard]] std::vector<Lease> lease_many(std::size_t count,
                                                const LeaseOptions &options = {}) {
        if (count > LEASEQ_MAX_LEASES) count = LEASEQ_MAX_LEASES;
        const auto made = kept_alive(options);
        std::vector<Lease> leases;
        leases.reserve(count);
        std::vector<leaseq_lease *> taken(count);
        std::size_t given = 0;
        check([&](leaseq_error **error) {
            return leaseq_queue_lease_many(get(), options.duration.count(), options.wait.count(),
                                           made.get(), taken.data(), count, &given, error);
        });
        for (std::size_t i = 0; i < given; i++) leases.emplace_back(taken[i]);
        return leases;
    }

    /** Completes the items, then leases up to `count` others, in one round trip. After an error,
     * Lease::completed() says of each whether it was completed. */
    [[nodiscard]] CompletedAndLeased complete_and_lease(const std::vector<Lease> &before,
                                                        std::size_t count,
                                                        const LeaseOptions &options = {},
                                                        const CompleteOptions &complete = {}) {
        if (count > LEASEQ_MAX_LEASES) count = LEASEQ_MAX_LEASES;
        const auto made = kept_alive(options);
        const auto how = completing(complete);
        CompletedAndLeased done;
        done.leases.reserve(count);
        done.completed.reserve(before.size());
        std::vector<leaseq_lease *> settled, taken(count);
        settled.reserve(before.size());
        for (const Lease &lease : before) settled.push_back(lease.get());
        const auto completed = std::make_unique<bool[]>(before.size());
        std::size_t given = 0;
        check([&](leaseq_error **error) {
            return leaseq_queue_complete_and_lease(get(), settled.data(), settled.size(), how.get(),
                                                   completed.get(), options.duration.count(),
                                                   options.wait.count(), made.get(), taken.data(),
                                                   count, &given, error);
        });
        for (std::size_t i = 0; i < given; i++) done.leases.emplace_back(taken[i]);
        done.completed.assign(completed.get(), completed.get() + before.size());
        return done;
    }

    /** True for exactly one caller. The item is gone, or retained with its result. */
    bool complete(const Lease &lease, const CompleteOptions &options = {}) {
        const auto how = completing(options);
        bool completed = false;
        check([&](leaseq_error **error) {
            return leaseq_queue_complete_with(get(), lease.get(), how.get(), &completed, error);
        });
        return completed;
    }

    /** Throws `LEASEQ_LEASE_LOST` if it is lost, as release() and fail() do. */
    void extend(const Lease &lease, milliseconds duration) {
        check([&](leaseq_error **error) {
            return leaseq_queue_extend(get(), lease.get(), duration.count(), nullptr, error);
        });
    }

    /** Stores how far the work has come, up to 1,024 bytes; see leaseq_queue_set_progress(). */
    void set_progress(const Lease &lease, std::string_view progress) {
        check([&](leaseq_error **error) {
            return leaseq_queue_set_progress(get(), lease.get(), progress.data(), progress.size(),
                                             error);
        });
    }

    /** Gives the item back without counting an attempt. The reason, UTF-8 of up to 128 bytes, is
     * kept with the item. */
    void release(const Lease &lease, milliseconds delay = milliseconds(0),
                 std::string_view reason = {}) {
        check([&](leaseq_error **error) {
            return leaseq_queue_release(get(), lease.get(), delay.count(), reason.data(),
                                        reason.size(), error);
        });
    }

    /** Counts a failure. Returns the state that the item is in now. With `dead` it is dead,
     * whatever its limit of attempts; there must be no delay then. */
    leaseq_state fail(const Lease &lease, std::string_view text,
                      milliseconds delay = milliseconds(0), bool dead = false) {
        leaseq_state state = LEASEQ_STATE_NONE;
        check([&](leaseq_error **error) {
            return leaseq_queue_fail(get(), lease.get(), text.data(), text.size(), delay.count(),
                                     dead, &state, error);
        });
        return state;
    }

    /** How many items of single keys are leased at the same time, 1 to 1,000; 0: as many as the
     * queue says. See leaseq_queue_set_key_limits(). */
    void set_key_limits(const std::vector<std::pair<std::string_view, std::uint32_t>> &limits) {
        std::vector<leaseq_key_limit> all;
        for (const auto &[key, limit] : limits) all.push_back({key.data(), key.size(), limit});
        check([&](leaseq_error **error) {
            return leaseq_queue_set_key_limits(get(), all.data(), all.size(), error);
        });
    }

    /** The limits of keys, and how many of their items are leased; in the order of the keys. */
    std::vector<leaseq_key_info> get_keys(const std::vector<std::string_view> &keys) const {
        std::vector<leaseq_bytes> all;
        for (const std::string_view &key : keys) all.push_back(bytes(key));
        std::vector<leaseq_key_info> infos(keys.size());
        check([&](leaseq_error **error) {
            return leaseq_queue_get_keys(get(), all.data(), all.size(), infos.data(), error);
        });
        return infos;
    }

    /** Adds a job for a handler in any language; the arguments are a JSON object. As add_item(). */
    bool enqueue(const std::string &name, std::string_view args, const ItemOptions &options = {}) {
        bool added = false;
        const auto all = adding(options);
        check([&](leaseq_error **error) {
            return leaseq_queue_enqueue(get(), name.c_str(), args.data(), args.size(), all.get(),
                                        &added, error);
        });
        return added;
    }

    /** Adds a job to this queue, whatever queue it names, with those that follow it. */
    bool enqueue(const NewJob &job) {
        bool added = false;
        const auto all = adding(job);
        const auto own = made(job.job_options);
        check([&](leaseq_error **error) {
            return leaseq_queue_enqueue_with(get(), job.name.c_str(), job.args.data(),
                                             job.args.size(), all.get(), own.get(), &added, error);
        });
        return added;
    }

    leaseq_counts counts() const {
        leaseq_counts counts;
        check([&](leaseq_error **error) {
            return leaseq_queue_counts(get(), &counts, sizeof counts, error);
        });
        return counts;
    }

    /** Stores a schedule, or replaces the one with its name. Only its owner can change a schedule
     * that has one, with the same or a higher revision; see leaseq_queue_put_schedule(). */
    leaseq_scheduled put_schedule(const Schedule &schedule, const std::string &owner = {},
                                  std::uint64_t revision = 0);

    /** Makes the schedules of this owner these: adds, updates and removes them. After an error,
     * repeat the call; see leaseq_queue_sync_schedules(). */
    SyncedSchedules sync_schedules(const std::string &owner, std::uint64_t revision,
                                   const std::vector<Schedule> &schedules);

    /** The schedules, in the order of their names. */
    std::vector<ScheduleInfo> schedules(bool with_data = true) const;

    /** False: there was none, as for pause_schedule() and resume_schedule(). Its items stay. */
    bool remove_schedule(const std::string &name);

    /** Stops a schedule until resume_schedule(), also if it is put again; schedules() shows who has
     * paused it, up to 128 bytes, and why, up to 256. */
    bool pause_schedule(const std::string &name, const std::string &by = {},
                        const std::string &reason = {});

    /** Continues it with its first tick from now on. */
    bool resume_schedule(const std::string &name);

    /** Adds the item of a schedule now, whatever its rule says. False: there is none, or another
     * item has the unique key. */
    bool run_now(const std::string &name);

    /** Deletes the queue with everything in it. False: there was none. With `force` also follow-ups
     * for other queues that cannot be delivered now. */
    bool drop_queue(bool force = false) {
        bool dropped = false;
        check([&](leaseq_error **error) {
            return leaseq_queue_drop_queue(get(), force, &dropped, error);
        });
        return dropped;
    }

  private:
    static Handle<leaseq_item_options, leaseq_item_options_free>
    adding(const ItemOptions &options) {
        leaseq_item_options *made = nullptr;
        check([&](leaseq_error **error) { return leaseq_item_options_new(&made, error); });
        Handle<leaseq_item_options, leaseq_item_options_free> all(made);
        if (options.id) {
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_id(made, options.id->data(), options.id->size(),
                                                  error);
            });
        }
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_priority(made, options.priority, error);
        });
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_delay_ms(made, options.delay.count(), error);
        });
        if (options.due_at) {
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_due_at_ms(made, options.due_at->count(), error);
            });
        }
        if (options.max_attempts) {
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_max_attempts(made, *options.max_attempts, error);
            });
        }
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_retain_ms(made, options.retain.count(), error);
        });
        if (options.unique) {
            const leaseq_bytes key = bytes(*options.unique);
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_unique(made, key.data, key.len, error);
            });
        }
        if (options.key) {
            const leaseq_bytes key = bytes(*options.key);
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_key(made, key.data, key.len, error);
            });
        }
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_unique_for_ms(made, options.unique_for.count(), error);
        });
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_replace(made, options.replace, error);
        });
        check([&](leaseq_error **error) {
            return leaseq_item_options_set_successor(made, options.successor, error);
        });
        if (options.expires_in) {
            check([&](leaseq_error **error) {
                return leaseq_item_options_set_expires_in_ms(made, options.expires_in->count(),
                                                             error);
            });
        }
        return all;
    }

    /** The options of the item of a job. */
    static Handle<leaseq_item_options, leaseq_item_options_free> adding(const NewJob &job) {
        auto all = adding(job.options);
        follow(all.get(), LEASEQ_ON_COMPLETED, job.on_success);
        follow(all.get(), LEASEQ_ON_DEAD, job.on_failure);
        follow(all.get(), LEASEQ_ON_ENDED, job.on_end);
        return all;
    }

    static Handle<leaseq_job_options, leaseq_job_options_free> made(const JobOptions &options) {
        leaseq_job_options *made = nullptr;
        check([&](leaseq_error **error) { return leaseq_job_options_new(&made, error); });
        Handle<leaseq_job_options, leaseq_job_options_free> all(made);
        if (options.timeout) {
            check([&](leaseq_error **error) {
                return leaseq_job_options_set_timeout_ms(made, options.timeout->count(), error);
            });
        }
        if (options.attempts) {
            check([&](leaseq_error **error) {
                return leaseq_job_options_set_retry(made, *options.attempts, options.base.count(),
                                                    options.cap.count(), error);
            });
        }
        const auto add_classes = [&](const std::vector<std::string> &classes, bool retried) {
            for (const std::string &name : classes) {
                check([&](leaseq_error **error) {
                    return leaseq_job_options_add_retry_class(made, name.c_str(), retried, error);
                });
            }
        };
        add_classes(options.retry_on, true);
        add_classes(options.retry_never, false);
        for (const auto &[name, text] : options.meta) {
            check([&, &name = name, &text = text](leaseq_error **error) {
                return leaseq_job_options_set_meta(made, name.c_str(), text.c_str(), error);
            });
        }
        return all;
    }

    static void follow(leaseq_item_options *options, leaseq_on on,
                       const std::vector<NewJob> &jobs) {
        for (const NewJob &job : jobs) {
            const auto its = adding(job);
            if (job.queue) {
                check([&](leaseq_error **error) {
                    return leaseq_item_options_set_queue(its.get(), job.queue->c_str(), error);
                });
            }
            const auto own = made(job.job_options);
            leaseq_job *its_job = nullptr;
            check([&](leaseq_error **error) {
                return leaseq_job_new(job.name.c_str(), job.args.data(), job.args.size(), own.get(),
                                      &its_job, error);
            });
            const Handle<leaseq_job, leaseq_job_free> data(its_job);
            const leaseq_item item = {leaseq_job_data(its_job), leaseq_job_data_len(its_job),
                                      nullptr, 0, its.get()};
            check([&](leaseq_error **error) {
                return leaseq_item_options_add_follow_up(options, on, &item, true, error);
            });
        }
    }

    static Handle<leaseq_lease_options, leaseq_lease_options_free>
    kept_alive(const LeaseOptions &options) {
        leaseq_lease_options *made = nullptr;
        check([&](leaseq_error **error) { return leaseq_lease_options_new(&made, error); });
        Handle<leaseq_lease_options, leaseq_lease_options_free> all(made);
        if (options.keep_alive) {
            check([&](leaseq_error **error) {
                return leaseq_lease_options_set_keep_alive(made, options.keep_alive_limit.count(),
                                                           error);
            });
        }
        return all;
    }

    /** As leaseq.h takes bytes that are there: NULL would mean that there are none. */
    static leaseq_bytes bytes(std::string_view text) noexcept {
        return {text.data() == nullptr ? "" : text.data(), text.size()};
    }

    static Handle<leaseq_complete_options, leaseq_complete_options_free>
    completing(const CompleteOptions &options) {
        leaseq_complete_options *made = nullptr;
        if (!options.strict && !options.retain && !options.result && options.results.empty())
            return nullptr;
        check([&](leaseq_error **error) { return leaseq_complete_options_new(&made, error); });
        Handle<leaseq_complete_options, leaseq_complete_options_free> all(made);
        check([&](leaseq_error **error) {
            return leaseq_complete_options_set_strict(made, options.strict, error);
        });
        if (options.retain) {
            check([&](leaseq_error **error) {
                return leaseq_complete_options_set_retain_ms(made, options.retain->count(), error);
            });
        }
        std::vector<leaseq_bytes> results;
        if (options.result) results.push_back(bytes(*options.result));
        for (const auto &result : options.results)
            results.push_back(result ? bytes(*result) : leaseq_bytes{nullptr, 0});
        check([&](leaseq_error **error) {
            return leaseq_complete_options_set_results(made, results.data(), results.size(), error);
        });
        return all;
    }

    Handle<leaseq_queue, leaseq_queue_free> handle_;
};

/** Owns the connections, and closes them at its end; see ::leaseq_client. */
class Client {
  public:
    /** Without a URL: that of the environment. */
    explicit Client(const char *url = nullptr, const leaseq_connect_options *options = nullptr) {
        leaseq_client *client = nullptr;
        check([&](leaseq_error **error) {
            return leaseq_connect_with(url, options, &client, error);
        });
        handle_.reset(client);
    }
    Client(Client &&) = default;
    Client &operator=(Client &&) = delete;
    ~Client() { leaseq_client_close(get(), nullptr); }
    leaseq_client *get() const noexcept { return handle_.get(); }

    Queue queue(const std::string &name) const {
        leaseq_queue *queue = nullptr;
        check([&](leaseq_error **error) {
            return leaseq_client_queue(get(), name.c_str(), &queue, error);
        });
        return Queue(queue);
    }

    /** Ends all waits for leases, now and later. */
    void cancel_waits() const {
        check([&](leaseq_error **error) { return leaseq_client_cancel_waits(get(), error); });
    }

  private:
    Handle<leaseq_client, leaseq_client_free> handle_;
};

} // namespace leaseq

#include "leaseq_jobs.hpp"
#include "leaseq_schedules.hpp"

#endif
