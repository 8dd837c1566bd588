//! Passes the core's warnings to Python's `logging`.
//!
//! A thread of the core must not wait for the GIL. It sends records through a channel, and a thread of
//! Python receives them. When the channel is full, records are dropped.

use std::fmt::Write;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, Once, PoisonError};
use std::{fmt, ptr};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const WAITING: usize = 1_000;
/// The numbers of Python's `logging`.
const WARNING: u8 = 30;
const ERROR: u8 = 40;

type Sender = SyncSender<Option<(u8, String)>>;

/// The channel of this process. A replaced one is never freed: a forked child must not touch the channel
/// of its parent, because another thread may have held its lock.
static CHANNEL: AtomicPtr<Sender> = AtomicPtr::new(ptr::null_mut());

fn send(record: Option<(u8, String)>) {
    // SAFETY: null, or from `Box::into_raw` and never freed.
    if let Some(sender) = unsafe { CHANNEL.load(Ordering::Acquire).as_ref() } {
        let _ = sender.try_send(record);
    }
}

/// Receives the records of this process from now on.
#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Logs(Mutex<Receiver<Option<(u8, String)>>>);

#[pymethods]
impl Logs {
    #[new]
    fn new() -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // It fails only if there is a subscriber already, and no other code sets one in this library.
            let _ = tracing::subscriber::set_global_default(Warnings);
        });
        let (sender, receiver) = sync_channel(WAITING);
        CHANNEL.store(Box::into_raw(Box::new(sender)), Ordering::Release);
        Logs(Mutex::new(receiver))
    }

    /// Waits for the next level and message, without the GIL. `None` after `stop`.
    fn next(&self, py: Python<'_>) -> Option<(u8, String)> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).recv().ok().flatten())
    }

    fn stop(&self) {
        send(None);
    }
}

struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("leaseq")
    }

    fn event(&self, event: &Event<'_>) {
        let level = if *event.metadata().level() == Level::ERROR { ERROR } else { WARNING };
        let mut text = Text::default();
        event.record(&mut text);
        send(Some((level, text.message + &text.fields)));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message, and the fields as ` name=value`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
