//! The table of all faults, with their engines.

use std::pin::Pin;

use super::fault_context::FaultContext;
use super::jobs::context::JobContext;
use super::jobs::memory::Memory;
use super::jobs::{children, kinds as jobs};
use super::kinds::{
    cleaners, clocks, commands, connections, disks, failover, processes, servers, slots, workers,
};
use super::load::{MIX, Mix};
use super::place::Setup;
use super::ticks::breaks::Breaks;
use crate::error::Error;

type Injecting<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) engines: &'static [&'static str],
    pub(super) setup: Setup,
    pub(super) mix: Mix,
    /// Time-outs to choose from for each process.
    pub(super) timeouts_ms: &'static [u64],
    /// Whether the processes can be compared before and after the fault.
    pub(super) leaks: bool,
    /// What at least one process must support.
    pub(super) needs: Option<&'static str>,
    /// Whether the queue becomes extended in every run, not only in half of them.
    pub(super) extended: bool,
    /// Whether there are keys and all rates in every run, not only in some.
    pub(super) rated: bool,
    /// How many processes work; 0: one for each language.
    pub(super) processes: usize,
    /// Breaks things until the time of the context is over, and repairs them.
    pub(super) inject: for<'a, 'b> fn(&'a mut FaultContext<'b>) -> Injecting<'a>,
    /// Whether handlers run in child processes.
    pub(super) children: bool,
    /// Whether their workers share a limit of memory.
    pub(super) memory: Option<Memory>,
    /// The same for workers that run handlers, instead of the load of calls.
    pub(super) inject_jobs: Option<for<'a, 'b> fn(&'a mut JobContext<'b>) -> Injecting<'a>>,
    /// The same while many processes look after a schedule.
    pub(super) ticks: Option<Breaks>,
    /// The same while items and groups in several queues end, and add others.
    pub(super) ends: bool,
}

const NONE: Setup = Setup {
    settings: &[],
    proxy: false,
    clock: false,
    disk_mib: None,
    replicas: false,
    confirmed: false,
};
const PROXY: Setup = Setup { proxy: true, ..NONE };
const ALWAYS: Setup =
    Setup { settings: &[("--appendonly", "yes"), ("--appendfsync", "always")], ..NONE };
const EVERYSEC: Setup =
    Setup { settings: &[("--appendonly", "yes"), ("--appendfsync", "everysec")], ..NONE };

const REPLICAS: Setup = Setup { replicas: true, ..NONE };
const CONFIRMED: Setup = Setup { confirmed: true, ..REPLICAS };

/// The time-outs of most faults: some are short, so that outcomes stay open.
const TIMEOUTS: &[u64] = &[400, 10_000, 10_000];
/// Leases so short that they expire before their answer arrives.
const SHORT: Mix = Mix { leases_ms: &[1, 2, 3, 5], keep_alive: 0 };

macro_rules! faults {
    ($($name:literal on $engines:expr, $inject:expr $(, $field:ident: $value:expr)*;)*) => {
        &[$(Fault {
            name: $name,
            engines: &$engines,
            inject: |context| Box::pin($inject(context)),
            $($field: $value,)*
            ..DEFAULT
        }),*]
    };
}

async fn nothing(_: &mut FaultContext<'_>) -> Result<(), Error> {
    Ok(())
}

const DEFAULT: Fault = Fault {
    name: "",
    engines: &[],
    setup: NONE,
    mix: MIX,
    timeouts_ms: TIMEOUTS,
    leaks: false,
    needs: None,
    extended: false,
    rated: false,
    processes: 0,
    inject: |context| Box::pin(nothing(context)),
    children: false,
    memory: None,
    inject_jobs: None,
    ticks: None,
    ends: false,
};

