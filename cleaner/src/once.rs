//! What is done once: a clean, a check, a diagnosis.

use std::io::Write;
use std::process::ExitCode;

use leaseq::{Client, DeepReport, Diagnosis, Result};
use serde_json::{Value, json};

use crate::config::Settings;
use crate::escape::escaped;
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
) -> std::result::Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let client = Client::connect(&settings.url).await?;
    let said = match mode {
        Mode::Once => clean(&client, settings).await,
        Mode::Check => check(&client, settings).await,
        Mode::Doctor => client.doctor().await.map(|diagnosis| doctor(&diagnosis)),
    };
    client.close().await;
    let said = said?;
    let lines = if as_json {
        format!("{:#}", said.json).lines().map(str::to_owned).collect()
    } else {
        said.lines
    };
    let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
    writeln!(std::io::stdout(), "{}", lines.join("\n"))?;
    Ok(if said.fine { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// The queues that were named, or all.
async fn names(client: &Client, settings: &Settings) -> Result<Vec<String>> {
    match &settings.queues {
        Some(names) => Ok(names.clone()),
        None => client.queues().await,
    }
}

async fn clean(client: &Client, settings: &Settings) -> Result<Said> {
    let mut all = All::default();
    for name in names(client, settings).await? {
        let cleaned = async {
            let queue = client.queue(&name)?;
            Ok((queue.light_clean().await?, queue.deep_clean().await?))
        };
        let Some((light, deep)) = all.of_queue(&name, cleaned.await)? else { continue };
        all.lines.push(format!(
            "queue {name}: {} promoted, {} expired, {} of them dead; {} items, {}",
            light.promoted,
            light.expired,
            light.died,
            deep.items,
            verdict(&deep),
        ));
        all.add(&name, &deep, deep.found == deep.mended);
        all.json.push(json!({
            "queue": name, "light": shape::light(&light), "deep": shape::deep(&deep),
        }));
    }
    Ok(all.said())
}

async fn check(client: &Client, settings: &Settings) -> Result<Said> {
    let mut all = All::default();
    for name in names(client, settings).await? {
        let checked = async { client.queue(&name)?.check().await };
        let Some(report) = all.of_queue(&name, checked.await)? else { continue };
        all.lines.push(format!("queue {name}: {} items, {}", report.items, verdict(&report)));
        all.add(&name, &report, report.is_sound());
        all.json.push(json!({ "queue": name, "check": shape::deep(&report) }));
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
    /// A queue that fails is reported, and does not stop the others. Without a server all stops.
    fn of_queue<T>(&mut self, name: &str, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind().is_retryable() => Err(error),
            Err(error) => {
                self.wrong = true;
                self.lines.push(format!("queue {name}: {error}"));
                self.json.push(json!({ "queue": name, "error": error.to_string() }));
                Ok(None)
            }
        }
    }

    fn add(&mut self, queue: &str, report: &DeepReport, fine: bool) {
        self.wrong |= !fine;
        let details = report.details.iter();
        self.lines.extend(details.map(|line| format!("queue {queue}: {line}")));
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
