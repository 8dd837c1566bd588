//! The preview of a change, and the question whether to go on.

use std::io::{BufRead, Write};

use leaseq::{Cursor, ItemInfo, ListOptions, State, WorkQueue};
use leaseq_report::escaped;
use serde_json::json;

use crate::failure::Failure;
use crate::global::Shared;
use crate::item_json;
use crate::mark::{Mark, Resume};
use crate::progress::Progress;
use crate::stop::Stop;
use crate::text;

/// How many items a preview shows.
const SAMPLES: usize = 3;
/// Longest part of an error in a preview, in characters.
const MAX_ERROR: usize = 60;

/// The items that a change is about.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) count: u64,
    samples: Vec<ItemInfo>,
    state: State,
    pub(crate) mark: Mark,
    /// Where the change begins.
    pub(crate) from: Option<Cursor>,
}

/// Looks at all of them, page by page.
pub(crate) async fn take(
    queue: &WorkQueue,
    state: State,
    options: &ListOptions,
    resume: Option<&Resume>,
) -> Result<Preview, Failure> {
    let from = resume.and_then(|resume| resume.cursor.clone());
    let mut preview =
        Preview { count: 0, samples: Vec::new(), state, mark: Mark::default(), from: from.clone() };
    let stop = Stop::listen()?;
    let progress = Progress::new("examined", queue.counts().await?.of(state));
    let mut cursor = from;
    loop {
        let page = queue.list_with(state, cursor.as_ref(), options).await?;
        progress.add(page.examined);
        for info in page.items {
            if resume.is_some_and(|resume| !resume.mark.covers(&info)) {
                continue;
            }
            preview.mark.include(&info);
            preview.count += 1;
            if preview.samples.len() < SAMPLES {
                preview.samples.push(info);
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
        if stop.within(std::time::Duration::ZERO).await {
            return Err(Failure::interrupted("interrupted before anything was changed"));
        }
    }
    if let Some(resume) = resume {
        preview.mark = resume.mark.clone();
    }
    Ok(preview)
}

/// Shows the preview and asks for the name of the queue. False: it was a dry run.
pub(crate) fn confirmed(
    shared: &Shared,
    preview: &Preview,
    queue: &str,
    verb: &str,
    yes: bool,
    dry_run: bool,
) -> Result<bool, Failure> {
    let server = shared.server_name()?;
    let Preview { count, samples, state, .. } = preview;
    if dry_run && shared.output.json {
        let samples: Vec<_> = samples.iter().map(|info| item_json::item(info, false)).collect();
        shared
            .output
            .document(&json!({ "selected": count, "samples": samples, "server": server }))?;
        return Ok(false);
    }
    let mut lines =
        vec![format!("{verb} {count} {} items of queue {queue} on {server}", state.as_str())];
    lines.extend(samples.iter().map(sample));
    if samples.len() < usize::try_from(*count).unwrap_or(usize::MAX) {
        lines.push("  …".into());
    }
    Question { queue, yes, dry_run }.ask(shared, &lines)
}

/// An item on a line.
pub(crate) fn sample(info: &ItemInfo) -> String {
    let at = text::local_time(info.at.unwrap_or(info.added_at));
    let error: String = info.last_error.chars().take(MAX_ERROR).collect();
    format!("  {}  {at}  {error}", text::id(&info.id))
}

/// Whether to go on with a change.
pub(crate) struct Question<'a> {
    pub(crate) queue: &'a str,
    pub(crate) yes: bool,
    pub(crate) dry_run: bool,
}

impl Question<'_> {
    /// Shows the preview and asks for the name of the queue. False: it was a dry run.
    pub(crate) fn ask(&self, shared: &Shared, preview: &[String]) -> Result<bool, Failure> {
        let lines: Vec<_> = preview.iter().map(|line| escaped(line)).collect();
        if self.dry_run {
            shared.output.line(&lines.join("\n"))?;
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        let mut err = std::io::stderr().lock();
        writeln!(err, "{}", lines.join("\n"))?;
        if !shared.can_ask() {
            return Err(Failure::refused("nobody confirms it: there is no terminal")
                .hint("--dry-run shows what would be changed, --yes changes it"));
        }
        write!(err, "type the name of the queue to go on: ")?;
        err.flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if answer.trim_end_matches('\n') != self.queue {
            return Err(Failure::refused("not confirmed: nothing was changed"));
        }
        Ok(true)
    }
}
