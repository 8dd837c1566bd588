//! One item.

use std::time::SystemTime;

use askama::Template;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use leaseq::{EventCursor, ItemInfo, RunningItem, State, WorkerInfo};
use leaseq_report::text::{self, rough};
use leaseq_report::{Action, escaped, is_json, readable};

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use super::timeline::{Entry, ItemEvents, timeline};
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, number, size};
use crate::links;

/// The longest data that a page shows, in bytes; the rest can be downloaded.
const MAX_SHOWN: usize = 64 << 10;
/// The longest data that is shown in hexadecimal.
const MAX_HEX: usize = 16 << 10;

#[derive(Template)]
#[template(path = "item.html")]
struct ItemPage {
    chrome: Chrome,
    head: QueueHead,
    id: String,
    value: String,
    state: &'static str,
    fields: Vec<Field>,
    timeline: Vec<Entry>,
    /// How many events were read for it, and where reading goes on. `None`: the queue keeps none.
    events: Option<(String, Option<String>)>,
    lease: Option<LeaseLeft>,
    error: String,
    data: Content,
    result: Option<Content>,
    progress: Option<String>,
    cancel_requested: bool,
    /// The address of this page, without what it shows of the data.
    here: String,
    actions: Vec<&'static str>,
    can_remove: bool,
    can_edit: bool,
    edit: String,
    download: String,
}

struct Field {
    name: &'static str,
    text: String,
    time: Option<Moment>,
}

struct LeaseLeft {
    ends: Moment,
    expired: bool,
    left: String,
    worker: Option<String>,
    since: String,
    /// How much of the time since its start is used, in percent. `None`: nobody says since when it runs.
    used: Option<u8>,
}

/// Data or a result.
struct Content {
    shown: String,
    size: String,
    /// How much of it is not shown.
    hidden: Option<String>,
    mode: &'static str,
    is_json: bool,
    redacted: bool,
}

impl Content {
    fn new(app: &App, bytes: &[u8], wanted: Option<&str>) -> Content {
        let seen = app.redaction.data(bytes);
        let json = is_json(&seen);
        let text = std::str::from_utf8(&seen).is_ok();
        let mode = match wanted {
            Some("json") if json => "json",
            Some("text") => "text",
            Some("hex") => "hex",
            _ if json => "json",
            _ if text => "text",
            _ => "hex",
        };
        let most = if mode == "hex" { MAX_HEX } else { MAX_SHOWN };
        let part = &seen[..seen.len().min(most)];
        let shown = match mode {
            "hex" => hex(part),
            _ => readable(part, mode == "json" && part.len() == seen.len()),
        };
        Content {
            shown,
            size: size(bytes.len() as u64),
            hidden: (part.len() < seen.len()).then(|| size((seen.len() - part.len()) as u64)),
            mode,
            is_json: json,
            redacted: *seen != *bytes,
        }
    }
}

