//! `pause` and `resume`.

use std::time::Duration;

use clap::Args;
use leaseq::PauseOptions;
use leaseq_report::duration;
use serde_json::json;

use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Leasing goes on by itself after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::read)]
    time: Option<Duration>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The queues
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// All queues
    #[arg(long)]
    all: bool,
}

pub(crate) async fn pause(shared: &Shared, args: PauseArgs) -> Ended {
    each(shared, &args.which, "paused", Some(args.time)).await
}

pub(crate) async fn resume(shared: &Shared, which: Which) -> Ended {
    each(shared, &which, "resumed", None).await
}

/// `pause`: for how long, or else it resumes.
async fn each(
    shared: &Shared,
    which: &Which,
    done: &str,
    pause: Option<Option<Duration>>,
) -> Ended {
    let names = shared.names(&which.queues).await?;
    let mut changed = Vec::new();
    for name in &names {
        let queue = shared.queue(name).await?;
        let mut options = PauseOptions::new();
        options.duration = pause.flatten();
        let outcome = match pause {
            Some(_) => queue.pause_with(options).await,
            None => queue.resume().await,
        };
        outcome.map_err(|error| {
            let failure = Failure::from(error);
            match changed.is_empty() {
                true => failure,
                false => {
                    failure.partly().hint(format_args!("{done} before: {}", changed.join(" ")))
                }
            }
        })?;
        changed.push(name.clone());
    }
    if shared.output.json {
        shared.output.document(&json!({ done: changed }))?;
    } else {
        for name in &changed {
            shared.output.line(&format!("{done} {name}"))?;
        }
    }
    Ok(if changed.is_empty() { NO } else { 0 })
}
