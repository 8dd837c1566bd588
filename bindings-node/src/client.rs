//! A client.

use std::sync::{Arc, OnceLock};

use leaseq::ConnectOptions;
use napi::Result;
use napi_derive::napi;

use crate::bridge::Bridge;
use crate::clock::NativeClock;
use crate::failure::Failure;
use crate::input::{self, duration, size};
use crate::queue::NativeQueue;
use crate::submission_queue::SubmissionQueue;
use crate::wire::Outcome;

/// A client that is connected once `connect` has been answered.
#[napi]
pub struct NativeClient {
    pub(crate) submissions: Arc<SubmissionQueue>,
    pub(crate) client: Arc<OnceLock<leaseq::Client>>,
}

/// How to connect, as `ConnectOptions` of the core.
#[napi(object, object_to_js = false)]
pub struct NativeConnectOptions {
    pub namespace: Option<String>,
    pub timeout_ms: Option<f64>,
    pub connect_timeout_ms: Option<f64>,
    pub max_data: Option<f64>,
    pub ca_file: Option<String>,
    pub replicas: Option<f64>,
    pub fsync: Option<String>,
}

impl NativeConnectOptions {
    fn check(self) -> std::result::Result<ConnectOptions, Failure> {
        let mut options = ConnectOptions::default();
        if let Some(namespace) = self.namespace {
            options.namespace = namespace;
        }
        if let Some(timeout) = self.timeout_ms {
            options.timeout = duration("a timeout", timeout)?;
        }
        if let Some(timeout) = self.connect_timeout_ms {
            options.connect_timeout = duration("a connect timeout", timeout)?;
        }
        if let Some(max_data) = self.max_data {
            options.max_data = size("max_data", max_data)?;
        }
        options.ca_file = self.ca_file.map(Into::into);
        if let Some(replicas) = self.replicas {
            options.replicas = input::replicas(replicas)?;
        }
        options.fsync = self.fsync.map(|fsync| fsync.parse()).transpose()?;
        Ok(options)
    }
}

#[napi]
impl NativeClient {
    #[napi(constructor)]
    pub fn new(bridge: &Bridge) -> Self {
        NativeClient { submissions: bridge.submissions.clone(), client: Arc::default() }
    }

    /// Answers with nothing; can be cancelled.
    #[napi]
    pub fn connect(
        &self,
        call: u32,
        url: String,
        options: NativeConnectOptions,
        clock: Option<&NativeClock>,
    ) {
        let place = self.client.clone();
        let clock = clock.map(NativeClock::clock);
        self.submissions.wait(call, async move {
            let mut options = options.check()?;
            options.clock = clock;
            let client = leaseq::Client::connect_with(&url, options).await?;
            // Called once, so it is still empty.
            let _ = place.set(client);
            Ok(Outcome::Done)
        });
    }

    /// Throws an error with its code.
    #[napi]
    pub fn queue(&self, name: String) -> Result<NativeQueue, &'static str> {
        let client = self.client.get().ok_or_else(not_connected)?;
        let queue = Arc::new(client.queue(&name).map_err(Failure::from)?);
        Ok(NativeQueue { submissions: self.submissions.clone(), queue })
    }

    /// Answers with a list of text.
    #[napi]
    pub fn queues(&self, call: u32) {
        let client = self.client.clone();
        self.submissions.call(call, async move {
            let client = client.get().ok_or_else(not_connected)?;
            Ok(Outcome::Json(client.queues().await?.into()))
        });
    }

    /// Runs an operation on the registry of workers, with JSON as arguments and answer.
    #[napi]
    pub fn call_registry(&self, call: u32, operation: String, arguments: String) {
        let client = self.client.clone();
        self.submissions.call(call, async move {
            let client = client.get().ok_or_else(not_connected)?;
            let answer = client.call_registry(&operation, &arguments).await?;
            serde_json::from_str(&answer).map(Outcome::Json).map_err(Failure::internal)
        });
    }

    /// Answers with nothing.
    #[napi]
    pub fn close(&self, call: u32) {
        let client = self.client.clone();
        self.submissions.call(call, async move {
            client.get().ok_or_else(not_connected)?.close().await;
            Ok(Outcome::Done)
        });
    }
}

pub(crate) fn not_connected() -> Failure {
    Failure::internal("the client is not connected")
}