/// Breaks something while workers run handlers.
macro_rules! handlers {
    ($inject:path) => {
        Some(|context| Box::pin($inject(context)))
    };
}

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = faults![
    "workers killed" on ["sqlite", "redis", "valkey", "tls", "cluster"], workers::kill;
    "workers stopped" on ["memory", "sqlite", "redis"], workers::stop;
    "loops blocked" on ["memory", "sqlite", "redis"], processes::block, needs: Some("block");
    "forks" on ["sqlite", "redis"], processes::fork, needs: Some("fork");
    "cleaners race" on ["memory"], cleaners::race, mix: SHORT;
    "cleaners race" on ["sqlite", "redis", "cluster"], cleaners::race_programs, mix: SHORT;
    "replies lost" on ["redis", "valkey"], connections::lose_replies, setup: PROXY, leaks: true;
    "replies lost" on ["tls"], connections::mute, setup: PROXY, leaks: true;
    "connections reset" on ["redis", "tls"], connections::reset, setup: PROXY, leaks: true;
    "connections half-open" on ["redis", "tls"], connections::half_open, setup: PROXY, leaks: true;
    "bytes split" on ["redis", "tls"], connections::split, setup: PROXY;
    "scripts forgotten" on ["redis", "valkey", "cluster"], commands::flush_scripts;
    "clients killed" on ["redis", "tls", "cluster"], commands::kill_clients, leaks: true;
    "clients paused" on ["redis"], commands::pause_clients;
    "server stopped" on ["redis", "cluster"], servers::stop;
    "server killed, always" on ["redis", "valkey", "tls"], servers::kill, setup: ALWAYS;
    "server killed, everysec" on ["redis"], servers::kill_everysec, setup: EVERYSEC;
    "server killed, snapshots" on ["redis"], servers::kill_snapshots;
    "memory full" on ["redis", "valkey"], servers::fill_memory;
    "disk full" on ["sqlite"], disks::fill, setup: Setup { disk_mib: Some(64), ..NONE };
    "disk full, always" on ["redis"], disks::fill_always, setup: Setup { disk_mib: Some(64), ..ALWAYS };
    "disk full, everysec" on ["redis"], disks::fill, setup: Setup { disk_mib: Some(64), ..EVERYSEC };
    "made a replica" on ["redis"], servers::make_replica;
    "password changed" on ["redis"], servers::change_password;
    "clock jumps" on ["memory", "sqlite", "redis"], clocks::jump, setup: Setup { clock: true, ..NONE };
    "clock jumps, rates" on ["sqlite", "redis"], clocks::jump_seldom, setup: Setup { clock: true, ..NONE }, extended: true, rated: true, processes: 16;
    "failover" on ["sentinel"], failover::sentinel;
    "failover, replicas=1" on ["sentinel"], failover::sentinel, setup: CONFIRMED, extended: true;
    "failover by hand" on ["cluster"], failover::by_hand, setup: REPLICAS;
    "master killed" on ["sentinel", "cluster"], failover::kill_master, setup: REPLICAS;
    "master killed, replicas=1" on ["sentinel", "cluster"], failover::kill_master, setup: CONFIRMED, extended: true;
    "slots move" on ["cluster"], slots::move_about;
    "slots stay half moved" on ["cluster"], slots::leave_half;
    "job workers killed" on ["sqlite", "redis", "valkey"], nothing, inject_jobs: handlers!(jobs::kill);
    "job workers stopped" on ["sqlite", "redis"], nothing, inject_jobs: handlers!(jobs::stop);
    "job workers told to end" on ["sqlite", "redis", "cluster"], nothing, inject_jobs: handlers!(jobs::signal);
    "job workers out of memory" on ["sqlite", "redis"], nothing, memory: Some(Memory::Limited), inject_jobs: handlers!(jobs::run_out_of_memory);
    "job workers throttled" on ["sqlite", "redis", "valkey"], nothing, memory: Some(Memory::Marked), inject_jobs: handlers!(jobs::throttle);
    "jobs and a server killed" on ["redis", "valkey"], nothing, setup: ALWAYS, inject_jobs: handlers!(jobs::restart_server);
    "jobs that nobody knows" on ["sqlite", "redis"], nothing, inject_jobs: handlers!(jobs::with_unknown_names);
    "workers with children killed" on ["sqlite", "redis"], nothing, children: true, inject_jobs: handlers!(jobs::kill);
    "workers with children stopped" on ["sqlite", "redis"], nothing, children: true, inject_jobs: handlers!(jobs::stop);
    "workers with children told to end" on ["sqlite", "redis"], nothing, children: true, inject_jobs: handlers!(jobs::signal);
    "children killed and stopped" on ["sqlite", "redis", "valkey"], nothing, children: true, inject_jobs: handlers!(children::signal);
    "children that do not start" on ["sqlite", "redis"], nothing, children: true, inject_jobs: handlers!(children::fail_starts);
    "jobs cancelled" on ["sqlite", "redis", "tls"], nothing, inject_jobs: handlers!(jobs::cancel_while_busy);
    "processes of a schedule killed" on ["sqlite", "redis", "cluster"], nothing, ticks: Some(Breaks::Processes);
    "a schedule and a server killed" on ["redis", "valkey"], nothing, setup: ALWAYS, ticks: Some(Breaks::Server);
    "ends, processes killed" on ["sqlite", "redis", "valkey", "cluster"], workers::kill, ends: true;
    "ends, processes stopped" on ["sqlite", "redis"], workers::stop, ends: true;
    "ends, replies lost" on ["redis"], connections::lose_replies, setup: PROXY, ends: true;
    "ends, server killed" on ["redis"], servers::kill, setup: ALWAYS, ends: true;
    "ends, slots move" on ["cluster"], slots::move_about, ends: true;
    "ends, failover, replicas=1" on ["sentinel"], failover::sentinel, setup: CONFIRMED, ends: true;
    "clocks of a schedule's processes" on ["redis", "valkey"], nothing, ticks: Some(Breaks::Clocks);
];
