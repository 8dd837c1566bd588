//! Logging: a line for each clean that changed something, and for each change of state. Never a
//! password.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use leaseq_report::escaped;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::Settings;
use crate::flags::{LogFormat, LogLevel};

/// Lines buffered for a slow reader of the log; further lines are dropped.
const WAITING: usize = 1_024;
/// How long the process waits for a slow reader when it exits.
const FLUSH: Duration = Duration::from_secs(1);

/// Starts logging to standard error; a reload does not change it. Keep the returned value until the
/// process exits.
pub(crate) fn start(settings: &Settings) -> Flush {
    let filter = EnvFilter::new(match settings.log_level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    });
    let (lines, waiting) = sync_channel(WAITING);
    let (done, ended) = sync_channel(1);
    std::thread::spawn(move || {
        write_lines(&waiting);
        let _ = done.send(());
    });
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Lines(lines.clone()))
        // Each line is escaped as a whole, which would destroy colours.
        .with_ansi(false)
        // It would use `eprintln`, which panics if the output is closed.
        .log_internal_errors(false)
        .with_target(false);
    match settings.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
    Flush { lines, ended }
}

/// A full disk or a closed pipe loses lines and has no other effect.
fn write_lines(waiting: &Receiver<Line>) {
    while let Ok(Line::Text(line)) = waiting.recv() {
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

enum Line {
    Text(String),
    End,
}

/// Writes the last lines when dropped.
pub(crate) struct Flush {
    lines: SyncSender<Line>,
    ended: Receiver<()>,
}

impl Drop for Flush {
    fn drop(&mut self) {
        if self.lines.try_send(Line::End).is_ok() {
            let _ = self.ended.recv_timeout(FLUSH);
        }
    }
}

/// Sends lines to a separate thread, so that logging never waits for the output.
#[derive(Clone)]
struct Lines(SyncSender<Line>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

impl Write for Lines {
    /// The subscriber writes each event in one call, as one line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = escaped(text.strip_suffix('\n').unwrap_or(&text)).into_owned() + "\n";
        let _ = self.0.try_send(Line::Text(text));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
