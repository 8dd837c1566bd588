/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Generated from bindings-c/src by `make generate`; do not edit. */

#ifndef LEASEQ_H
#define LEASEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file leaseq.h
 * A work queue for work that must not be lost.
 *
 * A producer adds items; a worker leases one for a time, does the work and completes it. If the
 * worker dies, its lease expires and another worker gets the item. The queue is stored in a file,
 * without a server, or in Redis or Valkey.
 *
 * @code
 * leaseq_client *client = NULL;
 * leaseq_queue *queue = NULL;
 * leaseq_lease *lease = NULL;
 * leaseq_error *error = NULL;
 * if (leaseq_connect("sqlite:jobs.db", &client, &error) != LEASEQ_OK ||
 *     leaseq_client_queue(client, "emails", &queue, &error) != LEASEQ_OK) {
 *     fprintf(stderr, "%s\n", leaseq_error_message(error));
 *     exit(1);
 * }
 * leaseq_queue_add_item(queue, "hello", 5, NULL, NULL, &error);
 * while (leaseq_queue_lease(queue, 30000, 5000, &lease, &error) == LEASEQ_OK && lease != NULL) {
 *     send(leaseq_lease_data(lease), leaseq_lease_data_len(lease));
 *     leaseq_queue_complete(queue, lease, NULL, &error);
 *     leaseq_lease_free(&lease);
 * }
 * @endcode
 *
 * # Conventions
 *
 * **Status.** A function that can fail returns a ::leaseq_status; `LEASEQ_OK` is 0. The numbers
 * never change their meaning. "An error of every operation" stands for `LEASEQ_INVALID` for a wrong
 * argument, `LEASEQ_UNAVAILABLE` when no reply arrived within the client's timeout, `LEASEQ_CLOSED`
 * after leaseq_client_close(), `LEASEQ_INCOMPATIBLE` for a queue written by a version with another
 * storage format, and `LEASEQ_INTERNAL` for damage or a bug.
 *
 * **Errors.** The last parameter of such a function is the address of a `leaseq_error *`, or NULL.
 * The function first sets the variable to NULL, whatever its value was, and to an error if it fails.
 * The caller owns the error, and frees it with leaseq_error_free() before using the variable again.
 * The library stores no error per thread.
 *
 * **Results** are returned through out-parameters, which the function first sets to NULL, false or
 * zero: they are valid after an error, too. The statuses that a function on many returns for each are
 * then the status of the call. Where a function says so, NULL means that a result is not wanted.
 *
 * **Wrong use** that the library can detect is `LEASEQ_INVALID`, and changes nothing: NULL for a
 * required argument, a handle that was freed (its variable is NULL then), an impossible length or
 * count, a number that is not a state. Anything else is undefined, as everywhere in C: a pointer to
 * something else, a length beyond the data, a copy of a handle that was freed.
 *
 * **Ownership.** Handles are opaque. The caller owns what a function returns through a `T **`, until
 * `leaseq_…_free(T **)`, which makes the caller's variable NULL and does nothing for NULL. Handles
 * may be freed in any order: a queue keeps its connections, a lease needs neither queue nor client.
 *
 * **Borrowed pointers.** A plain pointer that a function returns belongs to its handle and lives as
 * long as that. Arguments are read during the call, and copied if they are kept.
 *
 * **Text and bytes.** Names, URLs and messages are UTF-8 with a NUL at the end. Ids and data are
 * arbitrary bytes, including NUL, with a separate length; nothing is appended to them. Error texts
 * and reasons are UTF-8 with a separate length, and have a NUL at the end when they are returned.
 *
 * **Time** is in milliseconds, as int64_t. Durations are not negative, except
 * `LEASEQ_WAIT_FOREVER`. The server's clock decides; points in time are ms since 1970 on that clock.
 *
 * **Threads.** Any function may be called from any thread, and threads may share clients, queues,
 * leases and waiters. Only freeing a handle, and setting an option, must not happen while another
 * thread uses it. Calls made at the same time on one queue share requests. No function may be
 * called from a signal handler.
 *
 * **Blocking.** A call that uses the engine blocks its thread until the reply arrives or the
 * client's timeout (10 s by default) ends; leasing blocks for its time to wait in addition.
 * leaseq_client_cancel_waits() ends waits from another thread; leaseq_waiter_new() waits for an
 * event loop. Two threads of the library do the background work. They inherit the signal mask of
 * the thread that connects first: block there the signals that they must not receive.
 *
 * **Fork.** A child may continue to use clients and queues of its parent: it opens its own
 * connections at first use. Leases and waiters stay the parent's: in the child every use of them is
 * `LEASEQ_INVALID`, and freeing them there does not affect the parent's. Queues of `memory:` do not
 * exist in a child. By POSIX, a child of a program with threads may run only async-signal-safe
 * functions before exec(); this library is safe beyond that if malloc() of the C library is, as in
 * glibc. The library does not notice vfork() and clone().
 *
 * **Versions.** A program runs with every library that has the same leaseq_abi_version(), which the
 * soname carries, and that is at least as new as the header it was compiled with. Later versions may
 * add functions, options, kinds of status, and fields at the end of structs that are passed with
 * their size; nothing else changes.
 */


/**
 * For leaseq_schedule_options_set_missed(): one item is added for all missed ticks.
 */
#define LEASEQ_MISSED_ONE 0

/**
 * For leaseq_schedule_options_set_missed(): nothing is done about missed ticks.
 */
#define LEASEQ_MISSED_SKIP -1

/**
 * For leaseq_task_fail(): the job is retried as its rules say.
 */
#define LEASEQ_POLICY_RETRY 0

/**
 * For leaseq_task_fail(): it is retried after the given delay, if it has an attempt left.
 */
#define LEASEQ_POLICY_RETRY_AFTER 1

/**
 * For leaseq_task_fail(): it has nothing more to do, and ends as completed, without a result.
 */
#define LEASEQ_POLICY_DISCARD 2

/**
 * For leaseq_task_fail(): it is dead, whatever attempts it has left.
 */
#define LEASEQ_POLICY_BURY 3

/**
 * Version of the binary interface that this header describes. It increases when programs must be
 * recompiled; the shared library's soname carries it.
 */
#define LEASEQ_ABI_VERSION 1

/**
 * A time to wait without limit.
 */
#define LEASEQ_WAIT_FOREVER -1

/**
 * Longest id, in bytes.
 */
#define LEASEQ_MAX_ID 512

/**
 * Longest reason of a release, in bytes.
 */
#define LEASEQ_MAX_REASON 128

/**
 * Longest key, in bytes.
 */
#define LEASEQ_MAX_KEY 128

/**
 * Longest unique key, in bytes.
 */
#define LEASEQ_MAX_UNIQUE 512

/**
 * Most leases that one call gives.
 */
#define LEASEQ_MAX_LEASES 1000

/**
 * Size of the text of a random id, its NUL included.
 */
#define LEASEQ_NEW_ID_SIZE 37

/**
 * The outcome of a call: success, or one of six kinds of error that say what to do. Messages may
 * change, kinds do not.
 */
typedef enum {
    /**
     * Success. An empty queue and an unknown item are not errors.
     */
    LEASEQ_OK = 0,
    /**
     * Fix the argument or the configuration. Nothing was changed.
     */
    LEASEQ_INVALID = 1,
    /**
     * Stop working on the item: the lease is no longer the current one.
     */
    LEASEQ_LEASE_LOST = 2,
    /**
     * Back off and retry. leaseq_error_outcome_unknown() says whether the operation may have been
     * executed.
     */
    LEASEQ_UNAVAILABLE = 3,
    /**
     * Upgrade or reconfigure: data or a server of another version.
     */
    LEASEQ_INCOMPATIBLE = 4,
    /**
     * Open a new client: this one was closed.
     */
    LEASEQ_CLOSED = 5,
    /**
     * Report a bug, or run leaseq_queue_check(): the stored data is not as this library wrote it.
     */
    LEASEQ_INTERNAL = 6,
} leaseq_status;

/**
 * How a group has ended.
 */
typedef enum {
    /**
     * It has not ended.
     */
    LEASEQ_GROUP_OPEN = 0,
    /**
     * All its members were completed.
     */
    LEASEQ_GROUP_COMPLETED = 1,
    /**
     * All its members have ended, and one of them was not completed.
     */
    LEASEQ_GROUP_ENDED = 2,
    /**
     * There is no such group: it was never created, was removed, was not sealed for a day after its last change, or has
     * ended a day ago.
     */
    LEASEQ_GROUP_GONE = 3,
} leaseq_group_end;

/**
 * What is known of one place of a group.
 */
typedef enum {
    /**
     * No end of its member has been reported.
     */
    LEASEQ_PLACE_OPEN = 0,
    /**
     * Its member has ended without being completed, or was not added because another item had its id or unique key.
     */
    LEASEQ_PLACE_ENDED = 1,
    /**
     * Its member was completed.
     */
    LEASEQ_PLACE_COMPLETED = 2,
} leaseq_place_state;

/**
 * State of an item; exactly one at a time.
 */
typedef enum {
    /**
     * No state: the item does not exist, or the operation returned none.
     */
    LEASEQ_STATE_NONE = 0,
    /**
     * Can be leased.
     */
    LEASEQ_STATE_READY = 1,
    /**
     * Will be ready when its delay ends.
     */
    LEASEQ_STATE_DELAYED = 2,
    /**
     * Leased, or expired and not yet reclaimed.
     */
    LEASEQ_STATE_LEASED = 3,
    /**
     * Out of attempts, or failed as dead; stays until leaseq_queue_requeue() or
     * leaseq_queue_remove().
     */
    LEASEQ_STATE_DEAD = 4,
    /**
     * Completed, and kept for the time that it is retained.
     */
    LEASEQ_STATE_COMPLETED = 5,
    /**
     * Cancelled, and kept for the time that it is retained.
     */
    LEASEQ_STATE_CANCELLED = 6,
    /**
     * Would be ready, but as many items of its key are leased as may be.
     */
    LEASEQ_STATE_HELD = 7,
} leaseq_state;

/**
 * How a lease ended without completion.
 */
typedef enum {
    /**
     * There is no such lease.
     */
    LEASEQ_ENDING_NONE = 0,
    /**
     * With leaseq_queue_fail().
     */
    LEASEQ_ENDING_FAILED = 1,
    /**
     * It expired and was reclaimed.
     */
    LEASEQ_ENDING_EXPIRED = 2,
} leaseq_ending;

/**
 * Whether an item was completed through a lease.
 */
typedef enum {
    /**
     * It was not. If leaseq_lease_is_settled(), it was released or failed, or another caller has
     * completed or removed the item.
     */
    LEASEQ_COMPLETED_NO = 0,
    /**
     * It was: this lease has completed the item, which is gone. The lease is settled too.
     */
    LEASEQ_COMPLETED_YES = 1,
    /**
     * Unknown: a call has no reply yet, or failed with leaseq_error_outcome_unknown(). Completing
     * the item again is harmless; leaseq_lease_is_settled() says nothing about it.
     */
    LEASEQ_COMPLETED_UNKNOWN = 2,
} leaseq_completed;

/**
 * How an item has ended.
 */
typedef enum {
    /**
     * No outcome: the item has not ended.
     */
    LEASEQ_OUTCOME_NONE = 0,
    /**
     * It was completed.
     */
    LEASEQ_OUTCOME_COMPLETED = 1,
    /**
     * It failed or expired for the last time, or was buried.
     */
    LEASEQ_OUTCOME_DEAD = 2,
    /**
     * It was cancelled.
     */
    LEASEQ_OUTCOME_CANCELLED = 3,
    /**
     * It was removed or purged, or an item with another id and its unique key replaced it.
     */
    LEASEQ_OUTCOME_REMOVED = 4,
    /**
     * There is no such item: it was never added, or has ended without being retained, and how is
     * not known any more.
     */
    LEASEQ_OUTCOME_GONE = 5,
} leaseq_end_kind;

/**
 * What was done with a schedule.
 */
typedef enum {
    /**
     * Nothing is known.
     */
    LEASEQ_SCHEDULED_NONE = 0,
    /**
     * There was none.
     */
    LEASEQ_SCHEDULED_ADDED = 1,
    /**
     * Another one was stored. If it had the same rule, the next tick has stayed.
     */
    LEASEQ_SCHEDULED_UPDATED = 2,
    /**
     * The same one was stored.
     */
    LEASEQ_SCHEDULED_UNCHANGED = 3,
    /**
     * Its owner has stored or removed one with a higher revision. Nothing has changed.
     */
    LEASEQ_SCHEDULED_OUTDATED = 4,
    /**
     * Its owner declares it no longer.
     */
    LEASEQ_SCHEDULED_REMOVED = 5,
} leaseq_scheduled;

/**
 * What has become of a job.
 */
typedef enum {
    /**
     * Unknown: the call has failed, or this process is a child.
     */
    LEASEQ_SETTLED_NONE = 0,
    /**
     * It is completed.
     */
    LEASEQ_SETTLED_COMPLETED = 1,
    /**
     * It has failed, and is tried again.
     */
    LEASEQ_SETTLED_RETRIED = 2,
    /**
     * It is dead.
     */
    LEASEQ_SETTLED_DEAD = 3,
    /**
     * It was given back without using an attempt.
     */
    LEASEQ_SETTLED_RELEASED = 4,
    /**
     * It is cancelled.
     */
    LEASEQ_SETTLED_CANCELLED = 5,
    /**
     * Another worker has it, or it has ended otherwise: what the handler has done was not reported.
     */
    LEASEQ_SETTLED_LOST = 6,
    /**
     * The queue has got the report of a failure or a release, but its answer was lost, and the lease has ended: by that
     * report, as is likely, or because it had expired before.
     */
    LEASEQ_SETTLED_UNCERTAIN = 7,
} leaseq_settled;

/**
 * Why a task is to stop.
 */
typedef enum {
    /**
     * It is not.
     */
    LEASEQ_CANCEL_NONE = 0,
    /**
     * Somebody has cancelled the job.
     */
    LEASEQ_CANCEL_USER = 1,
    /**
     * Its time is over.
     */
    LEASEQ_CANCEL_TIMEOUT = 2,
    /**
     * The worker is ending, and the grace period is over.
     */
    LEASEQ_CANCEL_SHUTDOWN = 3,
    /**
     * The lease is lost: another worker may have the job.
     */
    LEASEQ_CANCEL_LOST = 4,
} leaseq_cancel_reason;

/**
 * The end of an item that fires a follow-up.
 */
typedef enum {
    /**
     * The item was completed, also after it had died.
     */
    LEASEQ_ON_COMPLETED = 1,
    /**
     * The item is dead: for each run that ends so.
     */
    LEASEQ_ON_DEAD = 2,
    /**
     * The run has ended in any way: completed, dead, cancelled, removed or purged. Not if the item was
     * replaced, or its queue dropped.
     */
    LEASEQ_ON_ENDED = 3,
} leaseq_on;

/**
 * A setting of a queue.
 */
typedef enum {
    /**
     * See leaseq_settings_options_set_max_attempts().
     */
    LEASEQ_SETTING_MAX_ATTEMPTS = 1,
    /**
     * See leaseq_settings_options_set_retain_ms().
     */
    LEASEQ_SETTING_RETAIN = 2,
    /**
     * See leaseq_settings_options_set_max_dead().
     */
    LEASEQ_SETTING_MAX_DEAD = 3,
    /**
     * See leaseq_settings_options_set_max_retained().
     */
    LEASEQ_SETTING_MAX_RETAINED = 4,
    /**
     * See leaseq_settings_options_set_max_dead_age_ms().
     */
    LEASEQ_SETTING_MAX_DEAD_AGE = 5,
    /**
     * See leaseq_settings_options_set_max_retained_age_ms().
     */
    LEASEQ_SETTING_MAX_RETAINED_AGE = 6,
    /**
     * See leaseq_settings_options_set_rate().
     */
    LEASEQ_SETTING_RATE = 7,
    /**
     * See leaseq_settings_options_set_key_limit().
     */
    LEASEQ_SETTING_KEY_LIMIT = 8,
    /**
     * See leaseq_settings_options_set_key_rate().
     */
    LEASEQ_SETTING_KEY_RATE = 9,
    /**
     * See leaseq_settings_options_set_events().
     */
    LEASEQ_SETTING_EVENTS = 10,
} leaseq_setting;

/**
 * Owns the connections to one server, or an embedded queue, and serves any number of queues.
 */
typedef struct leaseq_client leaseq_client;

/**
 * How items are completed.
 */
typedef struct leaseq_complete_options leaseq_complete_options;

/**
 * How a client connects; the URL wins over these options.
 */
typedef struct leaseq_connect_options leaseq_connect_options;

/**
 * An error: a kind that is part of the interface, and a message that is not.
 */
typedef struct leaseq_error leaseq_error;

/**
 * Names a group, never a later one with its id. May be used by any number of threads at the same time.
 */
typedef struct leaseq_group leaseq_group;

/**
 * An item as stored in the queue, read without leasing it.
 */
typedef struct leaseq_item_info leaseq_item_info;

/**
 * How an item is added, or revised.
 */
typedef struct leaseq_item_options leaseq_item_options;

/**
 * A job as the data of an item: one that follows another job or a group, of a schedule, or one of many.
 */
typedef struct leaseq_job leaseq_job;

/**
 * What a producer says about a job. What is set takes precedence over what the worker says, the rest is left to that.
 */
typedef struct leaseq_job_options leaseq_job_options;

