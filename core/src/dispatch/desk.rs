//! Leasing: calls wait in line here, one request at a time asks the engine for all of them, and a
//! lease that comes for a call that is gone is given back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

use super::flight::{Flight, drive};
use super::{Dispatch, Lane};
use crate::engine::{Leased, LeasedItem, Stamp, Wanted};
use crate::lease::Lease;
use crate::options::MAX_BATCH;
use crate::{Error, Result};

/// How long waiting calls of one queue go without looking, times the number of queues that have
/// any: whatever goes wrong with the news, nobody waits longer, and an idle process is quiet.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it is tried to pass news on that came for calls that are gone.
const PASS_ON: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Desk {
    line: Mutex<Line>,
    news: Notify,
}

#[derive(Default)]
struct Line {
    calls: VecDeque<Call>,
    attended: bool,
    /// What serves the line, while its first call drives it.
    driven: Option<Arc<Flight>>,
    lane: Option<Lane>,
}

struct Call {
    count: usize,
    duration_ms: u64,
    since: Instant,
    until: Option<Instant>,
    /// The engine was asked for this call at least once, and had nothing for it.
    asked: Arc<AtomicBool>,
    reply: oneshot::Sender<Result<Parcel>>,
}

impl Call {
    /// Stays in line when there was nothing for it.
    fn waits_on(&self) -> bool {
        !self.reply.is_closed() && self.until.is_none_or(|until| until > Instant::now())
    }
}

/// Leases on their way to a caller. If it is gone, they go back.
struct Parcel {
    leases: Vec<Lease>,
    dispatch: Arc<Dispatch>,
}

impl Parcel {
    fn empty(dispatch: &Arc<Dispatch>) -> Parcel {
        Parcel { leases: Vec::new(), dispatch: dispatch.clone() }
    }

