//! A job that tells a URL of something: a signed POST of JSON.

mod address;
mod sender;
mod signature;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::sender::WebhookSender;
use crate::{Context, Job, JobOptions, Worker};

/// A POST of JSON to a URL. It is sent by workers that [have a sender](Worker::webhooks), and retried like every job
/// until an answer says that it has arrived (a status from 200 to 299). Redirects are not followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Webhook {
    /// `http` or `https`, without a user.
    pub url: String,
    /// What is sent.
    pub body: Value,
}

impl Webhook {
    /// Sends this to this URL.
    pub fn new(url: impl Into<String>, body: Value) -> Self {
        Webhook { url: url.into(), body }
    }
}

impl Job for Webhook {
    const NAME: &'static str = "leaseq.webhook";
    const QUEUE: &'static str = "webhooks";

    fn options() -> JobOptions {
        JobOptions::new().timeout(Duration::from_secs(15))
    }
}

impl Worker {
    /// Sends [webhooks](Webhook) with this sender, from the queue `webhooks` unless the worker names other queues.
    pub fn webhooks(self, sender: WebhookSender) -> Self {
        self.handle(move |webhook: Webhook, job: Context| {
            let sender = sender.clone();
            async move { sender.send(&webhook.url, &webhook.body, &job).await }
        })
    }
}
