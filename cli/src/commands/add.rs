//! `add` and `enqueue`: new items.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, SystemTime};

use clap::Args;
use leaseq::{Item, WorkQueue};
use leaseq_jobs::{NewJob, Producer};
use leaseq_report::duration;
use serde_json::json;
use serde_json::value::RawValue;

use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;
use crate::text;

/// How many lines are added in a step.
const STEP: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    pub(crate) queue: String,
    /// The data: text, @FILE, or - for standard input [default: standard input, unless it is a terminal]
    data: Option<OsString>,
    /// Each line is a JSON value, and the data of an item
    #[arg(long, conflicts_with = "id")]
    ndjson: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct EnqueueArgs {
    pub(crate) queue: String,
    /// The name of the job
    job: String,
    /// Its arguments, a JSON object
    #[arg(default_value = "{}")]
    args: String,
    /// How long its handler may run
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    timeout: Option<Duration>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the item")]
struct Options {
    /// The id [default: a random UUID]
    #[arg(long)]
    id: Option<OsString>,
    /// 0 to 9; higher ones are leased first
    #[arg(long, value_name = "N", default_value_t = 0)]
    priority: u8,
    /// Ready after this time: 500ms, 30s, 10m, 6h, 7d
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    delay: Option<Duration>,
    /// Ready at this time: 2026-11-25T14:30:00Z
    #[arg(long, value_name = "TIME", value_parser = at, conflicts_with = "delay")]
    due_at: Option<SystemTime>,
    /// Dead after so many failed or expired attempts
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Dead if nobody has leased it within this time
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    expires_in: Option<Duration>,
    /// Keep it for this time after its completion
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    retain: Option<Duration>,
    /// Add nothing while another item has this unique key
    #[arg(long, value_name = "KEY")]
    unique: Option<OsString>,
    /// Keep the unique key for at least this time, also if the item ends before
    #[arg(long, value_name = "DURATION", value_parser = duration::read, requires = "unique")]
    unique_for: Option<Duration>,
    /// Not at the same time as others with this key; `leaseq settings` has the limit, 1 by default
    #[arg(long)]
    key: Option<OsString>,
    /// Replace a waiting or ended item with the same id or unique key
    #[arg(long)]
    replace: bool,
    /// If that is leased, wait and take its place when the lease ends
    #[arg(long, requires = "replace")]
    successor: bool,
}

/// A time in the future, which `30m` would not be.
fn at(text: &str) -> Result<SystemTime, String> {
    let read: Result<jiff::Timestamp, _> = text.parse();
    read.map(SystemTime::from).map_err(|_| "no time: write 2026-11-25T14:30:00Z".into())
}

impl Options {
    fn item(&self, data: Vec<u8>) -> Item {
        let mut item = Item::new(data).priority(self.priority);
        if let Some(id) = &self.id {
            item = item.with_id(id.as_bytes());
        }
        if let Some(delay) = self.delay {
            item = item.delay(delay);
        }
        if let Some(time) = self.due_at {
            item = item.due_at(time);
        }
        if let Some(most) = self.max_attempts {
            item = item.max_attempts(most);
        }
        if let Some(time) = self.expires_in {
            item = item.expires_in(time);
        }
        if let Some(time) = self.retain {
            item = item.retain(time);
        }
        if let Some(unique) = &self.unique {
            item = item.unique(unique.as_bytes());
        }
        if let Some(time) = self.unique_for {
            item = item.unique_for(time);
        }
        if let Some(key) = &self.key {
            item = item.key(key.as_bytes());
        }
        if self.successor {
            item = item.successor();
        }
        if self.replace { item.replace() } else { item }
    }

    fn job(&self, mut job: NewJob) -> NewJob {
        job = job.priority(self.priority);
        if let Some(id) = &self.id {
            job = job.id(id.as_bytes());
        }
        if let Some(delay) = self.delay {
            job = job.delay(delay);
        }
        if let Some(time) = self.due_at {
            job = job.due_at(time);
        }
        if let Some(most) = self.max_attempts {
            job = job.max_attempts(most);
        }
        if let Some(time) = self.expires_in {
            job = job.expires_in(time);
        }
        if let Some(time) = self.retain {
            job = job.retain(time);
        }
        if let Some(unique) = &self.unique {
            job = job.unique(unique.as_bytes());
        }
        if let Some(time) = self.unique_for {
            job = job.unique_for(time);
        }
        if let Some(key) = &self.key {
            job = job.key(key.as_bytes());
        }
        if self.successor {
            job = job.successor();
        }
        if self.replace { job.replace() } else { job }
    }
}

/// Where the data comes from.
fn input(data: Option<OsString>) -> Result<Box<dyn BufRead>, Failure> {
    let stdin = || Box::new(std::io::stdin().lock());
    match data {
        None if std::io::stdin().is_terminal() => {
            Err(Failure::usage("no data: give it, @FILE, or - for standard input"))
        }
        None => Ok(stdin()),
        Some(data) if data == "-" => Ok(stdin()),
        Some(data) => match data.as_bytes().strip_prefix(b"@") {
            None => Ok(Box::new(std::io::Cursor::new(data.into_vec()))),
            Some(path) => {
                let path = std::path::PathBuf::from(OsString::from_vec(path.to_vec()));
                let file = std::fs::File::open(&path)
                    .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
                Ok(Box::new(std::io::BufReader::new(file)))
            }
        },
    }
}

pub(crate) async fn add(shared: &Shared, args: AddArgs) -> Ended {
    let mut input = input(args.data)?;
    let queue = shared.queue(&args.queue).await?;
    if args.ndjson {
        return add_lines(shared, &queue, &mut *input, &args.options).await;
    }
    let mut data = Vec::new();
    input.read_to_end(&mut data)?;
    let item = args.options.item(data);
    let id = item.id().to_vec();
    let added = queue.add_item(item).await?;
    written(shared, &id, added)
}

/// Reports one item. The id is all that a script needs.
fn written(shared: &Shared, id: &[u8], added: bool) -> Ended {
    let output = &shared.output;
    if output.json {
        let mut object = serde_json::Map::new();
        text::put_bytes(&mut object, "id", id);
        object.insert("added".into(), added.into());
        output.document(&object.into())?;
    } else if added {
        output.line(&text::id(id))?;
    } else {
        output.note(&format!("not added: {} or its unique key exists", text::id(id)));
    }
    Ok(if added { 0 } else { NO })
}

async fn add_lines(
    shared: &Shared,
    queue: &WorkQueue,
    input: &mut dyn BufRead,
    options: &Options,
) -> Ended {
    let (mut lines, mut added, mut refused) = (0_usize, 0_usize, 0_usize);
    let mut input = input.lines();
    loop {
        let mut items = Vec::new();
        let mut end = true;
        for line in input.by_ref() {
            let line = line?;
            lines += 1;
            if !line.trim().is_empty() {
                serde_json::from_str::<&RawValue>(&line).map_err(|error| {
                    let failure = Failure::usage(format_args!("line {lines} is no JSON: {error}"));
                    if added > 0 { failure.partly() } else { failure }.hint(format_args!(
                        "{added} items of the lines before {} were added",
                        lines - items.len()
                    ))
                })?;
                items.push(options.item(line.into_bytes()));
            }
            if items.len() == STEP {
                end = false;
                break;
            }
        }
        let count = items.len();
        let answers = queue.add_items(items).await.map_err(|error| {
            let failure = Failure::from(error);
            let failure = if added > 0 { failure.partly() } else { failure };
            failure
                .hint(format_args!("{added} items of the first {} lines were added", lines - count))
        })?;
        let new = answers.iter().filter(|new| **new).count();
        (added, refused) = (added + new, refused + count - new);
        if end {
            break;
        }
    }
    if shared.output.json {
        shared.output.document(&json!({ "added": added, "not_added": refused }))?;
    } else {
        shared.output.line(&format!("added {added} of {} items", added + refused))?;
    }
    Ok(if refused > 0 || added == 0 { NO } else { 0 })
}

pub(crate) async fn enqueue(shared: &Shared, args: EnqueueArgs) -> Ended {
    let arguments: &RawValue = serde_json::from_str(&args.args)
        .map_err(|error| Failure::usage(format_args!("the arguments are no JSON: {error}")))?;
    let mut job = args.options.job(NewJob::named(&args.job, &args.queue, arguments));
    if let Some(timeout) = args.timeout {
        job = job.timeout(timeout);
    }
    let job = Producer::new(shared.client().await?).enqueue(job).await?;
    written(shared, job.id(), job.added())
}
