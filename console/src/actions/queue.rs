//! Pausing and resuming a queue.

use axum::response::Response;
use leaseq::PauseOptions;
use leaseq_report::duration;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::links;

pub(crate) async fn pause(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let length = cx.form.get("for").map(duration::read).transpose().map_err(Failure::invalid)?;
    let before = queue.settings().await?.paused;
    let reason = cx.form.get("reason").unwrap_or_default();
    let mut options = PauseOptions::new().by(cx.who.pauses_as()).reason(reason);
    options.duration = length;
    queue.pause_with(options).await?;
    let length = length.map(duration::show);
    let what = json!({ "before": before, "after": true, "for": length, "reason": reason });
    cx.audit("pause", queue.name(), what);
    Ok(cx.to(&format!("{}?done=pause", links::queue(queue.name()))))
}

pub(crate) async fn resume(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let before = queue.settings().await?.paused;
    queue.resume().await?;
    cx.audit("resume", queue.name(), json!({ "before": before, "after": false }));
    Ok(cx.to(&format!("{}?done=resume", links::queue(queue.name()))))
}