/// 16 bytes on each line: where, in hexadecimal, and as text.
fn hex(bytes: &[u8]) -> String {
    let line = |(at, part): (usize, &[u8])| {
        let digits: Vec<String> = part.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' };
        let text: String = part.iter().map(shown).collect();
        format!("{:08x}  {:<47}  {text}", at * 16, digits.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect::<Vec<_>>().join("\n")
}

async fn read(cx: &Context) -> Result<(leaseq::WorkQueue, ItemInfo), Failure> {
    let queue = cx.queue().await?;
    let id = cx.query.id("id")?;
    let found = queue.get(&id).await?;
    let missing = || {
        let id = text::id(&id);
        Failure::missing(format_args!(
            "queue {} has no item {id}: it has ended, or never was",
            queue.name()
        ))
    };
    let info = found.ok_or_else(missing)?;
    Ok((queue, info))
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let (queue, info) = read(&cx).await?;
    let name = queue.name();
    let counts = cx.app.counts(name).await?;
    let workers = match info.state {
        // Who may not list workers may see the item.
        State::Leased => cx.app.workers().await.ok(),
        _ => None,
    };
    let holder = workers.as_ref().and_then(|page| holder(&page.workers, name, &info));
    let wanted = cx.query.get("as");
    let here = cx.app.link_to(&links::item(name, &info.id));
    let id = text::id(&info.id);
    let chrome = Chrome::of(&cx, "overview", format!("{id} · {name}"));
    let after = cx.query.parse::<EventCursor>("events")?;
    let events = match cx.query.get("part") {
        // What a script asks for again and again.
        Some("lease") => None,
        // Who may not read events may see the item.
        _ => ItemEvents::read(&queue, &info, after).await.ok().flatten(),
    };
    let suits = |action: &Action| chrome.operates() && action.suits(info.state);
    let actions = [Action::Requeue, Action::Cancel, Action::Bury].into_iter().filter(suits);
    let page = ItemPage {
        actions: actions.map(Action::as_str).collect(),
        can_remove: chrome.administers(),
        can_edit: chrome.administers() && info.state != State::Leased,
        edit: here.replacen("/item?", "/item/edit?", 1),
        chrome,
        head: QueueHead::of(&cx.app, &queue, &counts, "items").await?.at(info.state),
        value: format!("{} {id}", info.generation),
        id,
        state: info.state.as_str(),
        fields: fields(&info),
        timeline: timeline(&info, events.as_ref(), holder),
        events: events.as_ref().map(|events| {
            let next = events.next.as_ref();
            let next =
                next.map(|next| format!("{here}&events={}", links::value(&next.to_string())));
            (number(events.examined), next)
        }),
        lease: lease(&info, holder),
        error: escaped_lines(&cx.app.redaction.error(&info.last_error, &info.data)),
        data: Content::new(&cx.app, &info.data, wanted),
        result: info.result.as_ref().map(|result| Content::new(&cx.app, result, wanted)),
        progress: info
            .progress
            .as_ref()
            .map(|progress| readable(&cx.app.redaction.data(progress), true)),
        cancel_requested: info.cancel_requested,
        download: here.replacen("/item?", "/item/data?", 1),
        here,
    };
    cx.html(&page)
}

/// The data as it is, for a file. Never as a page: it may be one.
pub(crate) async fn data(cx: Context) -> Result<Response, Failure> {
    let (_, info) = read(&cx).await?;
    let bytes = match cx.query.get("part") {
        Some("result") => info.result.ok_or_else(|| Failure::missing("the item has no result"))?,
        _ => info.data,
    };
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"data\""),
    ];
    Ok((headers, cx.app.redaction.data(&bytes).into_owned()).into_response())
}

fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

/// The worker that says it runs this item.
fn holder<'a>(
    workers: &'a [WorkerInfo],
    queue: &str,
    info: &ItemInfo,
) -> Option<(&'a WorkerInfo, &'a RunningItem)> {
    workers.iter().find_map(|worker| {
        let mut running = worker.beat.running.iter();
        let item = running.find(|item| item.queue == queue && item.id == info.id)?;
        Some((worker, item))
    })
}

fn lease(info: &ItemInfo, holder: Option<(&WorkerInfo, &RunningItem)>) -> Option<LeaseLeft> {
    let at = info.at.filter(|_| info.state == State::Leased)?;
    let left = at.duration_since(SystemTime::now());
    let used = holder.zip(left.as_ref().ok()).map(|((_, item), left)| {
        let whole = item.elapsed + *left;
        (item.elapsed.as_secs_f64() / whole.as_secs_f64().max(0.001) * 100.0) as u8
    });
    Some(LeaseLeft {
        ends: Moment::new(at),
        expired: left.is_err(),
        left: left.map_or_else(|_| "0s".into(), rough),
        worker: holder.map(|(worker, _)| escaped(worker.beat.worker.name()).into_owned()),
        since: holder.map_or_else(String::new, |(_, item)| rough(item.elapsed)),
        used,
    })
}

fn fields(info: &ItemInfo) -> Vec<Field> {
    let plain = |name, text: String| Field { name, text, time: None };
    let time = |name, time: SystemTime| {
        let time = Moment::new(time);
        Field { name, text: String::new(), time: Some(time) }
    };
    let bytes = |name, bytes: &Option<bytes::Bytes>| {
        bytes.as_ref().map(|bytes| plain(name, text::id(bytes)))
    };
    let most = info.max_attempts.map_or_else(|| "no limit".into(), |most| most.to_string());
    let mut fields = vec![
        plain("Priority", info.priority.to_string()),
        plain("Failed leases", info.failures.to_string()),
        plain("Expired leases", info.expiries.to_string()),
        plain("Most attempts", most),
        time("Added", info.added_at),
    ];
    fields.extend(info.ended_at.map(|at| time("Ended", at)));
    fields.extend(info.expires_at.map(|at| time("Expires", at)));
    if !info.retain.is_zero() {
        fields.push(plain("Kept after its end", rough(info.retain)));
    }
    fields.extend(bytes("Key", &info.key));
    fields.extend(bytes("Unique key", &info.unique));
    fields.push(plain("Generation", info.generation.clone()));
    let follow_ups = info.follow_ups.iter();
    fields.extend(follow_ups.map(|one| plain("Follow-up", text::follow_up(one))));
    fields
}
