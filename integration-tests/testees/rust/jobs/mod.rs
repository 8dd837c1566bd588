//! Jobs and workers. Requests and answers: `testees/README.md`.

mod children;
mod notes;
mod producing;
mod script;
mod scripted;
mod workers;

use leaseq::{Client, Result};
use serde_json::Value;

use self::producing::Refs;
use self::workers::Workers;

/// The jobs and workers of a testee.
#[derive(Default)]
pub(crate) struct Jobs {
    refs: Refs,
    workers: Workers,
}

impl Jobs {
    /// `None` if the operation is not about jobs.
    pub(crate) async fn obey(
        &self,
        client: &Client,
        request: &Value,
        name: &str,
    ) -> Option<Result<Value>> {
        let worker = || self.workers.get(name, request);
        Some(match request["op"].as_str()? {
            "enqueue" => self.refs.enqueue(client, request).await,
            "enqueue_group" => self.refs.enqueue_group(client, request).await,
            "result" => self.refs.result(request).await,
            "start_worker" => {
                self.workers.start(name, client, request);
                Ok(Value::Null)
            }
            "end_worker" => {
                worker().end();
                Ok(Value::Null)
            }
            "worker_exit" => worker().exit().await,
            "tell" => {
                worker().notes().tell(request);
                Ok(Value::Null)
            }
            "seen" => Ok(worker().notes().seen()),
            _ => return None,
        })
    }

    /// Aborts the workers of a client.
    pub(crate) fn close(&self, client: &str) {
        self.workers.close(client);
    }
}
