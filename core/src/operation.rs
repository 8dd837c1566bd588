//! The operations: one declaration for each method of the `Engine` trait that a user's call runs. A
//! test compares it with every other list of operations in the project, and names what they lack.

use crate::access::Role;

/// How an operation is executed.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Changes the state of a batch of items, once for each request id.
    Batch,
    /// Changes the state of a queue in bounded steps, each once for its request id.
    Step,
    /// Has no request id: it can be repeated, or changes no state.
    Repeatable,
}

/// What the tests know of an operation.
#[cfg(test)]
struct Declaration {
    /// The method of the `Engine` trait.
    name: &'static str,
    kind: Kind,
    /// The methods of a queue that run it, in every language.
    calls: &'static [&'static str],
    /// The methods that only Rust has, for the cleaner and for workers.
    rust_calls: &'static [&'static str],
}

macro_rules! operations {
    ($($variant:ident $name:literal $kind:ident
        roles $roles:tt calls $calls:tt $(rust [$($rust_call:ident)*])?;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($variant,)*
        }

        impl Operation {
            /// The roles whose users may run all of it.
            pub(crate) fn roles(self) -> &'static [Role] {
                use Role::*;
                match self {
                    $(Operation::$variant => &$roles,)*
                }
            }
        }

        #[cfg(test)]
        impl Operation {
            pub(crate) const ALL: &[Operation] = &[$(Operation::$variant,)*];

            /// Whether it changes state, once for each request id.
            pub(crate) fn has_request_id(self) -> bool {
                DECLARATIONS[self as usize].kind != Kind::Repeatable
            }
        }

        #[cfg(test)]
        const DECLARATIONS: &[Declaration] = &[$(Declaration {
            name: $name,
            kind: Kind::$kind,
            calls: &$calls,
            rust_calls: &[$($(stringify!($rust_call)),*)?],
        },)*];
    };
}

operations! {
    // A monitor opens queues too, but cannot put the list of queues right.
    OpenQueue "open_queue" Repeatable roles [Producer, Worker, Cleaner, Operator] calls [];
    Add "add" Batch roles [Producer] calls ["add_item", "add_items"];
    Lease "lease" Batch roles [Worker] calls ["lease", "lease_many"] rust [lease_wanted];
    Complete "complete" Batch roles [Worker] calls ["complete", "complete_many"];
    CompleteAndLease "complete_and_lease" Batch roles [Worker] calls ["complete_and_lease"];
    Distribute "distribute" Repeatable roles [Worker, Cleaner, Operator] calls [];
    Extend "extend" Batch roles [Worker] calls ["extend", "extend_many"];
    SetProgress "set_progress" Batch roles [Worker] calls ["set_progress"];
    Release "release" Batch roles [Worker] calls ["release", "release_many"];
    Fail "fail" Batch roles [Worker] calls ["fail", "fail_many"];
    Remove "remove" Batch roles [Operator] calls ["remove", "remove_many"];
    Requeue "requeue" Batch roles [Operator] calls ["requeue"];
    Bury "bury" Batch roles [Operator] calls ["bury"];
    Revise "revise" Batch roles [Operator] calls ["revise", "revise_many"];
    Cancel "cancel" Batch roles [Producer, Operator] calls ["cancel", "cancel_many"];
    Attach "attach" Batch roles [Producer, Operator] calls ["attach", "attach_many"];
    Outcomes "outcomes" Repeatable roles [Producer, Monitor, Operator] calls [];
    AwaitOutcomes "await_outcomes" Repeatable roles [Producer, Operator]
        calls ["outcome", "outcome_many", "group_outcome"] rust [outcome_many_until group_outcome_until];
    Cancellations "cancellations" Repeatable roles [Worker] calls [];
    Purge "purge" Step roles [Operator] calls ["purge"];
    LightClean "light_clean" Step roles [Cleaner] calls ["light_clean"];
    Audit "audit" Repeatable roles [Cleaner] calls ["deep_clean", "check"];
    NextDue "next_due" Repeatable roles [Cleaner] calls [] rust [wait_until_due];
    WaitDue "wait_due" Repeatable roles [Cleaner] calls [];
    DeepTurn "deep_turn" Repeatable roles [Cleaner] calls [] rust [deep_clean_if_due];
    MissingRights "missing_rights" Repeatable roles [] calls [] rust [missing_rights];
    SetPaused "set_paused" Step roles [Operator] calls ["pause", "resume"];
    Configure "configure" Step roles [Operator] calls ["configure"];
    Settings "settings" Repeatable roles [Cleaner, Monitor, Operator] calls ["settings"];
    SetKeyLimits "set_key_limits" Batch roles [Operator] calls ["set_key_limits"];
    GetKeys "get_keys" Repeatable roles [Monitor, Operator] calls ["get_keys"];
    ReadSchedules "read_schedules" Repeatable roles [Producer, Worker, Cleaner, Monitor, Operator]
        calls ["schedules"];
    SwapSchedule "swap_schedule" Step roles [Producer, Worker, Cleaner, Operator]
        calls ["put_schedule", "sync_schedules", "remove_schedule", "pause_schedule", "resume_schedule", "run_now"] rust [tick_schedules];
    ChangeGroup "change_group" Repeatable roles [Producer, Operator]
        calls ["create_group", "seal_group", "cancel_group", "remove_group"];
    ReadGroup "read_group" Repeatable roles [Producer, Monitor, Operator]
        calls ["group", "group_places"];
    RecordHistory "record_history" Step roles [Worker, Cleaner] calls ["record_history"];
    ReadHistory "read_history" Repeatable roles [Monitor, Operator] calls ["history"] rust [history_since];
    ReadEvents "read_events" Repeatable roles [Cleaner, Monitor, Operator] calls ["events"];
    Beat "beat" Repeatable roles [Worker] calls [];
    ReadWorkers "read_workers" Repeatable roles [Monitor, Operator] calls [];
    CommandWorker "command_worker" Repeatable roles [Operator] calls [];
    SetQuiet "set_quiet" Repeatable roles [Operator] calls [];
    Counts "counts" Repeatable roles [Cleaner, Monitor, Operator]
        calls ["counts", "queue_len", "processing"];
    Get "get" Repeatable roles [Monitor, Operator] calls ["get", "get_many"];
    List "list" Repeatable roles [Monitor, Operator] calls ["list"];
    DropQueue "drop_queue" Repeatable roles [Operator] calls ["drop_queue"];
    Wait "wait" Repeatable roles [Worker] calls [];
}

#[cfg(test)]
mod tests;
