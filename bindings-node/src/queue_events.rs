//! The events of a queue.

use leaseq::EventsOptions;
use leaseq::options::MAX_EVENTS_PAGE;
use napi_derive::napi;

use crate::failure::Failure;
use crate::input::{duration, whole};
use crate::queue::NativeQueue;
use crate::wire::Outcome;

fn options(limit: Option<f64>, wait_ms: Option<f64>) -> Result<EventsOptions, Failure> {
    let mut options = EventsOptions::new();
    if let Some(limit) = limit {
        let limits = format!("a whole number between 1 and {MAX_EVENTS_PAGE}");
        options = options.limit(whole("a limit", limit, &limits)?);
    }
    if let Some(ms) = wait_ms {
        options = options.wait(duration("a wait", ms)?);
    }
    Ok(options)
}

#[napi]
impl NativeQueue {
    /// Answers with a page.
    #[napi]
    pub fn events(
        &self,
        call: u32,
        after: Option<String>,
        limit: Option<f64>,
        wait_ms: Option<f64>,
    ) {
        self.call(call, options(limit, wait_ms), |queue, options| async move {
            let page = queue.events_json(after.as_deref(), options).await?;
            serde_json::from_str(&page).map(Outcome::Json).map_err(Failure::internal)
        });
    }
}
