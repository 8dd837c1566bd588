//! `leaseq`: looks into queues and changes them, for people, scripts and programs.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod context;
mod failure;
mod follow_ups;
mod global;
mod guard;
mod help;
mod item_json;
mod launch;
mod lines;
mod mark;
mod output;
mod progress;
mod select;
mod stop;
mod text;

use std::io::Write;
use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::commands::{
    add, bench, bulk, checks, drop, items, pause, schedules, settings, show, stats, status, tail,
    top, transfer, web, work, workers,
};
use crate::failure::{Ended, Failure, PIPE_CLOSED};
use crate::global::Shared;

fn main() -> ExitCode {
    let args = match Args::read() {
        Ok(args) => args,
        Err(status) => return ExitCode::from(status),
    };
    let json = args.global.json;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(run(args));
            // Tasks that hang end with the process.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(Failure::from(error)),
    };
    ExitCode::from(ended.unwrap_or_else(|failure| {
        if failure.status != PIPE_CLOSED {
            // Not `eprintln`, which panics if the output is closed.
            let _ = writeln!(std::io::stderr(), "{}", failure.shown(json));
        }
        failure.status
    }))
}

async fn run(args: Args) -> Ended {
    let shared = Shared::new(args.global);
    let (role, queue) = args.command.needs();
    let ended = execute(&shared, args.command).await;
    let ended = match ended {
        Err(failure) => Err(shared.explained(failure, role, queue.as_deref()).await),
        ended => ended,
    };
    shared.close().await;
    ended
}

async fn execute(shared: &Shared, command: Command) -> Ended {
    match command {
        Command::Queues => status::queues(shared).await,
        Command::Status(args) => status::status(shared, args).await,
        Command::Top(args) => top::top(shared, args).await,
        Command::Tail(args) => tail::tail(shared, args).await,
        Command::Stats(args) => stats::stats(shared, args).await,
        Command::Items(args) => items::items(shared, args).await,
        Command::Show(args) => show::show(shared, args).await,
        Command::Leases(args) => items::leases(shared, args).await,
        Command::Dead(args) => items::dead(shared, args).await,
        Command::Workers(args) => workers::workers(shared, args).await,
        Command::Worker { command } => workers::worker(shared, command).await,
        Command::Schedules(args) => schedules::schedules(shared, args).await,
        Command::Settings(args) => settings::settings(shared, args).await,
        Command::Add(args) => add::add(shared, args).await,
        Command::Enqueue(args) => add::enqueue(shared, args).await,
        Command::Pause(args) => pause::pause(shared, args).await,
        Command::Resume(args) => pause::resume(shared, args).await,
        Command::Requeue(args) => bulk::requeue(shared, args).await,
        Command::Remove(args) => bulk::remove(shared, args).await,
        Command::Cancel(args) => bulk::cancel(shared, args).await,
        Command::Bury(args) => bulk::bury(shared, args).await,
        Command::Purge(args) => bulk::purge(shared, args).await,
        Command::Drop(args) => drop::drop_queue(shared, args).await,
        Command::Export(args) => transfer::export(shared, args).await,
        Command::Import(args) => transfer::import(shared, args).await,
        Command::Work(args) => work::work(shared, args).await,
        Command::Web(args) => web::web(shared, args).await,
        Command::Doctor(args) => checks::doctor(shared, args).await,
        Command::Bench(args) => bench::bench(shared, args).await,
        Command::Check(args) => checks::check(shared, args).await,
        Command::GuardCommands => {
            guard::run();
            Ok(0)
        }
        Command::Launch { command } => Ok(launch::run(&command)),
        Command::Context { command } => context::run(command, &shared.output),
        Command::Completion { shell } => help::completion(shell),
        Command::Man { folder } => help::man(folder.as_deref()),
        Command::Help { topic } => help::help(&topic),
    }
}
