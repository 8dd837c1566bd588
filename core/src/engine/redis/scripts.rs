//! The Lua scripts: one file each, put together with the parts that it uses.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use redis::{Cmd, cmd};

use super::key_names::{Used, Words};
use crate::operation::Operation;

/// What a server with full memory does: it refuses scripts that fill a queue, and runs all others, so that a
/// queue can be drained.
macro_rules! flags {
    (fills) => {
        ""
    };
    (drains) => {
        " flags=allow-oom"
    };
    (reads) => {
        " flags=no-writes,allow-oom"
    };
}

/// A part of a script, or several as one function, which makes their functions when it is called, because in each
/// call of a script making a function costs as much as a small command: `{ "function" in "part" "part" }`. What stands
/// between `{ "function(arguments)" begins }` and `{ ends }` is one too, and is run as it stands. `events` are
/// the parts that note what changes. Behind `script` all stands in one function: one that captures a local of the
/// function around it makes Lua search all variables that are captured already, from the latest one; what the function
/// around it has captured too, it only copies. So the names in front are searched once, and not for each function.
macro_rules! part {
    (script) => {
        &[SCRIPT]
    };
    (events) => {
        &[
            include_str!("scripts/parts/events_on.lua"),
            "local function note_events(...)\n",
            include_str!("scripts/parts/event_entry.lua"),
            include_str!("scripts/parts/event_marks.lua"),
            include_str!("scripts/parts/events.lua"),
            "return note_events(...)\nend\n",
            include_str!("scripts/parts/events_close.lua"),
        ]
    };
    ({ $function:literal begins }) => {
        &["local function ", $function, "\n"]
    };
    ({ ends }) => {
        &["end\n"]
    };
    ($part:literal) => {
        &[include_str!(concat!("scripts/parts/", $part, ".lua"))]
    };
    ({ $function:literal in $($part:literal)* }) => {
        &[
            "local function ", $function, "(...)\n",
            $(include_str!(concat!("scripts/parts/", $part, ".lua")),)*
            "return ", $function, "(...)\nend\n",
        ]
    };
}

/// What a script is put together from: its parts and its own file. Each stands once in the program.
macro_rules! pieces {
    ($name:literal $kind:ident $($part:tt)*) => {
        &[
            &["#!lua", flags!($kind), "\n"],
            $(part!($part),)*
            &[include_str!(concat!("scripts/", $name, ".lua"))],
        ]
    };
}

/// Declares the scripts. Those that are called most have a second variant, `extended`, for queues that use more
/// than plain ones do: with other parts, and perhaps another file.
macro_rules! scripts {
    ($($variant:ident $name:literal $kind:ident for [$($operation:ident)*]
        parts [$($part:tt)*]
        $(extended $extended:ident $file:literal [$($more:tt)*])?;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Script {
            $($variant, $($extended,)?)*
        }

        /// Every script, by its place in [`Script`]: its name, and what it is put together from.
        const PIECES: &[(&str, &[&[&str]])] = &[$(
            ($name, pieces!($name $kind $($part)*)),
            $((concat!($name, " extended"), pieces!($file $kind $($more)*)),)?
        )*];

        impl Script {
            pub(super) const ALL: &[Script] = &[$(Script::$variant, $(Script::$extended,)?)*];

            /// The operations that run it.
            pub(super) fn operations(self) -> &'static [Operation] {
                match self {
                    $(
                        Script::$variant => &[$(Operation::$operation,)*],
                        $(Script::$extended => Script::$variant.operations(),)?
                    )*
                }
            }

            /// The variant for an extended queue; `None` if there is one for all queues.
            pub(super) fn extended(self) -> Option<Script> {
                match self {
                    $($(Script::$variant => Some(Script::$extended),)?)*
                    _ => None,
                }
            }

            /// Whether this is such a variant.
            pub(super) fn is_extended(self) -> bool {
                match self {
                    $($(Script::$extended => true,)?)*
                    _ => false,
                }
            }
        }
    };
}