/**
 * A claim on one item until a deadline. Freeing it does not release the item: the lease then
 * expires, and the item is delivered again.
 */
typedef struct leaseq_lease leaseq_lease;

/**
 * How items are leased.
 */
typedef struct leaseq_lease_options leaseq_lease_options;

/**
 * How items are listed. An item is listed if it has all that is asked for.
 */
typedef struct leaseq_list_options leaseq_list_options;

/**
 * Texts of a result.
 */
typedef struct leaseq_names leaseq_names;

/**
 * How an item has ended.
 */
typedef struct leaseq_outcome leaseq_outcome;

/**
 * A page of leaseq_queue_list() or leaseq_queue_list_with().
 */
typedef struct leaseq_page leaseq_page;

/**
 * One queue. May be used by any number of threads at the same time.
 */
typedef struct leaseq_queue leaseq_queue;

/**
 * Result of a deep clean or a check.
 */
typedef struct leaseq_report leaseq_report;

/**
 * A schedule as it is stored. It lives as long as its leaseq_schedules.
 */
typedef struct leaseq_schedule_info leaseq_schedule_info;

/**
 * How a schedule adds items. A rule must be set.
 */
typedef struct leaseq_schedule_options leaseq_schedule_options;

/**
 * The schedules of a queue, in the order of their names.
 */
typedef struct leaseq_schedules leaseq_schedules;

/**
 * What leaseq_queue_configure() changes. A setting that is not named stays as it is.
 */
typedef struct leaseq_settings_options leaseq_settings_options;

/**
 * What leaseq_queue_sync_schedules() has done with each schedule.
 */
typedef struct leaseq_synced leaseq_synced;

/**
 * A job in a slot of a worker, until one of the functions that end it is called. A task that is freed
 * before that fails.
 */
typedef struct leaseq_task leaseq_task;

/**
 * Waits for leases in the background, and notifies an event loop through a file descriptor.
 */
typedef struct leaseq_waiter leaseq_waiter;

/**
 * Leases jobs for free slots, extends their leases, and sees to timeouts, retries, cancellation and an
 * orderly end. Threads of the program take tasks with leaseq_worker_next() and run them.
 */
typedef struct leaseq_worker leaseq_worker;

/**
 * What a worker of jobs is told.
 */
typedef struct leaseq_worker_options leaseq_worker_options;

/**
 * An item to add. Set it to zero first: `leaseq_item item = {0};`
 */
typedef struct {
    /**
     * The data: arbitrary bytes.
     */
    const void *data;
    /**
     * Their number, at most 8 MiB unless the client is configured otherwise.
     */
    size_t data_len;
    /**
     * The id, 1 to 512 arbitrary bytes; NULL for that of the options, or else a random UUID.
     */
    const void *id;
    /**
     * Their number.
     */
    size_t id_len;
    /**
     * NULL for the defaults. Many items may share options.
     */
    const leaseq_item_options *options;
} leaseq_item;

/**
 * Names an item of the queue. Set it to zero first: `leaseq_item_ref item = {0};`
 */
typedef struct {
    /**
     * The id, 1 to 512 arbitrary bytes.
     */
    const void *id;
    /**
     * Their number.
     */
    size_t id_len;
    /**
     * Only if the item is of this generation, as leaseq_item_info_generation() returns it; NULL for
     * any.
     */
    const char *if_generation;
} leaseq_item_ref;

/**
 * A follow-up for an item of the queue. Set it to zero first: `leaseq_attachment attachment = {0};`
 */
typedef struct {
    /**
     * The item that is to have it.
     */
    leaseq_item_ref to;
    /**
     * What is added when that ends, with the options of its own.
     */
    const leaseq_item *item;
    /**
     * The end that fires it, a ::leaseq_on.
     */
    int32_t on;
    /**
     * Whether it gets the id and the result of the item that has fired it.
     */
    bool with_trigger;
} leaseq_attachment;

/**
 * What to change of an item. Set it to zero first: `leaseq_revision revision = {0};`
 */
typedef struct {
    /**
     * The id, 1 to 512 arbitrary bytes; NULL for that of the options.
     */
    const void *id;
    /**
     * Their number.
     */
    size_t id_len;
    /**
     * Only if the item is of this generation, as leaseq_item_info_generation() returns it; NULL for
     * any.
     */
    const char *if_generation;
    /**
     * The new data; NULL to keep it.
     */
    const void *data;
    /**
     * Its number of bytes, at most 8 MiB unless the client is configured otherwise.
     */
    size_t data_len;
    /**
     * The new priority, delay, time at which it is due and limit of attempts: what is set here; NULL
     * to keep them all.
     */
    const leaseq_item_options *options;
} leaseq_revision;

/**
 * What runs a task in leaseq_worker_run() and leaseq_child_run(). A task that it has not ended itself is completed if
 * it returns 0, and fails otherwise. It must not free the task.
 */
typedef int32_t (*leaseq_handler)(leaseq_task *task, void *context);

/**
 * Result of a light clean. Later versions may append fields.
 */
typedef struct {
    /**
     * Delayed items that became ready.
     */
    uint64_t promoted;
    /**
     * Expired leases that were reclaimed.
     */
    uint64_t expired;
    /**
     * How many of those items are now dead because they reached their limit of attempts.
     */
    uint64_t died;
    /**
     * Time until the next item is due or the next lease expires, in ms; -1 if there is neither.
     */
    int64_t next_in_ms;
    /**
     * Dead and retained items that were removed because the settings of the queue allow no more, or
     * none so old.
     */
    uint64_t removed;
} leaseq_light_report;

/**
 * Items that belong to the caller.
 */
typedef struct {
    /**
     * The first one; may be NULL if there are none.
     */
    const leaseq_item *items;
    /**
     * Number of items.
     */
    size_t count;
} leaseq_items;

/**
 * What is added when a group has ended. Set it to zero first: `leaseq_follow_up follow_up = {0};`
 */
typedef struct {
    /**
     * What is added, with the options of its own.
     */
    const leaseq_item *item;
    /**
     * The end that fires it, a ::leaseq_on: `LEASEQ_ON_COMPLETED` if all members were completed, `LEASEQ_ON_DEAD` if
     * all have ended and one of them was not completed, `LEASEQ_ON_ENDED` in both cases.
     */
    int32_t on;
    /**
     * Whether it gets the id of the group as its trigger.
     */
    bool with_trigger;
} leaseq_follow_up;

/**
 * A group as it is now. Later versions may append fields.
 */
typedef struct {
    /**
     * The last change, in ms since 1970.
     */
    int64_t changed_at_ms;
    /**
     * How many places it has; 0: it is not sealed.
     */
    uint32_t places;
    /**
     * How many of them have ended, the completed ones included.
     */
    uint32_t ended;
    /**
     * How many of them are completed.
     */
    uint32_t completed;
    /**
     * Whether it has ended, 1 or 0: its follow-ups were added, or are added soon, and no report changes it any more.
     */
    uint32_t has_ended;
} leaseq_group_info;

/**
 * A limit for a key.
 */
typedef struct {
    /**
     * The key, 1 to 128 arbitrary bytes.
     */
    const void *key;
    /**
     * Their number.
     */
    size_t key_len;
    /**
     * How many of its items are leased at the same time, 1 to 1,000; 0: as many as the queue says.
     */
    uint32_t limit;
} leaseq_key_limit;

/**
 * Bytes that belong to the caller.
 */
typedef struct {
    /**
     * The first byte; may be NULL if there are none.
     */
    const void *data;
    /**
     * Number of bytes.
     */
    size_t len;
} leaseq_bytes;

/**
 * A key of items, as leaseq_queue_get_keys() reads it.
 */
typedef struct {
    /**
     * How many of its items may be leased at the same time.
     */
    uint64_t limit;
    /**
     * Whether the limit is its own, and not that of the queue: 1 or 0.
     */
    uint64_t own_limit;
    /**
     * How many of its items are leased now; more than the limit after that was lowered. Leases that
     * have expired count until somebody leases or cleans.
     */
    uint64_t leased;
} leaseq_key_info;

/**
 * Numbers of items by state, and other figures for operators. Later versions may append fields.
 */
typedef struct {
    /**
     * Ready items.
     */
    uint64_t ready;
    /**
     * Ready items by priority, 0 to 9.
     */
    uint64_t ready_by_priority[10];
    /**
     * Items whose delay has not ended, or that are not promoted yet.
     */
    uint64_t delayed;
    /**
     * Leased items, including expired ones that are not reclaimed yet.
     */
    uint64_t leased;
    /**
     * Dead items.
     */
    uint64_t dead;
    /**
     * Completed items that are retained.
     */
    uint64_t completed;
    /**
     * Cancelled items that are retained.
     */
    uint64_t cancelled;
    /**
     * How long the oldest ready item has been ready, in ms; -1 if none is. Reclaiming and
     * releasing keep the age of an item; failing, delaying and requeueing restart it.
     */
    int64_t oldest_ready_ms;
    /**
     * Items added since the queue was new.
     */
    uint64_t total_added;
    /**
     * Leases given since then.
     */
    uint64_t total_leased;
    /**
     * Items completed since then.
     */
    uint64_t total_completed;
    /**
     * Leases that expired and were reclaimed since then.
     */
    uint64_t total_expired;
    /**
     * Counted failures since then.
     */
    uint64_t total_failed;
    /**
     * Items that became dead since then.
     */
    uint64_t total_died;
    /**
     * Items removed or purged since then.
     */
    uint64_t total_removed;
    /**
     * Items replaced by an add since then.
     */
    uint64_t total_replaced;
    /**
     * Items that nobody leased before they expired, since then; they count in `total_died` too.
     */
    uint64_t total_expired_unleased;
    /**
     * Items that have ended because they were cancelled, since then.
     */
    uint64_t total_cancelled;
    /**
     * Whether leasing is paused: 1 or 0.
     */
    uint64_t paused;
    /**
     * Whether the rate of the queue is used up now, 1 or 0: it gives no lease, however many items are
     * ready.
     */
    uint64_t rate_limited;
    /**
     * Items that wait until fewer of their key are leased; one of which no lease has found yet that its
     * key is full counts as ready.
     */
    uint64_t held;
} leaseq_counts;

/**
 * A schedule to put. Set it to zero first: `leaseq_schedule schedule = {0};`
 */
typedef struct {
    /**
     * Its name of 1 to 128 bytes without control characters, which is its own in the queue.
     */
    const char *name;
    /**
     * The data of the item that each tick adds, at most 1 MiB.
     */
    const void *data;
    /**
     * Number of bytes of the data.
     */
    size_t data_len;
    /**
     * The options of that item; NULL for the defaults. Its id is `NAME@TIME` instead of theirs, and a
     * delay begins with the tick.
     */
    const leaseq_item_options *item_options;
    /**
     * When and how the schedule adds items.
     */
    const leaseq_schedule_options *options;
} leaseq_schedule;

/**
 * The settings of a queue, which hold for every client. Later versions may append fields.
 */
typedef struct {
    /**
     * The limit of attempts of items that were added without one; 0: there is no limit.
     */
    uint64_t max_attempts;
    /**
     * How long an item is retained if neither it nor its completion says so; 0: not at all.
     */
    int64_t retain_ms;
    /**
     * The most dead items that the queue keeps; 0: there is no limit.
     */
    uint64_t max_dead;
    /**
     * The most retained items that the queue keeps; 0: there is no limit.
     */
    uint64_t max_retained;
    /**
     * Dead items are removed after this time; 0: they stay.
     */
    int64_t max_dead_age_ms;
    /**
     * The longest time for which an item is retained; 0: there is no limit.
     */
    int64_t max_retained_age_ms;
    /**
     * Goes up with each change; 0: the queue was never configured. A pause is no change.
     */
    uint64_t revision;
    /**
     * Whether leasing is paused: 1 or 0.
     */
    uint64_t paused;
    /**
     * When leasing goes on by itself, in ms since 1970; -1: it is not paused, or until
     * leaseq_queue_resume().
     */
    int64_t paused_until_ms;
    /**
     * How many leases become allowed in each period of the rate; 0: the queue has no rate.
     */
    uint64_t rate;
    /**
     * The period of the rate; 0: the queue has no rate.
     */
    int64_t rate_period_ms;
    /**
     * How many leases the rate allows at once if there were none for a while; 0: the queue has no
     * rate.
     */
    uint64_t rate_burst;
    /**
     * When the rate allows the next lease, in ms since 1970; -1: it allows one now, or there is no
     * rate.
     */
    int64_t rate_limited_until_ms;
    /**
     * How many items of a key are leased at the same time, unless it has a limit of its own.
     */
    uint64_t key_limit;
    /**
     * How many leases of a key become allowed in each period of its rate; 0: keys have no rate.
     */
    uint64_t key_rate;
    /**
     * The period of the rate of each key; 0: keys have no rate.
     */
    int64_t key_rate_period_ms;
    /**
     * How many leases of a key are allowed at once if there were none for a while; 0: keys have no
     * rate.
     */
    uint64_t key_rate_burst;
    /**
     * How many of its last changes the queue keeps; 0: none.
     */
    uint64_t events;
    /**
     * When the pause has begun, in ms since 1970; -1: it is not paused.
     */
    int64_t paused_at_ms;
    /**
     * Who has paused it: UTF-8 of up to 128 bytes, followed by a NUL. Empty: it is not paused, or nobody said so.
     */
    char paused_by[136];
    /**
     * Why it was paused: UTF-8 of up to 256 bytes, followed by a NUL. Empty: it is not paused, or nobody said so.
     */
    char pause_reason[264];
} leaseq_settings;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Adds an item with a copy of this data; `options` may be NULL. `*added` is true if the item is
 * stored and will be delivered. It is false if an item with this id exists in some state, or if its
 * unique key is taken; nothing changed, data included. leaseq_item_options_set_replace() replaces
 * the other item. `added` may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id, data or option outside its limits; an error of
 * every operation.
 */
leaseq_status leaseq_queue_add_item(const leaseq_queue *queue,
                                    const void *data,
                                    size_t data_len,
                                    const leaseq_item_options *options,
                                    bool *added,
                                    leaseq_error **error);

/**
 * Adds `count` items; `added`, an array of `count` or NULL, receives the results in their order.
 * Each chunk of at most 1,000 items and 16 MiB is one atomic step. Of two items with the same id
 * only the first can be true.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` if any of them is outside its limits, and then none is
 * added; an error of every operation, after which earlier chunks stay added.
 */
leaseq_status leaseq_queue_add_items(const leaseq_queue *queue,
                                     const leaseq_item *items,
                                     size_t count,
                                     bool *added,
                                     leaseq_error **error);

/**
 * Writes a random UUID as text, followed by a NUL, for callers that want to know the id of an item
 * that they add. Items without an id get such a UUID. `size` is that of `id`, at least
 * `LEASEQ_NEW_ID_SIZE`.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too small a size.
 */
leaseq_status leaseq_new_id(char *id, size_t size, leaseq_error **error);

/**
 * Removes every item that is in this ::leaseq_state when the call begins. `*removed` is their
 * number; it may be NULL. It works in steps, so that other clients can proceed.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an unknown state; an error of every operation, after
 * which some items may be removed.
 */
leaseq_status leaseq_queue_purge(const leaseq_queue *queue,
                                 int32_t state,
                                 uint64_t *removed,
                                 leaseq_error **error);

/**
 * Deletes the queue: items in every state, counts, totals, settings, the pause, and its name. `*dropped` is
 * false if there was no such queue; it may be NULL. From then on holders of its leases get false
 * or `LEASEQ_LEASE_LOST`. The handle stays usable: the queue exists again as soon as an item is
 * added. Follow-ups for other queues that were not delivered yet are delivered first; with `force` they are
 * lost if that is not possible now.
 * @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE`, also if such follow-ups cannot be delivered, and then the queue
 * exists; an error of every operation, after which the queue may or may not exist: call again.
 */
leaseq_status leaseq_queue_drop_queue(const leaseq_queue *queue,
                                      bool force,
                                      bool *dropped,
                                      leaseq_error **error);

/**
 * Adds a follow-up to an item that has not ended, in whatever state it is. If the item has ended as the follow-up
 * requires, and is dead or retained, the follow-up is added at once. `*attached` is true if the item has the
 * follow-up, or it is added; false if there is no such item, or it has ended in another way, or is of another
 * generation. It may be NULL. A follow-up whose id the item has already for that end is not attached again.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id or follow-up outside its limits, a text that is no generation, or if the
 * item would have more than 16 follow-ups or 64 KiB of them; an error of every operation.
 */
leaseq_status leaseq_queue_attach(const leaseq_queue *queue,
                                  const leaseq_attachment *attachment,
                                  bool *attached,
                                  leaseq_error **error);

/**
 * Attaches `count` follow-ups; `attached`, an array of `count` or NULL, receives the results in their order.
 * @return as leaseq_queue_attach(): for a follow-up outside its limits, none is attached; if an item has no room, others
 * may be.
 */
leaseq_status leaseq_queue_attach_many(const leaseq_queue *queue,
                                       const leaseq_attachment *attachments,
                                       size_t count,
                                       bool *attached,
                                       leaseq_error **error);

/**
 * Removes an item in any state. `*removed` is false if there is no item with this id; it may be
 * NULL. From then on the holder of its lease gets false or `LEASEQ_LEASE_LOST`.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
 * operation.
 */
leaseq_status leaseq_queue_remove(const leaseq_queue *queue,
                                  const void *id,
                                  size_t id_len,
                                  bool *removed,
                                  leaseq_error **error);

