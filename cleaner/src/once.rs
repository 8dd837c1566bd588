//! What `--once`, `--check` and `--doctor` do.

use std::io::Write;

use leaseq::{Client, DeepReport, Diagnosis, Result};
use leaseq_report::{escaped, summary};
use serde_json::{Value, json};

use crate::config::Settings;
use crate::flags::Mode;

/// A report: lines for people, and the same as JSON.
struct Output {
    lines: Vec<String>,
    json: Value,
    fine: bool,
}

/// Runs one mode and prints its report. False: something is wrong.
pub(crate) async fn run(
    mode: Mode,
    settings: &Settings,
    as_json: bool,
) -> std::result::Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let client = Client::connect(&settings.url).await?;
    let output = match mode {
        Mode::Once => clean(&client, settings).await,
        Mode::Check => check(&client, settings).await,
        Mode::Doctor => client.doctor().await.map(|diagnosis| doctor(&diagnosis)),
    };
    client.close().await;
    let output = output?;
    let lines = if as_json {
        format!("{:#}", output.json).lines().map(str::to_owned).collect()
    } else {
        output.lines
    };
    let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
    writeln!(std::io::stdout(), "{}", lines.join("\n"))?;
    Ok(output.fine)
}

/// The queues that were named, or queues.
async fn names(client: &Client, settings: &Settings) -> Result<Vec<String>> {
    match &settings.queues {
        Some(names) => Ok(names.clone()),
        None => client.queues().await,
    }
}

async fn clean(client: &Client, settings: &Settings) -> Result<Output> {
    let mut queues = Queues::default();
    for name in names(client, settings).await? {
        let cleaned = async {
            let queue = client.queue(&name)?;
            Ok((queue.light_clean().await?, queue.deep_clean().await?))
        };
        let Some((light, deep)) = queues.of_queue(&name, cleaned.await)? else { continue };
        queues.lines.push(format!(
            "queue {name}: {} promoted, {} expired, {} of them dead, {} removed; {} items, {}",
            light.promoted,
            light.expired,
            light.died,
            light.removed,
            deep.items,
            summary(&deep),
        ));
        queues.add(&name, &deep, deep.found == deep.mended);
        queues.json.push(json!({
            "queue": name, "light": light, "deep": deep,
        }));
    }
    Ok(queues.output())
}

async fn check(client: &Client, settings: &Settings) -> Result<Output> {
    let mut queues = Queues::default();
    for name in names(client, settings).await? {
        let checked = async { client.queue(&name)?.check().await };
        let Some(found) = queues.of_queue(&name, checked.await)? else { continue };
        queues.lines.push(format!("queue {name}: {} items, {}", found.items, summary(&found)));
        queues.add(&name, &found, found.is_sound());
        queues.json.push(json!({ "queue": name, "check": found }));
    }
    Ok(queues.output())
}

/// The report about several queues.
#[derive(Default)]
struct Queues {
    lines: Vec<String>,
    json: Vec<Value>,
    wrong: bool,
}

impl Queues {
    /// Reports the error of a queue and lets the others go on; returns an error if the server is away.
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

    fn output(mut self) -> Output {
        if self.json.is_empty() {
            self.lines.push("no queues".into());
        }
        let json = json!({ "fine": !self.wrong, "queues": self.json });
        Output { lines: self.lines, json, fine: !self.wrong }
    }
}

fn doctor(diagnosis: &Diagnosis) -> Output {
    let durability = diagnosis.durability;
    let mut lines = vec![
        format!("engine: {}", diagnosis.engine),
        format!("durability: {}: {}", durability.as_str(), durability.meaning()),
    ];
    for advice in &diagnosis.advice {
        let kind = if advice.problem { "problem" } else { "note" };
        lines.push(format!("{kind}: {}", advice.found));
        lines.push(format!("  do: {}", advice.change));
    }
    if diagnosis.advice.is_empty() {
        lines.push("nothing to change".into());
    }
    lines.extend(diagnosis.settings.iter().map(|(name, value)| format!("  {name} = {value}")));
    Output { lines, json: json!(diagnosis), fine: diagnosis.is_fine() }
}
