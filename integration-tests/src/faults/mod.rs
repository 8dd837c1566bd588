//! Fault tests: producers and workers in every language work as processes of their own, something
//! breaks meanwhile, and a checker judges the recorded answers.
//!
//! See `FAULTS.md`.

mod checker;
mod cleaner;
mod disk;
mod drain;
mod ends;
mod fault;
mod fault_context;
mod history;
mod history_text;
mod history_words;
mod item;
mod jobs;
mod kinds;
mod load;
mod operate;
mod place;
mod probe;
mod recorder;
mod report;
mod rng;
mod rows;
mod run;
mod settle;
mod specs;
mod terms;
mod ticks;
mod warm;
mod work;
mod worker;
mod worker_pool;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::fault::FAULTS;
use self::place::ENGINES;
use self::terms::Terms;
use crate::conformance::engines::VALKEY;
use crate::conformance::testee::Language;
use crate::error::Error;
use crate::share::ShareArgs;

/// Breaks things while every language works on a queue, and checks the answers.
#[derive(Parser)]
struct Arguments {
    /// Testees besides that in Rust, each `LANGUAGE=COMMAND ARGUMENT…`
    testees: Vec<String>,
    /// How long each fault lasts on each engine: in rounds of 20 s, each with servers, a queue and
    /// choices of its own
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// How many faults run at the same time
    #[arg(long, default_value = "2")]
    jobs: NonZeroUsize,
    /// The seed of all choices; by default a new one each time
    #[arg(long)]
    seed: Option<u64>,
    /// Only faults whose name contains this; may be given several times
    #[arg(long)]
    only: Vec<String>,
    /// Only these engines
    #[arg(long = "engine", value_delimiter = ',')]
    engines: Vec<String>,
    /// Only these languages
    #[arg(long = "language", value_delimiter = ',')]
    languages: Vec<String>,
    #[command(flatten)]
    share: ShareArgs,
}

/// Runs what the arguments select. Exit status 0 if all promises hold.
pub fn main() -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let arguments = Arguments::parse();
    let result = runtime.map_err(Error::from).and_then(|runtime| {
        // Dropping the runtime removes processes, servers, disks and folders.
        runtime.block_on(async {
            tokio::select! {
                result = run(&arguments) => result,
                stopped = told_to_stop() => stopped.and(Err("it was told to stop".into())),
            }
        })
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the faults did not come to an end: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn told_to_stop() -> Result<(), Error> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

async fn run(arguments: &Arguments) -> Result<bool, Error> {
    let languages = languages(arguments)?;
    if let Some(name) = arguments.engines.iter().find(|name| !ENGINES.contains(&name.as_str())) {
        return Err(format!("unknown engine {name}: known are {ENGINES:?}").into());
    }
    let seed = arguments.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    println!("seed {seed}");
    let share = arguments.share.share();
    if let Some(note) = share.note() {
        println!("{note}");
    }
    let jobs = Arc::new(Semaphore::new(arguments.jobs.get()));
    let mut runs = JoinSet::new();
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|it| name.contains(it));
    let rows =
        FAULTS.iter().flat_map(|fault| fault.engines.iter().map(move |engine| (fault, engine)));
    for (number, (fault, engine)) in rows.enumerate() {
        if !wanted(fault.name) || !share.has(number) {
            continue;
        }
        if !arguments.engines.is_empty() && !arguments.engines.iter().any(|name| name == engine) {
            continue;
        }
        if *engine == "valkey" && std::env::var_os(VALKEY).is_none() {
            continue; // conformance says so; that Redis is here is enough
        }
        let (jobs, languages, at) = (jobs.clone(), languages.clone(), runs.len());
        let terms = Terms { languages, time: Duration::from_secs(arguments.seconds), seed };
        runs.spawn(async move {
            let _job = jobs.acquire().await;
            (at, rows::play(fault, engine, terms).await)
        });
    }
    if runs.is_empty() {
        return Err(format!("no fault is called like {:?}", arguments.only).into());
    }
    let (all, mut rows) = (runs.len(), Vec::new());
    while let Some(row) = runs.join_next().await {
        rows.push(row?);
        if let Some((_, row)) = rows.last() {
            println!("{} of {all}: {}", rows.len(), report::line(row));
        }
    }
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    println!("{}", report::table(&rows));
    Ok(rows.iter().all(|row| row.sum.faults.is_empty()))
}

fn languages(arguments: &Arguments) -> Result<Vec<Language>, Error> {
    let mut languages = vec![Language::rust()?];
    for testee in &arguments.testees {
        languages.push(Language::parse(testee)?);
    }
    for name in &arguments.languages {
        if !languages.iter().any(|language| language.name == *name) {
            return Err(format!("unknown language {name}").into());
        }
    }
    languages.retain(|language| {
        arguments.languages.is_empty() || arguments.languages.contains(&language.name)
    });
    Ok(languages)
}
