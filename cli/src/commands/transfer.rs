//! `export` and `import`: items as lines of JSON.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use leaseq::{Cursor, Item, ListOptions, State, WorkQueue};
use serde_json::json;

use super::work_queue;
use crate::failure::{Ended, Failure, INTERRUPTED, NO};
use crate::global::Shared;
use crate::lines::{self, Line};
use crate::progress::Progress;
use crate::select::state_parser;
use crate::stop::Stop;

/// Items of a page, and lines of a step.
const STEP: usize = 500;
/// Dead items are delayed for this long until they are buried, so that nobody leases them in between.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    pub(crate) queue: String,
    /// Only items of this state [default: all]
    #[arg(long, value_parser = state_parser())]
    state: Option<State>,
    /// Go on where an export of this state was interrupted
    #[arg(long, value_name = "CURSOR", requires = "state")]
    cursor: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Source {
    /// Lines that `leaseq export` or `--save` has written
    Lines,
    /// The keys of redis-work-queue
    RedisWorkQueue,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    pub(crate) queue: String,
    /// The file, or - for standard input; with --from redis-work-queue the name of its queue
    source: String,
    /// What to read
    #[arg(long, value_enum, default_value = "lines")]
    from: Source,
    /// The server of redis-work-queue [default: that of the queue, if it is Redis]
    #[arg(long, value_name = "URL")]
    from_url: Option<String>,
    /// Leave out the first lines of the file, which an interrupted import has added
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,
}

pub(crate) async fn export(shared: &Shared, args: ExportArgs) -> Ended {
    let queue = shared.existing(&args.queue).await?;
    let counts = queue.counts().await?;
    let total = counts.ready + counts.delayed + counts.held + counts.leased + counts.dead;
    let progress = Progress::new("exported", total + counts.completed + counts.cancelled);
    let stop = Stop::listen()?;
    let states = args.state.map_or(State::ALL.to_vec(), |state| vec![state]);
    let mut written = 0_u64;
    let options = ListOptions::new().limit(STEP);
    for state in states {
        let mut cursor = args.cursor.clone();
        loop {
            let place = |cursor: &Option<Cursor>| match cursor {
                Some(cursor) => format!("--state {} --cursor {cursor}", state.as_str()),
                None => format!("--state {}", state.as_str()),
            };
            let going_on = |at: &Option<Cursor>| {
                format!("wrote {written} items; go on with {}, then the states after it", place(at))
            };
            let page = queue.list_with(state, cursor.as_ref(), &options).await;
            let page = page.map_err(|error| {
                let failure = Failure::from(error);
                let failure = if written > 0 { failure.partly() } else { failure };
                failure.hint(going_on(&cursor)).continued(&place(&cursor))
            })?;
            let text: String = page.items.iter().map(|info| lines::write(info) + "\n").collect();
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            drop(out);
            written += page.items.len() as u64;
            progress.add(page.items.len() as u64);
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
            if stop.within(Duration::ZERO).await {
                let hint = format!("wrote {written} items; go on with {}", place(&cursor));
                let failure = Failure::interrupted("interrupted").hint(hint);
                return Err(failure.continued(&place(&cursor)));
            }
        }
    }
    Ok(if written == 0 { NO } else { 0 })
}

pub(crate) async fn import(shared: &Shared, args: ImportArgs) -> Ended {
    let queue = shared.queue(&args.queue).await?;
    if args.from == Source::RedisWorkQueue {
        let url = args.from_url.map_or_else(|| shared.url(), Ok)?;
        return work_queue::import(shared, &queue, &args.source, &url).await;
    }
    let input: Box<dyn BufRead> = if args.source == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let path = PathBuf::from(&args.source);
        let file = std::fs::File::open(&path)
            .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
        Box::new(std::io::BufReader::new(file))
    };
    let mut import = Import { queue, done: args.skip, added: 0, existing: 0, ended: 0 };
    let stop = Stop::listen()?;
    let progress = Progress::new("imported", 0);
    let mut input = input.lines().skip(args.skip);
    let outcome = loop {
        match import.step(&mut input).await {
            Ok(0) => break Ok(()),
            Ok(count) => progress.add(count as u64),
            Err(failure) => break Err(failure),
        }
        if stop.within(Duration::ZERO).await {
            break Err(Failure::interrupted("interrupted"));
        }
    };
    progress.end();
    import.report(shared, outcome)
}

struct Import {
    queue: WorkQueue,
    /// Lines that need not be read again.
    done: usize,
    added: usize,
    existing: usize,
    ended: usize,
}

impl Import {
    /// Adds the items of some lines. Returns how many lines; 0 at the end.
    async fn step(
        &mut self,
        input: &mut impl Iterator<Item = std::io::Result<String>>,
    ) -> Result<usize, Failure> {
        let mut read = Vec::new();
        let mut count = 0;
        for line in input.take(STEP) {
            let line = line?;
            count += 1;
            if line.trim().is_empty() {
                continue;
            }
            let number = self.done + count;
            let wrong = |why| Failure::usage(format_args!("line {number}: {why}"));
            read.push(lines::read(&line).map_err(wrong)?);
        }
        self.add(read).await?;
        self.done += count;
        Ok(count)
    }

    async fn add(&mut self, read: Vec<Line>) -> Result<(), Failure> {
        let (ended, live): (Vec<Line>, Vec<Line>) = read.into_iter().partition(|line| line.ended);
        let items: Vec<Item> = live.iter().map(waiting).collect();
        let added = self.queue.add_items(items).await?;
        // What an interrupted import has added and not buried is delayed for longer than anything else would be.
        let left_over = SystemTime::now() + NEVER - Duration::from_secs(86_400);
        let known: Vec<&Line> = live
            .iter()
            .zip(&added)
            .filter(|(line, added)| line.dead.is_some() && !**added)
            .map(|(line, _)| line)
            .collect();
        let found = self.queue.get_many(known.iter().map(|line| &line.id)).await?;
        let unburied: BTreeSet<&[u8]> = known
            .iter()
            .zip(&found)
            .filter(|(_, info)| {
                info.as_ref().is_some_and(|info| {
                    info.state == State::Delayed && info.at.is_some_and(|at| at > left_over)
                })
            })
            .map(|(line, _)| &line.id[..])
            .collect();
        for (line, added) in live.iter().zip(&added) {
            if let Some(error) = &line.dead
                && (*added || unburied.contains(&line.id[..]))
            {
                self.queue.bury([&line.id], error).await?;
            }
        }
        let new = added.iter().filter(|added| **added).count();
        self.added += new;
        self.existing += added.len() - new;
        self.ended += ended.len();
        Ok(())
    }

    fn report(self, shared: &Shared, outcome: Result<(), Failure>) -> Ended {
        let Import { done, added, existing, ended, .. } = self;
        if let Err(failure) = outcome {
            let failure =
                if added > 0 && failure.status != INTERRUPTED { failure.partly() } else { failure };
            return Err(failure
                .hint(format_args!("added {added} items; go on with --skip {done}"))
                .continued(&done));
        }
        if shared.output.json {
            let report = json!({ "added": added, "existing": existing, "ended": ended });
            shared.output.document(&report)?;
        } else {
            shared.output.line(&format!(
                "added {added} items; {existing} exist already; {ended} had ended and were left out"
            ))?;
        }
        Ok(if added > 0 { 0 } else { NO })
    }
}

fn waiting(line: &Line) -> Item {
    match &line.dead {
        Some(_) => line.item.clone().delay(NEVER),
        None => line.item.clone(),
    }
}
