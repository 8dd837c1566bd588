//! The demo: every file of the source tree is an item, and the workers are processes of their own. One
//! worker is killed while it holds leases; another is stopped past its leases and then continues. A share of the
//! files are jobs for workers with a handler, with retries and a schedule. In the
//! end every item must have been completed exactly once, with the right digest.

mod checker;
mod console;
mod digests;
mod files;
pub mod jobs;
mod next;
pub mod note;
mod place;
mod run;
mod screen;
mod wait;
mod worker;

use std::process::ExitCode;

/// Runs the demo. Exit status 0: the queue kept its promises; 1: it did not, or the demo could not find
/// out. Each argument, `LANGUAGE=COMMAND ARGUMENT…`, is one more worker (`LANGUAGE/jobs=…`: one with a handler); `--console` starts the web console too.
pub fn main() -> ExitCode {
    let mut others: Vec<String> = std::env::args().skip(1).collect();
    let before = others.len();
    others.retain(|argument| argument != "--console");
    match run::run(&others, others.len() < before) {
        Ok((screen, faults)) => {
            println!("{screen}");
            if faults.is_empty() {
                println!("nothing lost, one completion each, all digests right");
                if let Some(commands) = next::commands() {
                    println!("\ntry next:");
                    commands.iter().for_each(|command| println!("  {command}"));
                }
                return ExitCode::SUCCESS;
            }
            for fault in faults.iter().take(20) {
                eprintln!("WRONG: {fault}");
            }
            if faults.len() > 20 {
                eprintln!("WRONG: … and {} more", faults.len() - 20);
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("the demo did not come to an end: {error}");
            ExitCode::FAILURE
        }
    }
}
