//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use leaseq::Role;
use leaseq_report::without_secrets;

use crate::commands::add::{AddArgs, EnqueueArgs};
use crate::commands::bench::BenchArgs;
use crate::commands::bulk::{BulkArgs, BuryArgs, PurgeArgs, RemoveArgs};
use crate::commands::checks::{CheckArgs, DoctorArgs};
use crate::commands::drop::DropArgs;
use crate::commands::items::{DeadArgs, ItemsArgs, LeasesArgs};
use crate::commands::pause::{PauseArgs, Which};
use crate::commands::schedules::SchedulesArgs;
use crate::commands::settings::SettingsArgs;
use crate::commands::show::ShowArgs;
use crate::commands::stats::StatsArgs;
use crate::commands::status::StatusArgs;
use crate::commands::tail::TailArgs;
use crate::commands::top::TopArgs;
use crate::commands::transfer::{ExportArgs, ImportArgs};
use crate::commands::web::WebArgs;
use crate::commands::work::WorkArgs;
use crate::commands::workers::{WorkerCommand, WorkersArgs};
use crate::context::ContextCommand;
use crate::global::Global;

/// Looks into queues of leaseq and changes them.
#[derive(Debug, Parser)]
#[command(
    name = "leaseq",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Work is stuck? Look in this order:
  leaseq status                    which queue waits, which is paused, what is dead?
  leaseq doctor QUEUE              is the server as it should be, and what is in the way of the queue?
  leaseq workers QUEUE             who works on it, and on how much; with --running, on what and since when
  leaseq leases QUEUE              what runs now, and for how long it may
  leaseq dead QUEUE --group        what fails, by error
  leaseq show QUEUE ID             everything about one item

More: leaseq help exit-codes, environment, formatting, or a command"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues
    Queues,
    /// Count the items of queues by state
    #[command(after_help = "Example: leaseq status --watch")]
    Status(StatusArgs),
    /// Watch queues, rates, workers and leases on the whole screen
    #[command(after_help = "Keys: q quits, the arrows select a queue, Esc shows all, s sorts.")]
    Top(TopArgs),
    /// Follow what happens to items: a line for each event, until it is interrupted
    #[command(after_help = "\
A queue has events if its settings say so: leaseq settings QUEUE events=10000 keeps the last 10,000.
An interruption names the place to go on with --continue, so nothing is missed between two calls.

Examples: leaseq tail orders mail   leaseq tail orders --since 10m --no-follow | grep order-7")]
    Tail(TailArgs),
    /// Show what has happened in a queue, and for how long items waited and ran
    #[command(after_help = "Example: leaseq stats orders --since 2d --step 6h")]
    Stats(StatsArgs),
    /// List the items of a state
    #[command(
        after_help = "Example: leaseq items orders --state delayed --reverse --where customer-7"
    )]
    Items(ItemsArgs),
    /// Show everything about one item
    #[command(after_help = "Example: leaseq show orders 4711 --raw | jq .")]
    Show(ShowArgs),
    /// List the leases, those that end first at the top
    Leases(LeasesArgs),
    /// List the dead items, the latest first, or count them by error
    #[command(after_help = "Example: leaseq dead orders --group")]
    Dead(DeadArgs),
    /// List the workers that have been seen in the last 30 s
    #[command(after_help = "Example: leaseq workers orders --running")]
    Workers(WorkersArgs),
    /// Command workers
    Worker {
        #[command(subcommand)]
        command: WorkerCommand,
    },
    /// List the schedules
    Schedules(SchedulesArgs),
    /// Show or change the settings of a queue
    Settings(SettingsArgs),
    /// Add an item, and write its id
    #[command(
        after_help = "Examples: leaseq add mail 'hello'   leaseq add mail @letter.json --delay 1h   \
                      producer | leaseq add mail --ndjson"
    )]
    Add(AddArgs),
    /// Add a job for a worker, and write its id
    #[command(after_help = "Example: leaseq enqueue mail mail.welcome '{\"to\":\"ada\"}'")]
    Enqueue(EnqueueArgs),
    /// Stop leasing; adding and completing go on
    Pause(PauseArgs),
    /// Go on after pause
    Resume(Which),
    /// Make dead items ready again, and reset their attempts
    #[command(after_help = "Example: leaseq requeue orders --state dead --error timeout --rate 50")]
    Requeue(BulkArgs),
    /// Remove items for good
    #[command(
        after_help = "Example: leaseq remove orders --state dead --since 7d --save dead.ndjson"
    )]
    Remove(RemoveArgs),
    /// Cancel items: waiting ones are gone, the holders of leased ones are told
    Cancel(BulkArgs),
    /// Make waiting items dead
    Bury(BuryArgs),
    /// Remove all items of a state
    #[command(after_help = "Example: leaseq purge orders --state dead --dry-run")]
    Purge(PurgeArgs),
    /// Delete a queue with everything in it
    #[command(after_help = "Example: leaseq export mail > mail.ndjson && leaseq drop mail")]
    Drop(DropArgs),
    /// Run a command for each item: xargs for queues
    #[command(after_help = "\
The command gets the data on standard input, and LEASEQ_ID, LEASEQ_ATTEMPT and LEASEQ_QUEUE in the environment;
an id with a NUL byte only as LEASEQ_ID_BASE64, which every item has. Its lease is extended while it runs.
Exit status 0 completes the item; anything else fails it, with the last line of standard error as the error.

