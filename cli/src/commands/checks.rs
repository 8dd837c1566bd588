//! `doctor` and `check`: whether the server and the queues are as they should be.

use clap::Args;
use leaseq_report::{escaped, summary};
use serde_json::{Value, json};

use super::findings;
use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The queues [default: all]
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// Mend what is found
    #[arg(long)]
    mend: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also say what is in the way of these queues
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
}

pub(crate) async fn doctor(shared: &Shared, args: DoctorArgs) -> Ended {
    let diagnosis = shared.client().await?.doctor().await?;
    let mut queues = Vec::new();
    for name in &args.queues {
        queues.push((name, findings::of_queue(shared, name).await?));
    }
    let output = &shared.output;
    let stuck = queues.iter().flat_map(|(_, findings)| findings).any(|finding| finding.problem);
    let status = if diagnosis.is_fine() && !stuck { 0 } else { NO };
    if output.json {
        let mut value = json!(diagnosis);
        let queues = queues.iter().map(|(name, found)| json!({ "queue": name, "advice": found }));
        value["queues"] = queues.collect();
        output.document(&value)?;
        return Ok(status);
    }
    let durability = diagnosis.durability;
    let mut lines = vec![
        format!("server: {}", shared.server_name()?),
        format!("engine: {}", diagnosis.engine),
        format!("durability: {}: {}", durability.as_str(), durability.meaning()),
    ];
    let kind = |problem| if problem { "problem" } else { "note" };
    for advice in &diagnosis.advice {
        lines.push(format!("{}: {}", kind(advice.problem), advice.found));
        lines.push(format!("  do: {}", advice.change));
    }
    if diagnosis.advice.is_empty() {
        lines.push("nothing to change".into());
    }
    lines.extend(diagnosis.settings.iter().map(|(name, value)| format!("  {name} = {value}")));
    for (name, found) in &queues {
        lines.push(format!("queue {name}:"));
        for finding in found {
            lines.push(format!("{}: {}", kind(finding.problem), finding.found));
            lines.push(format!("  do: {}", finding.change));
        }
        if found.is_empty() {
            lines.push("nothing is in its way".into());
        }
    }
    let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
    output.line(&lines.join("\n"))?;
    Ok(status)
}

pub(crate) async fn check(shared: &Shared, args: CheckArgs) -> Ended {
    let (mut status, mut values) = (0, Vec::new());
    let output = &shared.output;
    for name in shared.names(&args.queues).await? {
        let queue = shared.queue(&name).await?;
        let checked = match args.mend {
            true => queue.deep_clean().await,
            false => queue.check().await,
        };
        let report = match checked {
            Ok(report) => report,
            Err(error) if error.kind().is_retryable() => return Err(error.into()),
            // One damaged queue does not hide the others.
            Err(error) if args.queues.len() != 1 => {
                status = NO;
                let shown = Failure::from(error);
                values.push(json!({ "queue": name, "error": shown.message() }));
                output.note(&format!("queue {name}: {}", shown.message()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if !report.is_sound() && report.found != report.mended {
            status = NO;
        }
        values.push(json!({ "queue": name, "check": report }));
        if !output.json {
            let mut lines = vec![format!("{name}: {} items, {}", report.items, summary(&report))];
            lines.extend(report.details.iter().map(|line| format!("{name}: {line}")));
            let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
            output.line(&lines.join("\n"))?;
        }
    }
    if output.json {
        output.document(&Value::Array(values))?;
    }
    Ok(status)
}
