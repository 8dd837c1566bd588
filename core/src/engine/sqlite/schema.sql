-- Storage format 2 of the embedded engine. All queues of a file share one database.

-- One row.
--   clock     high-water mark of the time in ms, so that it never goes back
--   sequence  no number above it was given to an item or a position; numbers are never reused
--   changes   how often a queue was dropped or configured; while it stays the same, a name stands for the same queue,
--             with the same settings
--   awaited   until when a client may wait for the end of an item or a group of any queue
--   successors   1 if a successor has ever had another id than the item for whose lease it waited
CREATE TABLE meta (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    clock    INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    changes  INTEGER NOT NULL,
    awaited  INTEGER NOT NULL,
    successors INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, 0, 0, 0, 0, 0);

--   queue      never reused for another queue
--   name       NULL if it was dropped; its rows are deleted in steps
--   corrected  how often its counts were corrected
--   ready0 to ready9, delayed, leased, dead, kept_completed, kept_cancelled, held   how many items are in each state
--   cancels    changes whenever the cancellation of leased items is requested
--   paused     1 until it is resumed, or the time until which it is paused; 0, or a time that has passed, if it is not
--   pause_note  when the last pause has begun, who has begun it and why, in lines; empty if it was resumed
--   revision   goes up with each change of the settings; 0 if there was none
--   max_attempts, retain, max_dead, max_retained, max_dead_age, max_retained_age, key_limit, events, rate,
--              rate_period, rate_burst, key_rate, key_rate_period, key_rate_burst   the settings; 0 if not set
--   raised     after key_limit was raised or key_rate was changed: the keys up to this one have been opened; NULL if all have
--   swept      when a cleaner has last deleted what the settings do not allow
--   rate_used, rate_at   how much of the rate was used up at which time
--   event      the number of the last event
--   the others are totals
CREATE TABLE queue (
    queue     INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT UNIQUE,
    paused    INTEGER NOT NULL DEFAULT 0,
    pause_note TEXT NOT NULL DEFAULT '',
    corrected INTEGER NOT NULL DEFAULT 0,
    ready0    INTEGER NOT NULL DEFAULT 0,
    ready1    INTEGER NOT NULL DEFAULT 0,
    ready2    INTEGER NOT NULL DEFAULT 0,
    ready3    INTEGER NOT NULL DEFAULT 0,
    ready4    INTEGER NOT NULL DEFAULT 0,
    ready5    INTEGER NOT NULL DEFAULT 0,
    ready6    INTEGER NOT NULL DEFAULT 0,
    ready7    INTEGER NOT NULL DEFAULT 0,
    ready8    INTEGER NOT NULL DEFAULT 0,
    ready9    INTEGER NOT NULL DEFAULT 0,
    delayed   INTEGER NOT NULL DEFAULT 0,
    leased    INTEGER NOT NULL DEFAULT 0,
    dead      INTEGER NOT NULL DEFAULT 0,
    kept_completed INTEGER NOT NULL DEFAULT 0,
    kept_cancelled INTEGER NOT NULL DEFAULT 0,
    held      INTEGER NOT NULL DEFAULT 0,
    added     INTEGER NOT NULL DEFAULT 0,
    leases    INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    expired   INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    died      INTEGER NOT NULL DEFAULT 0,
    removed   INTEGER NOT NULL DEFAULT 0,
    replaced  INTEGER NOT NULL DEFAULT 0,
    expired_unleased INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    cancels   INTEGER NOT NULL DEFAULT 0,
    revision         INTEGER NOT NULL DEFAULT 0,
    max_attempts     INTEGER NOT NULL DEFAULT 0,
    retain           INTEGER NOT NULL DEFAULT 0,
    max_dead         INTEGER NOT NULL DEFAULT 0,
    max_retained     INTEGER NOT NULL DEFAULT 0,
    max_dead_age     INTEGER NOT NULL DEFAULT 0,
    max_retained_age INTEGER NOT NULL DEFAULT 0,
    key_limit        INTEGER NOT NULL DEFAULT 0,
    events           INTEGER NOT NULL DEFAULT 0,
    rate             INTEGER NOT NULL DEFAULT 0,
    rate_period      INTEGER NOT NULL DEFAULT 0,
    rate_burst       INTEGER NOT NULL DEFAULT 0,
    key_rate         INTEGER NOT NULL DEFAULT 0,
    key_rate_period  INTEGER NOT NULL DEFAULT 0,
    key_rate_burst   INTEGER NOT NULL DEFAULT 0,
    rate_used        INTEGER NOT NULL DEFAULT 0,
    rate_at          INTEGER NOT NULL DEFAULT 0,
    swept            INTEGER NOT NULL DEFAULT 0,
    event            INTEGER NOT NULL DEFAULT 0,
    raised           BLOB
) STRICT;

