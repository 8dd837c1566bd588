//! What is done once: a clean, a check, a diagnosis.

use std::process::ExitCode;

use leaseq::{Client, DeepReport, Diagnosis, Error, Result, WorkQueue};
use serde_json::{Value, json};

use crate::config::Settings;
use crate::{WRONG, json as shape};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Once,
    Check,
    Doctor,
}

/// What is said: lines for people, or the same as JSON.
struct Said {
    lines: Vec<String>,
    json: Value,
    fine: bool,
}

pub(crate) async fn run(
    mode: Mode,
    settings: &Settings,
    as_json: bool,
) -> std::result::Result<ExitCode, Box<dyn std::error::Error>> {
    let client = Client::connect(&settings.url).await?;
    let said = match mode {
        Mode::Once => clean(&client, settings).await,
        Mode::Check => check(&client, settings).await,
        Mode::Doctor => client.doctor().await.map(|diagnosis| doctor(&diagnosis)),
    };
    client.close().await;
    let said = said?;
    if as_json {
        println!("{:#}", said.json);
    } else {
        said.lines.iter().for_each(|line| println!("{line}"));
    }
    Ok(if said.fine { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// The queues that were named, or all.
async fn queues(client: &Client, settings: &Settings) -> Result<Vec<WorkQueue>> {
    let names = match &settings.queues {
        Some(names) => names.clone(),
        None => client.queues().await?,
    };
    names.iter().map(|name| client.queue(name)).collect()
}

async fn clean(client: &Client, settings: &Settings) -> Result<Said> {
    let mut all = All::default();
    for queue in queues(client, settings).await? {
        let light = queue.light_clean().await?;
        let deep = queue.deep_clean().await?;
        all.lines.push(format!(
            "queue {}: {} promoted, {} expired, {} of them dead; {} items, {}",
            queue.name(),
            light.promoted,
            light.expired,
            light.died,
            deep.items,
            verdict(&deep),
        ));
        all.add(&queue, &deep, deep.found == deep.mended);
        all.json.push(json!({
            "queue": queue.name(), "light": shape::light(&light), "deep": shape::deep(&deep),
        }));
    }
    Ok(all.said())
}

async fn check(client: &Client, settings: &Settings) -> Result<Said> {
    let mut all = All::default();
    for queue in queues(client, settings).await? {
        let report = queue.check().await?;
        all.lines.push(format!(
            "queue {}: {} items, {}",
            queue.name(),
            report.items,
            verdict(&report),
        ));
        all.add(&queue, &report, report.is_sound());
        all.json.push(json!({ "queue": queue.name(), "check": shape::deep(&report) }));
    }
    Ok(all.said())
}

#[derive(Default)]
struct All {
    lines: Vec<String>,
    json: Vec<Value>,
    wrong: bool,
}

impl All {
    fn add(&mut self, queue: &WorkQueue, report: &DeepReport, fine: bool) {
        self.wrong |= !fine;
        let details = report.details.iter();
        self.lines.extend(details.map(|line| format!("queue {}: {line}", queue.name())));
    }

    fn said(mut self) -> Said {
        if self.json.is_empty() {
            self.lines.push("no queues".into());
        }
        let json = json!({ "fine": !self.wrong, "queues": self.json });
        Said { lines: self.lines, json, fine: !self.wrong }
    }
}

/// What was found, in a few words.
pub(crate) fn verdict(report: &DeepReport) -> String {
    if report.is_sound() {
        return "sound".into();
    }
    let found = report.found.iter().map(|(damage, count)| {
        let mended = report.mended.get(damage).copied().unwrap_or(0);
        match mended {
            0 => format!("{count} {}", damage.as_str()),
            _ => format!("{count} {} ({mended} mended)", damage.as_str()),
        }
    });
    found.collect::<Vec<_>>().join(", ")
}

fn doctor(diagnosis: &Diagnosis) -> Said {
    let durability = diagnosis.durability;
    let mut lines = vec![
        format!("engine: {}", diagnosis.engine),
        format!("durability: {}: {}", durability.as_str(), durability.meaning()),
    ];
    for advice in &diagnosis.advice {
        let kind = if advice.problem { "problem" } else { "to know" };
        lines.push(format!("{kind}: {}", advice.found));
        lines.push(format!("  do: {}", advice.change));
    }
    if diagnosis.advice.is_empty() {
        lines.push("nothing to change".into());
    }
    lines.extend(diagnosis.settings.iter().map(|(name, value)| format!("  {name} = {value}")));
    Said { lines, json: shape::diagnosis(diagnosis), fine: diagnosis.is_fine() }
}

/// Whether trying again may help.
pub(crate) fn may_pass(error: &Error) -> bool {
    error.kind().is_retryable()
}
