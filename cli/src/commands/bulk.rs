//! `requeue`, `remove`, `cancel`, `bury` and `purge`: changes many items, and only those that were seen before.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use leaseq::{Cursor, ItemInfo, ListOptions, State, WorkQueue};
use leaseq_report::Action;
use serde_json::json;

use super::preview::{self, Preview};
use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;
use crate::lines::Saved;
use crate::mark::{Mark, Resume};
use crate::progress::Progress;
use crate::select::{Filter, Ids, state_parser};
use crate::stop::Stop;
use crate::text;

/// How many items are read, and changed, in a step.
pub(crate) const STEP: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct BulkArgs {
    pub(crate) queue: String,
    #[command(flatten)]
    ids: Ids,
    /// All items of this state, instead of ids. For requeue it is dead
    #[arg(long, value_parser = state_parser(), conflicts_with = "ids")]
    state: Option<State>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    pub(crate) queue: String,
    /// Remove all items of this state
    #[arg(long, value_parser = state_parser())]
    state: State,
    /// Write the removed items into this new file first; `leaseq import` reads it
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) bulk: BulkArgs,
    /// Write the removed items into this new file first; `leaseq import` reads it
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BuryArgs {
    #[command(flatten)]
    pub(crate) bulk: BulkArgs,
    /// The error that is kept with the items
    #[arg(long, value_name = "TEXT", default_value = "buried by an operator")]
    reason: String,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How")]
struct HowArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Only show what would be changed
    #[arg(long)]
    dry_run: bool,
    /// How many items to change in a second at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Go on where an earlier call was interrupted
    #[arg(long = "continue", value_name = "PLACE")]
    resume: Option<Resume>,
}

/// What is done with items.
#[derive(Debug)]
struct Change {
    action: Action,
    /// The error that is kept with buried ones.
    reason: String,
}

impl From<Action> for Change {
    fn from(action: Action) -> Change {
        Change { action, reason: String::new() }
    }
}

impl Change {
    /// The verb, and what has happened.
    fn words(&self) -> (&'static str, &'static str) {
        let done = match self.action {
            Action::Requeue => "requeued",
            Action::Remove => "removed",
            Action::Cancel => "cancelled",
            Action::Bury => "buried",
        };
        (self.action.as_str(), done)
    }

    async fn apply<T: Into<leaseq::ItemRef>>(
        &self,
        queue: &WorkQueue,
        items: impl IntoIterator<Item = T>,
    ) -> leaseq::Result<Vec<bool>> {
        self.action.apply(queue, items, &self.reason).await
    }
}

pub(crate) async fn requeue(shared: &Shared, args: BulkArgs) -> Ended {
    carry_out(shared, Action::Requeue.into(), args, Some(State::Dead), None).await
}

pub(crate) async fn remove(shared: &Shared, args: RemoveArgs) -> Ended {
    carry_out(shared, Action::Remove.into(), args.bulk, None, args.save).await
}

pub(crate) async fn cancel(shared: &Shared, args: BulkArgs) -> Ended {
    carry_out(shared, Action::Cancel.into(), args, None, None).await
}

pub(crate) async fn bury(shared: &Shared, args: BuryArgs) -> Ended {
    let change = Change { action: Action::Bury, reason: args.reason };
    carry_out(shared, change, args.bulk, None, None).await
}

pub(crate) async fn purge(shared: &Shared, args: PurgeArgs) -> Ended {
    let PurgeArgs { queue, state, save, how } = args;
    let bulk =
        BulkArgs { queue, ids: Ids::default(), state: Some(state), filter: Filter::default(), how };
    carry_out(shared, Action::Remove.into(), bulk, None, save).await
}

async fn carry_out(
    shared: &Shared,
    change: Change,
    args: BulkArgs,
    default: Option<State>,
    save: Option<PathBuf>,
) -> Ended {
    let queue = shared.existing(&args.queue).await?;
    if !args.ids.is_empty() {
        if !args.filter.is_empty() || args.how.resume.is_some() {
            return Err(Failure::usage("give ids, or what selects items, not both"));
        }
        return by_ids(shared, &queue, &change, &args, save).await;
    }
    let narrowed = default.filter(|_| !args.filter.is_empty() || args.how.resume.is_some());
    let state = args.state.or(narrowed);
    let state = state.ok_or_else(|| Failure::usage("which items? give ids, or --state"))?;
    let verb = change.words().0;
    if !change.action.suits(state) {
        let (queue, state) = (&args.queue, state.as_str());
        return Err(Failure::usage(format_args!("queue {queue}: {verb} changes no {state} items")));
    }
    let resumed = args.how.resume.as_ref().and_then(|resume| resume.cursor.as_ref());
    if resumed.is_some_and(|cursor| !cursor.to_string().contains(state.as_str())) {
        return Err(Failure::usage("--continue is of another state"));
    }
    let options = args.filter.options().without_data().limit(STEP);
    let preview = preview::take(&queue, state, &options, args.how.resume.as_ref()).await?;
    if preview.count == 0 {
        return Err(Failure::no(format_args!("queue {}: nothing to {verb}", args.queue)));
    }
    if !preview::confirmed(shared, &preview, &args.queue, verb, args.how.yes, args.how.dry_run)? {
        return Ok(0);
    }
    let continued = args.how.resume.is_some();
    let opened = save.as_deref().map(|path| Saved::open(path, continued)).transpose();
    let saved = opened.map_err(|error| {
        let path = save.unwrap_or_default();
        Failure::usage(format_args!("{}: {error}", path.display()))
    })?;
    let mut options = options_with_pace(options, args.how.rate);
    options.data = saved.is_some();
    let work = Work { queue, change, state, options, rate: args.how.rate, saved };
    work.run(shared, &preview).await
}