--   number      the generation
--   state       0 ready, 1 leased, 2 delayed, 3 dead, 4 completed and retained, 5 cancelled and retained, 6 held
--   sort_key, position   the order among the items of a state, lowest first
--   sort_key    the negative priority of a ready or held item; when any other expires, is due, has died or is deleted
--   position    of a ready or held item within its priority: a number of the sequence at the back, a negative one at
--               the front; 0 for others
--   deliveries  how often it was leased and came back; with the number it is the token of a lease
--   front       1 while a released item waits for the end of its delay
--   since       when it became ready, 0 if that was when it was added
--   history     how its last leases ended, and reasons of releases, packed; empty if there is nothing
--   more        1 if it has a row in `extra`, 2 if that has a trigger, too
--   key         NULL if it has none
--   data        NULL if it is in `large`
-- A lease changes state, sort_key and position of most rows without changing their length (SQLite stores 0 and
-- 1 in no bytes), so that nothing else of a page moves.
CREATE TABLE item (
    number       INTEGER PRIMARY KEY,
    queue        INTEGER NOT NULL,
    state        INTEGER NOT NULL,
    sort_key     INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    failures     INTEGER NOT NULL DEFAULT 0,
    expiries     INTEGER NOT NULL DEFAULT 0,
    deliveries   INTEGER NOT NULL DEFAULT 0,
    front        INTEGER NOT NULL DEFAULT 0,
    added_at     INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    error        TEXT NOT NULL DEFAULT '',
    history      TEXT NOT NULL DEFAULT '',
    more         INTEGER NOT NULL DEFAULT 0,
    key          BLOB,
    id           BLOB NOT NULL,
    data         BLOB
) STRICT;
CREATE UNIQUE INDEX item_id ON item (queue, id);
-- One index for all states: a change of state touches fewer pages than with one index for each.
CREATE INDEX item_line ON item (queue, state, sort_key, position);

-- The leased and the held items of each key: how many are leased, and which one is the first in line.
CREATE INDEX item_key ON item (queue, key, state, sort_key, position)
    WHERE key IS NOT NULL AND (state = 1 OR state = 6);

