//! `tail`: follows what happens in queues.

mod lines;
mod place;
mod reader;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use clap::Args;
use leaseq::{EventCursor, EventsPage};
use serde_json::json;
use tokio::sync::mpsc;

use self::lines::{Form, Ids, MOST_IDS};
use self::place::Place;
use self::reader::{Read, Reader};
use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;
use crate::stop::Stop;
use crate::text::read_time;

/// Each queue that is followed asks the server four times a second.
const MOST_QUEUES: usize = 100;
/// How often it is asked whether somebody still reads the output.
const LOOK: Duration = Duration::from_secs(1);
/// How long an interruption waits for lines that are being written, if their reader is slow.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The queues, at most 100 [default: those of --continue, else all that keep events now]
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// Begin with the events of this time, as far as they are kept: 2026-11-25T14:30:00Z, or how long ago: 30m, 6h
    /// [default: with the next event]
    #[arg(long, value_name = "TIME", value_parser = read_time, conflicts_with = "places")]
    since: Option<SystemTime>,
    /// End after the last event instead of waiting for more. Without --since and --continue, begin with the oldest
    /// one that is kept
    #[arg(long)]
    no_follow: bool,
    /// Go on behind these places, as an earlier call has named them: QUEUE=CURSOR, or QUEUE=start for all that is kept
    #[arg(long = "continue", value_name = "PLACE,…", value_delimiter = ',')]
    places: Vec<Place>,
}

pub(crate) async fn tail(shared: &Shared, args: TailArgs) -> Ended {
    let (mut tail, readers) = Tail::begin(shared, &args).await?;
    let stop = Stop::listen()?;
    let (sender, mut reads) = mpsc::channel(1);
    for (number, reader) in readers.into_iter().enumerate() {
        tokio::spawn(reader.run(number, sender.clone()));
    }
    drop(sender);
    let mut look = tokio::time::interval(LOOK);
    loop {
        let read = tokio::select! {
            biased;
            () = stop.stopped() => None,
            read = reads.recv() => match read {
                Some(read) => Some(read),
                None => return tail.end(),
            },
            _ = look.tick() => match tail.form.output.is_closed() {
                true => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
                false => continue,
            },
        };
        if let Some((number, read)) = read {
            tail.take(number, read, &stop).await?;
        }
        if stop.within(Duration::ZERO).await {
            return Err(tail.at_place(Failure::interrupted("interrupted")));
        }
    }
}

struct Tail {
    form: Form,
    since: Option<SystemTime>,
    /// Of each queue, behind what has been written.
    places: Vec<Place>,
    ids: Ids,
    written: bool,
    /// The server cannot be reached.
    lost: bool,
}

impl Tail {
    /// Finds out where to begin.
    async fn begin(shared: &Shared, args: &TailArgs) -> Result<(Tail, Vec<Reader>), Failure> {
        let output = shared.output;
        let mut named = args.queues.clone();
        named.extend(args.places.iter().map(|place| place.queue.clone()));
        let names = shared.names(&named).await?;
        let mut tail = Tail {
            form: Form { output, width: 0 },
            since: args.since,
            places: Vec::new(),
            ids: Ids::default(),
            written: false,
            lost: false,
        };
        let (mut readers, mut off): (Vec<Reader>, Vec<&str>) = (Vec::new(), Vec::new());
        for name in &names {
            if tail.places.iter().any(|place| place.queue == *name) {
                continue;
            }
            let queue = shared.queue(name).await?;
            let kept = queue.settings().await?.events;
            if kept.is_none() {
                off.push(name);
                if named.is_empty() {
                    continue;
                }
            }
            if readers.len() == MOST_QUEUES {
                return Err(Failure::usage("these are more than 100 queues").hint("name some"));
            }
            let number = readers.len();
            let see = |page: &EventsPage| tail.ids.see(number, page);
            let given = args.places.iter().rfind(|place| place.queue == *name);
            let cursor = match (given, kept) {
                (Some(place), _) => place.cursor.clone(),
                (None, Some(kept)) if !args.no_follow && args.since.is_none() => {
                    let most = if kept > MOST_IDS as u64 { 0 } else { kept };
                    reader::look_back(&queue, most, see).await?
                }
                // If its events are switched on, it begins with the first one.
                _ => EventCursor::start(),
            };
            tail.places.push(Place { queue: name.clone(), cursor: cursor.clone() });
            tail.form.width = tail.form.width.max(name.len());
            readers.push(Reader { queue, cursor, keeps: kept.is_some(), follows: !args.no_follow });
        }
        if readers.iter().all(|reader| !reader.keeps) {
            return Err(match off[..] {
                [] => Failure::no("there is no queue"),
                [name] => no_events(name),
                _ => Failure::no("none of the queues keeps events").hint(switch_on("QUEUE")),
            });
        }
        for name in off.into_iter().filter(|_| !named.is_empty()) {
            output.note(&no_events(name).shown(output.json));
        }
        if output.table && !args.no_follow {
            let names: Vec<_> = tail.places.iter().map(|place| &place.queue[..]).collect();
            output.note(&format!("following {}; Ctrl-C ends", names.join(", ")));
        }
        Ok((tail, readers))
    }