scripts! {
    Add "add" fills for [Add]
        parts ["keys" "now" "day" "number" "format" "incarnation" "lane" "notify_workers" "notify_cleaner"
        "large" "details" "delay" "moves" "add_begin" "add_plain" "add_items"]
        extended AddExtended "add" ["keys" "now" "day" "extended" script "number" "format_extended" "end_step" "incarnation"
        "lane" "settings" events "events_save" "notify_workers" "rate_look" "notify_cleaner" "large" "details" "delay" "moves" "add_begin"
        "successors" { "find_conflicts" in "record" "has_passed" "unique" "conflicts" }
        { "make_room" in "record" "endings" "has_passed" "attached" "find_names" "fire" "unique" "release_owned" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "attached" "find_names" "discard" "store_successors" }
        { "join_groups" in "member_entry" "tell" "join_groups" } "add_extended"
        { "note_places" in "record" "attached" "find_names" "owner_of_packed" "note_places" } "add_items"];
    Lease "lease" drains for [Lease]
        parts ["keys" "now" "day" script "format" "lane" "notify_workers" "notify_cleaner" "delivery"
        { "move_due" in "details" "moves" "plain_ends" "due" } "plain_sweep" "plain_rate" "key_hooks" "plain_keys" "plain_tick" "next_due"
        "large" "fitting" "put_back" "taken" "take" "pause_end" "lease"]
        extended LeaseExtended "lease" ["keys" "now" "day" "extended" script "format_extended" "end_step" "lane" "notify_workers"
        "notify_cleaner" "delivery" "large" "fitting" "settings" events "events_save" "key_step" "key_hooks"
        { "move_due" in "details" "moves" "record" "endings" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys"
        "expiries" "delete_leased" "retain" "marks" "read_places" "write_places" "find_keys" "last_order" "fronts" "keys_of_leases" "leaving" "delay" "keys_of" "states"
        "delete_items" "delete_extended" "number" "successors" "discard" "confirmed" "succeed" "follow" "ends" "due" }
        { "drop_expired" in "details" "record" "endings" "has_passed" "attached" "find_names" "fire" "expiries" } "drops_expired"
        { "sweep" in "number" "details" "record" "endings" "has_passed" "attached" "find_names" "fire" "unique" "release_owned" "release_keys"
        "expiries" "states" "delete_items" "delete_extended" "results" "read_items" "entry" "salt_of_call" "renumber" "sweep_expiries" "sweep" }
        "sweep_if_due" "next_due" "put_back" "note_leased" "taken" "take" "pause_end"
        { "rate_functions" in "rate" "rate_turns" "rate_functions" } "use_settings"
        { "key_functions" in "find_keys" "last_order" "fronts" "open" "read_places" "write_places" "entry" "lines" "limit_of" "limits"
        "key_rate" "key_meters" "hold_blocked" "take_open" "raised" "key_times" "key_functions" } "use_keys" "what_is_left" "next_tick" "lease"];
    Complete "complete" drains for [Complete]
        parts ["keys" "now" "day" "format" "lane" "delivery" "plain_states" "plain_keys" "delete_items" "complete"]
        extended CompleteExtended "complete" ["keys" "now" "day" "extended" script "format_extended" "end_step" "endings" "lane"
        "notify_workers" "notify_cleaner" "delivery" "settings" "attached" events "events_save" "delete_leased" "retain" "release_owned" "complete_leased" "key_step"
        "large" "note_plain"
        { "completions_fire" in "record" "details" "has_passed" "find_names" "fire" "completions_fire" }
        "notify_opened" { "begin_leaving" in "read_places" "write_places" "leaving" }
        { "complete_late" in "number" "record" "without_key" "details" "has_passed" "release_keys" "states" "delete_items"
        "delete_extended" "entry" "salt_of_call" "renumber" "complete_late" }
        { "add_plain_follow_ups" in "number" "numbers_behind" "salt_of_call" "rate_look" "add_plain_follow_ups" }
        { "add_at_once(numbers, names, results, added, together)" begins } "number" "salt_of_call" "incarnation" "rate_look" "notify_cleaner"
        "details" "delay" "moves" "has_passed" "owner_of_packed" "unpack_items" "member_entry" "reports" "collect"
        "own_arguments" "notes_of_call" "outbox" "reserve_numbers" "write_entries" "add_arguments" "add_at_once_begin" "add_noted"
        "add_at_once_ends" "noted_arguments"
        "successors" { "find_conflicts" in "record" "unique" "conflicts" }
        { "make_room" in "record" "find_names" "fire" "unique" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "find_names" "discard" "store_successors" }
        "no_joins" "add_extended" "distribute_end" "add_items" "finish" { ends }
        { "succeed" in "number" "record" "details" "delay" "moves" "has_passed" "find_names" "fire" "release_keys" "keys_of" "states"
        "delete_items" "delete_extended" "successors" "discard" "confirmed" "succeed" } "follow" "complete_extended"];
    CompleteAndLease "complete_and_lease" drains for [CompleteAndLease]
        parts ["keys" "now" "day" script "format" "lane" "notify_workers" "notify_cleaner" "delivery"
        { "move_due" in "details" "moves" "plain_ends" "due" } "plain_sweep" "plain_rate" "key_hooks" "plain_keys" "plain_tick" "next_due"
        "large" "fitting" "put_back" "taken" "take" "pause_end" "lease" "plain_states" "delete_items" "complete"]
        extended CompleteAndLeaseExtended "complete_and_lease" ["keys" "now" "day" "extended" script "format_extended" "end_step"
        "record" "endings" "lane" "notify_workers" "notify_cleaner" "delivery" "large" "fitting" "settings" "attached" events "events_save"
        "delete_leased" "retain" "release_owned" "key_step" "key_hooks"
        { "move_due" in "details" "moves" "has_passed" "find_names" "fire" "release_keys" "expiries" "marks" "read_places" "write_places" "find_keys" "last_order" "fronts" "keys_of_leases" "leaving"
        "delay" "keys_of" "states" "delete_items" "delete_extended" "number" "successors" "discard" "confirmed" "succeed" "follow" "ends" "due" }
        { "drop_expired" in "details" "has_passed" "find_names" "fire" "expiries" } "drops_expired"
        { "sweep" in "number" "details" "has_passed" "find_names" "fire" "unique" "release_keys" "expiries" "states" "delete_items"
        "delete_extended" "results" "read_items" "entry" "salt_of_call" "renumber" "sweep_expiries" "sweep" } "sweep_if_due" "next_due"
        "put_back" "note_leased" "taken" "take" "pause_end"
        { "rate_functions" in "rate" "rate_turns" "rate_functions" } "use_settings"
        { "key_functions" in "find_keys" "last_order" "fronts" "open" "read_places" "write_places" "entry" "lines" "limit_of" "limits"
        "key_rate" "key_meters" "hold_blocked" "take_open" "raised" "key_times" "key_functions" } "use_keys" "what_is_left" "next_tick" "lease" "complete_leased"
        "note_plain" { "completions_fire" in "details" "has_passed" "find_names" "fire" "completions_fire" }
        { "begin_leaving" in "read_places" "write_places" "leaving" }
        { "complete_late" in "number" "without_key" "details" "has_passed" "release_keys" "states" "delete_items"
        "delete_extended" "entry" "salt_of_call" "renumber" "complete_late" }
        { "add_plain_follow_ups" in "number" "numbers_behind" "salt_of_call" "rate_look" "add_plain_follow_ups" }
        { "add_at_once(numbers, names, results, added, together)" begins } "number" "salt_of_call" "incarnation" "rate_look" "notify_cleaner"
        "details" "delay" "moves" "has_passed" "owner_of_packed" "unpack_items" "member_entry" "reports" "collect"
        "own_arguments" "notes_of_call" "outbox" "reserve_numbers" "write_entries" "add_arguments" "add_at_once_begin" "add_noted"
        "add_at_once_ends" "noted_arguments"
        "successors" { "find_conflicts" in "record" "unique" "conflicts" }
        { "make_room" in "record" "find_names" "fire" "unique" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "find_names" "discard" "store_successors" }
        "no_joins" "add_extended" "distribute_end" "add_items" "finish" { ends }
        { "succeed" in "number" "details" "delay" "moves" "has_passed" "find_names" "fire" "release_keys" "keys_of" "states"
        "delete_items" "delete_extended" "successors" "discard" "confirmed" "succeed" } "follow" "complete_extended"];
    Extend "extend" drains for [Extend] parts ["keys" "now" "day" "format" "lane" "delivery" "current"]
        extended ExtendExtended "extend" ["keys" "now" "day" "extended" "format_extended" "lane" "delivery"
        "current"];
    SetProgress "set_progress" drains for [SetProgress]
        parts ["keys" "now" "day" "format_extended" "lane" "details" "delivery" "current"];
    Release "release" drains for [Release]
        parts ["keys" "now" "day" script "format" "lane" "notify_workers" "notify_cleaner" "details" "delivery" "moves"
        "plain_ends" "plain_keys" "current"]
        extended ReleaseExtended "release" ["keys" "now" "day" "extended" script "format_extended" "end_step" "record" "endings"
        "lane" "settings" events "events_save" "notify_workers" "notify_cleaner" "details" "delivery" "moves" "has_passed" "attached" "find_names" "fire" "release_owned"
        "release_keys" "expiries" "delete_leased" "retain" "marks" "key_step" "find_keys" "read_places" "write_places"
        "keys_of_leases" "leaving" "notify_opened" "last_order" "fronts"
        { "succeed" in "number" "delay" "keys_of" "states" "delete_items" "delete_extended" "successors" "discard" "confirmed" "succeed" } "follow" "ends" "current"];
    Fail "fail" drains for [Fail]
        parts ["keys" "now" "day" script "format" "lane" "notify_workers" "notify_cleaner" "details" "delivery" "moves"
        "plain_ends" "plain_keys" "current"]
        extended FailExtended "fail" ["keys" "now" "day" "extended" script "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save"
        "notify_workers" "notify_cleaner" "details" "delivery" "moves" "has_passed" "attached" "find_names" "fire" "release_owned"
        "release_keys" "expiries" "delete_leased" "retain" "marks" "key_step" "find_keys" "read_places" "write_places"
        "keys_of_leases" "leaving" "notify_opened" "last_order" "fronts"
        { "succeed" in "number" "delay" "keys_of" "states" "delete_items" "delete_extended" "successors" "discard" "confirmed" "succeed" } "follow" "ends" "current"];
    Remove "remove" drains for [Remove]
        parts ["keys" "now" "day" "extended" "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save" "notify_workers" "details"
        "named" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys" "keys_of" "states" "delete_items" "delete_extended" "key_step"
        "find_keys" "read_places" "write_places" "entry" "keys_of_leases" "drop_entries" "leaving"
        "notify_opened" "number" "successors" "discard" "confirmed" "drop_successors"];
    Requeue "requeue" drains for [Requeue]
        parts ["keys" "now" "day" "extended" "format_extended" "end_step" "record" "lane" "settings" events "events_save" "notify_workers" "large" "details"
        "moves" "fitting" "named" "has_passed" "attached" "find_names" "fire" "unique" "states" "read_items"];
    Bury "bury" drains for [Bury]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save" "large" "details"
        "moves" "fitting" "named" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys" "states" "read_items" "entry" "salt_of_call" "renumber"];
    Revise "revise" fills for [Revise]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "record" "lane" "settings" events "events_save" "notify_workers"
        "notify_cleaner" "large" "details" "delay" "moves" "fitting" "named" "has_passed" "release_owned"
        "release_keys" "attached" "states" "read_items" "entry" "salt_of_call" "renumber"];
    Cancel "cancel" drains for [Cancel]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save" "large"
        "details" "fitting" "named" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys" "states" "delete_items" "delete_extended"
        "delete_leased" "read_items" "entry" "salt_of_call" "renumber" "retain" "successors" "discard" "confirmed" "drop_successors"
        "cancel_items"];
    CancelMembers "cancel_members" drains for [Distribute Audit]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "end_step" "record" "endings" "settings" events "large"
        "details" "fitting" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys" "states" "delete_items" "delete_extended"
        "delete_leased" "read_items" "entry" "salt_of_call" "renumber" "retain" "successors" "discard" "confirmed" "drop_successors"
        "cancel_items" "owner_of_packed" "what_is_left"];
    Attach "attach" fills for [Attach]
        parts ["keys" "now" "day" "extended" "format_extended" "end_step" "record" "lane" "settings" "details" "named" "has_passed"
        "attached" "find_names" "fire" "owner_of_packed" "unpack_items" "member_entry" "tell" "join_groups"];
    Purge "purge" drains for [Purge]
        parts ["keys" "now" "day" "extended" "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save" "notify_workers"
        "large" "fitting" "put_back" "details" "has_passed" "attached" "find_names" "fire" "release_owned" "release_keys" "states" "delete_items" "delete_extended"
        "results" "key_step" "find_keys" "read_places" "write_places" "entry" "keys_of_leases" "drop_entries"
        "last_order" "fronts" "leaving" "notify_opened" "number" "successors" "discard" "confirmed" "drop_successors"];
    LightClean "light_clean" drains for [LightClean]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "end_step" "record" "endings" "lane" "settings" events "events_save"
        "notify_workers" "notify_cleaner" "details" "moves" "has_passed" "attached" "find_names" "fire" "unique" "release_owned" "release_keys" "expiries"
        "states" "delete_items" "delete_extended" "delete_leased" "retain" "marks" "key_step" "find_keys" "read_places" "write_places"
        "keys_of_leases" "leaving" "last_order" "fronts" "delay" "keys_of" "successors" "discard" "confirmed" "succeed" "follow" "ends" "due" "next_due" "large" "fitting"
        { "sweep" in "results" "read_items" "entry" "salt_of_call" "renumber" "sweep_expiries" "sweep" } "next_sweep" "raised" "key_rate" "key_times" "drop_refilled"];
    NextDue "next_due" drains for [NextDue]
        parts ["keys" "now" "day" "extended" "settings" "next_due" "next_sweep" "what_is_left" "next_tick"];
    DeepTurn "deep_turn" drains for [DeepTurn] parts ["keys" "now" "day"];
    Pause "pause" drains for [SetPaused]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "incarnation" "new_queue" "lane"
        "notify_workers"];
    Resume "resume" drains for [SetPaused] parts ["keys" "now" "day" "lane" "notify_workers"];
    Configure "configure" drains for [Configure]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "incarnation" "new_queue" "lane"
        "notify_workers" "pause_end" "settings" "rate" "pack_settings"];
    SetKeyLimits "set_key_limits" drains for [SetKeyLimits]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "incarnation" "new_queue" "lane"
        "notify_workers" "key_step" "read_places" "write_places"];
    GetKeys "get_keys" reads for [GetKeys]
        parts ["keys" "now" "extended" "settings" "read_places" "limit_of"];
    Settings "settings" reads for [Settings]
        parts ["keys" "now" "pause_end" "settings" "rate" "pack_settings"];
    Drop "drop" drains for [DropQueue]
        parts ["keys" "now" "day" "extended" "format_extended" "touch" "what_is_left" "states"];
    ReadSchedules "schedules" reads for [ReadSchedules]
        parts ["keys" "now" "extended" "large" "what_is_left" "schedules"];
    SetSchedule "set_schedule" fills for [SwapSchedule]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "incarnation" "new_queue" "lane"
        "notify_workers" "notify_cleaner" "schedules" "swap_schedule"];
    Tick "tick" fills for [SwapSchedule]
        parts ["keys" "now" "day" "extended" script "number" "format_extended" "end_step" "incarnation" "lane" "settings" events "events_save" "notify_workers"
        "rate_look" "notify_cleaner" "large" "details" "delay" "moves" "has_passed" "schedules" "swap_schedule"
        "add_begin" "tick_begin"
        "successors" { "find_conflicts" in "record" "unique" "conflicts" }
        { "make_room" in "record" "endings" "attached" "find_names" "fire" "unique" "release_owned" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "attached" "find_names" "discard" "store_successors" }
        "no_joins" "add_extended" "add_items"];
    Distribute "distribute" drains for [Distribute Audit]
        parts ["keys" "now" "day" "extended" script "number" "format_extended" "end_step" "incarnation" "settings" events "notify_workers"
        "rate_look" "notify_cleaner" "large" "details" "delay" "moves" "has_passed" "owner_of_packed" "unpack_items" "member_entry" "reports"
        "collect" "read_notes" "outbox" "reserve_numbers" "write_entries" "add_arguments" "what_is_left"
        "distribute_begin" "add_noted" "distribute_ends" "noted_arguments" "successors" { "find_conflicts" in "record" "unique" "conflicts" }
        { "make_room" in "record" "endings" "attached" "find_names" "fire" "unique" "release_owned" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "attached" "find_names" "discard" "store_successors" }
        "no_joins" "add_extended" "distribute_end" "add_items"];
    Forward "forward" fills for [Distribute Audit]
        parts ["keys" "now" "day" "extended" script "number" "format_extended" "end_step" "incarnation" "settings" events "notify_workers"
        "rate_look" "notify_cleaner" "large" "details" "delay" "moves" "has_passed" "touch" "unpack_items" "add_arguments"
        "read_report" { "fill_places" in "groups" "endings" "end_groups" "fill_places" } { "take_joins" in "groups" "tell" "take_joins" }
        "take_cancels" "forward_begin" "successors" { "find_conflicts" in "record" "unique" "conflicts" }
        { "make_room" in "record" "endings" "attached" "find_names" "fire" "unique" "release_owned" "release_keys" "keys_of"
        "states" "delete_items" "delete_extended" "find_keys" "keys_of_leases" "entry" "drop_entries" "discard" "confirmed" "drop_successors" "make_room" } { "key_section" in "record" "find_keys" "key_section" }
        { "store_successors" in "record" "attached" "find_names" "discard" "store_successors" }
        "no_joins" "add_extended" "forward_end" "add_items"];
    Outbox "outbox" drains for [Distribute Audit]
        parts ["keys" "now" "number" "extended" "touch" "outbox"];
    Renumber "renumber" drains for [Distribute Audit]
        parts ["keys" "now" "number" "extended" "touch" "outbox"];
    ForwardLanes "forward_lanes" reads for [Audit] parts ["keys" "now" "extended"];
    SweepLane "sweep_lane" drains for [Audit] parts ["keys" "now" "number" "extended"];
    ChangeGroup "change_group" drains for [ChangeGroup]
        parts ["keys" "now" "day" "number" "extended" "format_extended" "end_step" "incarnation" "new_queue" "touch" "groups" "tell"
        "delete_group" "endings" "end_groups"];
    ReadGroup "read_group" reads for [ReadGroup] parts ["keys" "now" "extended" "groups"];
    RecordHistory "record_history" drains for [RecordHistory]
        parts ["keys" "now" "day" "extended" "format_extended" "lane"];
    ReadHistory "read_history" reads for [ReadHistory] parts ["keys" "now" "extended"];
    ReadEvents "read_events" reads for [ReadEvents]
        parts ["keys" "now" "extended" "settings" "event_marks"];
    Counts "counts" reads for [Counts] parts ["keys" "now" "number" "extended" "details" "pause_end" "settings" "rate"];
    Get "get" reads for [Get] parts ["keys" "now" "extended" "settings" "attached" "record" "head" "large" "fitting" "records" "extras"];
    List "list" reads for [List]
        parts ["keys" "now" "extended" "settings" "attached" "record" "head" "delivery" "large" "fitting" "records" "extras"];
    Outcomes "outcomes" reads for [Outcomes] parts ["keys" "now" "extended" "large" "has_passed" "outcomes"];
    AwaitOutcomes "await_outcomes" drains for [AwaitOutcomes]
        parts ["keys" "now" "day" "extended" "format_extended" "large" "has_passed" "outcomes" "groups" "group_outcomes"];
    Cancellations "cancellations" reads for [Cancellations] parts ["keys" "now" "extended" "delivery"];
    AuditTypes "audit_types" reads for [Audit] parts ["keys" "now" "extended"];
    AuditItems "audit_items" drains for [Audit]
        parts ["keys" "now" "number" "extended" "format_extended" "large" "record" "without_key" "details"
        "delivery" "has_passed" "unique" "id_matches" "scan" "key_step" "read_places" "write_places" "entry" "last_order" "lines" "states"
        "successors"];
    AuditReady "audit_ready" drains for [Audit] parts ["keys" "now" "extended" "format_extended" "states"];
    AuditIndex "audit_index" drains for [Audit]
        parts ["keys" "now" "day" "extended" "format_extended" "record" "details" "settings" "attached" "find_names" "owner_of_packed" "member_entry" "lane" "large" "has_passed" "unique"
        "id_matches" "scan" "groups" "delete_group" "successors" "successor_entry"];
    AuditKeys "audit_keys" drains for [Audit]
        parts ["keys" "now" "extended" "format_extended" "notify_workers" "settings" "scan" "key_step" "read_places"
        "write_places" "entry" "last_order" "lines" "limit_of" "limits" "key_rate"];
    AuditCounts "audit_counts" drains for [Audit] parts ["keys" "now" "extended" "format_extended" "incarnation"];
    AuditSettings "audit_settings" drains for [Audit]
        parts ["keys" "now" "extended" "format_extended" "pause_end" "settings" "rate" "pack_settings"];
    MendStray "mend_stray" drains for [Audit]
        parts ["keys" "now" "extended" "format_extended" "notify_workers" "large" "record" "without_key"
        "details" "delivery" "moves" "has_passed" "unique" "id_matches" "states"];
    MendSuccessors "mend_successors" drains for [Audit]
        parts ["keys" "now" "day" "extended" "format_extended" "end_step" "record" "endings" "settings" events
        "notify_workers" "notify_cleaner" "details" "delay" "moves" "has_passed" "attached" "find_names" "fire" "release_owned"
        "release_keys" "keys_of" "states" "delete_items" "delete_extended" "number" "successors" "successor_entry" "discard" "confirmed" "succeed" "follow"];
    MendDoubled "mend_doubled" drains for [Audit] parts ["keys" "now" "extended" "format_extended"];
    // These are about the registry of workers, not the keys of a queue.
    Beat "beat" drains for [Beat] parts ["keys_of_workers" "now" "day" "workers"];
    CommandWorker "command_worker" drains for [CommandWorker] parts ["keys_of_workers" "now" "workers"];
    SetQuiet "set_quiet" drains for [SetQuiet] parts ["keys_of_workers" "now"];
    ReadWorkers "read_workers" reads for [ReadWorkers] parts ["keys_of_workers" "now" "large" "workers"];
    // It is about the list of queues, not the keys of one.
    Register "register" drains for [OpenQueue Add Audit SetPaused Configure SwapSchedule DropQueue] parts [];
    PutBack "put_back" drains for [Wait WaitDue] parts [];
    // It must run whatever the user may not do, so it calls no command.
    Rights "rights" reads for [MissingRights] parts [];
}