/**
 * Removes `count` items; `removed`, an array of `count` or NULL, receives the results in their
 * order: false also for an item of another generation than that of its leaseq_item_ref.
 * @return as leaseq_queue_remove(); `LEASEQ_INVALID` for a text that is no generation.
 */
leaseq_status leaseq_queue_remove_many(const leaseq_queue *queue,
                                       const leaseq_item_ref *items,
                                       size_t count,
                                       bool *removed,
                                       leaseq_error **error);

/**
 * Cancels an item. If it is ready, held or delayed, it is gone, or retained in
 * `LEASEQ_STATE_CANCELLED`. If it is leased, it is marked: its holder may still complete it; if the
 * lease fails, is released or expires instead, the item ends as cancelled, and is neither retried
 * nor dead. A holder that asks (leaseq_lease_is_cancelled()) learns of it within a few seconds.
 * `*cancelled` is true if the item is cancelled, or leased and marked by this call or an earlier
 * one; false if it does not exist or has ended. It may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
 * operation.
 */
leaseq_status leaseq_queue_cancel(const leaseq_queue *queue,
                                  const void *id,
                                  size_t id_len,
                                  bool *cancelled,
                                  leaseq_error **error);

/**
 * Cancels `count` items; `cancelled`, an array of `count` or NULL, receives the results in their
 * order: false also for an item of another generation than that of its leaseq_item_ref.
 * @return as leaseq_queue_cancel(); `LEASEQ_INVALID` for a text that is no generation.
 */
leaseq_status leaseq_queue_cancel_many(const leaseq_queue *queue,
                                       const leaseq_item_ref *items,
                                       size_t count,
                                       bool *cancelled,
                                       leaseq_error **error);

/**
 * Makes a dead item ready again, at the back of its priority, with its count of attempts reset.
 * `*requeued` is false if the item does not exist or is not dead; it may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
 * operation.
 */
leaseq_status leaseq_queue_requeue(const leaseq_queue *queue,
                                   const void *id,
                                   size_t id_len,
                                   bool *requeued,
                                   leaseq_error **error);

/**
 * Requeues `count` items; `requeued`, an array of `count` or NULL, receives the results in their
 * order: false also for an item of another generation than that of its leaseq_item_ref.
 * @return as leaseq_queue_requeue(); `LEASEQ_INVALID` for a text that is no generation.
 */
leaseq_status leaseq_queue_requeue_many(const leaseq_queue *queue,
                                        const leaseq_item_ref *items,
                                        size_t count,
                                        bool *requeued,
                                        leaseq_error **error);

/**
 * Makes an item dead that is ready, held or delayed, whatever its limit of attempts. `text`, UTF-8,
 * is stored with the item as its last error, its first 1,024 bytes; without bytes it becomes `buried
 * by an operator`. `*buried` is false if the item does not exist, is leased or is dead; it may be
 * NULL. The item is a new generation: an earlier holder of a lease can no longer complete it.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
 * operation.
 */
leaseq_status leaseq_queue_bury(const leaseq_queue *queue,
                                const void *id,
                                size_t id_len,
                                const void *text,
                                size_t text_len,
                                bool *buried,
                                leaseq_error **error);

/**
 * Buries `count` items with the same `text`; `buried`, an array of `count` or NULL, receives the
 * results in their order: false also for an item of another generation than that of its
 * leaseq_item_ref.
 * @return as leaseq_queue_bury(); `LEASEQ_INVALID` for a text that is no generation.
 */
leaseq_status leaseq_queue_bury_many(const leaseq_queue *queue,
                                     const leaseq_item_ref *items,
                                     size_t count,
                                     const void *text,
                                     size_t text_len,
                                     bool *buried,
                                     leaseq_error **error);

/**
 * Changes an item that is not leased. It stays in its state and keeps its attempts and the time
 * when it was added; a delay, which a dead item cannot have, makes it delayed or ready. An item
 * that is ready afterwards goes to the back of its priority. `*revised` is false if the item does
 * not exist, is leased or of another generation, or is dead and there is a delay; it may be NULL.
 * The item is a new generation: an earlier holder of a lease can no longer complete it.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id, data or option outside its limits, a text that is
 * no generation, or a revision that changes nothing; an error of every operation.
 */
leaseq_status leaseq_queue_revise(const leaseq_queue *queue,
                                  const leaseq_revision *revision,
                                  bool *revised,
                                  leaseq_error **error);

/**
 * Changes `count` items; `revised`, an array of `count` or NULL, receives the results in their
 * order.
 * @return as leaseq_queue_revise(): `LEASEQ_INVALID` if any of them is, and then none is changed;
 * an error of every operation, after which some may be changed.
 */
leaseq_status leaseq_queue_revise_many(const leaseq_queue *queue,
                                       const leaseq_revision *revisions,
                                       size_t count,
                                       bool *revised,
                                       leaseq_error **error);

/**
 * Runs jobs on this thread, one at a time, as a child that a worker has started: see
 * leaseq_worker_options_set_children(). Of the options, the jobs and the first queue count, which becomes the queue of a
 * worker that names none. It takes the standard input, which is empty from then on, and returns when the worker has no
 * more jobs for this child. If the worker ends, so does this process. SIGTERM and SIGINT, unless they are handled, do
 * nothing from then on, because the worker decides when a child ends. While a handler runs, SIGPIPE is not blocked.
 * Handlers must not call it.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL, without a job, and in a process that is no child of a worker;
 * `LEASEQ_CLOSED` if that has ended; `LEASEQ_UNAVAILABLE` without a thread or file descriptor.
 */
leaseq_status leaseq_child_run(const leaseq_worker_options *options,
                               leaseq_handler handler,
                               void *context,
                               leaseq_error **error);

/**
 * Runs the jobs in child processes: this program with these arguments, started for each slot, which calls
 * leaseq_child_run() or speaks the child protocol in another way. Without a slash it is looked up in `PATH`;
 * `/proc/self/exe` is the program of the worker itself. A handler that crashes then fails its job, and ends its child
 * only. The children say what jobs there are: those of these options have no effect. Tasks do not come to
 * leaseq_worker_next().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_children(leaseq_worker_options *options,
                                                 const char *program,
                                                 const char *const *args,
                                                 size_t args_len,
                                                 leaseq_error **error);

/**
 * Replaces a child after so many jobs; 1: each job has a child of its own; 0: never, which is the default.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, and without leaseq_worker_options_set_children().
 */
leaseq_status leaseq_worker_options_set_children_max_jobs(leaseq_worker_options *options,
                                                          uint64_t max_jobs,
                                                          leaseq_error **error);

/**
 * Replaces a child that is larger than `max_memory` bytes (resident size) after a job, and kills one that becomes larger
 * than `memory_limit` during a job, which fails with the class `OutOfMemory`. 0: no limit, the default. Only on Linux.
 * @return as leaseq_worker_options_set_children_max_jobs().
 */
leaseq_status leaseq_worker_options_set_children_memory(leaseq_worker_options *options,
                                                        uint64_t max_memory,
                                                        uint64_t memory_limit,
                                                        leaseq_error **error);

/**
 * How long a child may take to start until it calls leaseq_child_run(). Default: 60 s.
 * @return as leaseq_worker_options_set_children_max_jobs(), and `LEASEQ_INVALID` for a negative time.
 */
leaseq_status leaseq_worker_options_set_children_start_timeout_ms(leaseq_worker_options *options,
                                                                  int64_t timeout_ms,
                                                                  leaseq_error **error);

/**
 * Makes due items ready and reclaims expired leases, for queues on which no worker waits. The cost
 * depends on the number of due or expired items, not on the length of the queue. `size` is `sizeof
 * *report`.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_light_clean(const leaseq_queue *queue,
                                       leaseq_light_report *report,
                                       size_t size,
                                       leaseq_error **error);

/**
 * Finds and mends every broken invariant in small atomic steps. It is safe under full load and
 * beside other cleaners, and changes nothing in a sound queue. It takes about as long as reading
 * the whole queue, and 8 bytes of memory for each ready item.
 * @return `LEASEQ_OK`, even if damage was found; or an error of every operation.
 */
leaseq_status leaseq_queue_deep_clean(const leaseq_queue *queue,
                                      leaseq_report **report,
                                      leaseq_error **error);

/**
 * leaseq_queue_deep_clean() that changes nothing.
 * @return as leaseq_queue_deep_clean().
 */
leaseq_status leaseq_queue_check(const leaseq_queue *queue,
                                 leaseq_report **report,
                                 leaseq_error **error);

/**
 * Number of items examined; 0 for NULL.
 */
uint64_t leaseq_report_items(const leaseq_report *report);

/**
 * Idle lanes of clients that are gone. They are not damage.
 */
uint64_t leaseq_report_idle_lanes(const leaseq_report *report);

/**
 * True if nothing was wrong. False for NULL.
 */
bool leaseq_report_is_sound(const leaseq_report *report);

/**
 * Number of kinds of damage that were found; 0 for a sound queue.
 */
size_t leaseq_report_kinds(const leaseq_report *report);

/**
 * The kind of damage at this index, from 0, in a few words; NULL beyond the last. Lives as long as
 * the report.
 */
const char *leaseq_report_kind(const leaseq_report *report, size_t index);

/**
 * How often this kind was found.
 */
uint64_t leaseq_report_found(const leaseq_report *report, size_t index);

/**
 * How often this kind was mended; always 0 for a check.
 */
uint64_t leaseq_report_mended(const leaseq_report *report, size_t index);

/**
 * Number of findings described, at most the first 100.
 */
size_t leaseq_report_details(const leaseq_report *report);

/**
 * The description at this index, from 0: a line of text; NULL beyond the last. Lives as long as
 * the report.
 */
const char *leaseq_report_detail(const leaseq_report *report, size_t index);

/**
 * Frees a report and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_report_free(leaseq_report **report);

/**
 * Connects to `redis://`, `rediss://` (TLS), `redis+unix:///path`, `redis+sentinel://…`,
 * `redis+cluster://…`, or opens `sqlite:path/to/file.db` or `memory:`. The URL carries user,
 * password, database number and options: `redis://user:password@host:6379/0?timeout_ms=10000`.
 * NULL stands for the environment variable `LEASEQ_URL`, or else `REDIS_URL`.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a URL, an option or credentials that are wrong;
 * `LEASEQ_INCOMPATIBLE` for a server or file of another version, or a server that may evict items;
 * `LEASEQ_UNAVAILABLE` if there is no server.
 */
leaseq_status leaseq_connect(const char *url, leaseq_client **client, leaseq_error **error);

/**
 * leaseq_connect() with options; NULL for the defaults.
 * @return as leaseq_connect().
 */
leaseq_status leaseq_connect_with(const char *url,
                                  const leaseq_connect_options *options,
                                  leaseq_client **client,
                                  leaseq_error **error);

/**
 * The queue of this name, `[A-Za-z0-9._-]{1,128}`. A queue exists as soon as it has items. The
 * queue's handle may outlive the client's handle, and keeps the connections open.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a bad name; `LEASEQ_CLOSED`.
 */
leaseq_status leaseq_client_queue(const leaseq_client *client,
                                  const char *name,
                                  leaseq_queue **queue,
                                  leaseq_error **error);

/**
 * Names of all queues to which items were added, or which were paused or configured, and which were not
 * dropped
 * since; sorted.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_client_queues(const leaseq_client *client,
                                   leaseq_names **names,
                                   leaseq_error **error);

/**
 * Runs an operation on the registry of workers. Arguments and answer are JSON, UTF-8. The answer is the only text of
 * `answer`.
 *
 * | operation | arguments | answer |
 * |---|---|---|
 * | `beat` | a worker: `name` and `instance` (1 to 128 bytes each), and any of `host`, `process`, `language`, `version`, `queues`, `slots`, `running`, `memory_bytes`, `throttled`, `draining`, `waiting_us`, `run_us`, `lease_use`, `acknowledged` (numbers of commands); at most 256 KiB | `quiet` and `commands`, each with `number` and `action`: `stop`, or `cancel` with `queue` and `item_id` |
 * | `leave` | `name`, `instance` | `null` |
 * | `workers` | any of `after`, `name`, `queue`, `limit` (1 to 200; default: 100) | `workers`, each as its last beat said and with `seen`, `quiet` and `commands`; `next`, the `after` of the next page, or `null`; `skipped` |
 * | `command_worker` | `worker`: name and instance; `command`: `action`, and `queue` and `item_id` to cancel | `false`: no such worker has beaten within 30 s |
 * | `quiet_worker`, `resume_worker` | `name` | `null` |
 *
 * Each of `running` has `queue`, `item_id` (or `item_id_hex`, if it is no text), `elapsed_ms` and `deadline` (RFC 3339). A
 * histogram is a list of pairs: a value, and how often it was counted. A worker beats every 10 s, and is listed for 30 s.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an operation or arguments that are none, or above a limit; or an error of
 * every operation.
 */
leaseq_status leaseq_client_call_registry(const leaseq_client *client,
                                          const char *operation,
                                          const char *arguments,
                                          leaseq_names **answer,
                                          leaseq_error **error);

/**
 * Number of names; 0 for NULL.
 */
size_t leaseq_names_len(const leaseq_names *names);

/**
 * The name at this index, from 0; NULL beyond the last. Lives as long as `names`.
 */
const char *leaseq_names_get(const leaseq_names *names, size_t index);

/**
 * Frees names and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_names_free(leaseq_names **names);

/**
 * Ends all waits for leases of this client, in every thread, as if their time were over; leases
 * they obtain meanwhile are released. Later calls do not wait either, until
 * leaseq_client_allow_waits(), so no thread that is about to wait is missed. Use it for shutting
 * down. It takes locks: a signal handler must instead set a flag, or write to a pipe, for a thread
 * that calls it.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_client_cancel_waits(const leaseq_client *client, leaseq_error **error);

/**
 * Allows calls to wait again after leaseq_client_cancel_waits().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_client_allow_waits(const leaseq_client *client, leaseq_error **error);

/**
 * Ends waiting calls with `LEASEQ_CLOSED`, finishes requests in flight, releases leases that
 * reached no caller, and closes the connections. Leases that the caller holds stay valid until
 * their deadline. A second call does nothing. The handle must still be freed.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_client_close(const leaseq_client *client, leaseq_error **error);

/**
 * Frees a client and makes the pointer NULL. NULL and a pointer to NULL are allowed. Unlike
 * leaseq_client_close(), it does not wait. Queues of the client stay usable.
 */
void leaseq_client_free(leaseq_client **client);

/**
 * Completes `count` items, as leaseq_queue_complete_many() does, then leases up to `capacity`
 * others into `next`, as leaseq_queue_lease_many() does, in one round trip unless it has to wait.
 * Both options may be NULL. `next` must not be `leases`, whose handles must still be freed.
 *
 * The items are completed at once, before the call waits for the next ones. `completed` is valid
 * even if the wait ends with an error. After any error nothing was leased, and
 * leaseq_lease_completed() says of each lease whether it was completed.
 * @return as both, and `LEASEQ_INVALID` if one of the leases is NULL: then nothing is done.
 */
leaseq_status leaseq_queue_complete_and_lease(const leaseq_queue *queue,
                                              leaseq_lease *const *leases,
                                              size_t count,
                                              const leaseq_complete_options *complete_options,
                                              bool *completed,
                                              int64_t duration_ms,
                                              int64_t wait_ms,
                                              const leaseq_lease_options *lease_options,
                                              leaseq_lease **next,
                                              size_t capacity,
                                              size_t *next_count,
                                              leaseq_error **error);

/**
 * The default options for connecting.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_connect_options_new(leaseq_connect_options **options, leaseq_error **error);

/**
 * First part of every key in Redis, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
 */
leaseq_status leaseq_connect_options_set_namespace(leaseq_connect_options *options,
                                                   const char *name_space,
                                                   leaseq_error **error);

/**
 * How long an operation is retried before it fails with `LEASEQ_UNAVAILABLE`: 50 ms to 10 minutes.
 * Default: 10,000 ms.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_connect_options_set_timeout_ms(leaseq_connect_options *options,
                                                    int64_t timeout_ms,
                                                    leaseq_error **error);

/**
 * How long opening one connection may take: 10 ms to 10 minutes. Default: 2,000 ms.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_connect_options_set_connect_timeout_ms(leaseq_connect_options *options,
                                                            int64_t timeout_ms,
                                                            leaseq_error **error);

/**
 * Largest data of an item that this client adds, in bytes, at most 256 MiB. Default: 8 MiB.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_connect_options_set_max_data(leaseq_connect_options *options,
                                                  size_t max_data,
                                                  leaseq_error **error);

/**
 * PEM file with the certificate authorities trusted for TLS. Default: the system's.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
 */
leaseq_status leaseq_connect_options_set_ca_file(leaseq_connect_options *options,
                                                 const char *path,
                                                 leaseq_error **error);

/**
 * How many replicas of the server must have a change before its call returns: 0 to 10. If too few have it in
 * time, the call fails with `LEASEQ_UNAVAILABLE`, and its outcome is unknown. Default: 0.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_connect_options_set_replicas(leaseq_connect_options *options,
                                                  size_t replicas,
                                                  leaseq_error **error);

/**
 * Whose disks must have a change before its call returns: `local` is that of the server, `1` to `10` those of
 * the server and of so many replicas. Needs Redis 7.2 or Valkey. Default: the server decides.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or other text.
 */
