//! This process as a child of a worker of jobs.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use leaseq_jobs::{JobOptions, Reason};
use serde_json::{Map, Value, json};

use crate::child_job::{ChildJob, Frame};
use crate::child_link::{Incoming, Link, take};
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::pointer::given;
use crate::signals;
use crate::status::status;
use crate::worker::leaseq_handler;
use crate::worker_options::leaseq_worker_options;

/// Runs jobs on this thread, one at a time, as a child that a worker has started: see
/// leaseq_worker_options_set_children(). Of the options, the jobs and the first queue count, which becomes the queue of a
/// worker that names none. It takes the standard input, which is empty from then on, and returns when the worker has no
/// more jobs for this child. If the worker ends, so does this process. SIGTERM and SIGINT, unless they are handled, do
/// nothing from then on, because the worker decides when a child ends. While a handler runs, SIGPIPE is not blocked.
/// Handlers must not call it.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL, without a job, and in a process that is no child of a worker;
/// `LEASEQ_CLOSED` if that has ended; `LEASEQ_UNAVAILABLE` without a thread or file descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_child_run(
    options: Option<&leaseq_worker_options>,
    handler: leaseq_handler,
    context: *mut c_void,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let options = given(options, "options")?;
            let handler = given(handler, "handler")?;
            let child = Child::start(options)?;
            while let Some(job) = child.next()? {
                let mut task = job.task();
                // The caller's function, with a task that lives as long as the call.
                let call = || handler(&raw mut task, context);
                // This process has inherited what is blocked in threads of its worker.
                let returned = signals::as_in_program(false, call);
                task.end_with(returned);
            }
            Ok(())
        })
    }
}

struct Child {
    link: Arc<Link>,
    /// Closed when there is nothing more to do.
    jobs: Receiver<Arc<ChildJob>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// From the moment when a job arrives until this child is ready for the next one.
    is_busy: AtomicBool,
    current: Mutex<Option<Arc<ChildJob>>>,
}

impl Child {
    fn start(options: &leaseq_worker_options) -> Result<Child> {
        let jobs = &options.options.jobs;
        if jobs.is_empty() {
            return Err(Failure::invalid("a child needs at least one job"));
        }
        let queue = options.options.queues.first().map_or("default", |queue| &queue.name);
        let jobs = jobs.iter().map(|(name, options)| (name.clone(), declared(options, queue)));
        let hello = json!({ "type": "hello", "version": 1, "jobs": jobs.collect::<Map<_, _>>() });
        let (link, incoming) = take()?;
        let link = Arc::new(link);
        leave_signals_to_the_worker();
        let shared = Arc::<Shared>::default();
        let (give, jobs) = channel();
        let listening = Listening { link: link.clone(), give, shared: shared.clone() };
        let thread = std::thread::Builder::new().name("leaseq-child".into());
        thread.spawn(move || listening.run(incoming)).map_err(|why| Failure {
            kind: leaseq::ErrorKind::Unavailable,
            message: format!("no thread for a child: {why}"),
            outcome_unknown: false,
        })?;
        link.send(&hello)?;
        Ok(Child { link, jobs, shared })
    }

    /// The next job, which has started; `None`: there is none any more.
    fn next(&self) -> Result<Option<Arc<ChildJob>>> {
        self.shared.is_busy.store(false, Ordering::SeqCst);
        self.link.send(&json!({ "type": "ready" }))?;
        let Ok(job) = self.jobs.recv() else { return Ok(None) };
        self.link.send(&json!({ "type": "started", "task": job.number() }))?;
        Ok(Some(job))
    }
}

/// The options of a job, in the words of the protocol.
fn declared(options: &JobOptions, queue: &str) -> Value {
    let JobOptions { timeout, retry, .. } = options;
    json!({
        "queue": queue,
        "timeout_ms": timeout.as_millis() as u64,
        "retry": {
            "max": retry.attempts,
            "base": retry.base.as_millis() as u64,
            "cap": retry.cap.as_millis() as u64,
            "on": retry.on,
            "never": retry.never,
        },
    })
}

/// Hears the worker while handlers run.
struct Listening {
    link: Arc<Link>,
    give: Sender<Arc<ChildJob>>,
    shared: Arc<Shared>,
}

impl Listening {
    fn run(self, mut incoming: Incoming) {
        block_signals();
        while let Some(text) = incoming.read() {
            // What cannot be read is of a worker that this library does not understand.
            let Ok(frame) = serde_json::from_slice::<Frame>(&text) else { break };
            match frame.r#type.as_str() {
                "run" => {
                    let job = Arc::new(ChildJob::new(self.link.clone(), frame));
                    self.shared.is_busy.store(true, Ordering::SeqCst);
                    *self.current() = Some(job.clone());
                    if self.give.send(job).is_err() {
                        return;
                    }
                }
                "cancel" => {
                    let current = self.current().clone();
                    // It may have arrived after the answer.
                    if let Some(job) = current.filter(|job| job.number() == frame.task) {
                        job.cancel(reason(&frame.reason));
                    }
                }
                "stop" => return,
                _ => {}
            }
        }
        if self.shared.is_busy.load(Ordering::SeqCst) {
            // The worker has ended: nobody wants to know what the handler does.
            // SAFETY: ends the process.
            unsafe { libc::_exit(1) }
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Arc<ChildJob>>> {
        self.shared.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reason(word: &str) -> Reason {
    match word {
        "user" => Reason::User,
        "timeout" => Reason::Timeout,
        "shutdown" => Reason::Shutdown,
        _ => Reason::Lost,
    }
}

/// A supervisor may send these to all processes of a service, while the worker lets handlers go on. A handler that does
/// nothing, because programs that a job starts would inherit that a signal is ignored.
fn leave_signals_to_the_worker() {
    extern "C" fn nothing(_: i32) {}
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the structs are filled before they are read, and the function does nothing.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            let is_default = libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
                && now.sa_sigaction == libc::SIG_DFL;
            if is_default {
                now.sa_sigaction = nothing as *const () as usize;
                now.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const now, std::ptr::null_mut());
            }
        }
    }
}

/// Signals of the program are for its own threads.
fn block_signals() {
    // SAFETY: `sigfillset` fills the set.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}