impl Script {
    /// Whether it may make a queue extended.
    pub(super) fn extends(self) -> bool {
        self.is_extended()
            || matches!(
                self,
                Script::Cancel
                    | Script::Attach
                    | Script::AwaitOutcomes
                    | Script::SetSchedule
                    | Script::Tick
                    | Script::ChangeGroup
            )
    }

    pub(super) fn name(self) -> &'static str {
        TEXTS[self as usize].0
    }

    /// Whether replicas must have what it writes, if the client asks for that. Such a script always writes
    /// something. The others only read, or write what others put right if it is lost: notifications, turns, the
    /// list of queues, and what a deep clean mends.
    pub(super) fn is_confirmed(self) -> bool {
        matches!(
            self,
            Script::Add
                | Script::AddExtended
                | Script::Lease
                | Script::LeaseExtended
                | Script::Complete
                | Script::CompleteExtended
                | Script::CompleteAndLease
                | Script::CompleteAndLeaseExtended
                | Script::Extend
                | Script::ExtendExtended
                | Script::SetProgress
                | Script::Release
                | Script::ReleaseExtended
                | Script::Fail
                | Script::FailExtended
                | Script::Remove
                | Script::Requeue
                | Script::Bury
                | Script::Revise
                | Script::Cancel
                | Script::Attach
                | Script::Purge
                | Script::LightClean
                | Script::Pause
                | Script::Resume
                | Script::Configure
                | Script::SetKeyLimits
                | Script::SetSchedule
                | Script::Tick
                | Script::RecordHistory
                | Script::ChangeGroup
                | Script::Forward
                | Script::Outbox
                | Script::Renumber
                | Script::Drop
        )
    }
}

