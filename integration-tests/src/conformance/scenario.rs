//! A scenario: steps of named clients with the expected answers. `scenarios/README.md` describes the format.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::value::expand;
use crate::error::Error;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The file's name without its extension, which failures show.
    #[serde(skip)]
    pub(super) name: String,
    /// What must hold, in a sentence.
    #[expect(dead_code, reason = "it is for whoever reads the file")]
    about: String,
    #[serde(default)]
    pub(super) clock: ClockMode,
    /// Only on these engines.
    pub(super) only: Option<Vec<String>>,
    /// Only with testees that support this, besides every operation.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    pub(super) steps: Vec<Step>,
    /// Commands sent by hand after the steps, also if one of them failed: the next scenario is played on the
    /// same server.
    #[serde(default)]
    pub(super) finally: Vec<Vec<String>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClockMode {
    #[default]
    StandsStill,
    Runs,
}

/// One line of a scenario. The operation and its arguments are the one key that is not listed here.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    /// The client. Other names are other processes, perhaps in other languages.
    #[serde(default = "one")]
    pub(super) by: String,
    /// The queue.
    #[serde(default = "jobs", rename = "in")]
    pub(super) queue: String,
    /// What the answer must match; may be `null`.
    #[serde(default, deserialize_with = "said")]
    pub(super) gives: Option<Value>,
    /// The kind of the expected error.
    pub(super) fails: Option<String>,
    /// Texts that the error's message must contain.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// Texts that the message must not contain.
    #[serde(default)]
    pub(super) hides: Vec<String>,
    /// How long the step is repeated until the answer is right; zero: not repeated.
    #[serde(default)]
    pub(super) within_ms: u64,
    /// The name of the returned lease from now on; of many leases `NAME/0`, `NAME/1`, …
    #[serde(rename = "as")]
    pub(super) named: Option<String>,
    /// Do not wait for the answer: a later step with `end` and this name does.
    pub(super) begin: Option<String>,
    /// Only on these engines.
    pub(super) only: Option<Vec<String>>,
    /// Keep parts of the answer: a name and a JSON pointer each.
    #[serde(default)]
    pub(super) keep: Map<String, Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

fn one() -> String {
    "one".into()
}

fn jobs() -> String {
    "jobs".into()
}

/// Distinguishes `null` from a missing field.
fn said<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl Step {
    pub(super) fn operation(&self) -> Result<(&str, &Value), Error> {
        let mut rest = self.rest.iter();
        match (rest.next(), rest.next()) {
            (Some((name, arguments)), None) => Ok((name, arguments)),
            _ => {
                let keys: Vec<&String> = self.rest.keys().collect();
                Err(format!("a step has one operation, not {keys:?}").into())
            }
        }
    }

    /// Whether the step can be repeated: not if it returns leases or its answer comes later.
    fn can_be_repeated(&self) -> bool {
        self.begin.is_none() && self.named.is_none()
    }
}

/// Whether a list of engines contains this one, by name or family; true without a list.
pub(super) fn applies(only: Option<&Vec<String>>, engine: &str, family: &str) -> bool {
    only.is_none_or(|only| only.iter().any(|name| name == engine || name == family))
}

/// All scenarios of a folder, by name.
pub(super) fn read_all(folder: &Path) -> Result<Vec<Scenario>, Error> {
    let mut files = Vec::new();
    find(folder, &mut files)?;
    files.sort();
    files.iter().map(|file| read(folder, file)).collect()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(folder: &Path, file: &Path) -> Result<Scenario, Error> {
    let name = file.strip_prefix(folder)?.with_extension("").display().to_string();
    let wrong = |what: String| Error::from(format!("scenario {name}: {what}"));
    let text = std::fs::read_to_string(file)?;
    let mut scenario: Scenario = serde_json::from_str(&text)
        .and_then(|written: Value| serde_json::from_value(expand(&written)))
        .map_err(|error| wrong(error.to_string()))?;
    for (i, step) in scenario.steps.iter().enumerate() {
        step.operation().map_err(|error| wrong(format!("step {}: {error}", i + 1)))?;
        if step.within_ms > 0 && !step.can_be_repeated() {
            return Err(wrong(format!("step {}: within_ms is for what can be asked again", i + 1)));
        }
    }
    scenario.name = name;
    Ok(scenario)
}
