//! The operations of the registry with JSON as arguments and answers, for languages and programs that show it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::json::{ActionFields, BeatFields, PageFields, ReplyFields, WorkerName};
use super::types::{WorkerId, WorkersOptions};
use crate::{Client, Error, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    worker: WorkerName,
    command: ActionFields,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Which {
    after: Option<WorkerName>,
    name: Option<String>,
    queue: Option<String>,
    limit: Option<usize>,
}

impl Client {
    /// Runs one of the operations `beat`, `leave`, `workers`, `command_worker`, `quiet_worker` and `resume_worker`.
    ///
    /// # Errors
    /// `Invalid` if the arguments are not those of the operation; otherwise as for the operation.
    #[doc(hidden)]
    pub async fn call_registry(&self, operation: &str, arguments: &str) -> Result<String> {
        match operation {
            "beat" => {
                let beat = read::<BeatFields>(operation, arguments)?.into_beat()?;
                write(&ReplyFields::from(&self.beat(&beat).await?))
            }
            "leave" => write(&self.leave(&worker(read(operation, arguments)?)).await?),
            "workers" => {
                let which: Which = read(operation, arguments)?;
                let options = WorkersOptions {
                    after: which.after.map(worker),
                    name: which.name,
                    queue: which.queue,
                    limit: which.limit,
                };
                write(&PageFields::from(&self.workers(options).await?))
            }
            "command_worker" => {
                let Command { worker: name, command } = read(operation, arguments)?;
                write(&self.command_worker(&worker(name), &command.into_action()?).await?)
            }
            "quiet_worker" => {
                write(&self.quiet_worker(&read::<Name>(operation, arguments)?.name).await?)
            }
            "resume_worker" => {
                write(&self.resume_worker(&read::<Name>(operation, arguments)?.name).await?)
            }
            _ => Err(Error::invalid(format_args!("{operation:?} is no operation on workers"))),
        }
    }
}

fn worker(name: WorkerName) -> WorkerId {
    WorkerId { name: name.name, instance: name.instance }
}

fn read<T: DeserializeOwned>(operation: &str, arguments: &str) -> Result<T> {
    serde_json::from_str(arguments)
        .map_err(|error| Error::invalid(format_args!("{operation}: {error}")))
}

fn write(answer: &impl Serialize) -> Result<String> {
    serde_json::to_string(answer)
        .map_err(|error| Error::internal(format_args!("an answer cannot be written: {error}")))
}
