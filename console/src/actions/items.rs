//! Changes of single items, each only as it was seen.

use axum::response::Response;
use leaseq::{ItemRef, State};
use leaseq_report::{Action, text};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::links;
use crate::notice::done;

/// How many items a form changes at most.
const MAX_ITEMS: usize = 500;
/// How many ids a line of the audit has at most.
const MAX_AUDITED: usize = 20;

/// What a form says of an item: its generation and its id, as lists show it.
pub(crate) fn read_item(value: &str) -> Result<(Vec<u8>, ItemRef), Failure> {
    let wrong = || Failure::invalid("an item of the form cannot be read");
    let (generation, id) = value.split_once(' ').ok_or_else(wrong)?;
    let id = text::unescape(id).ok_or_else(wrong)?;
    let item = ItemRef::new(&id).if_generation(generation);
    Ok((id, item))
}

pub(crate) async fn requeue(cx: Context) -> Result<Response, Failure> {
    change(cx, Action::Requeue).await
}

pub(crate) async fn cancel(cx: Context) -> Result<Response, Failure> {
    change(cx, Action::Cancel).await
}

pub(crate) async fn bury(cx: Context) -> Result<Response, Failure> {
    change(cx, Action::Bury).await
}

pub(crate) async fn remove(cx: Context) -> Result<Response, Failure> {
    change(cx, Action::Remove).await
}

async fn change(cx: Context, action: Action) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let filter = Filter::read(&cx.form, State::Ready)?;
    let items = cx.form.all("item").map(read_item).collect::<Result<Vec<_>, _>>()?;
    if items.is_empty() {
        return Err(Failure::invalid("select an item first"));
    }
    if items.len() > MAX_ITEMS {
        return Err(Failure::invalid(format_args!(
            "{} items are more than {MAX_ITEMS}",
            items.len()
        )));
    }
    let (ids, refs): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    let applied = action.apply(&queue, refs, &cx.who.bury_reason()).await;
    let shown: Vec<String> = ids.iter().take(MAX_AUDITED).map(|id| text::id(id)).collect();
    let (count, state) = (ids.len(), filter.state.as_str());
    let answers = match applied {
        Ok(answers) => answers,
        Err(error) => {
            let what = json!({ "asked": count, "ids": shown, "error": error.to_string(),
                "outcome_unknown": error.outcome_unknown() });
            cx.audit(action.as_str(), queue.name(), what);
            return Err(error.into());
        }
    };
    let changed = answers.iter().filter(|changed| **changed).count();
    let what = json!({ "asked": count, "changed": changed, "ids": shown, "before": state });
    cx.audit(action.as_str(), queue.name(), what);
    let note = done(action.as_str(), changed, count);
    let to_item = cx.form.get("from") == Some("item") && action != Action::Remove;
    Ok(match ids.first().filter(|_| to_item) {
        Some(id) if queue.get(id).await?.is_some() => {
            cx.to(&format!("{}&{note}", links::item(queue.name(), id)))
        }
        _ => cx.to(&format!("{}?{}&{note}", links::queue(queue.name()), filter.query())),
    })
}
