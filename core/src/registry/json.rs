//! Workers and commands as JSON. It is what engines store, and what languages pass to and from this library.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::types::{
    Beat, BeatReply, RunningItem, WorkerAction, WorkerCommand, WorkerId, WorkerInfo, WorkersPage,
};
use crate::engine::{StoredCommand, StoredName, StoredWorker, WorkerEntry};
use crate::histogram::Histogram;
use crate::options::ms;
use crate::unix_time::{from_ms, to_ms};
use crate::{Error, Result};

/// Later times are those of no worker.
const LAST_MS: u64 = 1 << 47;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerName {
    pub(super) name: String,
    pub(super) instance: String,
}

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BeatFields {
    name: String,
    instance: String,
    host: String,
    process: u32,
    language: String,
    version: String,
    queues: Vec<String>,
    slots: u32,
    running: Vec<RunningFields>,
    memory_bytes: Option<u64>,
    throttled: bool,
    draining: bool,
    /// Values, each with how often it was counted.
    waiting_us: Vec<(u64, u64)>,
    run_us: Vec<(u64, u64)>,
    lease_use: Vec<(u64, u64)>,
    #[serde(skip_serializing)]
    acknowledged: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunningFields {
    queue: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item_id: Option<String>,
    /// Instead of `item_id`, if that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item_id_hex: Option<String>,
    elapsed_ms: u64,
    deadline: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ActionFields {
    Stop,
    Cancel {
        queue: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_id_hex: Option<String>,
    },
}

#[derive(Serialize)]
struct CommandFields {
    number: u64,
    #[serde(flatten)]
    action: ActionFields,
}

#[derive(Serialize)]
pub(super) struct ReplyFields {
    quiet: bool,
    commands: Vec<CommandFields>,
}

#[derive(Serialize)]
struct WorkerFields {
    #[serde(flatten)]
    beat: BeatFields,
    seen: Timestamp,
    quiet: bool,
    commands: Vec<CommandFields>,
}

#[derive(Serialize)]
pub(super) struct PageFields {
    workers: Vec<WorkerFields>,
    next: Option<WorkerName>,
    skipped: u64,
}

impl Default for BeatFields {
    fn default() -> Self {
        BeatFields::from(&Beat::new(WorkerId { name: String::new(), instance: String::new() }))
    }
}

impl From<&Beat> for BeatFields {
    fn from(beat: &Beat) -> Self {
        let running = beat.running.iter().map(|item| {
            let (item_id, item_id_hex) = id_fields(&item.id);
            let (elapsed_ms, deadline) = (ms(item.elapsed), timestamp(item.deadline));
            RunningFields { queue: item.queue.clone(), item_id, item_id_hex, elapsed_ms, deadline }
        });
        BeatFields {
            name: beat.worker.name.clone(),
            instance: beat.worker.instance.clone(),
            host: beat.host.clone(),
            process: beat.process,
            language: beat.language.clone(),
            version: beat.version.clone(),
            queues: beat.queues.clone(),
            slots: beat.slots,
            running: running.collect(),
            memory_bytes: beat.memory,
            throttled: beat.throttled,
            draining: beat.draining,
            waiting_us: beat.waiting.values().collect(),
            run_us: beat.run.values().collect(),
            lease_use: beat.lease_use.values().collect(),
            acknowledged: beat.acknowledged.clone(),
        }
    }
}

impl BeatFields {
    pub(super) fn into_beat(self) -> Result<Beat> {
        let running = self.running.into_iter().map(|item| {
            Ok(RunningItem {
                queue: item.queue,
                id: id(item.item_id, item.item_id_hex)?,
                elapsed: Duration::from_millis(item.elapsed_ms),
                deadline: from_ms(u64::try_from(item.deadline.as_millisecond()).unwrap_or(0)),
            })
        });
        Ok(Beat {
            worker: WorkerId { name: self.name, instance: self.instance },
            host: self.host,
            process: self.process,
            language: self.language,
            version: self.version,
            queues: self.queues,
            slots: self.slots,
            running: running.collect::<Result<_>>()?,
            memory: self.memory_bytes,
            throttled: self.throttled,
            draining: self.draining,
            waiting: histogram(self.waiting_us),
            run: histogram(self.run_us),
            lease_use: histogram(self.lease_use),
            acknowledged: self.acknowledged,
        })
    }
}

impl From<&WorkerAction> for ActionFields {
    fn from(action: &WorkerAction) -> Self {
        match action {
            WorkerAction::Stop => ActionFields::Stop,
            WorkerAction::Cancel { queue, id } => {
                let (item_id, item_id_hex) = id_fields(id);
                ActionFields::Cancel { queue: queue.clone(), item_id, item_id_hex }
            }
        }
    }
}

impl ActionFields {
    pub(super) fn into_action(self) -> Result<WorkerAction> {
        Ok(match self {
            ActionFields::Stop => WorkerAction::Stop,
            ActionFields::Cancel { queue, item_id, item_id_hex } => {
                WorkerAction::Cancel { queue, id: id(item_id, item_id_hex)? }
            }
        })
    }
}

fn command_fields(commands: &[WorkerCommand]) -> Vec<CommandFields> {
    let fields = |command: &WorkerCommand| CommandFields {
        number: command.number,
        action: ActionFields::from(&command.action),
    };
    commands.iter().map(fields).collect()
}

impl From<&BeatReply> for ReplyFields {
    fn from(reply: &BeatReply) -> Self {
        ReplyFields { quiet: reply.quiet, commands: command_fields(&reply.commands) }
    }
}

impl From<&WorkersPage> for PageFields {
    fn from(page: &WorkersPage) -> Self {
        let workers = page.workers.iter().map(|worker| WorkerFields {
            beat: BeatFields::from(&worker.beat),
            seen: timestamp(worker.seen),
            quiet: worker.quiet,
            commands: command_fields(&worker.commands),
        });
        let next = page.next.as_ref().map(|worker| WorkerName {
            name: worker.name.clone(),
            instance: worker.instance.clone(),
        });
        PageFields { workers: workers.collect(), next, skipped: page.skipped }
    }
}

/// What a beat is stored as.
pub(super) fn write(beat: &Beat) -> Bytes {
    // Numbers and texts can always be written.
    serde_json::to_vec(&BeatFields::from(beat)).unwrap_or_default().into()
}

/// `None` if it cannot be read, or breaks a limit: anybody who may beat may have written it.
pub(super) fn read(stored: StoredWorker) -> Option<WorkerInfo> {
    let fields: BeatFields = serde_json::from_slice(&stored.body).ok()?;
    let beat = Beat { worker: worker_id(&stored.entry)?, ..fields.into_beat().ok()? };
    beat.validate().ok()?;
    let commands = stored.commands.iter().filter_map(read_command).collect();
    let seen = from_ms(stored.beat_ms.min(LAST_MS));
    Some(WorkerInfo { beat, seen, quiet: stored.quiet, commands })
}

pub(super) fn write_action(action: &WorkerAction) -> Bytes {
    serde_json::to_vec(&ActionFields::from(action)).unwrap_or_default().into()
}

/// `None` for a command that this version does not know. It expires.
pub(super) fn read_command(stored: &StoredCommand) -> Option<WorkerCommand> {
    let fields: ActionFields = serde_json::from_slice(&stored.text).ok()?;
    let action = fields.into_action().ok()?;
    action.validate().ok()?;
    Some(WorkerCommand { number: stored.number, action })
}

/// `None`: no worker has such a name.
pub(super) fn worker_id(entry: &WorkerEntry) -> Option<WorkerId> {
    let StoredName { name, instance } = entry.name()?;
    let worker = WorkerId { name, instance };
    worker.validate().ok().map(|()| worker)
}

fn histogram(values: Vec<(u64, u64)>) -> Histogram {
    let mut histogram = Histogram::new();
    histogram.extend(values);
    histogram
}

fn timestamp(time: SystemTime) -> Timestamp {
    // LAST_MS is a time that it can express.
    Timestamp::from_millisecond(to_ms(time).min(LAST_MS) as i64).unwrap_or_default()
}

/// As text, or in hex if it is none.
pub(crate) fn id_fields(id: &Bytes) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(id) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(id.iter().map(|byte| format!("{byte:02x}")).collect())),
    }
}

fn id(text: Option<String>, hex: Option<String>) -> Result<Bytes> {
    match (text, hex) {
        (Some(text), None) => Ok(text.into()),
        (None, Some(hex)) => from_hex(&hex)
            .ok_or_else(|| Error::invalid(format_args!("item_id_hex {hex:?} is not hexadecimal"))),
        _ => Err(Error::invalid("an item has either item_id or item_id_hex")),
    }
}

pub(crate) fn from_hex(hex: &str) -> Option<Bytes> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty()).map(Bytes::from)
}
