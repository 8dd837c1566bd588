//! `pause` and `resume`.

use std::time::Duration;

use clap::Args;
use leaseq::options::MAX_PAUSED_BY;
use leaseq::{PauseOptions, fit_text};
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
    /// Why, for those who see the pause: up to 256 bytes
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Who pauses, up to 128 bytes [default: USER@HOST, or HOST]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Who runs this command, as far as it is known.
fn user_at_host() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = sysinfo::System::host_name().unwrap_or_default();
    let name = user.map_or_else(|| host.clone(), |user| format!("{user}@{host}"));
    fit_text(&name, MAX_PAUSED_BY)
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
    let by = args.by.unwrap_or_else(user_at_host);
    let mut options = PauseOptions::new().by(by).reason(args.reason);
    options.duration = args.time;
    each(shared, &args.which, "paused", Some(options)).await
}

pub(crate) async fn resume(shared: &Shared, which: Which) -> Ended {
    each(shared, &which, "resumed", None).await
}

/// `pause`: how it pauses, or else it resumes.
async fn each(shared: &Shared, which: &Which, done: &str, pause: Option<PauseOptions>) -> Ended {
    let names = shared.names(&which.queues).await?;
    let mut changed = Vec::new();
    for name in &names {
        let queue = shared.queue(name).await?;
        let outcome = match &pause {
            Some(options) => queue.pause_with(options.clone()).await,
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
