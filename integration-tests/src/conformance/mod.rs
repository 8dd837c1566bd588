//! Conformance: every scenario with every language on every engine.
//!
//! A scenario is a file in `scenarios/`. A testee is a small program in one language, which reads requests
//! and writes answers, one a line. See the READMEs of `scenarios/` and `testees/`.

pub(crate) mod clock;
pub(crate) mod engines;
mod expect;
mod processes;
mod run;
mod scenario;
mod table;
pub(crate) mod testee;
pub mod value;
pub mod wire;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use leaseq_test_support::Share;
use tokio::task::block_in_place;

use self::clock::Clock;
use self::engines::Engine;
use self::run::Team;
use self::scenario::Scenario;
use self::table::{Mark, Table};
use self::testee::{Language, Testee};
use crate::error::Error;
use crate::share::ShareArgs;

/// Known failures, as `SCENARIO TEAM ENGINE`. If one of them passes, the run fails: remove the entry.
const KNOWN_FAILURES: &[&str] = &[];

/// The name of the team in which each client is another language.
const MIXED: &str = "mixed";

/// Runs every scenario with every language on every engine.
#[derive(Parser)]
struct Arguments {
    /// Testees besides that in Rust, each `LANGUAGE=COMMAND ARGUMENT…`
    testees: Vec<String>,
    /// Scenarios of this folder instead
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"))]
    scenarios: PathBuf,
    /// Only scenarios whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Only these engines
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Only these teams: a language, or `mixed`
    #[arg(long, value_delimiter = ',')]
    teams: Vec<String>,
    /// Print the failures and the counts only
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    share: ShareArgs,
}

/// Runs what the arguments select. Exit status 0 if all scenarios pass.
pub fn main() -> ExitCode {
    let result = tokio::runtime::Runtime::new()
        .map_err(Error::from)
        .and_then(|runtime| runtime.block_on(run(Arguments::parse())));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the scenarios did not come to an end: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<bool, Error> {
    let mut scenarios = scenario::read_all(&arguments.scenarios)?;
    scenarios.retain(|scenario| scenario.name.contains(&arguments.only));
    if scenarios.is_empty() {
        return Err(format!("no scenario is called like {:?}", arguments.only).into());
    }
    let mut languages = vec![Language::rust()?];
    for testee in &arguments.testees {
        languages.push(Language::parse(testee)?);
    }
    for name in &arguments.engines {
        if !engines::NAMES.contains(&name.as_str()) {
            return Err(format!("unknown engine {name}: known are {:?}", engines::NAMES).into());
        }
    }
    let wanted = |name: &&str| {
        arguments.engines.is_empty() || arguments.engines.iter().any(|engine| engine == name)
    };
    let share = arguments.share.share();
    if let Some(note) = share.note() {
        println!("{note}");
    }
    let teams = arguments.teams.clone();
    let plan = Arc::new(Plan { scenarios, languages, teams, share });
    // Concurrently, because much of the time is waiting; each has a clock of its own.
    let mut games = Vec::new();
    for (column, name) in engines::NAMES.into_iter().enumerate().filter(|(_, name)| wanted(name)) {
        games.push(tokio::spawn(play_all(column, name, plan.clone())));
    }
    let mut table = Table::default();
    for game in games {
        for (place, mark) in game.await?? {
            table.note(&place.scenario, &place.team, place.engine, mark);
        }
    }
    for failure in table.failures() {
        eprintln!("FAILED: {failure}");
    }
    if arguments.quiet {
        println!("{}", table.counts())
    } else {
        println!("{table}")
    }
    Ok(table.is_good())
}

/// What to play.
struct Plan {
    scenarios: Vec<Scenario>,
    languages: Vec<Language>,
    /// Only these; all if empty.
    teams: Vec<String>,
    /// The part of the pairs of a team and an engine.
    share: Share,
}

/// The cell of the table for a result.
struct Place {
    scenario: String,
    team: String,
    engine: &'static str,
}

/// Plays every scenario with every team on one engine; nothing if the engine is missing.
async fn play_all(
    column: usize,
    name: &'static str,
    plan: Arc<Plan>,
) -> Result<Vec<(Place, Mark)>, Error> {
    let folder = tempfile::Builder::new().prefix("leaseq-conformance-").tempdir()?;
    let clock = Clock::new(folder.path())?;
    let started = block_in_place(|| Engine::start(name, folder.path(), &clock))?;
    let Some(engine) = started else {
        eprintln!("{name}: not there ({} names its server)", engines::VALKEY);
        return Ok(Vec::new());
    };
    let mut marks = Vec::new();
    let mut number = 0;
    for mut team in teams(&plan, column, &clock).await? {
        let name = team.name.clone();
        let mut note = |scenario: &str, mark: Mark| {
            let (scenario, team) = (scenario.to_owned(), name.clone());
            marks.push((Place { scenario, team, engine: engine.name() }, mark));
        };
        for scenario in &plan.scenarios {
            number += 1;
            note(&scenario.name, play(scenario, &engine, &clock, &mut team, number).await);
        }
        for testee in team.testees {
            let mark = match testee.end().await {
                Ok(()) => Mark::Passed,
                Err(error) => Mark::Failed(error.to_string()),
            };
            note("(end of the testees)", mark);
        }
    }
    Ok(marks)
}

/// The teams for this engine: one for each language, and one of all languages if there are several.
async fn teams(plan: &Plan, column: usize, clock: &Clock) -> Result<Vec<Team>, Error> {
    let Plan { languages, teams: wanted, share, .. } = plan;
    let mut rosters: Vec<(String, Vec<&Language>)> =
        languages.iter().map(|language| (language.name.clone(), vec![language])).collect();
    if languages.len() > 1 {
        rosters.push((MIXED.into(), languages.iter().collect()));
    }
    let mut teams = Vec::new();
    for (row, (name, roster)) in rosters.into_iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(&name) || !share.has(row + column) {
            continue;
        }
        let mut testees = Vec::new();
        for language in roster {
            let testee = Testee::start(language, &clock.environment()).await?;
            // In a mixed team it would keep the others from most scenarios.
            if name == MIXED && testee.only.is_some() {
                testee.end().await?;
            } else {
                testees.push(testee);
            }
        }
        teams.push(Team { name, testees });
    }
    Ok(teams)
}

async fn play(
    scenario: &Scenario,
    engine: &Engine,
    clock: &Clock,
    team: &mut Team,
    number: usize,
) -> Mark {
    if !run::is_meant(scenario, team, engine) {
        return Mark::NotMeant;
    }
    let place = format!("{} {} {}", scenario.name, team.name, engine.name());
    let known = KNOWN_FAILURES.contains(&place.as_str());
    match (run::play(scenario, engine, clock, team, number).await, known) {
        (Ok(()), false) => Mark::Passed,
        (Ok(()), true) => Mark::Cured,
        (Err(_), true) => Mark::Known,
        (Err(error), false) => Mark::Failed(error.to_string()),
    }
}
