//! Leasing: calls wait in line here, a request asks the engine for all of them, and a lease that
//! comes for a call that is gone is given back. What a call completes before it leases goes along with
//! the next request. As long as there is enough for everybody, a second request may leave while the
//! first is on its way; only one ever waits for an item.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, SetOnce, oneshot};

use super::Dispatch;
use super::flight::{Flight, drive};
use super::line::{Call, Completing, Line};
use super::pace::{Answered, board, depart, hand_over};
use super::question::Question;
use crate::engine::{Complete, Leased, LeasedItem, Stamp};
use crate::lease::{Lease, Shared};
use crate::{Error, Result};

/// How long waiting calls of one queue go without looking, times the number of queues that have
/// any: whatever goes wrong with the news, nobody waits longer, and an idle process is quiet.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it is tried to pass news on that came for calls that are gone.
const PASS_ON: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Desk {
    line: Mutex<Line>,
    /// Held from taking calls to sending them, so that requests leave in the order of the calls.
    door: tokio::sync::Mutex<()>,
    news: Notify,
}

/// Leases on their way to a caller. If it is gone, they go back.
pub(super) struct Parcel {
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
///
/// [`MAX_BATCH`]: crate::options::MAX_BATCH
pub(crate) async fn lease(
    dispatch: &Arc<Dispatch>,
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
) -> Result<Vec<Lease>> {
    stand_in_line(dispatch, None, count, duration_ms, wait).await
}

/// Completes 1 to [`MAX_BATCH`] leases, and leases as [`lease`] does; both in one request, if they
/// are not more than [`MAX_BATCH`] together.
///
/// [`MAX_BATCH`]: crate::options::MAX_BATCH
pub(crate) async fn complete_and_lease(
    dispatch: &Arc<Dispatch>,
    (leases, handles): (Vec<Complete>, Vec<Arc<Shared>>),
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
) -> Result<(Vec<bool>, Vec<Lease>)> {
    let (reply, mut completed) = oneshot::channel();
    let completing = Completing { leases, handles, reply };
    let leases = stand_in_line(dispatch, Some(completing), count, duration_ms, wait).await?;
    // It was answered first. From here on nothing may be waited for: nobody would give back.
    Ok((completed.try_recv().map_err(|_| Error::internal("the engine gave no answer"))?, leases))
}

async fn stand_in_line(
    dispatch: &Arc<Dispatch>,
    completing: Option<Completing>,
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
) -> Result<Vec<Lease>> {
    // A wait too long for the clock is a wait without end.
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let asked = Arc::new(SetOnce::new());
    let (reply, mut answer) = oneshot::channel();
    let desk = &dispatch.desk;
    let attendant = || Flight::new(&dispatch.context, attend(dispatch.clone()));
    let (alone, flights) = {
        let mut line = desk.lock();
        let (since, asked) = (Instant::now(), asked.clone());
        line.calls.push_back(Call { count, duration_ms, since, until, completing, asked, reply });
        let alone = line.attendants == 0;
        let own = (alone || line.needs_another(dispatch.context.engine.worth_a_request()))
            .then(attendant);
        line.attendants += usize::from(own.is_some());
        // What the first call drives is no longer for that one alone.
        let first = std::mem::replace(&mut line.driven, own.clone().filter(|_| alone));
        (alone, [first, own])
    };
    let parcel = {
        let answered = async {
            match flights {
                [_, Some(own)] if alone => drive(own, &mut answer).await,
                flights => {
                    desk.news.notify_one();
                    flights.iter().flatten().for_each(|flight| flight.launch());
                    (&mut answer).await
                }
            }
        };
        tokio::pin!(answered);
        match until {
            Some(until) => {
                let over = async {
                    // An answer to the first question, even if it is late: nothing, or an error. Most
                    // calls get a lease then, and need no timer: a new one may wake the whole runtime.
                    asked.wait().await;
                    tokio::time::sleep_until(until.into()).await;
                };
                tokio::select! {
                    biased;
                    parcel = &mut answered => Some(parcel),
                    () = over => None,
                }
            }
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

/// Serves the line until it is empty, or until one attendant is enough for it.
async fn attend(dispatch: Arc<Dispatch>) {
    let desk = &dispatch.desk;
    let context = &dispatch.context;
    let worth_a_request = context.engine.worth_a_request();
    let mut lane = desk.lock().lanes.pop().unwrap_or_else(|| context.lanes.make());
    let mut rested = false;
    loop {
        let door = desk.door.lock().await;
        board(|| desk.lock().aboard(worth_a_request)).await;
        let mut question = {
            let mut line = desk.lock();
            if context.closed.is_cancelled() {
                for call in line.calls.drain(..) {
                    let _ = call.reply.send(Err(Error::closed()));
                }
            }
            line.calls.retain(Call::counts);
            let another = line.attendants > 1;
            // Whoever was here may have gone just when there was news. Then the last question is for
            // nothing: it passes the news on to other clients.
            if another && !line.are_worth(worth_a_request) || line.calls.is_empty() && !rested {
                if !line.calls.is_empty() {
                    // For the other attendant.
                    desk.news.notify_one();
                }
                return line.leave(lane);
            }
            line.away += 1;
            Question::next(&mut line.calls)
        };
        let patience = match question.waits {
            true => PATIENCE * (context.waiting_queues.load(Ordering::Relaxed).max(1) as u32),
            false => Duration::ZERO,
        };
        let sent = Instant::now();
        let until = match question.since {
            Some(since) => since + context.timeout,
            None if question.is_empty() => sent + PASS_ON.min(context.timeout),
            None => sent + context.timeout,
        };
        let stamp = lane.next(until);
        let leased = {
            let mut asking = pin!(ask(&dispatch, &mut question, patience, &stamp));
            let departed = depart(asking.as_mut()).await;
            drop(door);
            match departed {
                Poll::Ready(leased) => leased,
                Poll::Pending => asking.await,
            }
        };
        match leased {
            Ok(leased) => {
                let look_in = leased.look_in.unwrap_or(patience).min(patience);
                let (parcels, again) = allot(&dispatch, leased, question, sent);
                hand_over(context, parcels);
                rested = !again;
                if rested {
                    let Some(stays) = desk.lock().leave_to_another(lane) else {
                        // What the other one was told may be older.
                        return desk.news.notify_one();
                    };
                    lane = stays;
                    rest(&dispatch, look_in).await;
                }
            }
            Err(error) => {
                rested = false;
                if error.outcome_unknown() {
                    // Items may have been leased to nobody. The lane stays as it is until that is
                    // known; others go on with a new one.
                    if !question.is_empty() {
                        context.lanes.keep(&stamp);
                    }
                    if question.items > 0 {
                        recover(&dispatch, stamp, !question.completes.is_empty());
                    }
                    lane = context.lanes.make();
                }
                desk.lock().away -= 1;
                for call in question.calls {
                    let _ = call.reply.send(Err(error.clone()));
                }
            }
        }
    }
}

/// Asks the engine. Whoever completes something has the answer to that when this returns, whatever
/// became of the leasing.
async fn ask(
    dispatch: &Dispatch,
    question: &mut Question,
    patience: Duration,
    stamp: &Stamp,
) -> Result<Leased> {
    let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
    let Question { completes, wanted, .. } = &*question;
    if completes.is_empty() {
        return engine.lease(queue, wanted, patience, stamp).await;
    }
    let (completed, leased) = if wanted.is_empty() {
        let completed = engine.complete(queue, completes, stamp).await?;
        (completed, Ok(Leased { items: Vec::new(), look_in: Some(Duration::ZERO) }))
    } else {
        let done = engine.complete_and_lease(queue, completes, wanted, patience, stamp).await?;
        (done.completed, done.leased)
    };
    question.completed(&completed);
    leased
}

/// Who gets which leases: the first in line. True if the engine should be asked again at once.
fn allot(
    dispatch: &Arc<Dispatch>,
    leased: Leased,
    question: Question,
    sent: Instant,
) -> (Vec<Answered<Result<Parcel>>>, bool) {
    // Fewer items than wanted, and not because the answer would have been too large.
    let drained = leased.items.len() < question.items && leased.look_in != Some(Duration::ZERO);
    let mut items = leased.items.into_iter().peekable();
    let mut line = dispatch.desk.lock();
    line.away -= 1;
    line.plenty = !drained && question.items > 0;
    let in_line = line.calls.len();
    line.company.seen(question.calls.len() + in_line);
    let (mut parcels, mut waiting) = (Vec::with_capacity(question.calls.len()), Vec::new());
    for call in question.calls {
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
            waiting.push(call);
        } else {
            // A caller that is gone drops the parcel, and with it goes back what is in it.
            parcels.push((call.reply, Ok(Parcel { leases, dispatch: dispatch.clone() })));
        }
    }
    if drained {
        for call in &waiting {
            // From here on its caller may go with nothing when its time is over; before, it would
            // miss an answer that is being sent in this moment.
            let _ = call.asked.set(());
        }
    }
    dispatch.give_back(items.map(|item| item.token).collect());
    let new_calls = !line.calls.is_empty();
    for call in waiting.into_iter().rev() {
        line.put_back(call);
    }
    (parcels, new_calls || !drained || line.calls.is_empty())
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
fn recover(dispatch: &Arc<Dispatch>, stamp: Stamp, completed_too: bool) {
    let this = dispatch.clone();
    dispatch.context.spawn(async move {
        let context = &this.context;
        while !context.closed.is_cancelled() {
            let stamp = Stamp { until: context.until(), ..stamp.clone() };
            let (engine, none) = (&context.engine, Duration::ZERO);
            let lost = if completed_too {
                let both = engine.complete_and_lease(&this.queue, &[], &[], none, &stamp).await;
                both.and_then(|both| both.leased)
            } else {
                engine.lease(&this.queue, &[], none, &stamp).await
            };
            match lost {
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