    fn open(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.dispatch.give_back(self.leases.iter().map(Lease::token).collect());
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leases up to `count` (1 to [`MAX_BATCH`]) items. `wait`: `None` until there is one.
pub(crate) async fn lease(
    dispatch: &Arc<Dispatch>,
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
) -> Result<Vec<Lease>> {
    // A wait too long for the clock is a wait without end.
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let asked = Arc::new(AtomicBool::new(false));
    let (reply, mut answer) = oneshot::channel();
    let desk = &dispatch.desk;
    let (alone, flight) = {
        let mut line = desk.lock();
        let (since, asked) = (Instant::now(), asked.clone());
        line.calls.push_back(Call { count, duration_ms, since, until, asked, reply });
        if std::mem::replace(&mut line.attended, true) {
            (false, line.driven.take())
        } else {
            let flight = Flight::new(&dispatch.context, attend(dispatch.clone()));
            line.driven = Some(flight.clone());
            (true, Some(flight))
        }
    };
    let parcel = {
        let answered = async {
            match flight {
                Some(flight) if alone => drive(flight, &mut answer).await,
                others => {
                    desk.news.notify_one();
                    if let Some(flight) = others {
                        flight.launch();
                    }
                    (&mut answer).await
                }
            }
        };
        tokio::pin!(answered);
        match until {
            Some(until) => tokio::select! {
                biased;
                parcel = &mut answered => Some(parcel),
                () = tokio::time::sleep_until(until.into()) => {
                    // An answer to the first question, even if it is late: nothing, or an error.
                    if asked.load(Ordering::Acquire) { None } else { Some(answered.await) }
                }
            },
            None => Some(answered.await),
        }
    };
    let parcel = parcel.unwrap_or_else(|| {
        // What arrived in this moment is taken; what arrives later goes back.
        answer.close();
        Ok(answer.try_recv().unwrap_or_else(|_| Ok(Parcel::empty(dispatch))))
    });
    Ok(parcel.unwrap_or_else(|_| Err(Error::closed()))?.open())
}

/// Serves the line until it is empty.
async fn attend(dispatch: Arc<Dispatch>) {
    let desk = &dispatch.desk;
    let context = &dispatch.context;
    let mut lane = desk.lock().lane.take().unwrap_or_else(|| context.lanes.make());
    let mut rested = false;
    loop {
        // Tasks that are about to ask as well get in line; with none, this is nothing.
        tokio::task::yield_now().await;
        let question = {
            let mut line = desk.lock();
            if context.closed.is_cancelled() {
                for call in line.calls.drain(..) {
                    let _ = call.reply.send(Err(Error::closed()));
                }
            }
            line.calls.retain(|call| !call.reply.is_closed());
            // Whoever was here may have gone just when there was news. Then the last question is for
            // nothing: it passes the news on to other clients.
            if line.calls.is_empty() && !rested {
                line.attended = false;
                line.driven = None;
                line.lane = Some(lane);
                return;
            }
            next_question(&line.calls)
        };
        let patience = match question.waits {
            true => PATIENCE * (context.waiting_queues.load(Ordering::Relaxed).max(1) as u32),
            false => Duration::ZERO,
        };
        let sent = Instant::now();
        let until = match question.since {
            Some(since) => since + context.timeout,
            None if question.calls > 0 => sent + context.timeout,
            None => sent + PASS_ON.min(context.timeout),
        };
        let stamp = lane.next(until);
        match context.engine.lease(&dispatch.queue, &question.wanted, patience, &stamp).await {
            Ok(leased) => {
                let look_in = leased.look_in.unwrap_or(patience).min(patience);
                rested = !hand_out(&dispatch, leased, &question, sent);
                if rested {
                    rest(&dispatch, look_in).await;
                }
            }
            Err(error) => {
                rested = false;
                if error.outcome_unknown() {
                    // Items may have been leased to nobody. The lane stays as it is until that is
                    // known; others go on with a new one.
                    if question.items > 0 {
                        context.lanes.keep(&stamp);
                        recover(&dispatch, stamp);
                    }
                    lane = context.lanes.make();
                }
                for call in desk.lock().calls.drain(..question.in_line) {
                    let _ = call.reply.send(Err(error.clone()));
                }
            }
        }
    }
}

/// What the line wants.
struct Question {
    /// What the first calls in line want together, at most [`MAX_BATCH`] items.
    wanted: Vec<Wanted>,
    items: usize,
    calls: usize,
    /// How many calls are in line altogether. If there is not even enough for the first ones, there
    /// is nothing for the others.
    in_line: usize,
    /// Whether any of them stays in line if there is nothing for it.
    waits: bool,
    /// When the last of them came, if the engine was asked for none of them before.
    since: Option<Instant>,
}

fn next_question(line: &VecDeque<Call>) -> Question {
    let waits = line.iter().any(Call::waits_on);
    let (wanted, items, calls) = (Vec::new(), 0, 0);
    let new = !line.iter().any(|call| call.asked.load(Ordering::Relaxed));
    let since = line.back().map(|call| call.since).filter(|_| new);
    let mut question = Question { wanted, items, calls, in_line: line.len(), waits, since };
    for call in line {
        if question.items + call.count > MAX_BATCH {
            break;
        }
        question.items += call.count;
        question.calls += 1;
        match question.wanted.last_mut() {
            Some(last) if last.duration_ms == call.duration_ms => last.count += call.count,
            _ => {
                let Call { count, duration_ms, .. } = *call;
                question.wanted.push(Wanted { count, duration_ms });
            }
        }
    }
    question
}

/// Gives the leases to the first in line. True if the engine should be asked again at once.
fn hand_out(dispatch: &Arc<Dispatch>, leased: Leased, question: &Question, sent: Instant) -> bool {
    // Fewer items than wanted, and not because the answer would have been too large.
    let drained = leased.items.len() < question.items && leased.look_in != Some(Duration::ZERO);
    let mut items = leased.items.into_iter().peekable();
    let mut line = dispatch.desk.lock();
    let answered = if drained { question.in_line } else { question.calls };
    let mut asked: VecDeque<Call> = line.calls.drain(..answered).collect();
    let mut waiting = VecDeque::new();
    while let Some(call) = asked.pop_front() {
        if call.reply.is_closed() {
            continue;
        }
        let mut leases = Vec::new();
        while leases.len() < call.count
            && let Some(item) = items.next_if(|item| item.duration_ms == call.duration_ms)
        {
            leases.push(Lease::new(dispatch.queue.clone(), item, sent));
        }
        if leases.is_empty() && (call.waits_on() || !drained) {
            waiting.push_back(call);
        } else {
            // A caller that is gone drops the parcel, and with it goes back what is in it.
            let _ = call.reply.send(Ok(Parcel { leases, dispatch: dispatch.clone() }));
        }
    }
    if drained {
        for call in &waiting {
            // From here on its caller may go with nothing when its time is over; before, it would
            // miss an answer that is being sent in this moment.
            call.asked.store(true, Ordering::Release);
        }
    }
    dispatch.give_back(items.map(|item| item.token).collect());
    let new_calls = !line.calls.is_empty();
    for call in waiting.into_iter().rev() {
        line.calls.push_front(call);
    }
    new_calls || !drained || line.calls.is_empty()
}

/// Until there is news: of the engine, of the clock, or of another call.
async fn rest(dispatch: &Dispatch, look_in: Duration) {
    let context = &dispatch.context;
    context.waiting_queues.fetch_add(1, Ordering::Relaxed);
    tokio::select! {
        () = context.engine.wait(&dispatch.queue) => {}
        () = tokio::time::sleep(look_in) => {}
        () = dispatch.desk.news.notified() => {}
        () = context.closed.cancelled() => {}
    }
    context.waiting_queues.fetch_sub(1, Ordering::Relaxed);
}

/// Asks for the lost answer of a lease request until it comes, and gives back what it names. Not
/// only for as long as those leases would last: a server that hung may execute the request later.
/// It asks for nothing itself: a request that was never executed leases nothing now.
fn recover(dispatch: &Arc<Dispatch>, stamp: Stamp) {
    let this = dispatch.clone();
    dispatch.context.spawn(async move {
        let context = &this.context;
        while !context.closed.is_cancelled() {
            let stamp = Stamp { until: context.until(), ..stamp.clone() };
            match context.engine.lease(&this.queue, &[], Duration::ZERO, &stamp).await {
                Ok(Leased { items, .. }) => {
                    let tokens = items.iter().map(|item: &LeasedItem| item.token).collect();
                    return this.give_back(tokens);
                }
                Err(error) if error.kind().is_retryable() => context.pause().await,
                Err(_) => return,
            }
        }
    });
}