/// The commands that a script may run, in lower case. They are read from its text, so that the lists of rights
/// are up to date.
pub(super) fn commands(script: Script) -> BTreeSet<&'static str> {
    static COMMANDS: LazyLock<Vec<BTreeSet<String>>> =
        LazyLock::new(|| TEXTS.iter().map(|(_, text)| commands_in(text)).collect());
    COMMANDS[script as usize].iter().map(String::as_str).collect()
}

fn commands_in(text: &str) -> BTreeSet<String> {
    let calls = text.split("redis.call(").skip(1);
    // A call may choose between commands: `redis.call(hash and 'HDEL' or 'ZREM', …`.
    let first = calls.map(|call| call.split([',', ')']).next().unwrap_or(""));
    first
        .flat_map(|first| first.split('\'').skip(1).step_by(2))
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Begins a function that ends with the script.
const SCRIPT: &str = "local function script()\n";

/// Every script, by its place in [`Script`].
static TEXTS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| PUT_TOGETHER.iter().map(|(name, text, _)| (*name, *text)).collect());

/// The keys that a script uses.
pub(super) fn used(script: Script) -> &'static Used {
    &PUT_TOGETHER[script as usize].2
}

/// Name, text and keys of every script, put together once.
static PUT_TOGETHER: LazyLock<Vec<(&str, &str, Used)>> = LazyLock::new(|| {
    let mut parts = Parts::new();
    let scripts = PIECES.iter();
    scripts.map(|(name, pieces)| put_together(name, pieces, &mut parts)).collect()
});

