//! Changing an item that nobody works on.

use askama::Template;
use axum::response::Response;
use leaseq::{ItemInfo, Revision, State, WorkQueue};
use leaseq_report::{escaped, text};
use serde_json::json;

use super::items::read_item;
use crate::context::Context;
use crate::failure::Failure;
use crate::links;
use crate::pages::chrome::Chrome;
use crate::pages::queue_head::QueueHead;

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    chrome: Chrome,
    head: QueueHead,
    id: String,
    value: String,
    item: String,
    /// `None`: it cannot be edited here, because it is no text, or not all of it is shown.
    data: Option<String>,
    priority: u8,
    max_attempts: String,
}

async fn read(queue: &WorkQueue, id: &[u8]) -> Result<ItemInfo, Failure> {
    let info = queue.get(id).await?;
    let info = info.ok_or_else(|| {
        Failure::missing(format_args!("queue {} has no item {}", queue.name(), text::id(id)))
    })?;
    if info.state == State::Leased {
        return Err(Failure::conflict("a leased item cannot be changed"));
    }
    Ok(info)
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let info = read(&queue, &cx.query.id("id")?).await?;
    let counts = cx.app.counts(queue.name()).await?;
    let id = text::id(&info.id);
    let whole = *cx.app.redaction.data(&info.data) == *info.data;
    let page = EditPage {
        chrome: Chrome::of(&cx, "overview", format!("Edit {id}")),
        head: QueueHead::of(&cx.app, &queue, &counts, "items").await?,
        value: format!("{} {id}", info.generation),
        id,
        item: cx.app.link_to(&links::item(queue.name(), &info.id)),
        data: std::str::from_utf8(&info.data)
            .ok()
            .filter(|data| whole && is_plain(data))
            .map(Into::into),
        priority: info.priority,
        max_attempts: info.max_attempts.map(|most| most.to_string()).unwrap_or_default(),
    };
    cx.html(&page)
}

/// Whether people see the whole text, and a form gives it back as it is: browsers write every end of a line as CR LF.
fn is_plain(text: &str) -> bool {
    let rest = text.replace(['\n', '\t'], "");
    escaped(&rest) == rest
}

pub(crate) async fn save(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let (id, item) = read_item(cx.form.get("item").unwrap_or_default())?;
    let info = read(&queue, &id).await?;
    let mut revision = Revision::new();
    let mut changed = Vec::new();
    let data = cx.form.all("data").next().map(|data| data.replace("\r\n", "\n"));
    if let Some(data) = data.filter(|data| data.as_bytes() != info.data) {
        revision = revision.data(data);
        changed.push("data");
    }
    if let Some(priority) = cx.form.parse::<u8>("priority")?.filter(|new| *new != info.priority) {
        revision = revision.priority(priority);
        changed.push("priority");
    }
    let most = cx.form.parse::<u32>("max_attempts")?;
    if let Some(most) = most.filter(|most| Some(*most) != info.max_attempts) {
        revision = revision.max_attempts(most);
        changed.push("max_attempts");
    }
    if !changed.is_empty() {
        let saved = queue.revise(item, revision).await?;
        let before = json!({ "priority": info.priority, "max_attempts": info.max_attempts,
            "bytes": info.data.len() });
        cx.audit(
            "edit",
            queue.name(),
            json!({ "ids": [text::id(&id)], "changed": changed,
            "before": before, "saved": saved }),
        );
        if !saved {
            return Err(Failure::conflict(
                "the item has changed since this page was loaded: load it again",
            ));
        }
    }
    Ok(cx.to(&format!("{}&done=edit", links::item(queue.name(), &id))))
}