-- Keys with held items that may be leased. A key is here, or as many of its items are leased as may be. A row too many
-- does no harm: the next lease deletes it.
--   sort_key, position   the place in line of the first held item, or an earlier one. A sort_key above 0 is no place: the rate
--                        of the key is used up, and it opens at that time
CREATE TABLE open_key (
    queue    INTEGER NOT NULL,
    key      BLOB NOT NULL,
    sort_key INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_key_line ON open_key (queue, sort_key, position);

-- The limits of keys that have one of their own.
CREATE TABLE key_limit (
    queue INTEGER NOT NULL,
    key   BLOB NOT NULL,
    most  INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

-- What is used up of the rate of a key.
--   until  in µs: when the key has refilled; each lease moves it on. A time that has passed says nothing
CREATE TABLE key_meter (
    queue INTEGER NOT NULL,
    key   BLOB NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_meter_until ON key_meter (queue, until);

-- Data of more than 1,024 bytes, apart from the rows that change with every lease.
CREATE TABLE large (
    number INTEGER PRIMARY KEY,
    data   BLOB NOT NULL
) STRICT;

-- What only some items have.
--   retain      for how long (ms) the item is kept after its completion
--   unique_key  NULL if it has none
--   ended_at, result   of an item that is retained
--   expires_at  when it is dead if nobody has leased it; NULL if it does not expire, or no longer; negative if the time
--               passed while the item was leased and a sweep has seen that
--   progress    how far the last holder that has said so came
--   marked      1 if the item is leased and its cancellation was requested
--   follow_ups  the number of its row in `follow_up`; NULL if it has none
--   trigger_id, trigger_result   of the item that has added it by its end, if it wants to know; then item.more is 2
CREATE TABLE extra (
    number     INTEGER PRIMARY KEY,
    queue      INTEGER NOT NULL,
    retain     INTEGER NOT NULL,
    unique_key BLOB,
    ended_at   INTEGER,
    result     BLOB,
    expires_at INTEGER,
    progress   BLOB,
    marked     INTEGER NOT NULL DEFAULT 0,
    follow_ups INTEGER,
    trigger_id BLOB,
    trigger_result BLOB
) STRICT;
CREATE INDEX extra_expires_at ON extra (queue, expires_at) WHERE expires_at IS NOT NULL;

-- The follow-ups of items, and what calls have added that ended items. They are deleted with the last note about them.
--   follow_up   a number of the sequence
--   place, group_queue, group_number   of a member of a group: its place, and the name of the group's queue and the number of
--               the group; NULL if it is none
CREATE TABLE follow_up (
    follow_up INTEGER PRIMARY KEY,
    queue     INTEGER NOT NULL,
    packed    BLOB NOT NULL,
    place        INTEGER,
    group_queue  TEXT,
    group_number INTEGER
) STRICT;
CREATE INDEX follow_up_place ON follow_up (queue) WHERE place IS NOT NULL;
CREATE INDEX follow_up_queue ON follow_up (queue);
-- The members of a group, queue by queue.
CREATE INDEX follow_up_group ON follow_up (group_number, queue) WHERE place IS NOT NULL;
CREATE INDEX extra_follow_ups ON extra (follow_ups) WHERE follow_ups IS NOT NULL;

-- Notes of ends whose follow-ups are to be added: usually in the transaction that writes them.
--   sequence   a number of the sequence
--   kinds      what fires: the sum of 1 (completion), 2 (death) and 4 (end of the run); 8 if the place of a member ends although
--              nothing fires, 16 if it is open again; 32 if a member was refused, 64 if it was added; 128: members of a cancelled group
--              are to be cancelled; then `follow_up` is 0, and `id` the number of the group and that in `follow_up` behind which to
--              go on, as text
--   last       1 if there will be no other note about them
--   id, result   of the item that has ended
CREATE TABLE deferred (
    sequence  INTEGER PRIMARY KEY,
    queue     INTEGER NOT NULL,
    follow_up INTEGER NOT NULL,
    kinds     INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    id        BLOB NOT NULL,
    result    BLOB
) STRICT;
CREATE INDEX deferred_queue ON deferred (queue, sequence);
CREATE INDEX deferred_follow_up ON deferred (follow_up);

-- Groups.
--   number      a number of the sequence
--   places      how many it has; 0 if it is not sealed
--   ended, completed   how many of them have ended, and are completed
--   has_ended   1 if the group has ended
--   changed     when it was changed last
--   cancelled   1 if its members are cancelled, also those that are added later
--   follow_up   the number of its row in `follow_up`; NULL if it has none
CREATE TABLE item_group (
    number    INTEGER PRIMARY KEY,
    queue     INTEGER NOT NULL,
    id        BLOB NOT NULL,
    places    INTEGER NOT NULL,
    ended     INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    has_ended INTEGER NOT NULL,
    changed   INTEGER NOT NULL,
    cancelled INTEGER NOT NULL DEFAULT 0,
    follow_up INTEGER
) STRICT;
CREATE UNIQUE INDEX item_group_id ON item_group (queue, id);
CREATE INDEX item_group_changed ON item_group (changed) WHERE places = 0 OR has_ended = 1;
CREATE INDEX item_group_follow_up ON item_group (follow_up) WHERE follow_up IS NOT NULL;

-- The states of 500 places of a group, a letter each: - open, e ended, c completed, r refused. What is missing is open.
CREATE TABLE group_field (
    number INTEGER NOT NULL,
    field  INTEGER NOT NULL,
    states BLOB NOT NULL,
    PRIMARY KEY (number, field)
) STRICT, WITHOUT ROWID;

-- Unique keys, each with the number of the item that owns it.
--   until   until when the key stays taken in any case, 0 if for no longer than the item needs it
CREATE TABLE unique_key (
    queue  INTEGER NOT NULL,
    key    BLOB NOT NULL,
    number INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_key_until ON unique_key (queue, until) WHERE until > 0;

-- Items that wait as successors: they take the places of leased ones when their leases end.
--   leased      the number of the leased item
--   number      the number that it is to have; its data is in `large` under this if that is more than 1,024 bytes
--   id, unique_key   NULL: it has no unique key
--   packed      the item as a follow-up is packed, without such data
--   added_at    when it was added
--   trigger_id, trigger_result   as in `extra`
CREATE TABLE successor (
    leased     INTEGER PRIMARY KEY,
    number     INTEGER NOT NULL,
    queue      INTEGER NOT NULL,
    id         BLOB NOT NULL,
    unique_key BLOB,
    packed     BLOB NOT NULL,
    added_at   INTEGER NOT NULL,
    trigger_id BLOB,
    trigger_result BLOB
) STRICT;
CREATE INDEX successor_id ON successor (queue, id);
CREATE INDEX successor_key ON successor (queue, unique_key) WHERE unique_key IS NOT NULL;
CREATE UNIQUE INDEX successor_number ON successor (number);

-- What a client waits for the end of, by the name of the queue: it need not exist yet.
--   id         of an item, or of a group if `is_group` is 1
--   until      until when it waits
CREATE TABLE awaited (
    name  TEXT NOT NULL,
    id    BLOB NOT NULL,
    is_group INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (name, id, is_group)
) STRICT, WITHOUT ROWID;
CREATE INDEX awaited_until ON awaited (until);

-- How items and groups have ended for which a client waited, for a minute.
--   sequence   a number of the sequence
--   letter     C, c: completed, and retained or not; X, x: cancelled, and retained or not; d: dead; r: removed; g: a group, which
--              has ended or was removed
CREATE TABLE ending (
    sequence INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    letter   INTEGER NOT NULL,
    id       BLOB NOT NULL
) STRICT;
CREATE INDEX ending_name ON ending (name, sequence);

--   version   changes with each change
--   last_id   the id of the last item that it has added; NULL: none
--   due       when it adds the next item; NULL: never
--   body      what it is, which the engine does not read
CREATE TABLE schedule (
    queue   INTEGER NOT NULL,
    name    TEXT NOT NULL,
    version TEXT NOT NULL,
    last_id BLOB,
    due     INTEGER,
    body    BLOB NOT NULL,
    PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (queue, due) WHERE due IS NOT NULL;

-- The history of each queue.
--   kind      0: a row for each minute of a day; 1: for each hour of 31 days
--   place     number of the minute or hour since 1970, modulo the number of rows
--   at        when it was written
--   numbers, measured   see engine/history.rs
CREATE TABLE history (
    queue    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    numbers  TEXT NOT NULL,
    measured TEXT NOT NULL,
    PRIMARY KEY (queue, kind, place)
) STRICT, WITHOUT ROWID;

-- The events of each queue, one row for each transaction.
--   last, count   the number of the last one, and how many there are
--   packed        see sqlite/noted_events.rs
CREATE TABLE event (
    queue  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (queue, last)
) STRICT, WITHOUT ROWID;

-- Workers that have beaten.
--   expires   when the worker is no longer listed
--   body      what it said of itself, which the engine does not read
CREATE TABLE worker (
    worker   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    instance TEXT NOT NULL,
    expires  INTEGER NOT NULL,
    body     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX worker_name ON worker (name, instance);
CREATE INDEX worker_expires ON worker (expires);

-- The commands that workers have not acknowledged.
--   number   chosen by who gave it
--   body     what it is, which the engine does not read
CREATE TABLE worker_command (
    worker  INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (worker, number)
) STRICT, WITHOUT ROWID;

-- The names of workers that take nothing, and since when.
CREATE TABLE quiet_worker (
    name  TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When a queue was last cleaned deeply, and until when a cleaner has the turn.
CREATE TABLE deep_turn (
    queue    INTEGER PRIMARY KEY,
    cleaned  INTEGER,
    cleaning INTEGER
) STRICT;