leaseq_status leaseq_connect_options_set_fsync(leaseq_connect_options *options,
                                               const char *disks,
                                               leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_connect_options_free(leaseq_connect_options **options);

/**
 * Adds a job for a handler in any language: its name, 1 to 128 bytes, and its arguments, a JSON object.
 * `options` are those of the item, and may be NULL; a job that follows this one is a follow-up of them: see
 * leaseq_job_new(). `*added` is as of leaseq_queue_add_item(), and may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a name, arguments or an option outside their limits: arguments
 * that are no JSON object, integers beyond 2^53, and more than 100 levels; an error of every operation.
 */
leaseq_status leaseq_queue_enqueue(const leaseq_queue *queue,
                                   const char *name,
                                   const void *args,
                                   size_t args_len,
                                   const leaseq_item_options *options,
                                   bool *added,
                                   leaseq_error **error);

/**
 * As leaseq_queue_enqueue(), with a timeout, retries and meta texts of the job; `job_options` may be NULL.
 * @return as leaseq_queue_enqueue().
 */
leaseq_status leaseq_queue_enqueue_with(const leaseq_queue *queue,
                                        const char *name,
                                        const void *args,
                                        size_t args_len,
                                        const leaseq_item_options *options,
                                        const leaseq_job_options *job_options,
                                        bool *added,
                                        leaseq_error **error);

/**
 * Kind of the error; `LEASEQ_OK` for NULL.
 */
leaseq_status leaseq_error_status(const leaseq_error *error);

/**
 * What went wrong, for people: UTF-8, lower case, no final dot, never a password. Empty for NULL.
 * Lives as long as the error.
 */
const char *leaseq_error_message(const leaseq_error *error);

/**
 * Whether the operation may have been executed although no reply arrived. False for NULL.
 */
bool leaseq_error_outcome_unknown(const leaseq_error *error);

/**
 * Whether the same call may succeed later without any change. False for NULL.
 */
bool leaseq_error_retryable(const leaseq_error *error);

/**
 * Frees an error and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_error_free(leaseq_error **error);

/**
 * The queue to which the item is added if it is a follow-up, or a call adds it that ends another item;
 * that queue may not exist yet. Default: the queue of the item that ends.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a name that is not UTF-8.
 */
leaseq_status leaseq_item_options_set_queue(leaseq_item_options *options,
                                            const char *name,
                                            leaseq_error **error);

/**
 * Adds this item, which is copied with its options, when the item of these options ends so: exactly once,
 * to the same queue or that of its own options. `on` is a ::leaseq_on. An item has at most 16 follow-ups
 * of 64 KiB in total, those that they have themselves included. `with_trigger`: the follow-up gets the id,
 * and the result of up to 64 KiB, of the item whose end has added it; see leaseq_lease_trigger_id().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, another `on`, or an option outside its limits.
 */
leaseq_status leaseq_item_options_add_follow_up(leaseq_item_options *options,
                                                int32_t on,
                                                const leaseq_item *item,
                                                bool with_trigger,
                                                leaseq_error **error);

/**
 * For each of the `count` leases of the call the items, which are copied, that are added if the call ends the item
 * of the lease: at most 999, of 16 MiB, with different ids. Default, also set by NULL with count 0: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an option outside its limits.
 */
leaseq_status leaseq_complete_options_set_adds(leaseq_complete_options *options,
                                               const leaseq_items *adds,
                                               size_t count,
                                               leaseq_error **error);

/**
 * The group with what leaseq_group_queue(), leaseq_group_id() and leaseq_group_generation() have said of another
 * handle, in any process and language. Free it with leaseq_group_free(). It does not look whether there is such a group.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or a name, an id or a generation that is none.
 */
leaseq_status leaseq_group_new(const char *queue,
                               const void *id,
                               size_t id_len,
                               const char *generation,
                               leaseq_group **group,
                               leaseq_error **error);

/**
 * The name of the queue that has the group; NULL for NULL. Lives as long as the handle.
 */
const char *leaseq_group_queue(const leaseq_group *group);

/**
 * The id of the group: arbitrary bytes; NULL for NULL. Lives as long as the handle.
 */
const char *leaseq_group_id(const leaseq_group *group);

/**
 * The number of bytes of the id.
 */
size_t leaseq_group_id_len(const leaseq_group *group);

/**
 * Distinguishes the group from others that have had its id: an opaque text; NULL for NULL. Lives as long as the handle.
 */
const char *leaseq_group_generation(const leaseq_group *group);

/**
 * Frees the handle, not the group, and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_group_free(leaseq_group **group);

/**
 * The end of the item fills this place, 0 to 99,999, of a group, which is copied and may be in another queue. Such
 * an item must not replace others, nor be a follow-up or the item of a schedule. Default: it is in no group.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL. The place is checked when the item is added.
 */
leaseq_status leaseq_item_options_set_group(leaseq_item_options *options,
                                            const leaseq_group *group,
                                            uint32_t place,
                                            leaseq_error **error);

/**
 * Creates a group in this queue with an id of 1 to 512 arbitrary bytes, or returns the one that has this id, as it was
 * created. Its `count` follow-ups are added, exactly once, when it has ended; their limits are those of an item. Free
 * the group with leaseq_group_free().
 *
 * Add the members, to any queues, with leaseq_item_options_set_group(), then call leaseq_queue_seal_group(). If the
 * caller dies in between, it can do all of that again. A group that is not sealed goes after a day without change; one
 * that has ended, a day after its end.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id or follow-up outside its limits; an error of every operation.
 */
leaseq_status leaseq_queue_create_group(const leaseq_queue *queue,
                                        const void *id,
                                        size_t id_len,
                                        const leaseq_follow_up *follow_ups,
                                        size_t count,
                                        leaseq_group **group,
                                        leaseq_error **error);

/**
 * Fixes how many places a group has, 1 to 100,000, counted from 0. Call it when all members have been added: the group
 * ends when all these places are filled, which may be now. `*sealed` is true if it has that many places, also if it had
 * been sealed so before; false if it has another number of places, or is gone. It may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a number outside its limits, or a group of another queue; an error of every
 * operation.
 */
leaseq_status leaseq_queue_seal_group(const leaseq_queue *queue,
                                      const leaseq_group *group,
                                      uint32_t places,
                                      bool *sealed,
                                      leaseq_error **error);

/**
 * Cancels the members of a group, in any queue, also those that are added later: each as leaseq_queue_cancel() does it.
 * Members that have ended stay as they are, and a dead one that is requeued later is not cancelled. The group goes on: it
 * ends when all its places are filled, and then adds its follow-ups. Members are cancelled soon, usually before the call
 * returns if they are not many. `*cancelled` is true if there is such a group, and it had not ended; false if it has ended,
 * or is gone. It may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
 */
leaseq_status leaseq_queue_cancel_group(const leaseq_queue *queue,
                                        const leaseq_group *group,
                                        bool *cancelled,
                                        leaseq_error **error);

/**
 * Removes a group; the handle stays to be freed. Its members stay, and their ends fill nothing any more; if the group
 * has not ended, its follow-ups are never added. `*removed` is false if it is gone; it may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
 */
leaseq_status leaseq_queue_remove_group(const leaseq_queue *queue,
                                        const leaseq_group *group,
                                        bool *removed,
                                        leaseq_error **error);

/**
 * Reads the group of this queue with this id. `*group` is NULL, and `*info` zero, if there is none; else free it with
 * leaseq_group_free(). `size` is `sizeof *info`. An end of a member counts as soon as it was reported, which is usually
 * when the call that has ended it returns.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside its limits; an error of every operation.
 */
leaseq_status leaseq_queue_group(const leaseq_queue *queue,
                                 const void *id,
                                 size_t id_len,
                                 leaseq_group **group,
                                 leaseq_group_info *info,
                                 size_t size,
                                 leaseq_error **error);

/**
 * Waits until a group of this queue has ended; `*end` says how, and `*info` what it is then. `*end` is `LEASEQ_GROUP_OPEN` if it
 * has not ended within `wait_ms`: 0 looks once, `LEASEQ_WAIT_FOREVER` has no limit. If there is no group with this id, it is
 * `LEASEQ_GROUP_GONE`, unless `expect`: then it also waits for one that is not created yet. In both cases `*info` is zero.
 * `size` is `sizeof *info`.
 *
 * It is about the id, and shares connections and requests with all other waits of the client. leaseq_client_cancel_waits()
 * ends the wait, as if its time were over.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes or another negative wait; an error of every
 * operation.
 */
leaseq_status leaseq_queue_group_outcome(const leaseq_queue *queue,
                                         const void *id,
                                         size_t id_len,
                                         int64_t wait_ms,
                                         bool expect,
                                         leaseq_group_end *end,
                                         leaseq_group_info *info,
                                         size_t size,
                                         leaseq_error **error);

/**
 * Writes the states of up to `count` places of a group, and at most 1,000, from the place `first` on, and to `*found`
 * how many it has written: fewer if the group has no more, none if it is gone.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a group of another queue; an error of every operation.
 */
leaseq_status leaseq_queue_group_places(const leaseq_queue *queue,
                                        const leaseq_group *group,
                                        uint32_t first,
                                        leaseq_place_state *place_states,
                                        size_t count,
                                        size_t *found,
                                        leaseq_error **error);

/**
 * Name of a ::leaseq_ending: `none`, `failed`, `expired`, or `unknown`. Never NULL; lives for ever.
 */
const char *leaseq_ending_name(int32_t ending);

/**
 * The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_id(const leaseq_item_info *info);

/**
 * Number of bytes of the id.
 */
size_t leaseq_item_info_id_len(const leaseq_item_info *info);

/**
 * The item's data: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_data(const leaseq_item_info *info);

/**
 * Number of bytes of the data.
 */
size_t leaseq_item_info_data_len(const leaseq_item_info *info);

/**
 * The state; `LEASEQ_STATE_NONE` for NULL.
 */
leaseq_state leaseq_item_info_state(const leaseq_item_info *info);

/**
 * True if the item is leased and its cancellation was requested. False for NULL.
 */
bool leaseq_item_info_cancel_requested(const leaseq_item_info *info);

/**
 * Priority, 0 to 9.
 */
int32_t leaseq_item_info_priority(const leaseq_item_info *info);

/**
 * The limit of attempts; 0 for no limit.
 */
uint32_t leaseq_item_info_max_attempts(const leaseq_item_info *info);

/**
 * Deliveries so far that ended with leaseq_queue_fail(), since the add or the last requeue.
 */
uint32_t leaseq_item_info_failures(const leaseq_item_info *info);

/**
 * Deliveries so far that ended with an expired lease, since the add or the last requeue.
 */
uint32_t leaseq_item_info_expiries(const leaseq_item_info *info);

/**
 * The text of the last leaseq_queue_fail(), followed by a NUL; empty if there was none. NULL for
 * NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_last_error(const leaseq_item_info *info);

/**
 * Number of bytes of that text, without the NUL.
 */
size_t leaseq_item_info_last_error_len(const leaseq_item_info *info);

/**
 * Number of the item's last leases that failed or expired: at most 16, also those before a requeue.
 * 0 for NULL.
 */
size_t leaseq_item_info_endings(const leaseq_item_info *info);

/**
 * How the lease at this index ended, from 0, the oldest first; `LEASEQ_ENDING_NONE` beyond the last
 * and for NULL.
 */
leaseq_ending leaseq_item_info_ending(const leaseq_item_info *info, size_t index);

/**
 * When it ended, in ms since 1970 on the server's clock; if it expired, when it was reclaimed. -1
 * beyond the last and for NULL.
 */
int64_t leaseq_item_info_ending_at_ms(const leaseq_item_info *info, size_t index);

/**
 * How often in a row the item was released for the same reason. A release for another reason, or
 * for none, a failed and an expired lease, and a requeue begin anew. 0 if there was none, and for
 * NULL.
 */
uint32_t leaseq_item_info_releases_count(const leaseq_item_info *info);

/**
 * The reason of these releases, followed by a NUL; empty if there was none. NULL for NULL. Lives as
 * long as `info`.
 */
const char *leaseq_item_info_releases_reason(const leaseq_item_info *info);

/**
 * Number of bytes of that reason, without the NUL.
 */
size_t leaseq_item_info_releases_reason_len(const leaseq_item_info *info);

/**
 * When the first of these releases was, in ms since 1970 on the server's clock; -1 if there was
 * none, and for NULL.
 */
int64_t leaseq_item_info_releases_first_at_ms(const leaseq_item_info *info);

/**
 * Names this life of the id, for the `if_generation` of leaseq_item_ref and leaseq_revision: opaque
 * text, followed by a NUL. It changes when the item is added anew, buried or revised; leases and
 * requeueing keep it. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_generation(const leaseq_item_info *info);

/**
 * When the item was added, in ms since 1970 on the server's clock.
 */
int64_t leaseq_item_info_added_at_ms(const leaseq_item_info *info);

/**
 * When the lease expires, the delay ends, the item died, or it will no longer be retained, in ms
 * since 1970 on the server's clock; -1 for ready and held items and for NULL.
 */
int64_t leaseq_item_info_at_ms(const leaseq_item_info *info);

/**
 * When a retained item ended, in ms since 1970 on the server's clock; -1 for others and for NULL.
 */
int64_t leaseq_item_info_ended_at_ms(const leaseq_item_info *info);

/**
 * The result of a retained item: arbitrary bytes, not followed by a NUL. NULL if it has none, and
 * for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_result(const leaseq_item_info *info);

/**
 * Number of bytes of the result.
 */
size_t leaseq_item_info_result_len(const leaseq_item_info *info);

/**
 * How far the last holder that has said so has come: arbitrary bytes, not followed by a NUL. NULL
 * if none has, for completed items, and for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_progress(const leaseq_item_info *info);

/**
 * Number of bytes of the progress.
 */
size_t leaseq_item_info_progress_len(const leaseq_item_info *info);

/**
 * How long the item is retained after its completion, in ms, as it was added; 0 for not at all.
 */
int64_t leaseq_item_info_retain_ms(const leaseq_item_info *info);

/**
 * The unique key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives
 * as long as `info`.
 */
const char *leaseq_item_info_unique(const leaseq_item_info *info);

/**
 * Number of bytes of the unique key.
 */
size_t leaseq_item_info_unique_len(const leaseq_item_info *info);

/**
 * The key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives as long
 * as `info`.
 */
const char *leaseq_item_info_key(const leaseq_item_info *info);

/**
 * Number of bytes of the key.
 */
size_t leaseq_item_info_key_len(const leaseq_item_info *info);

/**
 * When the item is dead if it is not leased then, in ms since 1970 on the server's clock; -1 if
 * never, because it was added without such a time, an attempt of it has counted, or it has ended,
 * and for NULL.
 */
int64_t leaseq_item_info_expires_at_ms(const leaseq_item_info *info);

/**
 * The item's follow-ups, as it was given them, followed by a NUL: a JSON array of objects, `[]` if
 * there is none, for items that have been completed or cancelled, and if the item was read without
 * its data. Each has `on` (`completed`, `dead` or `ended`), `item`, and `with_trigger` if it gives its trigger. The item has
 * `id` and `data` (`id_hex` and `data_hex` if they are no text), and those of `queue`, `priority`,
 * `delay_ms`, `due_at`, `max_attempts`, `retain_ms`, `unique`, `unique_for_ms`, `replace`, `key`,
 * `expires_in_ms` and `follow_ups` that it was given. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_item_info_follow_ups(const leaseq_item_info *info);

/**
 * Frees a result of leaseq_queue_get() or leaseq_queue_get_many() and makes the pointer NULL. NULL
 * and a pointer to NULL are allowed. Items of a page belong to the page.
 */
void leaseq_item_info_free(leaseq_item_info **info);

/**
 * Number of items of the page; 0 for NULL.
 */
size_t leaseq_page_len(const leaseq_page *page);

/**
 * The item at this index, from 0; NULL beyond the last. Lives as long as the page.
 */
const leaseq_item_info *leaseq_page_item(const leaseq_page *page, size_t index);

/**
 * Where the next page begins; NULL at the end. Opaque text that can be stored or passed to another
 * process; valid for the queue, the state and the direction it came from. Lives as long as the
 * page.
 */
const char *leaseq_page_cursor(const leaseq_page *page);

/**
 * How many entries of the queue the page has examined: its items, those that filters left out, and
 * those whose item is gone. 0 for NULL.
 */
uint64_t leaseq_page_examined(const leaseq_page *page);

/**
 * Frees a page and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_page_free(leaseq_page **page);

/**
 * The default options for adding.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_item_options_new(leaseq_item_options **options, leaseq_error **error);

/**
 * Gives the item this id: 1 to 512 arbitrary bytes, which are copied. Default, also set by NULL
 * with length 0: a random UUID as text.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an id over 512 bytes.
 */
leaseq_status leaseq_item_options_set_id(leaseq_item_options *options,
                                         const void *id,
                                         size_t id_len,
                                         leaseq_error **error);

/**
 * Priority 0 to 9; higher ones are leased first. Default: 0.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a priority outside 0 to 9.
 */
leaseq_status leaseq_item_options_set_priority(leaseq_item_options *options,
                                               int32_t priority,
                                               leaseq_error **error);

/**
 * Makes the item ready only after this time, at most 366 days. Default: 0 ms.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_item_options_set_delay_ms(leaseq_item_options *options,
                                               int64_t delay_ms,
                                               leaseq_error **error);

/**
 * Makes the item ready at this time by the server's clock, in ms since 1970, or at once if it has
 * passed: at most 366 days ahead, and not together with a delay. Default: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_item_options_set_due_at_ms(leaseq_item_options *options,
                                                int64_t due_at_ms,
                                                leaseq_error **error);

/**
 * After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_item_options_set_max_attempts(leaseq_item_options *options,
                                                   uint32_t max_attempts,
                                                   leaseq_error **error);

/**
 * How long the item stays after its completion, in the state `LEASEQ_STATE_COMPLETED` and with its
 * result, at most 366 days. Until then its id is taken. Default: 0 ms, not at all.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_item_options_set_retain_ms(leaseq_item_options *options,
                                                int64_t retain_ms,
                                                leaseq_error **error);

/**
 * Gives the item this unique key: 1 to 512 arbitrary bytes, which are copied. While another item
 * that is ready, held, delayed, leased or retained has the key, the item is not added. Default, also
 * set by NULL with length 0: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a key over 512 bytes.
 */
leaseq_status leaseq_item_options_set_unique(leaseq_item_options *options,
                                             const void *key,
                                             size_t key_len,
                                             leaseq_error **error);

/**
 * Gives the item this key: 1 to 128 arbitrary bytes, which are copied. No more items of a key are
 * leased at the same time than its limit allows, which is one unless it was set; the others wait,
 * and hold up no other key. Default, also set by NULL with length 0: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a key over 128 bytes.
 */
leaseq_status leaseq_item_options_set_key(leaseq_item_options *options,
                                          const void *key,
                                          size_t key_len,
                                          leaseq_error **error);

/**
 * How long the unique key stays taken from the add on, even if the item ends before, at most 366
 * days. Default: 0 ms, no longer than the item needs it.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_item_options_set_unique_for_ms(leaseq_item_options *options,
                                                    int64_t unique_for_ms,
                                                    leaseq_error **error);

/**
 * Whether to replace an item that has the id or the unique key, unless it is leased. The new item
 * takes its own place in the order. Default: false, the item is not added.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_item_options_set_replace(leaseq_item_options *options,
                                              bool replace,
                                              leaseq_error **error);

/**
 * With leaseq_item_options_set_replace(): if the item in the way is leased, whether this one waits and
 * takes its place when the lease ends. A later one takes the place of one that waits. Default: false,
 * the item is not added.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_item_options_set_successor(leaseq_item_options *options,
                                                bool successor,
                                                leaseq_error **error);

/**
 * The item is dead after this time, 1 ms to 366 days, if it is not leased then and no attempt has
 * counted; not shorter than a delay. Default: it does not expire.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_item_options_set_expires_in_ms(leaseq_item_options *options,
                                                    int64_t expires_in_ms,
                                                    leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_item_options_free(leaseq_item_options **options);

/**
 * A job for a handler in any language: its name, 1 to 128 bytes, and its arguments, a JSON object. `job_options` may be
 * NULL. The data of an item with this job is leaseq_job_data(): give it to calls that take a ::leaseq_item. Free the job
 * with leaseq_job_free().
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` as for leaseq_queue_enqueue().
 */
leaseq_status leaseq_job_new(const char *name,
                             const void *args,
                             size_t args_len,
                             const leaseq_job_options *job_options,
                             leaseq_job **job,
                             leaseq_error **error);

/**
 * The data of an item with this job: JSON. NULL for NULL. Lives as long as the job.
 */
const void *leaseq_job_data(const leaseq_job *job);

/**
 * Number of bytes of the data.
 */
size_t leaseq_job_data_len(const leaseq_job *job);

/**
 * Frees a job and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_job_free(leaseq_job **job);

/**
 * Options without anything set.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_job_options_new(leaseq_job_options **options, leaseq_error **error);

/**
 * How long its handler may run before it is cancelled: 1 ms to 30 days.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time; leaseq_queue_enqueue_with() checks the limits.
 */
leaseq_status leaseq_job_options_set_timeout_ms(leaseq_job_options *options,
                                                int64_t timeout_ms,
                                                leaseq_error **error);

/**
 * How often it is tried, 1 to 65,535, and how long it waits before: see leaseq_worker_options_set_job_retry(). The classes
 * of errors that the worker names stay.
 * @return as leaseq_job_options_set_timeout_ms().
 */
leaseq_status leaseq_job_options_set_retry(leaseq_job_options *options,
                                           uint32_t attempts,
                                           int64_t base_ms,
                                           int64_t cap_ms,
                                           leaseq_error **error);

/**
 * Names a class of errors that is retried, and no others but those that are named so; or one that is never retried. The
 * first one replaces all classes of its kind that the worker names.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_job_options_add_retry_class(leaseq_job_options *options,
                                                 const char *class_name,
                                                 bool retried,
                                                 leaseq_error **error);

/**
 * Attaches a text for its handler, which reads it with leaseq_task_meta(), such as a `traceparent`. A second one of the
 * same name replaces the first.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_job_options_set_meta(leaseq_job_options *options,
                                          const char *name,
                                          const char *value,
                                          leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_job_options_free(leaseq_job_options **options);

/**
 * Gives `count` keys limits of their own. Up to 1,000 keys change in one atomic step. A limit stays
 * when no item has its key any more. A lower limit takes no lease away: until enough of them have
 * ended, the key gets none.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a key outside 1 to 128 bytes or a limit over 1,000, and
 * nothing has changed then; an error of every operation.
 */
leaseq_status leaseq_queue_set_key_limits(const leaseq_queue *queue,
                                          const leaseq_key_limit *limits,
                                          size_t count,
                                          leaseq_error **error);

/**
 * Reads the limits of `count` keys, and how many items of each are leased now; `infos`, an array of
 * `count`, receives them in the order of the keys. This works in steps of up to 1,000 keys.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a key outside 1 to 128 bytes; an error of every
 * operation; then all of `infos` are zero.
 */
leaseq_status leaseq_queue_get_keys(const leaseq_queue *queue,
                                    const leaseq_bytes *keys,
                                    size_t count,
                                    leaseq_key_info *infos,
                                    leaseq_error **error);

/**
 * The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as the
 * lease.
 */
const char *leaseq_lease_id(const leaseq_lease *lease);

/**
 * Number of bytes of the item's id.
 */
size_t leaseq_lease_id_len(const leaseq_lease *lease);

/**
 * The item's data: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as the
 * lease.
 */
const char *leaseq_lease_data(const leaseq_lease *lease);

/**
 * Number of bytes of the item's data.
 */
size_t leaseq_lease_data_len(const leaseq_lease *lease);

/**
 * 1 for the first delivery; 1 + failures + expiries after that. 0 for NULL.
 */
uint32_t leaseq_lease_attempt(const leaseq_lease *lease);

/**
 * How many earlier deliveries ended with leaseq_queue_fail().
 */
uint32_t leaseq_lease_failures(const leaseq_lease *lease);

/**
 * How many earlier deliveries ended with an expired lease.
 */
uint32_t leaseq_lease_expiries(const leaseq_lease *lease);

/**
 * The limit of attempts; 0 for no limit.
 */
uint32_t leaseq_lease_max_attempts(const leaseq_lease *lease);

/**
 * The item's key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives as
 * long as the lease.
 */
const char *leaseq_lease_key(const leaseq_lease *lease);

/**
 * Number of bytes of the key.
 */
size_t leaseq_lease_key_len(const leaseq_lease *lease);

/**
 * The id of the item whose end has added this one: arbitrary bytes, not followed by a NUL. NULL if this is no
 * follow-up that asked for it, and for NULL. Lives as long as the lease.
 */
const char *leaseq_lease_trigger_id(const leaseq_lease *lease);

/**
 * Number of bytes of that id.
 */
size_t leaseq_lease_trigger_id_len(const leaseq_lease *lease);

/**
 * The result of the item whose end has added this one: arbitrary bytes, not followed by a NUL. NULL if that was
 * not completed, had no result, or one of more than 64 KiB. Lives as long as the lease.
 */
const char *leaseq_lease_trigger_result(const leaseq_lease *lease);

/**
 * Number of bytes of that result.
 */
size_t leaseq_lease_trigger_result_len(const leaseq_lease *lease);

/**
 * Priority, 0 to 9.
 */
int32_t leaseq_lease_priority(const leaseq_lease *lease);

/**
 * The text of the last leaseq_queue_fail(), followed by a NUL; empty if there was none. NULL for
 * NULL. Lives as long as the lease.
 */
const char *leaseq_lease_last_error(const leaseq_lease *lease);

/**
 * Number of bytes of that text, without the NUL.
 */
size_t leaseq_lease_last_error_len(const leaseq_lease *lease);

/**
 * Number of the item's last leases before this one that failed or expired: at most 16, also those
 * before a requeue. 0 for NULL.
 */
size_t leaseq_lease_endings(const leaseq_lease *lease);

/**
 * How the lease at this index ended, from 0, the oldest first; `LEASEQ_ENDING_NONE` beyond the last
 * and for NULL.
 */
leaseq_ending leaseq_lease_ending(const leaseq_lease *lease, size_t index);

/**
 * When it ended, in ms since 1970 on the server's clock; if it expired, when it was reclaimed. -1
 * beyond the last and for NULL.
 */
int64_t leaseq_lease_ending_at_ms(const leaseq_lease *lease, size_t index);

/**
 * How often in a row the item was released for the same reason, until this lease. A release for
 * another reason, or for none, a failed and an expired lease, and a requeue begin anew. 0 if there
 * was none, and for NULL.
 */
uint32_t leaseq_lease_releases_count(const leaseq_lease *lease);

/**
 * The reason of these releases, followed by a NUL; empty if there was none. NULL for NULL. Lives as
 * long as the lease.
 */
const char *leaseq_lease_releases_reason(const leaseq_lease *lease);

/**
 * Number of bytes of that reason, without the NUL.
 */
size_t leaseq_lease_releases_reason_len(const leaseq_lease *lease);

/**
 * When the first of these releases was, in ms since 1970 on the server's clock; -1 if there was
 * none, and for NULL.
 */
int64_t leaseq_lease_releases_first_at_ms(const leaseq_lease *lease);

/**
 * Generation of the item: one life of its id, from the add to the completion. It goes up with every
 * add of an id, so it can fence off writers of an earlier generation.
 */
uint64_t leaseq_lease_generation(const leaseq_lease *lease);

/**
 * For how long the item was ready before it was leased, in ms of the server's clock: since it was
 * added, revised, requeued or due, or came back because a lease has failed or expired. An item that
 * is released without a delay goes on waiting. The time in which it was held because of its key
 * counts. 0 if it was leased at once, and for NULL.
 */
int64_t leaseq_lease_waited_ms(const leaseq_lease *lease);

/**
 * When the lease expires, in ms since 1970 on the server's clock, as known to this handle.
 */
int64_t leaseq_lease_deadline_ms(const leaseq_lease *lease);

/**
 * Time left in ms, never more than the server would say. 0 for NULL and in a forked child.
 */
int64_t leaseq_lease_remaining_ms(const leaseq_lease *lease);

/**
 * True once another worker may have the item: the server said so, or the deadline has passed.
 * False for a lease that was completed, released or failed. True for NULL and in a forked child,
 * because the lease is its parent's. With leaseq_lease_options_set_keep_alive() it becomes true as
 * soon as the background extension finds that the lease is lost.
 */
bool leaseq_lease_is_lost(const leaseq_lease *lease);

/**
 * True once the item was completed, released or failed through this handle;
 * leaseq_lease_completed() says which. False for NULL and in a forked child.
 */
bool leaseq_lease_is_settled(const leaseq_lease *lease);

/**
 * Whether a call has completed the item through this handle. After a call for many has failed,
 * this gives the outcome of each. `LEASEQ_COMPLETED_NO` for NULL, and `LEASEQ_COMPLETED_UNKNOWN`
 * in a forked child, because the lease is its parent's.
 */
leaseq_completed leaseq_lease_completed(const leaseq_lease *lease);

/**
 * True once the client has learned that the cancellation of the item was requested
 * (leaseq_queue_cancel()). The first call returns false, and makes the client ask the server in the
 * background: every 2 s, once for all such leases of a queue. So it tells within about 4 s. The
 * lease goes on: release or fail it, which ends the item as cancelled, or complete it all the same.
 * False for NULL and in a forked child.
 */
bool leaseq_lease_is_cancelled(const leaseq_lease *lease);

/**
 * A file descriptor for `poll`, `epoll` or `select` that becomes readable when
 * leaseq_lease_is_cancelled() becomes true, and stays so; never if the lease ends before that. The
 * first call opens it, further calls return the same. It belongs to the lease, and is closed when
 * that is freed: do not read, write or close it, and remove it from the event loop first. `*fd` is
 * -1 after an error.
 * @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor or thread left;
 * `LEASEQ_INVALID` for NULL and in a forked child.
 */
leaseq_status leaseq_lease_cancelled_fd(const leaseq_lease *lease,
                                        int32_t *fd,
                                        leaseq_error **error);

/**
 * Frees a lease and makes the pointer NULL. NULL and a pointer to NULL are allowed. An item that
 * was not completed, released or failed is delivered again when the lease expires.
 */
void leaseq_lease_free(leaseq_lease **lease);

/**
 * Frees the leases of an array and makes its pointers NULL. The array, and any of its elements,
 * may be NULL.
 */
void leaseq_leases_free(leaseq_lease **leases, size_t count);

/**
 * The default options for leasing.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_lease_options_new(leaseq_lease_options **options, leaseq_error **error);

/**
 * A thread of the library extends leases each time a third of their duration has passed, until
 * they are completed, released, failed, freed or lost, or until `limit_ms` after they were given
 * (0: no limit; not shorter than the lease). Default: no extension.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_lease_options_set_keep_alive(leaseq_lease_options *options,
                                                  int64_t limit_ms,
                                                  leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_lease_options_free(leaseq_lease_options **options);

/**
 * The default options for completing.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_complete_options_new(leaseq_complete_options **options, leaseq_error **error);

/**
 * Whether to complete only while the lease is current: the item was neither reclaimed nor leased
 * again. Default: false, the item is completed whoever holds it by now.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_complete_options_set_strict(leaseq_complete_options *options,
                                                 bool strict,
                                                 leaseq_error **error);

/**
 * How long the item stays after its completion, in the state `LEASEQ_STATE_COMPLETED` and with its
 * result, at most 366 days; 0: not at all. Default: as it was added.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_complete_options_set_retain_ms(leaseq_complete_options *options,
                                                    int64_t retain_ms,
                                                    leaseq_error **error);

/**
 * The result of a call that completes one item: arbitrary bytes, which are copied, at most as many
 * as data may have. It is kept with an item that is retained, and dropped with one that is not.
 * Default, also set by NULL with length 0: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too large a result.
 */
leaseq_status leaseq_complete_options_set_result(leaseq_complete_options *options,
                                                 const void *result,
                                                 size_t result_len,
                                                 leaseq_error **error);

/**
 * The results of a call that completes `count` items, in the order of the leases; NULL with length
 * 0 for an item without one. Otherwise as leaseq_complete_options_set_result().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too large a result.
 */
leaseq_status leaseq_complete_options_set_results(leaseq_complete_options *options,
                                                  const leaseq_bytes *results,
                                                  size_t count,
                                                  leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_complete_options_free(leaseq_complete_options **options);

/**
 * Leases the oldest ready item of the highest priority for `duration_ms`, 1 ms to 30 days. If
 * there is none, it waits for `wait_ms`: 0 does not wait, `LEASEQ_WAIT_FOREVER` has no limit.
 * `*lease` is NULL if there was none, which is not an error.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a duration outside its limits or another negative wait;
 * an error of every operation.
 */
leaseq_status leaseq_queue_lease(const leaseq_queue *queue,
                                 int64_t duration_ms,
                                 int64_t wait_ms,
                                 leaseq_lease **lease,
                                 leaseq_error **error);

/**
 * leaseq_queue_lease() with options; NULL for the defaults.
 * @return as leaseq_queue_lease().
 */
leaseq_status leaseq_queue_lease_with(const leaseq_queue *queue,
                                      int64_t duration_ms,
                                      int64_t wait_ms,
                                      const leaseq_lease_options *options,
                                      leaseq_lease **lease,
                                      leaseq_error **error);

/**
 * Leases up to `capacity` items, at least 1: waits for the first, then takes those that are ready,
 * at most 1,000 and about 16 MiB. Then the first `*count` of `leases`, an array of `capacity`, are
 * leases, the others NULL. `options` may be NULL.
 * @return as leaseq_queue_lease(), and `LEASEQ_INVALID` for a capacity of 0.
 */
leaseq_status leaseq_queue_lease_many(const leaseq_queue *queue,
                                      int64_t duration_ms,
                                      int64_t wait_ms,
                                      const leaseq_lease_options *options,
                                      leaseq_lease **leases,
                                      size_t capacity,
                                      size_t *count,
                                      leaseq_error **error);

/**
 * The default options of a listing.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_new(leaseq_list_options **options, leaseq_error **error);

/**
 * How many items a page has at most: 1 to 1,000, checked by the listing. Default: 100.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_set_limit(leaseq_list_options *options,
                                            size_t limit,
                                            leaseq_error **error);

/**
 * The opposite order: what is leased last, or has the latest time, comes first. Default: false.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_set_reverse(leaseq_list_options *options,
                                              bool reverse,
                                              leaseq_error **error);

/**
 * Only items whose time is not before this one, in ms since 1970: for ready items
 * leaseq_item_info_added_at_ms(), for others leaseq_item_info_at_ms(). Negative for the default, any
 * time.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_set_since_ms(leaseq_list_options *options,
                                               int64_t since_ms,
                                               leaseq_error **error);

/**
 * Only items whose time is before this one, in ms since 1970. Negative for the default, any time.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_set_until_ms(leaseq_list_options *options,
                                               int64_t until_ms,
                                               leaseq_error **error);

/**
 * Whether the data is read; without it, it is empty. Default: true.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_list_options_set_data(leaseq_list_options *options,
                                           bool data,
                                           leaseq_error **error);

/**
 * Only items whose id begins with these bytes, at most 512. Default: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or there are more bytes.
 */
leaseq_status leaseq_list_options_set_id_prefix(leaseq_list_options *options,
                                                const void *prefix,
                                                size_t len,
                                                leaseq_error **error);

/**
 * Only items whose data contains these bytes, at most 1,024. Default: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or there are more bytes.
 */
leaseq_status leaseq_list_options_set_data_contains(leaseq_list_options *options,
                                                    const void *data,
                                                    size_t len,
                                                    leaseq_error **error);

/**
 * Only items whose last error contains this text, at most 1,024 bytes, checked by the listing.
 * Default: none.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or the text is not UTF-8.
 */
leaseq_status leaseq_list_options_set_error_contains(leaseq_list_options *options,
                                                     const char *part,
                                                     leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_list_options_free(leaseq_list_options **options);

/**
 * Waits until an item has ended; `*outcome` says how, with its result if it is retained. It is NULL
 * if the item has not ended within `wait_ms`: 0 looks once, `LEASEQ_WAIT_FOREVER` has no limit. If
 * there is no item with this id, the outcome is `LEASEQ_OUTCOME_GONE`, unless `expect`: then it also
 * waits for one that is not added yet. Any number of threads share two connections.
 *
 * It is about the id: if the item ends and is added anew before the client has learned of it, the
 * outcome may be that of the later one. leaseq_client_cancel_waits() ends the wait, as if its time were
 * over.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes or another negative wait; an
 * error of every operation.
 */
leaseq_status leaseq_queue_outcome(const leaseq_queue *queue,
                                   const void *id,
                                   size_t id_len,
                                   int64_t wait_ms,
                                   bool expect,
                                   leaseq_outcome **outcome,
                                   leaseq_error **error);

/**
 * Waits until `count` items have ended; `outcomes`, an array of `count`, receives how, in the order of
 * the ids, NULL for an item that has not ended within `wait_ms`. Free each with leaseq_outcome_free().
 * `statuses`, an array of `count` or NULL, receives `LEASEQ_OK` for each, or why this item could not be
 * asked about: the outcomes of the others are not lost then. The client asks about up to 1,000 items in
 * a request, so one that fails gives its status to all of them. An invalid id makes the call fail.
 * @return as leaseq_queue_outcome(), if it is so for all items; after an error all of `outcomes` are
 * NULL, and each of `statuses` is that of the call.
 */
leaseq_status leaseq_queue_outcome_many(const leaseq_queue *queue,
                                        const leaseq_bytes *ids,
                                        size_t count,
                                        int64_t wait_ms,
                                        bool expect,
                                        leaseq_outcome **outcomes,
                                        leaseq_status *statuses,
                                        leaseq_error **error);

/**
 * How the item has ended; `LEASEQ_OUTCOME_NONE` for NULL.
 */
leaseq_end_kind leaseq_outcome_kind(const leaseq_outcome *outcome);

/**
 * Whether the item was completed and is retained. If it is not, nobody knows whether it had a result.
 * false for NULL.
 */
bool leaseq_outcome_retained(const leaseq_outcome *outcome);

/**
 * The result of a completed item: arbitrary bytes, not followed by a NUL. NULL if it had none, is not
 * retained, or has ended otherwise, and for NULL. Lives as long as `outcome`.
 */
const char *leaseq_outcome_result(const leaseq_outcome *outcome);

/**
 * Number of bytes of the result.
 */
size_t leaseq_outcome_result_len(const leaseq_outcome *outcome);

/**
 * The text of the last error of a dead item, followed by a NUL; empty for others. NULL for NULL. Lives
 * as long as `outcome`.
 */
const char *leaseq_outcome_error(const leaseq_outcome *outcome);

/**
 * Number of bytes of that text, without the NUL.
 */
size_t leaseq_outcome_error_len(const leaseq_outcome *outcome);

/**
 * Frees an outcome and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_outcome_free(leaseq_outcome **outcome);

/**
 * How many items are ready.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_len(const leaseq_queue *queue, uint64_t *len, leaseq_error **error);

/**
 * How many items are leased, including expired ones that are not reclaimed yet.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_processing(const leaseq_queue *queue,
                                      uint64_t *len,
                                      leaseq_error **error);

/**
 * How many items are in each state, the age of the oldest ready one, and totals. `size` is
 * `sizeof *counts`.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_counts(const leaseq_queue *queue,
                                  leaseq_counts *counts,
                                  size_t size,
                                  leaseq_error **error);

/**
 * Reads an item without leasing it. `*info` is NULL if there is no item with this id.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
 * operation.
 */
leaseq_status leaseq_queue_get(const leaseq_queue *queue,
                               const void *id,
                               size_t id_len,
                               leaseq_item_info **info,
                               leaseq_error **error);

/**
 * Reads `count` items without leasing them; `infos`, an array of `count`, receives them in the order
 * of the ids, NULL for an id without an item. Free each with leaseq_item_info_free(). Unless
 * `with_data`, their data is left out, and empty. This works in steps of up to 1,000 ids and 16 MiB
 * of data, so it is no snapshot.
 * @return as leaseq_queue_get(); then all of `infos` are NULL.
 */
leaseq_status leaseq_queue_get_many(const leaseq_queue *queue,
                                    const leaseq_bytes *ids,
                                    size_t count,
                                    bool with_data,
                                    leaseq_item_info **infos,
                                    leaseq_error **error);

/**
 * Reads up to `limit` items, 1 to 1,000, of a ::leaseq_state: ready items in the order of leasing,
 * others by time. See leaseq_queue_list_with().
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a limit outside 1 to 1,000, an unknown state or an
 * invalid cursor; an error of every operation.
 */
leaseq_status leaseq_queue_list(const leaseq_queue *queue,
                                int32_t state,
                                const char *cursor,
                                size_t limit,
                                leaseq_page **page,
                                leaseq_error **error);

/**
 * Reads items of a ::leaseq_state: ready items in the order of leasing, others by time
 * (leaseq_item_info_at_ms()), or in the opposite order. `options` may be NULL. A NULL cursor starts
 * at the beginning; leaseq_page_cursor() gives the cursor of the next page. A page examines at most
 * 1,000 items and has 16 MiB of data at most, so any page may hold fewer items than the limit, and
 * perhaps none, although there are more: its cursor says whether there are.
 *
 * This is no snapshot, but the cursor stays right while items are added and taken: an item that
 * stays where it is is listed once, and one that is added, completed or removed meanwhile at most
 * once. An item whose time changes meanwhile, or that is revised, or leased and comes back, may be
 * missed or listed twice.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an unknown state, a cursor of another state or
 * direction, a limit outside 1 to 1,000, or `since` after `until`; an error of every operation.
 */
leaseq_status leaseq_queue_list_with(const leaseq_queue *queue,
                                     int32_t state,
                                     const char *cursor,
                                     const leaseq_list_options *options,
                                     leaseq_page **page,
                                     leaseq_error **error);

/**
 * The queue's name; NULL for NULL. Lives as long as the queue's handle.
 */
const char *leaseq_queue_name(const leaseq_queue *queue);

/**
 * Frees the handle, not the queue, and makes the pointer NULL. NULL and a pointer to NULL are
 * allowed.
 */
void leaseq_queue_free(leaseq_queue **queue);

/**
 * Reads what has changed in the queue, in order, if its settings keep that: at most `limit` events, 1 to 1,000, behind the
 * cursor `after`. NULL: from the oldest one that is kept; `now`: from now on. If there is none, it waits for one for `wait_ms`, and
 * looks up to four times a second. The only text of `page` is JSON: an object with `events`, a list of objects with
 * `number`, `kind` (`added`, `leased`, `completed`, `failed`, `expired`, `released`, `dead`, `requeued`, `removed`, `replaced`,
 * `cancelled`, `revised`), `at` (RFC 3339), `generation`, and `id` (`id_hex` if it is no text) and `attempt` if it has them;
 * `cursor`, behind the last of them; and `gap`, whether there were events before these that are not kept any more.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for text that is no cursor, or a value outside its limits; an error of every
 * operation.
 */
leaseq_status leaseq_queue_events(const leaseq_queue *queue,
                                  const char *after,
                                  size_t limit,
                                  int64_t wait_ms,
                                  leaseq_names **page,
                                  leaseq_error **error);

/**
 * Writes how the queue is now into its history, and adds what the caller has measured since its last call. Whoever
 * works on a queue calls it once a minute; the first call of a minute writes its row. `measured` is JSON: an object
 * with any of `waiting_us` (for how long items were ready), `run_us` (for how long they ran) and `lease_use` (how much
 * of their leases they used, in thousandths), each a list of pairs: a value, and how often it was measured.
 * `done`, unless NULL, receives false if there is no queue.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for other JSON; an error of every operation.
 */
leaseq_status leaseq_queue_record_history(const leaseq_queue *queue,
                                          const char *measured,
                                          bool *done,
                                          leaseq_error **error);

/**
 * The history of the queue, the oldest row first: `kind` is `minutes`, for a row of each minute of the last day, or
 * `hours`, for each hour of the last 31 days. The only text of `rows` is JSON: a list of objects with `at` (RFC 3339),
 * `totals`, `ready`, `delayed`, `leased`, `dead` and `held` when the minute or hour began, and what was measured in it:
 * `waiting_us`, `run_us` and `lease_use`, each with `count`, `p50`, `p90`, `p99` (null if there is nothing) and `values`.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for another kind; an error of every operation.
 */
leaseq_status leaseq_queue_history(const leaseq_queue *queue,
                                   const char *kind,
                                   leaseq_names **rows,
                                   leaseq_error **error);

/**
 * Number of schedules; 0 for NULL.
 */
size_t leaseq_schedules_len(const leaseq_schedules *schedules);

/**
 * The schedule at this index, from 0; NULL beyond the last. Lives as long as `schedules`.
 */
const leaseq_schedule_info *leaseq_schedules_get(const leaseq_schedules *schedules, size_t index);

/**
 * Frees schedules and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_schedules_free(leaseq_schedules **schedules);

/**
 * The name. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_name(const leaseq_schedule_info *info);

/**
 * The cron expression; NULL for an interval, and for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_cron(const leaseq_schedule_info *info);

/**
 * The time zone of the expression; NULL for an interval, and for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_zone(const leaseq_schedule_info *info);

/**
 * The interval, in ms; 0 for a cron expression, and for NULL.
 */
int64_t leaseq_schedule_info_every_ms(const leaseq_schedule_info *info);

/**
 * The data of the item that each tick adds: arbitrary bytes, not followed by a NUL; empty if it was
 * read without. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_data(const leaseq_schedule_info *info);

/**
 * Number of bytes of the data.
 */
size_t leaseq_schedule_info_data_len(const leaseq_schedule_info *info);

/**
 * Who declares it; empty: nobody. NULL for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_owner(const leaseq_schedule_info *info);

/**
 * The revision of its owner.
 */
uint64_t leaseq_schedule_info_revision(const leaseq_schedule_info *info);

/**
 * What is done about missed ticks, as for leaseq_schedule_options_set_missed().
 */
int64_t leaseq_schedule_info_missed(const leaseq_schedule_info *info);

/**
 * How late a tick may be processed, in ms; -1 for the default, and for NULL.
 */
int64_t leaseq_schedule_info_grace_ms(const leaseq_schedule_info *info);

/**
 * True if a tick adds an item although the last one has not ended. False for NULL.
 */
bool leaseq_schedule_info_overlap(const leaseq_schedule_info *info);

/**
 * The priority of its items, 0 to 9.
 */
int32_t leaseq_schedule_info_priority(const leaseq_schedule_info *info);

/**
 * How long after its tick an item is ready, in ms; 0: at once.
 */
int64_t leaseq_schedule_info_delay_ms(const leaseq_schedule_info *info);

/**
 * The limit of attempts of its items; 0 for none of their own.
 */
uint32_t leaseq_schedule_info_max_attempts(const leaseq_schedule_info *info);

/**
 * How long an item is retained after its completion, in ms; 0: not at all, unless the queue says so.
 */
int64_t leaseq_schedule_info_retain_ms(const leaseq_schedule_info *info);

/**
 * The unique key of its items: arbitrary bytes, not followed by a NUL. NULL if they have none, and
 * for NULL. Lives as long as `info`.
 */
const char *leaseq_schedule_info_unique(const leaseq_schedule_info *info);

/**
 * Number of bytes of the unique key.
 */
size_t leaseq_schedule_info_unique_len(const leaseq_schedule_info *info);

/**
 * How long the unique key stays taken at least, in ms; 0: no longer than the item needs it.
 */
int64_t leaseq_schedule_info_unique_for_ms(const leaseq_schedule_info *info);

/**
 * Whether an item replaces another one that has its unique key. False for NULL.
 */
bool leaseq_schedule_info_replace(const leaseq_schedule_info *info);

/**
 * Whether it waits for the end of the lease if that one is leased. False for NULL.
 */
bool leaseq_schedule_info_successor(const leaseq_schedule_info *info);

/**
 * The key of its items: arbitrary bytes, not followed by a NUL. NULL if they have none, and for NULL.
 * Lives as long as `info`.
 */
const char *leaseq_schedule_info_key(const leaseq_schedule_info *info);

/**
 * Number of bytes of the key.
 */
size_t leaseq_schedule_info_key_len(const leaseq_schedule_info *info);

/**
 * After which time an item is dead that was not leased, in ms; -1 if it does not expire, and for NULL.
 */
int64_t leaseq_schedule_info_expires_in_ms(const leaseq_schedule_info *info);

/**
 * Whether it is paused. False for NULL.
 */
bool leaseq_schedule_info_paused(const leaseq_schedule_info *info);

/**
 * When it was paused, in ms since 1970; -1 if it is not paused, and for NULL.
 */
int64_t leaseq_schedule_info_paused_at_ms(const leaseq_schedule_info *info);

/**
 * Who has paused it; empty: it is not paused, or nobody said so. NULL for NULL. Lives as long as
 * `info`.
 */
const char *leaseq_schedule_info_paused_by(const leaseq_schedule_info *info);

/**
 * Why it was paused; empty: it is not paused, or nobody said so. NULL for NULL. Lives as long as
 * `info`.
 */
const char *leaseq_schedule_info_pause_reason(const leaseq_schedule_info *info);

/**
 * The next tick, in ms since 1970; -1 while it is paused, and for NULL.
 */
int64_t leaseq_schedule_info_next_ms(const leaseq_schedule_info *info);

/**
 * The id of the last item that it has added; NULL: it has added none. NULL for NULL. Lives as long
 * as `info`.
 */
const char *leaseq_schedule_info_last_id(const leaseq_schedule_info *info);

/**
 * Number of schedules with which something was done; 0 for NULL.
 */
size_t leaseq_synced_len(const leaseq_synced *synced);

/**
 * The name of the schedule at this index, from 0; NULL beyond the last. Lives as long as `synced`.
 */
const char *leaseq_synced_name(const leaseq_synced *synced, size_t index);

/**
 * What was done with it; `LEASEQ_SCHEDULED_NONE` beyond the last, and for NULL.
 */
leaseq_scheduled leaseq_synced_done(const leaseq_synced *synced, size_t index);

/**
 * Frees what was done and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_synced_free(leaseq_synced **synced);

/**
 * Options with the defaults and without a rule.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_schedule_options_new(leaseq_schedule_options **options, leaseq_error **error);

/**
 * Items are added at the local times of a zone, which is an IANA name; NULL means UTC. The
 * expression has five fields (minute, hour, day of the month, month, day of the week), or six with
 * a second first. It replaces another rule.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, an expression that cannot be read or names a
 * time that never comes, or a zone that does not exist.
 */
leaseq_status leaseq_schedule_options_set_cron(leaseq_schedule_options *options,
                                               const char *expression,
                                               const char *zone,
                                               leaseq_error **error);

/**
 * Items are added after each interval, 100 ms to 366 days. The first one begins when the schedule
 * is put. It replaces another rule.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another interval.
 */
leaseq_status leaseq_schedule_options_set_every_ms(leaseq_schedule_options *options,
                                                   int64_t every_ms,
                                                   leaseq_error **error);

/**
 * Who declares the schedule, up to 128 bytes, and the number or time of its deployment, up to 2^53.
 * Nobody else can change the schedule, and a lower revision than the stored one is refused, also
 * after the schedule was removed. Default: nobody, and 0. leaseq_queue_sync_schedules() has an owner
 * and a revision of its own.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an owner that is not UTF-8.
 */
leaseq_status leaseq_schedule_options_set_owner(leaseq_schedule_options *options,
                                                const char *owner,
                                                uint64_t revision,
                                                leaseq_error **error);

/**
 * What is done about ticks that nobody processed within their grace: `LEASEQ_MISSED_SKIP`,
 * `LEASEQ_MISSED_ONE`, or an item is added for each of at most so many, 1 to 1,000, the earliest
 * ones. Default: `LEASEQ_MISSED_ONE`.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another number.
 */
leaseq_status leaseq_schedule_options_set_missed(leaseq_schedule_options *options,
                                                 int64_t missed,
                                                 leaseq_error **error);

/**
 * How late a tick may be processed before it is missed, at most 366 days; -1 for the default: 60 s,
 * or the time to the next tick if that is shorter.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or another negative time.
 */
leaseq_status leaseq_schedule_options_set_grace_ms(leaseq_schedule_options *options,
                                                   int64_t grace_ms,
                                                   leaseq_error **error);

/**
 * Whether a tick adds an item although the last one of the schedule has not ended. Default: false.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_schedule_options_set_overlap(leaseq_schedule_options *options,
                                                  bool overlap,
                                                  leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_schedule_options_free(leaseq_schedule_options **options);

/**
 * Stores a schedule, or replaces the one with its name. While somebody waits for an item of the
 * queue, or a cleaner looks after it, each tick adds exactly one item, however many clients there
 * are. An unchanged rule keeps its next tick, and a paused schedule stays paused. `done` may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a value outside its limits, a schedule of another owner,
 * or more than 1,000 schedules; an error of every operation.
 */
leaseq_status leaseq_queue_put_schedule(const leaseq_queue *queue,
                                        const leaseq_schedule *schedule,
                                        leaseq_scheduled *done,
                                        leaseq_error **error);

/**
 * Makes the schedules of this owner these `count`: adds and updates them, and removes its others.
 * Those of other owners stay. `revision` is that of all of them, such as the number of the
 * deployment: what was stored or removed with a higher one stays. `synced` may be NULL. After an
 * error, repeat the call: each schedule is changed in a step of its own.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an empty owner, two schedules with one name, or as
 * leaseq_queue_put_schedule(); an error of every operation.
 */
leaseq_status leaseq_queue_sync_schedules(const leaseq_queue *queue,
                                          const char *owner,
                                          uint64_t revision,
                                          const leaseq_schedule *schedules,
                                          size_t count,
                                          leaseq_synced **synced,
                                          leaseq_error **error);

/**
 * Reads the schedules of this queue, in the order of their names. Without `with_data`, the data of their
 * items is left out, and empty.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_schedules(const leaseq_queue *queue,
                                     bool with_data,
                                     leaseq_schedules **schedules,
                                     leaseq_error **error);

/**
 * Removes a schedule; the items that it has added stay. Its revision is kept, and its owner cannot
 * put it with a lower one. `*removed` is false if there was none; it may be NULL.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_remove_schedule(const leaseq_queue *queue,
                                           const char *name,
                                           bool *removed,
                                           leaseq_error **error);

/**
 * Stops a schedule until leaseq_queue_resume_schedule(), also if it is put again. leaseq_queue_schedules()
 * shows who has paused it, and why, as for leaseq_queue_pause_with(); either may be NULL. `*paused` is
 * false if there is none; it may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a text outside its limits; an error of every operation.
 */
leaseq_status leaseq_queue_pause_schedule(const leaseq_queue *queue,
                                          const char *name,
                                          const char *by,
                                          const char *reason,
                                          bool *paused,
                                          leaseq_error **error);

/**
 * Continues a schedule with its first tick from now on: those during the pause were not missed.
 * `*resumed` is false if there is none; it may be NULL.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_resume_schedule(const leaseq_queue *queue,
                                           const char *name,
                                           bool *resumed,
                                           leaseq_error **error);

/**
 * Adds the item of a schedule now, also if its last one has not ended or it is paused. Its next tick
 * stays. `*added` is false if there is no such schedule, or another item has the unique key; it may
 * be NULL.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_run_now(const leaseq_queue *queue,
                                   const char *name,
                                   bool *added,
                                   leaseq_error **error);

/**
 * The next `count` times of the rule of these options, at most 1,000, in ms since 1970, later than
 * `after_ms`; -1 means now, by this machine's clock. An interval begins then. `*found` is how many
 * there are: fewer if the rule has no more.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, options without a rule, or a larger count.
 */
leaseq_status leaseq_schedule_options_times(const leaseq_schedule_options *options,
                                            int64_t after_ms,
                                            int64_t *times,
                                            size_t count,
                                            size_t *found,
                                            leaseq_error **error);

/**
 * Changes settings of this queue, which hold for every client. What `options` does not name stays
 * as it is; NULL changes nothing. `settings` are those after the change, and `size` is
 * `sizeof *settings`. `*configured` is false, and nothing has changed, if the stored revision is
 * another than the expected one; then `settings` is all zero. `configured` may be NULL. A change
 * that changes nothing keeps the revision.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a value outside its limits; an error of every operation.
 */
leaseq_status leaseq_queue_configure(const leaseq_queue *queue,
                                     const leaseq_settings_options *options,
                                     leaseq_settings *settings,
                                     size_t size,
                                     bool *configured,
                                     leaseq_error **error);

/**
 * The settings of this queue, and whether it is paused. `size` is `sizeof *settings`.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_settings(const leaseq_queue *queue,
                                    leaseq_settings *settings,
                                    size_t size,
                                    leaseq_error **error);

/**
 * Stops leasing from this queue, for every client, until leaseq_queue_resume(). Adding, completing
 * and reclaiming continue; calls that lease wait or return nothing. leaseq_queue_settings() shows who
 * has paused, UTF-8 of up to 128 bytes without control characters, and why, up to 256; either may be
 * NULL. Of several pauses the last one counts.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for another text; an error of every operation.
 */
leaseq_status leaseq_queue_pause(const leaseq_queue *queue,
                                 const char *by,
                                 const char *reason,
                                 leaseq_error **error);

/**
 * As leaseq_queue_pause(), for this time, 1 ms to 366 days. Then leasing goes on by itself, and
 * waiting calls wake.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for another time or text; an error of every operation.
 */
leaseq_status leaseq_queue_pause_with(const leaseq_queue *queue,
                                      int64_t duration_ms,
                                      const char *by,
                                      const char *reason,
                                      leaseq_error **error);

/**
 * Resumes leasing after leaseq_queue_pause(); waiting calls wake.
 * @return `LEASEQ_OK`, or an error of every operation.
 */
leaseq_status leaseq_queue_resume(const leaseq_queue *queue, leaseq_error **error);

/**
 * Changes nothing yet.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_new(leaseq_settings_options **options, leaseq_error **error);

/**
 * After so many failed or expired attempts, 1 to 65,535, an item is dead that was added without a
 * limit of its own. It holds for items that are in the queue already, too. Checked by
 * leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_set_max_attempts(leaseq_settings_options *options,
                                                       uint32_t max_attempts,
                                                       leaseq_error **error);

/**
 * How long, at most 366 days, a completed or cancelled item is retained if neither it nor its
 * completion says so; 0: not at all.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_settings_options_set_retain_ms(leaseq_settings_options *options,
                                                    int64_t retain_ms,
                                                    leaseq_error **error);

/**
 * The most dead items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans removes
 * the oldest others. Checked by leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_set_max_dead(leaseq_settings_options *options,
                                                   uint64_t max_dead,
                                                   leaseq_error **error);

/**
 * The most retained items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans
 * removes the others, those first whose time ends first. Checked by leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_set_max_retained(leaseq_settings_options *options,
                                                       uint64_t max_retained,
                                                       leaseq_error **error);

/**
 * Dead items are removed after this time, 1 ms to 366 days, by whoever leases or cleans. Checked by
 * leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_settings_options_set_max_dead_age_ms(leaseq_settings_options *options,
                                                          int64_t max_dead_age_ms,
                                                          leaseq_error **error);

/**
 * The longest time, 1 ms to 366 days, for which items are retained that end from now on, whatever
 * they were added or completed with. Checked by leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_settings_options_set_max_retained_age_ms(leaseq_settings_options *options,
                                                              int64_t max_retained_age_ms,
                                                              leaseq_error **error);

/**
 * How many leases the queue gives, to all clients together: at most `burst + count * t / period` in
 * any time t. `count` and `burst` are 1 to 1,000,000, and 0 as the `burst` means `count`; the period
 * is 1 ms to 31 days. When the leases are used up, items stay ready, and calls that wait get theirs
 * when the next lease is allowed. Checked by leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_settings_options_set_rate(leaseq_settings_options *options,
                                               uint32_t count,
                                               int64_t period_ms,
                                               uint32_t burst,
                                               leaseq_error **error);

/**
 * As leaseq_settings_options_set_rate(), for each key on its own. When its leases are used up, the
 * items of a key are held, and calls that wait get one when the next lease is allowed; items of other
 * keys go on. The burst must be used up for at most 366 days: burst * period / count. Checked by
 * leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_settings_options_set_key_rate(leaseq_settings_options *options,
                                                   uint32_t count,
                                                   int64_t period_ms,
                                                   uint32_t burst,
                                                   leaseq_error **error);

/**
 * How many items of a key are leased at the same time, 1 to 1,000, unless it has a limit of its own;
 * see leaseq_queue_set_key_limits(). A lower limit takes no lease away. Checked by
 * leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_set_key_limit(leaseq_settings_options *options,
                                                    uint32_t key_limit,
                                                    leaseq_error **error);

/**
 * How many of its last changes the queue keeps, 1 to 1,000,000: see leaseq_queue_events(). Checked by
 * leaseq_queue_configure().
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_set_events(leaseq_settings_options *options,
                                                 uint64_t events,
                                                 leaseq_error **error);

/**
 * Removes this ::leaseq_setting from the queue, which then is as if it had never been set.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a number that is no setting.
 */
leaseq_status leaseq_settings_options_remove(leaseq_settings_options *options,
                                             int32_t setting,
                                             leaseq_error **error);

/**
 * Changes nothing if the stored revision is another than this one; 0: the queue must never have
 * been configured. Default: any revision.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_settings_options_expect_revision(leaseq_settings_options *options,
                                                      uint64_t revision,
                                                      leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_settings_options_free(leaseq_settings_options **options);

/**
 * Completes the item, which is then gone, or retained if it was added so. `*completed` is true for
 * exactly one caller. That may be a holder whose lease has expired, whatever state the item is in by
 * then; a later holder then gets false. `completed` may be NULL. The handle must still be freed.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a lease of another queue or process; an error of every
 * operation.
 */
leaseq_status leaseq_queue_complete(const leaseq_queue *queue,
                                    const leaseq_lease *lease,
                                    bool *completed,
                                    leaseq_error **error);

/**
 * leaseq_queue_complete() with options; NULL for the defaults.
 * @return as leaseq_queue_complete(), and `LEASEQ_INVALID` for an option outside its limits.
 */
leaseq_status leaseq_queue_complete_with(const leaseq_queue *queue,
                                         const leaseq_lease *lease,
                                         const leaseq_complete_options *options,
                                         bool *completed,
                                         leaseq_error **error);

/**
 * Completes `count` items; `completed`, an array of `count` or NULL, receives the results in their
 * order. `options` may be NULL; its results, if it has any, are as many as the leases.
 * @return as leaseq_queue_complete_with(), and `LEASEQ_INVALID` if one of the leases is NULL: then
 * none is completed.
 */
leaseq_status leaseq_queue_complete_many(const leaseq_queue *queue,
                                         leaseq_lease *const *leases,
                                         size_t count,
                                         const leaseq_complete_options *options,
                                         bool *completed,
                                         leaseq_error **error);

/**
 * Extends the lease: its deadline becomes the later of the old one and now + `duration_ms` (1 ms
 * to 30 days), on the server's clock. It works after the deadline too, until the item is
 * reclaimed. `*deadline_ms` is the deadline, in ms since 1970; it may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a duration outside its limits or a
 * lease of another queue or process; an error of every operation.
 */
leaseq_status leaseq_queue_extend(const leaseq_queue *queue,
                                  const leaseq_lease *lease,
                                  int64_t duration_ms,
                                  int64_t *deadline_ms,
                                  leaseq_error **error);

/**
 * Extends `count` leases. `statuses` and `deadlines_ms`, arrays of `count` or NULL, receive
 * `LEASEQ_OK` and the deadline, or `LEASEQ_LEASE_LOST` and 0, for each.
 * @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_extend().
 */
leaseq_status leaseq_queue_extend_many(const leaseq_queue *queue,
                                       leaseq_lease *const *leases,
                                       size_t count,
                                       int64_t duration_ms,
                                       leaseq_status *statuses,
                                       int64_t *deadlines_ms,
                                       leaseq_error **error);

/**
 * Stores how far the work on the item has come, for leaseq_queue_get() and leaseq_queue_list():
 * up to 1,024 arbitrary bytes, which are copied. They replace what earlier holders stored, and stay
 * when the lease ends, until the item is completed or gone.
 *
 * Call it as often as you like. The first value of a lease is stored when the call returns. Later
 * ones wait if the client has sent one within the last second, and the call returns at once; when
 * the second is over, the last value of each lease is sent. leaseq_queue_fail() and
 * leaseq_queue_release() send what waits, leaseq_queue_complete() drops it.
 * @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`, perhaps only in a later call; `LEASEQ_INVALID` for more
 * than 1,024 bytes or a lease of another queue or process; an error of every operation.
 */
leaseq_status leaseq_queue_set_progress(const leaseq_queue *queue,
                                        const leaseq_lease *lease,
                                        const void *progress,
                                        size_t progress_len,
                                        leaseq_error **error);

/**
 * Releases the item without counting an attempt. It returns to the front of its priority, at once
 * or after `delay_ms`, at most 366 days. The reason, UTF-8 of up to 128 bytes without a NUL at the
 * end, is kept with the item, with how often in a row it was given and when first; NULL with
 * length 0 for no reason.
 * @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a delay or a reason outside its
 * limits, a reason that is not UTF-8, or a lease of another queue or process; an error of every
 * operation.
 */
leaseq_status leaseq_queue_release(const leaseq_queue *queue,
                                   const leaseq_lease *lease,
                                   int64_t delay_ms,
                                   const void *reason,
                                   size_t reason_len,
                                   leaseq_error **error);

/**
 * Releases `count` items, all with the same delay and reason. `statuses`, an array of `count` or
 * NULL, receives `LEASEQ_OK` or `LEASEQ_LEASE_LOST` for each.
 * @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_release().
 */
leaseq_status leaseq_queue_release_many(const leaseq_queue *queue,
                                        leaseq_lease *const *leases,
                                        size_t count,
                                        int64_t delay_ms,
                                        const void *reason,
                                        size_t reason_len,
                                        leaseq_status *statuses,
                                        leaseq_error **error);

/**
 * Counts a failed attempt. The item goes to the back of its priority, at once or after `delay_ms`
 * (at most 366 days), or is dead when it reaches its limit of attempts. With `dead` it is dead
 * whatever its limit; `delay_ms` must then be 0. `*state` is its new state; it may be NULL. The
 * first 1,024 bytes of the text are stored with the item; invalid UTF-8 is replaced. The text may
 * be NULL with length 0.
 * @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a delay outside its limits, a
 * delay of an item that is to be dead, or a lease of another queue or process; an error of every
 * operation.
 */
leaseq_status leaseq_queue_fail(const leaseq_queue *queue,
                                const leaseq_lease *lease,
                                const void *text,
                                size_t text_len,
                                int64_t delay_ms,
                                bool dead,
                                leaseq_state *state,
                                leaseq_error **error);

/**
 * Counts a failed attempt of each of `count` items; `texts` is an array of `count`, or NULL for no
 * text. `adds`, an array of `count` or NULL, has for each the items that are added if this call makes its item
 * dead, or ends it as cancelled: at most 999, of 16 MiB, with different ids. `statuses` and `states`, arrays of `count` or NULL, receive `LEASEQ_OK` and the new state,
 * or `LEASEQ_LEASE_LOST` and `LEASEQ_STATE_NONE`, for each.
 * @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_fail().
 */
leaseq_status leaseq_queue_fail_many(const leaseq_queue *queue,
                                     leaseq_lease *const *leases,
                                     const leaseq_bytes *texts,
                                     const leaseq_items *adds,
                                     size_t count,
                                     int64_t delay_ms,
                                     bool dead,
                                     leaseq_status *statuses,
                                     leaseq_state *states,
                                     leaseq_error **error);

/**
 * Frees a task and makes the pointer NULL. NULL and a pointer to NULL are allowed. A task that was not ended
 * fails.
 */
void leaseq_task_free(leaseq_task **task);

/**
 * Ends the task: it has succeeded. The result, copied, is kept with a job that is retained; NULL with length
 * 0 is none. Other languages expect JSON. If `settled` is NULL, the call returns at once; otherwise it waits
 * until the queue has confirmed what becomes of the job, which `*settled` tells. In a child process the worker reports
 * the end: the call returns at once, `*settled` is `LEASEQ_SETTLED_NONE`, and a result must be JSON.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` if the task was ended before.
 */
leaseq_status leaseq_task_complete(const leaseq_task *task,
                                   const void *result,
                                   size_t result_len,
                                   leaseq_settled *settled,
                                   leaseq_error **error);

/**
 * Ends the task: it has failed. `class_name` is what the retry rules of the job name; `message` is for people.
 * The class is UTF-8; what is not UTF-8 in the message is replaced. The first 1,024 bytes of them are kept. `delay_ms` is that of
 * `LEASEQ_POLICY_RETRY_AFTER`, and 0 otherwise.
 * @return as leaseq_task_complete(), and `LEASEQ_INVALID` for NULL, a number that is no policy, or a delay
 * without that policy.
 */
leaseq_status leaseq_task_fail(const leaseq_task *task,
                               const char *class_name,
                               const char *message,
                               int32_t policy,
                               int64_t delay_ms,
                               leaseq_settled *settled,
                               leaseq_error **error);

/**
 * As leaseq_task_fail(), with the names of several classes: the most specific first, then what it is a kind of. The
 * retry rules of the job may name any of them.
 * @return as leaseq_task_fail(), and `LEASEQ_INVALID` without a name.
 */
leaseq_status leaseq_task_fail_classes(const leaseq_task *task,
                                       const char *const *class_names,
                                       size_t count,
                                       const char *message,
                                       int32_t policy,
                                       int64_t delay_ms,
                                       leaseq_settled *settled,
                                       leaseq_error **error);

/**
 * Ends the task: it is to run again after this delay, and the attempt does not count.
 * @return as leaseq_task_complete(), and `LEASEQ_INVALID` for a negative delay.
 */
leaseq_status leaseq_task_snooze(const leaseq_task *task,
                                 int64_t delay_ms,
                                 leaseq_settled *settled,
                                 leaseq_error **error);

/**
 * Ends the task: it has stopped because it was to. leaseq_task_cancel_reason() decides what becomes of the
 * job.
 * @return as leaseq_task_complete().
 */
leaseq_status leaseq_task_stopped(const leaseq_task *task,
                                  leaseq_settled *settled,
                                  leaseq_error **error);

/**
 * Ends the task: its arguments do not fit the handler. The job is released without using an attempt, because
 * a newer worker may understand it, and is dead after a day.
 * @return as leaseq_task_complete(), and `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_task_refuse_args(const leaseq_task *task,
                                      const char *message,
                                      leaseq_settled *settled,
                                      leaseq_error **error);

/**
 * The name of the job. NULL for NULL. Lives as long as the task.
 */
const char *leaseq_task_name(const leaseq_task *task);

/**
 * The name of its queue. NULL for NULL. Lives as long as the task.
 */
const char *leaseq_task_queue(const leaseq_task *task);

/**
 * The arguments: a JSON object, UTF-8, followed by a NUL. NULL for NULL. Lives as long as the task.
 */
const char *leaseq_task_args(const leaseq_task *task);

/**
 * Number of bytes of the arguments, without the NUL.
 */
size_t leaseq_task_args_len(const leaseq_task *task);

/**
 * The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL and in a forked child. Lives as
 * long as the task.
 */
const char *leaseq_task_id(const leaseq_task *task);

/**
 * Number of bytes of the item's id.
 */
size_t leaseq_task_id_len(const leaseq_task *task);

/**
 * What a producer has attached under this name, such as a `traceparent`, copied to `value`, which has room
 * for `size` bytes, followed by a NUL. `*len` is its length without the NUL, and may be NULL; the value is
 * empty if there is none. Of one that is too long for `value`, nothing is copied.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL or a size of 0.
 */
leaseq_status leaseq_task_meta(const leaseq_task *task,
                               const char *name,
                               char *value,
                               size_t size,
                               size_t *len,
                               leaseq_error **error);

/**
 * 1 for the first attempt. 0 for NULL and in a forked child.
 */
uint32_t leaseq_task_attempt(const leaseq_task *task);

/**
 * How many attempts the job has. 0 for NULL and in a forked child.
 */
uint32_t leaseq_task_max_attempts(const leaseq_task *task);

/**
 * The text of the last failure, followed by a NUL; empty if there was none. NULL for NULL. Lives as long as
 * the task.
 */
const char *leaseq_task_last_error(const leaseq_task *task);

/**
 * The id of the job or group whose end has added this job: arbitrary bytes, not followed by a NUL. NULL if a program has
 * added it, and for NULL. Lives as long as the task.
 */
const char *leaseq_task_previous_id(const leaseq_task *task);

/**
 * Number of bytes of that id.
 */
size_t leaseq_task_previous_id_len(const leaseq_task *task);

/**
 * The result of the job whose success has added this one, followed by a NUL: JSON, if its handler keeps to that. NULL if
 * it had none, or one of more than 64 KiB, has not succeeded, or there is none. Lives as long as the task.
 */
const char *leaseq_task_previous(const leaseq_task *task);

/**
 * Number of bytes of that result, without the NUL.
 */
size_t leaseq_task_previous_len(const leaseq_task *task);

/**
 * The generation of the item, which goes up with every add of its id: a store of your own can refuse writers
 * of an earlier one. It is the same in all attempts. 0 for NULL and in a forked child.
 */
uint64_t leaseq_task_generation(const leaseq_task *task);

/**
 * Ms until the timeout; 0 after that, for NULL and in a forked child.
 */
int64_t leaseq_task_remaining_ms(const leaseq_task *task);

/**
 * Why the task is to stop. `LEASEQ_CANCEL_NONE` for NULL and in a forked child.
 */
leaseq_cancel_reason leaseq_task_cancel_reason(const leaseq_task *task);

/**
 * A file descriptor for `poll`, `epoll` or `select` that becomes readable when the task is to stop. It
 * belongs to the task: do not read, write or close it.
 * @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left.
 */
leaseq_status leaseq_task_cancelled_fd(const leaseq_task *task,
                                       int32_t *fd,
                                       leaseq_error **error);

/**
 * Sets the timeout anew: the handler has this much time from now on, at most 30 days.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a longer or negative time, and if the task is to stop already.
 */
leaseq_status leaseq_task_more_time(const leaseq_task *task,
                                    int64_t time_ms,
                                    leaseq_error **error);

/**
 * Stores how far the handler has come: up to 1,024 bytes, for whoever looks at the item. In a child process it must be
 * UTF-8, and the worker stores it: the call returns at once.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for more bytes; `LEASEQ_LEASE_LOST`; an error of every operation.
 */
leaseq_status leaseq_task_progress(const leaseq_task *task,
                                   const void *progress,
                                   size_t progress_len,
                                   leaseq_error **error);

/**
 * Version of the binary interface of the running library; compare it with `LEASEQ_ABI_VERSION`.
 */
uint32_t leaseq_abi_version(void);

/**
 * Version of the running library, like `1.2.3`. Never NULL; lives for ever.
 */
const char *leaseq_version(void);

/**
 * Name of a ::leaseq_status: `OK`, `INVALID`, `LEASE_LOST`, …, or `UNKNOWN`. Never NULL; lives for
 * ever.
 */
const char *leaseq_status_name(int32_t status);

/**
 * Name of a ::leaseq_state: `none`, `ready`, `delayed`, `leased`, `dead`, `completed`, `cancelled`,
 * `held`, or `unknown`. Never NULL; lives for ever.
 */
const char *leaseq_state_name(int32_t state);

/**
 * A waiter for leases of this queue; leaseq_waiter_begin() starts it. It may outlive the queue's
 * handle. It is for leases only: for the ends of items, an event loop runs leaseq_queue_outcome() on a
 * thread.
 * @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left;
 * `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_waiter_new(const leaseq_queue *queue,
                                leaseq_waiter **waiter,
                                leaseq_error **error);

/**
 * The file descriptor for `poll`, `epoll` or `select`: readable while leaseq_waiter_take() has an
 * answer. It belongs to the waiter: do not read, write or close it. -1 for NULL and in a forked
 * child.
 */
int32_t leaseq_waiter_fd(const leaseq_waiter *waiter);

/**
 * Starts to lease up to `count` items in the background, with the arguments of
 * leaseq_queue_lease_many(), and returns at once. The duration of a lease starts when the server
 * gives it, not when it is taken.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for a duration or a wait outside its limits, or if an
 * earlier answer is still to come or to be taken.
 */
leaseq_status leaseq_waiter_begin(const leaseq_waiter *waiter,
                                  size_t count,
                                  int64_t duration_ms,
                                  int64_t wait_ms,
                                  const leaseq_lease_options *options,
                                  leaseq_error **error);

/**
 * Takes the answer without waiting for it: the first `*count` of `leases`, an array of `capacity`,
 * are leases, the others NULL. There are none if there is no answer yet, or if the wait ended
 * without an item. The file descriptor stays readable while leases are left; after the last one,
 * or an error, leaseq_waiter_begin() can be called again.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL or a capacity of 0; what leaseq_queue_lease_many()
 * would have returned.
 */
leaseq_status leaseq_waiter_take(const leaseq_waiter *waiter,
                                 leaseq_lease **leases,
                                 size_t capacity,
                                 size_t *count,
                                 leaseq_error **error);

/**
 * True from leaseq_waiter_begin() until its answer is taken. False for NULL and in a forked child.
 */
bool leaseq_waiter_has_begun(const leaseq_waiter *waiter);

/**
 * Frees a waiter and makes the pointer NULL. NULL and a pointer to NULL are allowed. Its
 * background call ends, and leases that were not taken are released. Remove the file descriptor
 * from the event loop first.
 */
void leaseq_waiter_free(leaseq_waiter **waiter);

/**
 * Starts a worker: it leases jobs from now on. Options are copied. Close the client after the worker has
 * ended. With leaseq_worker_options_set_children() it returns when the first child has started.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for an option outside its limits, without a queue or a job, and if the first
 * child does not start; `LEASEQ_CLOSED`.
 */
leaseq_status leaseq_worker_start(const leaseq_client *client,
                                  const leaseq_worker_options *options,
                                  leaseq_worker **worker,
                                  leaseq_error **error);

/**
 * Waits for the next task: 0 does not wait, `LEASEQ_WAIT_FOREVER` has no limit. `*task` is NULL if there
 * was none in this time, or if the worker has ended: leaseq_worker_has_ended() tells. Any number of threads
 * may wait at the same time, one for each slot. A task must be ended, and be freed.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for another negative wait, and if jobs run in child processes.
 */
leaseq_status leaseq_worker_next(const leaseq_worker *worker,
                                 int64_t wait_ms,
                                 leaseq_task **task,
                                 leaseq_error **error);

/**
 * A file descriptor for `poll`, `epoll` or `select`: readable while leaseq_worker_next() has a task without
 * waiting, and when the worker has ended. It belongs to the worker: do not read, write or close it. The
 * worker then holds one task ready, which uses a slot.
 * @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left; `LEASEQ_INVALID` if jobs run in
 * child processes.
 */
leaseq_status leaseq_worker_fd(const leaseq_worker *worker,
                               int32_t *fd,
                               leaseq_error **error);

/**
 * Runs tasks on threads of the library, one for each slot, until the worker has ended and all handlers have
 * returned; if leaseq_worker_gave_up(), without those that hang. `context` is passed to each call of the handler, which
 * finds signals blocked as they are in the calling thread.
 * Another thread ends the worker with leaseq_worker_drain().
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL, or a worker whose jobs run in child processes;
 * `LEASEQ_UNAVAILABLE` if there can be no thread; what has made the worker fail.
 */
leaseq_status leaseq_worker_run(const leaseq_worker *worker,
                                leaseq_handler handler,
                                void *context,
                                leaseq_error **error);

/**
 * Ends the worker in order: it leases nothing more, releases what was not taken, and lets tasks run for the
 * grace period. Then it cancels them; after 3 s it gives up those that still run. A second call can shorten
 * the grace period. It returns at once; it takes locks, so a signal handler must not call it.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_worker_drain(const leaseq_worker *worker,
                                  int64_t grace_ms,
                                  leaseq_error **error);

/**
 * Ends the worker at once. Tasks that run are not reported any more: their leases expire.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_abort(const leaseq_worker *worker, leaseq_error **error);

/**
 * Waits until the worker has ended, at most for this time; `*ended` tells whether it has, and may be NULL.
 * @return `LEASEQ_OK`; `LEASEQ_INVALID` for another negative wait; what has made the worker fail.
 */
leaseq_status leaseq_worker_wait(const leaseq_worker *worker,
                                 int64_t wait_ms,
                                 bool *ended,
                                 leaseq_error **error);

/**
 * Whether the worker has ended. False for NULL and in a forked child.
 */
bool leaseq_worker_has_ended(const leaseq_worker *worker);

/**
 * The exit status for the process of a worker that has ended: 0; 3 if a burst found nothing to do; 1 if it
 * was aborted, failed, or ended because handlers hang. -1 before that, for NULL and in a forked child.
 */
int32_t leaseq_worker_exit_status(const leaseq_worker *worker);

/**
 * How many jobs it has started. 0 for NULL and in a forked child.
 */
uint64_t leaseq_worker_started(const leaseq_worker *worker);

/**
 * Whether jobs of handlers that did not return were given to others: the process must end at once. False
 * for NULL and in a forked child.
 */
bool leaseq_worker_gave_up(const leaseq_worker *worker);

/**
 * Frees a worker and makes the pointer NULL. NULL and a pointer to NULL are allowed. A worker that has not
 * ended is aborted. Tasks may be freed later; reporting their end has no effect then.
 */
void leaseq_worker_free(leaseq_worker **worker);

/**
 * The default options of a worker; it needs at least one queue and one job.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
 */
leaseq_status leaseq_worker_options_new(leaseq_worker_options **options, leaseq_error **error);

/**
 * Leases from this queue; or from all queues whose names match a pattern, also from new ones: `*`
 * stands for any text, `?` for a character. Of several queues, jobs are started by their weights, 1
 * to 1,000.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks name and weight.
 */
leaseq_status leaseq_worker_options_add_queue(leaseq_worker_options *options,
                                              const char *name,
                                              uint32_t weight,
                                              leaseq_error **error);

/**
 * Adds a job that the worker has a handler for, with the defaults: a timeout of 1 hour, 10 attempts.
 * Jobs of other names are released for workers that know them.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or for a name that was added before.
 */
leaseq_status leaseq_worker_options_add_job(leaseq_worker_options *options,
                                            const char *name,
                                            leaseq_error **error);

/**
 * How long a handler of this job may run before it is cancelled, 1 ms to 30 days, unless the job was
 * added with a timeout of its own. Default: 1 hour.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, a negative time, or a job that was not added.
 */
leaseq_status leaseq_worker_options_set_job_timeout_ms(leaseq_worker_options *options,
                                                       const char *name,
                                                       int64_t timeout_ms,
                                                       leaseq_error **error);

/**
 * How often this job is tried, 1 to 65,535, and how long it waits before: a random time between 0 and
 * `base_ms` · 2ⁿ, at most `cap_ms`, where n is the number of earlier attempts. Defaults: 10, 1 s, 10
 * minutes.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, a negative time, or a job that was not added.
 */
leaseq_status leaseq_worker_options_set_job_retry(leaseq_worker_options *options,
                                                  const char *name,
                                                  uint32_t attempts,
                                                  int64_t base_ms,
                                                  int64_t cap_ms,
                                                  leaseq_error **error);

/**
 * Names a class of errors of this job: one that is retried, and no others but those that are named so; or one that
 * is never retried. leaseq_task_fail() says which class an error has.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or a job that was not added.
 */
leaseq_status leaseq_worker_options_add_job_retry_class(leaseq_worker_options *options,
                                                        const char *name,
                                                        const char *class_name,
                                                        bool retried,
                                                        leaseq_error **error);

/**
 * How many jobs run at the same time: 1 to 1,000. Default: 90 % of the processors, at least 10.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks the number.
 */
leaseq_status leaseq_worker_options_set_slots(leaseq_worker_options *options,
                                              uint32_t slots,
                                              leaseq_error **error);

/**
 * Leases this many jobs in advance, while all slots have one, so that a slot does not wait for the server
 * between two short jobs. They wait in this worker although another one may be idle; it gives them back
 * when it ends. With the slots at most 1,000. Default: 0.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks the number.
 */
leaseq_status leaseq_worker_options_set_prefetch(leaseq_worker_options *options,
                                                 uint32_t prefetch,
                                                 leaseq_error **error);

/**
 * Leases from a queue only if those that were added before it have nothing. Default: false, by their
 * weights.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_strict_order(leaseq_worker_options *options,
                                                     bool strict,
                                                     leaseq_error **error);

/**
 * Leases jobs for this time, 100 ms to 30 days, and extends the leases while handlers run. A job of a
 * worker that was killed is delivered again after this time. Default: 30 s.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_worker_options_set_lease_ms(leaseq_worker_options *options,
                                                 int64_t lease_ms,
                                                 leaseq_error **error);

/**
 * Gives up a handler that still runs this long after its timeout: it keeps its slot and its lease until
 * it returns, and if there are many of those, the worker ends. Default: 10 s.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
 */
leaseq_status leaseq_worker_options_set_kill_after_ms(leaseq_worker_options *options,
                                                      int64_t kill_after_ms,
                                                      leaseq_error **error);

/**
 * Ends the worker after so many jobs; 0: never. Default: never.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_max_jobs(leaseq_worker_options *options,
                                                 uint64_t max_jobs,
                                                 leaseq_error **error);

/**
 * Ends the worker when its queues have nothing more to lease and no job runs. Default: false.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_burst(leaseq_worker_options *options,
                                              bool burst,
                                              leaseq_error **error);

/**
 * The name under which the worker is listed, which stays the same when it is started again. Workers of
 * one name are quiet together. Default: the program and the host.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_name(leaseq_worker_options *options,
                                             const char *name,
                                             leaseq_error **error);

/**
 * Whether the process ends when the worker does. Jobs of handlers that do not return are then given to
 * other workers, so the process must end at once: see leaseq_worker_gave_up(). Default: false, such a job
 * stays leased until its handler returns.
 * @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
 */
leaseq_status leaseq_worker_options_set_owns_process(leaseq_worker_options *options,
                                                     bool owns_process,
                                                     leaseq_error **error);

/**
 * Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
 */
void leaseq_worker_options_free(leaseq_worker_options **options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LEASEQ_H */