/// Steps are short enough for the rate.
fn options_with_pace(options: ListOptions, rate: Option<u32>) -> ListOptions {
    let limit = rate.map_or(STEP, |rate| STEP.min(rate as usize));
    options.limit(limit)
}

/// A change of all items that the preview has covered.
struct Work {
    queue: WorkQueue,
    change: Change,
    state: State,
    options: ListOptions,
    rate: Option<u32>,
    saved: Option<Saved>,
}

impl Work {
    async fn run(mut self, shared: &Shared, preview: &Preview) -> Ended {
        let (verb, done) = self.change.words();
        let stop = Stop::listen()?;
        let progress = Progress::new(verb, preview.count);
        let mut changed = 0;
        let mut cursor = preview.from.clone();
        loop {
            let step = self.step(&preview.mark, cursor.as_ref()).await;
            let place = Resume { mark: preview.mark.clone(), cursor: cursor.clone() };
            let (count, next) = match step {
                Ok(step) => step,
                Err(failure) => {
                    let failure = if changed > 0 { failure.partly() } else { failure };
                    return Err(failure.hint(going_on(changed, done, &place)).continued(&place));
                }
            };
            changed += count;
            progress.add(count);
            cursor = next;
            if cursor.is_none() {
                break;
            }
            let place = Resume { mark: preview.mark.clone(), cursor: cursor.clone() };
            let pause =
                self.rate.map(|rate| Duration::from_secs_f64(count as f64 / f64::from(rate)));
            if stop.within(pause.unwrap_or_default()).await {
                progress.end();
                let failure = Failure::interrupted("interrupted");
                return Err(failure.hint(going_on(changed, done, &place)).continued(&place));
            }
        }
        progress.end();
        if shared.output.json {
            let selected = preview.count;
            shared.output.document(&json!({ "selected": selected, "changed": changed }))?;
        } else {
            shared.output.line(&format!("{done} {changed} of {} items", preview.count))?;
        }
        Ok(if changed == 0 { NO } else { 0 })
    }

    /// Changes the items of one page. Returns how many, and where to go on.
    async fn step(
        &mut self,
        mark: &Mark,
        cursor: Option<&Cursor>,
    ) -> Result<(u64, Option<Cursor>), Failure> {
        let page = self.queue.list_with(self.state, cursor, &self.options).await?;
        let covered: Vec<ItemInfo> =
            page.items.into_iter().filter(|info| mark.covers(info)).collect();
        if covered.is_empty() {
            return Ok((0, page.cursor));
        }
        let begin = self.saved.as_mut().map(|saved| saved.append(&covered)).transpose()?;
        let answers = self.change.apply(&self.queue, &covered).await?;
        let changed = answers.iter().filter(|changed| **changed).count();
        if let (Some(saved), Some(begin)) = (&mut self.saved, begin)
            && changed < covered.len()
        {
            let pairs = covered.into_iter().zip(answers);
            let removed: Vec<ItemInfo> =
                pairs.filter(|(_, removed)| *removed).map(|(info, _)| info).collect();
            saved.replace(begin, &removed)?;
        }
        Ok((changed as u64, page.cursor))
    }
}

fn going_on(changed: u64, done: &str, place: &Resume) -> String {
    format!("{done} {changed} items so far; repeat the command with --continue {place}")
}

async fn by_ids(
    shared: &Shared,
    queue: &WorkQueue,
    change: &Change,
    args: &BulkArgs,
    save: Option<PathBuf>,
) -> Ended {
    let ids = args.ids.read()?;
    let done = change.words().1;
    let (mut changed, mut missed) = (0, Vec::new());
    let mut saved = match save.as_deref() {
        Some(path) => Some(Saved::open(path, false)?),
        None => None,
    };
    for step in ids.chunks(STEP) {
        let answers = if args.how.dry_run {
            let found = queue.get_many(step).await?;
            let takes = |info: &Option<ItemInfo>| {
                info.as_ref().is_some_and(|info| change.action.suits(info.state))
            };
            found.iter().map(takes).collect()
        } else if let Some(saved) = &mut saved {
            // Each with the generation that is saved.
            let found = queue.get_many(step).await?;
            let present: Vec<ItemInfo> = found.iter().flatten().cloned().collect();
            let begin = saved.append(&present)?;
            let mut answers = change.apply(queue, &present).await?.into_iter();
            let all: Vec<bool> =
                found.iter().map(|info| info.is_some() && answers.next() == Some(true)).collect();
            let removed: Vec<ItemInfo> =
                found.into_iter().zip(&all).filter_map(|(info, ok)| info.filter(|_| *ok)).collect();
            if removed.len() < present.len() {
                saved.replace(begin, &removed)?;
            }
            all
        } else {
            let applied = change.apply(queue, step).await;
            applied.map_err(|error| {
                let failure = Failure::from(error);
                if changed > 0 { failure.partly() } else { failure }
            })?
        };
        for (id, ok) in step.iter().zip(answers) {
            changed += u64::from(ok);
            if !ok {
                missed.push(text::id(id));
            }
        }
    }
    let (done, not_done) = match args.how.dry_run {
        true => ("found", "would not be changed".into()),
        false => (done, format!("not {done}")),
    };
    if shared.output.json {
        let selected = ids.len();
        shared
            .output
            .document(&json!({ "selected": selected, "changed": changed, "missed": missed }))?;
    } else {
        shared.output.line(&format!("{done} {changed} of {} items", ids.len()))?;
        for id in &missed {
            shared.output.note(&format!("{not_done}: {id}"));
        }
    }
    Ok(if missed.is_empty() { 0 } else { NO })
}