    async fn take(&mut self, number: usize, read: Read, stop: &Stop) -> Result<(), Failure> {
        let output = self.form.output;
        match read {
            Read::Page(page) => {
                if std::mem::take(&mut self.lost) && !output.json {
                    output.note("leaseq: the server answers again");
                }
                return self.write(number, page, stop).await;
            }
            Read::Off => output.note(&no_events(&self.places[number].queue).shown(output.json)),
            Read::Lost(error) => {
                if !std::mem::replace(&mut self.lost, true) {
                    let failure = Failure::from(error).hint("trying again");
                    output.note(&failure.shown(output.json));
                }
            }
            Read::Failed(error) => return Err(self.at_place(error.into())),
        }
        Ok(())
    }

    /// Writes the events of a page. If it is interrupted, the place is behind the last line.
    async fn write(&mut self, number: usize, page: EventsPage, stop: &Stop) -> Result<(), Failure> {
        let place = &mut self.places[number];
        self.ids.see(number, &page);
        let wanted = page.events.iter().filter(|event| self.since.is_none_or(|at| event.at >= at));
        let mut lines: Vec<(String, EventCursor)> = wanted
            .map(|event| {
                let id = self.ids.of(number, event);
                (self.form.event(&place.queue, event, id.as_ref()), event.cursor())
            })
            .collect();
        if page.gap {
            // It is told again if nothing behind it was written.
            lines.insert(0, (self.form.gap(&place.queue), place.cursor.clone()));
        }
        if lines.is_empty() {
            place.cursor = page.cursor;
            return Ok(());
        }
        let (texts, cursors): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        let (total, count) = (texts.len(), Arc::new(AtomicUsize::new(0)));
        let counted = count.clone();
        let mut writing = tokio::task::spawn_blocking(move || {
            let mut out = io::stdout().lock();
            for text in texts {
                out.write_all(text.as_bytes())?;
                out.flush()?;
                counted.fetch_add(1, Ordering::Release);
            }
            io::Result::Ok(())
        });
        let done = tokio::select! {
            done = &mut writing => Some(done),
            // Whoever reads them may be slow, or have stopped.
            () = stop.stopped() => tokio::time::timeout(GRACE, writing).await.ok(),
        };
        let written = count.load(Ordering::Acquire);
        self.written |= written > 0;
        if written == total {
            place.cursor = page.cursor;
        } else if let Some(cursor) = written.checked_sub(1).and_then(|last| cursors.get(last)) {
            place.cursor = cursor.clone();
        }
        match done {
            Some(Ok(done)) => Ok(done?),
            Some(Err(error)) => Err(io::Error::other(error).into()),
            None => Ok(()),
        }
    }

    /// There are no more events.
    fn end(self) -> Ended {
        let places = place::list(&self.places);
        let output = self.form.output;
        let note = match output.json {
            true => json!({ "continue": places }).to_string(),
            false => format!("leaseq: go on behind these with --continue {places}"),
        };
        output.note(&note);
        Ok(if self.written { 0 } else { NO })
    }

    fn at_place(&self, failure: Failure) -> Failure {
        let places = place::list(&self.places);
        let hint = format!("go on behind the last line with: leaseq tail --continue {places}");
        failure.hint(hint).continued(&places)
    }
}

fn no_events(queue: &str) -> Failure {
    Failure::no(format_args!("queue {queue} keeps no events")).hint(switch_on(queue))
}

fn switch_on(queue: &str) -> String {
    format!("switch them on with: leaseq settings {queue} events=10000")
}
