//! Writes the events of queues that keep them to standard output, a JSON object on each line, for a log store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leaseq::{Event, EventCursor, EventsOptions, Result, WorkQueue};
use leaseq_report::escaped;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use crate::shared::{Shared, pause};

/// How often the queues that keep events are asked for them.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often the settings of each queue are looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
const PAGE: usize = 1_000;

/// A queue, as this task knows it.
struct Known {
    queue: WorkQueue,
    keeps: bool,
    /// When its settings are looked at.
    look: Instant,
    /// Its last attempt has failed.
    failing: bool,
}

/// Writes until `stop` is cancelled. `path` has how far it has come.
pub(crate) async fn write(
    shared: Shared,
    path: PathBuf,
    names: Receiver<BTreeSet<String>>,
    stop: CancellationToken,
) {
    let mut cursors = read_cursors(&path).unwrap_or_else(|error| {
        let path = escaped(&path.display().to_string()).into_owned();
        tracing::warn!(
            path,
            %error,
            "the cursors of events cannot be read: all events that are kept are written"
        );
        BTreeMap::new()
    });
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    while !stop.is_cancelled() {
        let now = names.borrow().clone();
        known.retain(|name, _| now.contains(name));
        cursors.retain(|name, _| now.is_empty() || now.contains(name));
        for name in &now {
            if !known.contains_key(name) {
                let Ok(queue) = shared.client.queue(name) else { continue };
                known.insert(
                    name.clone(),
                    Known { queue, keeps: false, look: Instant::now(), failing: false },
                );
            }
        }
        let before = cursors.clone();
        for (name, of) in &mut known {
            let written = tokio::select! {
                written = write_queue(of, &mut cursors) => written,
                // What was written before is saved.
                () = stop.cancelled() => break,
            };
            match written {
                Ok(()) => of.failing = false,
                Err(error) => {
                    if !std::mem::replace(&mut of.failing, true) {
                        tracing::warn!(queue = name, error, "events were not written");
                    }
                }
            }
        }
        if cursors != before
            && let Err(error) = save_cursors(path.clone(), cursors.clone()).await
        {
            let path = escaped(&path.display().to_string()).into_owned();
            tracing::warn!(path, %error, "the cursors of events were not saved");
        }
        pause(INTERVAL, &stop).await;
    }
}

/// Writes the events of a queue that it has not written.
async fn write_queue(
    of: &mut Known,
    cursors: &mut BTreeMap<String, String>,
) -> std::result::Result<(), String> {
    let text = |error: leaseq::Error| escaped(&error.to_string()).into_owned();
    if of.look <= Instant::now() {
        of.keeps = of.queue.settings().await.map_err(text)?.events.is_some();
        of.look = Instant::now() + LOOK_AGAIN;
    }
    if !of.keeps {
        return Ok(());
    }
    loop {
        let name = of.queue.name();
        let after: Option<EventCursor> = cursors.get(name).and_then(|text| text.parse().ok());
        let options = EventsOptions::new().after(after).limit(PAGE);
        let page = of.queue.events(options).await.map_err(text)?;
        let lines = lines(name, page.gap, &page.events).map_err(text)?;
        if !lines.is_empty() {
            print(lines).await.map_err(|error| error.to_string())?;
        }
        cursors.insert(name.to_owned(), page.cursor.to_string());
        if page.events.is_empty() {
            return Ok(());
        }
    }
}

/// The name of a queue needs no escape.
fn lines(queue: &str, gap: bool, events: &[Event]) -> Result<String> {
    let mut lines = String::new();
    if gap {
        lines += &format!("{{\"queue\":\"{queue}\",\"gap\":true}}\n");
    }
    for event in events {
        let json = event.to_json()?;
        lines += &format!("{{\"queue\":\"{queue}\",{}\n", json.strip_prefix('{').unwrap_or(&json));
    }
    Ok(lines)
}

/// Whole lines. Whoever reads them may be slow.
async fn print(lines: String) -> io::Result<()> {
    let write = move || {
        let mut out = io::stdout().lock();
        out.write_all(lines.as_bytes())?;
        out.flush()
    };
    blocking(write).await
}

fn read_cursors(path: &Path) -> io::Result<BTreeMap<String, String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, so that no half of it is ever read.
async fn save_cursors(path: PathBuf, cursors: BTreeMap<String, String>) -> io::Result<()> {
    let save = move || {
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let mut file = std::fs::File::create(&new)?;
        file.write_all(serde_json::to_string(&cursors)?.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    blocking(save).await
}

/// Whatever waits for a disk or a reader holds up nothing else.
async fn blocking(call: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(call).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