/// A part of scripts, without comments and indentation, which would only make them longer.
struct Part {
    code: String,
    words: Words,
    /// It is a function: it defines the keys that only it and others of its kind have, so that the script needs not capture
    /// those for it.
    is_function: bool,
}

/// The parts so far, by where their pieces stand: reading each once for all scripts takes a twentieth of the time.
type Parts = HashMap<Vec<(*const u8, usize)>, Rc<Part>>;

impl Part {
    fn new(pieces: &[&str]) -> Rc<Self> {
        let code = without_comments(&pieces.concat());
        let first = code.lines().next().unwrap_or("");
        let is_function = first.starts_with("local function ") && first.ends_with("(...)");
        Rc::new(Part { words: Words::of(&code), is_function, code })
    }
}

fn put_together(
    name: &'static str,
    pieces: &[&[&str]],
    known: &mut Parts,
) -> (&'static str, &'static str, Used) {
    let part = |pieces: &&[&str]| {
        let place = pieces.iter().map(|piece| (piece.as_ptr(), piece.len())).collect();
        known.entry(place).or_insert_with(|| Part::new(pieces)).clone()
    };
    let mut parts: Vec<Rc<Part>> = pieces.iter().map(part).collect();
    if parts.iter().any(|part| part.code == SCRIPT) {
        parts.push(Part::new(&["end\nreturn script()\n"]));
    }
    let words_of = |functions: bool| {
        let parts = parts.iter().filter(|part| functions || !part.is_function);
        Words::of_all(parts.map(|part| &part.words))
    };
    let (outside, (used, names)) = (words_of(false), Used::by(&words_of(true)));
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        // The first line is the shebang, or the name of the function.
        let lines = match i {
            0 => names.define(&outside, &Words::default()),
            _ if part.is_function => names.define(&part.words, &outside),
            _ => String::new(),
        };
        let end = part.code.find('\n').map_or(0, |end| end + 1);
        text += &[&part.code[..end], &*lines, &part.code[end..]].concat();
    }
    (name, text.leak(), used)
}