Example: leaseq work mail -j 4 --timeout 5m --max-attempts 3 -- ./send-mail")]
    Work(WorkArgs),
    /// Write the items of a queue as lines of JSON, for import; pause the queue first
    #[command(after_help = "Example: leaseq pause mail && leaseq export mail > mail.ndjson")]
    Export(ExportArgs),
    /// Add the items of an export, or take over a queue of redis-work-queue
    #[command(after_help = "\
Leased and held items become ready, dead ones stay dead, ended ones are left out. What exists is not changed.
Items have their follow-ups, but dead ones only those for a completion: the others were added when they died.
With --from redis-work-queue, all clients of the old queue must have ended. It may be repeated within a day.

Examples: leaseq import mail mail.ndjson
          leaseq import mail emails --from redis-work-queue --from-url redis://old-host/0")]
    Import(ImportArgs),
    /// Say what to change about the server, and what is in the way of a queue; status 1 if there is a problem
    #[command(after_help = "Example: leaseq doctor orders")]
    Doctor(DoctorArgs),
    /// Measure the server with a queue of its own, which it drops: rates and the times of calls
    #[command(
        after_help = "It needs the rights of a worker and of an operator. Example: leaseq bench --csv > here.csv"
    )]
    Bench(BenchArgs),
    /// Look for damage in queues, and mend it; status 1 if there is any left
    Check(CheckArgs),
    /// Serve the web console
    Web(WebArgs),
    #[command(name = crate::guard::COMMAND, hide = true)]
    GuardCommands,
    #[command(name = crate::launch::COMMAND, hide = true)]
    Launch {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Names for servers
    Context {
        #[command(subcommand)]
        command: ContextCommand,
    },
    /// Write a script that completes commands
    #[command(after_help = "Example: leaseq completion bash > /etc/bash_completion.d/leaseq")]
    Completion { shell: Shell },
    /// Write the manual page, or all of them into a folder
    Man { folder: Option<PathBuf> },
    /// Explain a command, exit-codes, environment or formatting
    Help { topic: Vec<String> },
}

impl Command {
    /// The role that the user of the server needs, and the queue.
    pub(crate) fn needs(&self) -> (Option<Role>, Option<String>) {
        let (role, queue) = match self {
            Command::Queues
            | Command::Status(_)
            | Command::Top(_)
            | Command::Workers(_)
            | Command::Doctor(_) => (Role::Monitor, None),
            Command::Worker { command: WorkerCommand::List(_) } => (Role::Monitor, None),
            Command::Worker { .. } => (Role::Operator, None),
            Command::Tail(args) => (Role::Monitor, args.queues.first()),
            Command::Stats(args) => (Role::Monitor, Some(&args.queue)),
            Command::Bench(_) => (Role::Operator, None),
            Command::Drop(args) => (Role::Operator, Some(&args.queue)),
            Command::Items(args) => (Role::Monitor, Some(&args.queue)),
            Command::Show(args) => (Role::Monitor, Some(&args.queue)),
            Command::Dead(args) => (Role::Monitor, Some(&args.queue)),
            Command::Leases(args) => (Role::Monitor, args.queue.as_ref()),
            Command::Schedules(args) => (Role::Monitor, args.queue.as_ref()),
            Command::Settings(args) => (args.role(), Some(&args.queue)),
            Command::Add(args) => (Role::Producer, Some(&args.queue)),
            Command::Enqueue(args) => (Role::Producer, Some(&args.queue)),
            Command::Pause(args) => (Role::Operator, args.which.queues.first()),
            Command::Resume(which) => (Role::Operator, which.queues.first()),
            Command::Requeue(args) | Command::Cancel(args) => (Role::Operator, Some(&args.queue)),
            Command::Remove(args) => (Role::Operator, Some(&args.bulk.queue)),
            Command::Bury(args) => (Role::Operator, Some(&args.bulk.queue)),
            Command::Purge(args) => (Role::Operator, Some(&args.queue)),
            Command::Work(args) => (Role::Worker, Some(&args.queue)),
            Command::Export(args) => (Role::Monitor, Some(&args.queue)),
            Command::Import(args) => (Role::Producer, Some(&args.queue)),
            Command::Check(args) => (Role::Cleaner, args.queues.first()),
            Command::Web(_)
            | Command::Context { .. }
            | Command::GuardCommands
            | Command::Launch { .. }
            | Command::Completion { .. }
            | Command::Man { .. }
            | Command::Help { .. } => return (None, None),
        };
        (Some(role), queue.cloned())
    }
}

impl Args {
    /// `Err`: the exit status, after the help or the error was written.
    pub(crate) fn read() -> Result<Args, u8> {
        Args::try_parse().map_err(|error| {
            if !error.use_stderr() {
                // It fails if nobody reads it, which does not matter.
                let _ = error.print();
                return 0;
            }
            // The arguments are known only if they are right.
            let as_json = std::env::args_os().any(|argument| argument == "--json");
            let text = without_secrets(error.render().to_string());
            let text = if as_json {
                crate::failure::Failure::usage(text.trim()).shown(true) + "\n"
            } else {
                text
            };
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            2
        })
    }
}
