/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file leaseq_schedules.hpp
 * Schedules of a queue, a part of leaseq.hpp, which includes it.
 *
 * @code
 * leaseq::Schedule report{"report", leaseq::Cron{"0 9 * * mon-fri", "Europe/Berlin"}, "yesterday"};
 * queue.put_schedule(report);
 * @endcode
 */
#ifndef LEASEQ_SCHEDULES_HPP
#define LEASEQ_SCHEDULES_HPP

#include "leaseq.hpp"

#include <variant>

namespace leaseq {

/** At the local times of a zone; see leaseq_schedule_options_set_cron(). */
struct Cron {
    std::string expression;
    /** An IANA name. */
    std::string zone = "UTC";
};

/** When a schedule adds items: at the times of a cron expression, or after each interval, 100 ms to
 * 366 days, of which the first one begins when the schedule is put. */
using ScheduleRule = std::variant<Cron, milliseconds>;

/** A schedule to put. */
struct Schedule {
    /** 1 to 128 bytes without control characters, its own in the queue. */
    std::string name;
    ScheduleRule rule;
    /** Of the item that each tick adds, at most 1 MiB. */
    std::string data = {};
    /** Of that item. Its id is `NAME@TIME` instead, and a delay begins with the tick. */
    ItemOptions options = {};
    /** What is done about ticks that nobody processed within their grace: `LEASEQ_MISSED_ONE`,
     * `LEASEQ_MISSED_SKIP`, or for how many of them at most, 1 to 1,000, an item each is added. */
    std::int64_t missed = LEASEQ_MISSED_ONE;
    /** How late a tick may be processed, at most 366 days. Without it: 60 s, or the time to the
     * next tick if that is shorter. */
    std::optional<milliseconds> grace = std::nullopt;
    /** Add an item although the last one of the schedule has not ended. */
    bool overlap = false;
};

/** A schedule as it is stored. */
struct ScheduleInfo {
    std::string name;
    ScheduleRule rule;
    /** Of the items that it adds, as the options behind it; empty if it was read without. */
    std::string data;
    int priority;
    /** How long after its tick an item is ready. */
    milliseconds delay;
    std::optional<std::uint32_t> max_attempts;
    /** Zero: not at all, unless the queue says so. */
    milliseconds retain;
    std::optional<std::string> unique;
    milliseconds unique_for;
    bool replace, successor;
    std::optional<std::string> key;
    std::optional<milliseconds> expires_in;
    /** Who declares it; empty: nobody. */
    std::string owner;
    std::uint64_t revision;
    /** As in Schedule. */
    std::int64_t missed;
    std::optional<milliseconds> grace;
    bool overlap;
    bool paused;
    /** When it was paused; nothing: it is not paused. */
    std::optional<time_point> paused_at;
    /** Who has paused it, and why; empty: it is not paused, or nobody said so. */
    std::string paused_by, pause_reason;
    /** The next tick; nothing while it is paused. */
    std::optional<time_point> next;
    /** The id of the last item that it has added; nothing: it has added none. */
    std::optional<std::string> last_id;
};

/** What Queue::sync_schedules() has done, by the names of the schedules; see ::leaseq_scheduled. */
struct SyncedSchedules {
    std::vector<std::string> added, updated, removed, unchanged, outdated;
};

namespace scheduling {

using Options = Handle<leaseq_schedule_options, leaseq_schedule_options_free>;

/** A text for leaseq.h, which would end at a NUL. */
inline const char *c_text(const char *what, const std::string &text) {
    if (text.find('\0') != std::string::npos)
        throw Error(LEASEQ_INVALID, std::string(what) + " has a NUL");
    return text.c_str();
}

inline Options with_rule(const ScheduleRule &rule) {
    leaseq_schedule_options *made = nullptr;
    check([&](leaseq_error **error) { return leaseq_schedule_options_new(&made, error); });
    Options options(made);
    check([&](leaseq_error **error) {
        if (const auto *every = std::get_if<milliseconds>(&rule))
            return leaseq_schedule_options_set_every_ms(made, every->count(), error);
        const Cron &cron = std::get<Cron>(rule);
        const char *expression = c_text("the cron expression", cron.expression);
        const char *zone = c_text("the zone", cron.zone);
        return leaseq_schedule_options_set_cron(made, expression, zone, error);
    });
    return options;
}

inline Options options(const Schedule &schedule, const std::string &owner, std::uint64_t revision) {
    Options made = with_rule(schedule.rule);
    const char *who = c_text("the owner", owner);
    check([&](leaseq_error **error) {
        return leaseq_schedule_options_set_owner(made.get(), who, revision, error);
    });
    check([&](leaseq_error **error) {
        return leaseq_schedule_options_set_missed(made.get(), schedule.missed, error);
    });
    if (schedule.grace) {
        const std::int64_t grace = schedule.grace->count();
        // -1 is the default in leaseq.h.
        if (grace < 0)
            throw Error(LEASEQ_INVALID,
                        "the grace of " + std::to_string(grace) + " ms is negative");
        check([&](leaseq_error **error) {
            return leaseq_schedule_options_set_grace_ms(made.get(), grace, error);
        });
    }
    check([&](leaseq_error **error) {
        return leaseq_schedule_options_set_overlap(made.get(), schedule.overlap, error);
    });
    return made;
}

inline std::optional<std::string> bytes(const char *data, std::size_t len) {
    if (data == nullptr) return std::nullopt;
    return std::string(data, len);
}

inline std::optional<milliseconds> unless_negative(std::int64_t ms) {
    if (ms < 0) return std::nullopt;
    return milliseconds(ms);
}

inline ScheduleInfo read(const leaseq_schedule_info *of) {
    ScheduleInfo info{};
    info.name = leaseq_schedule_info_name(of);
    if (const char *cron = leaseq_schedule_info_cron(of)) {
        info.rule = Cron{cron, leaseq_schedule_info_zone(of)};
    } else {
        info.rule = milliseconds(leaseq_schedule_info_every_ms(of));
    }
    info.data = std::string(leaseq_schedule_info_data(of), leaseq_schedule_info_data_len(of));
    info.priority = leaseq_schedule_info_priority(of);
    info.delay = milliseconds(leaseq_schedule_info_delay_ms(of));
    if (const std::uint32_t most = leaseq_schedule_info_max_attempts(of)) info.max_attempts = most;
    info.retain = milliseconds(leaseq_schedule_info_retain_ms(of));
    info.unique = bytes(leaseq_schedule_info_unique(of), leaseq_schedule_info_unique_len(of));
    info.unique_for = milliseconds(leaseq_schedule_info_unique_for_ms(of));
    info.replace = leaseq_schedule_info_replace(of);
    info.successor = leaseq_schedule_info_successor(of);
    info.key = bytes(leaseq_schedule_info_key(of), leaseq_schedule_info_key_len(of));
    info.expires_in = unless_negative(leaseq_schedule_info_expires_in_ms(of));
    info.owner = leaseq_schedule_info_owner(of);
    info.revision = leaseq_schedule_info_revision(of);
    info.missed = leaseq_schedule_info_missed(of);
    info.grace = unless_negative(leaseq_schedule_info_grace_ms(of));
    info.overlap = leaseq_schedule_info_overlap(of);
    info.paused = leaseq_schedule_info_paused(of);
    if (const auto at = unless_negative(leaseq_schedule_info_paused_at_ms(of)))
        info.paused_at = time_point(*at);
    info.paused_by = leaseq_schedule_info_paused_by(of);
    info.pause_reason = leaseq_schedule_info_pause_reason(of);
    if (const auto next = unless_negative(leaseq_schedule_info_next_ms(of)))
        info.next = time_point(*next);
    if (const char *last = leaseq_schedule_info_last_id(of)) info.last_id = last;
    return info;
}

} // namespace scheduling

/** The next `count` times of a rule, at most 1,000, later than `after`, at which an interval
 * begins; without it: now, by this machine's clock. Fewer if the rule has no more. */
inline std::vector<time_point> schedule_times(const ScheduleRule &rule, std::size_t count = 10,
                                              std::optional<time_point> after = std::nullopt) {
    const auto options = scheduling::with_rule(rule);
    const std::int64_t since = after ? after->time_since_epoch().count() : -1;
    if (after && since < 0)
        throw Error(LEASEQ_INVALID, "the time of " + std::to_string(since) + " ms is before 1970");
    std::size_t found = 0;
    // A higher count is refused before anything is written.
    std::vector<std::int64_t> times(count <= 1000 ? count : 0);
    check([&](leaseq_error **error) {
        return leaseq_schedule_options_times(options.get(), since, times.data(), count, &found,
                                             error);
    });
    std::vector<time_point> all;
    for (std::size_t i = 0; i < found; i++) all.emplace_back(milliseconds(times[i]));
    return all;
}

inline leaseq_scheduled Queue::put_schedule(const Schedule &schedule, const std::string &owner,
                                            std::uint64_t revision) {
    const auto item = adding(schedule.options);
    const auto options = scheduling::options(schedule, owner, revision);
    const char *name = scheduling::c_text("the name of a schedule", schedule.name);
    const leaseq_schedule given = {name, schedule.data.data(), schedule.data.size(), item.get(),
                                   options.get()};
    leaseq_scheduled done = LEASEQ_SCHEDULED_NONE;
    check([&](leaseq_error **error) {
        return leaseq_queue_put_schedule(get(), &given, &done, error);
    });
    return done;
}

inline SyncedSchedules Queue::sync_schedules(const std::string &owner, std::uint64_t revision,
                                             const std::vector<Schedule> &all) {
    std::vector<Handle<leaseq_item_options, leaseq_item_options_free>> items;
    std::vector<scheduling::Options> options;
    std::vector<leaseq_schedule> given;
    for (const Schedule &schedule : all) {
        items.push_back(adding(schedule.options));
        options.push_back(scheduling::options(schedule, owner, revision));
        const char *name = scheduling::c_text("the name of a schedule", schedule.name);
        given.push_back({name, schedule.data.data(), schedule.data.size(), items.back().get(),
                         options.back().get()});
    }
    const char *who = scheduling::c_text("the owner", owner);
    leaseq_synced *made = nullptr;
    check([&](leaseq_error **error) {
        return leaseq_queue_sync_schedules(get(), who, revision, given.data(), given.size(), &made,
                                           error);
    });
    const Handle<leaseq_synced, leaseq_synced_free> done(made);
    SyncedSchedules synced;
    for (std::size_t i = 0; i < leaseq_synced_len(made); i++) {
        std::vector<std::string> *names = nullptr;
        switch (leaseq_synced_done(made, i)) {
        case LEASEQ_SCHEDULED_ADDED:
            names = &synced.added;
            break;
        case LEASEQ_SCHEDULED_UPDATED:
            names = &synced.updated;
            break;
        case LEASEQ_SCHEDULED_REMOVED:
            names = &synced.removed;
            break;
        case LEASEQ_SCHEDULED_UNCHANGED:
            names = &synced.unchanged;
            break;
        default:
            names = &synced.outdated;
            break;
        }
        names->emplace_back(leaseq_synced_name(made, i));
    }
    return synced;
}

inline std::vector<ScheduleInfo> Queue::schedules(bool with_data) const {
    leaseq_schedules *made = nullptr;
    check([&](leaseq_error **error) {
        return leaseq_queue_schedules(get(), with_data, &made, error);
    });
    const Handle<leaseq_schedules, leaseq_schedules_free> found(made);
    std::vector<ScheduleInfo> all;
    for (std::size_t i = 0; i < leaseq_schedules_len(made); i++)
        all.push_back(scheduling::read(leaseq_schedules_get(made, i)));
    return all;
}

namespace scheduling {

/** Changes the schedule with this name by a function of leaseq.h. */
template <typename Change>
bool change(const Queue &queue, const std::string &name, Change &&change) {
    const char *which = c_text("the name of a schedule", name);
    bool done = false;
    check([&](leaseq_error **error) { return change(queue.get(), which, &done, error); });
    return done;
}

} // namespace scheduling

inline bool Queue::remove_schedule(const std::string &name) {
    return scheduling::change(*this, name, leaseq_queue_remove_schedule);
}

inline bool Queue::pause_schedule(const std::string &name, const std::string &by,
                                  const std::string &reason) {
    const char *who = scheduling::c_text("who pauses", by);
    const char *why = scheduling::c_text("the reason of a pause", reason);
    return scheduling::change(*this, name, [&](auto *queue, auto *which, auto *done, auto **error) {
        return leaseq_queue_pause_schedule(queue, which, who, why, done, error);
    });
}

inline bool Queue::resume_schedule(const std::string &name) {
    return scheduling::change(*this, name, leaseq_queue_resume_schedule);
}

inline bool Queue::run_now(const std::string &name) {
    return scheduling::change(*this, name, leaseq_queue_run_now);
}

} // namespace leaseq

#endif