fn without_comments(code: &str) -> String {
    let lines = code.split_inclusive('\n').map(str::trim_start);
    lines.filter(|line| !line.is_empty() && !line.starts_with("--")).collect()
}

/// The texts as this client sends them, with their digests.
#[derive(Debug)]
pub(super) struct Scripts(Vec<Loaded>);

#[derive(Debug)]
struct Loaded {
    text: Cow<'static, str>,
    /// Computed when it is first called: most clients call few of them.
    digest: OnceLock<String>,
    /// A server has answered it.
    answered: AtomicBool,
}

impl Scripts {
    /// `patch` changes the texts, for tests.
    pub(super) fn new(patch: Option<fn(&str) -> String>) -> Self {
        let load = |(_, text): &(&str, &'static str)| Loaded {
            text: patch.map_or(Cow::Borrowed(text), |patch| Cow::Owned(patch(text))),
            digest: OnceLock::new(),
            answered: AtomicBool::new(false),
        };
        Scripts(TEXTS.iter().map(load).collect())
    }

    /// Whether the server probably knows it. The calls behind a script that has to be sent again would come before it.
    pub(super) fn is_known(&self, script: Script) -> bool {
        self.0[script as usize].answered.load(Ordering::Relaxed)
    }

    pub(super) fn set_known(&self, script: Script) {
        self.0[script as usize].answered.store(true, Ordering::Relaxed);
    }

    /// The call by digest, with room for the arguments.
    pub(super) fn by_digest(&self, script: Script) -> Cmd {
        let mut command = cmd("EVALSHA");
        let Loaded { text, digest, .. } = &self.0[script as usize];
        command.arg(digest.get_or_init(|| redis::Script::new(text).get_hash().to_owned()));
        command
    }

    /// The call by text, from which the server also learns the script.
    pub(super) fn by_text(&self, script: Script) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(&*self.0[script as usize].text);
        command
    }
}

/// Every script's name and text, for lints and tests.
#[cfg(feature = "testing")]
pub(crate) fn texts() -> &'static [(&'static str, &'static str)] {
    &TEXTS
}

#[cfg(test)]
mod tests;
