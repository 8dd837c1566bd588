//! The demo: every file of the source tree goes through the queue to workers that are processes of
//! their own. One is killed while it holds leases, another is stopped past its leases and goes on.
//! In the end every item must have been completed exactly once, with the right digest.

mod checker;
mod digests;
mod files;
pub mod note;
mod place;
mod run;
mod screen;
mod wait;
mod worker;

use std::process::ExitCode;

/// Of the demo's programs, which only tell it to a person.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Runs the demo: exit status 0 if the queue kept its promises, 1 if not or if it could not be told.
/// Each argument, `LANGUAGE=COMMAND ARGUMENT…`, is one more worker.
pub fn main() -> ExitCode {
    let others: Vec<String> = std::env::args().skip(1).collect();
    match run::run(&others) {
        Ok((screen, faults)) => {
            println!("{screen}");
            if faults.is_empty() {
                println!("nothing lost, one completion each, all digests right");
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
