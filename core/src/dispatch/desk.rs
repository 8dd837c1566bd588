//! Leasing: calls wait in line here, a request asks the engine for all of them, and a lease that
//! comes for a call that is gone is given back. What a call completes before it leases goes along with
//! the next request. As long as there is enough for everybody, a second request may leave while the
//! first is on its way; only one ever waits for an item.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, SetOnce, oneshot};

use super::batcher::{at, end_of_wait, look_again};
use super::flight::{Flight, drive};
use super::line::{Call, Completing, Line};
use super::order::{Items, Kind, Sent};
use super::pace::{Answered, board, depart, hand_over};
use super::question::Question;
use super::{Dispatch, Lane, by_lease};
use crate::engine::{Complete, Leased, LeasedItem, Stamp, Wanted};
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
    /// Held while a request waits for more calls, so that two do not share them out.
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

/// Leases up to `count` (1 to [`MAX_BATCH`]) items. `wait`: `None` until there is one. The engine's first
/// answer is waited for until `answer_by`.
///
/// [`MAX_BATCH`]: crate::options::MAX_BATCH
pub(crate) async fn lease(
    dispatch: &Arc<Dispatch>,
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
    answer_by: Instant,
) -> Result<Vec<Lease>> {
    stand_in_line(dispatch, None, count, duration_ms, wait, answer_by).await
}

/// Completes 1 to [`MAX_BATCH`] leases, and leases as [`lease`] does; both in one request, if they
/// are not more than [`MAX_BATCH`] together. What was completed, `None` if there was no answer to that.
///
/// [`MAX_BATCH`]: crate::options::MAX_BATCH
pub(crate) async fn complete_and_lease(
    dispatch: &Arc<Dispatch>,
    (leases, handles): (Vec<Complete>, Vec<Arc<Shared>>),
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
    answer_by: Instant,
) -> (Option<Vec<bool>>, Result<Vec<Lease>>) {
    let (reply, mut completed) = oneshot::channel();
    let completing = Box::new(Completing { leases, handles, reply });
    let leases =
        stand_in_line(dispatch, Some(completing), count, duration_ms, wait, answer_by).await;
    // It was answered first. From here on nothing may be waited for: nobody would give back.
    (completed.try_recv().ok(), leases)
}

async fn stand_in_line(
    dispatch: &Arc<Dispatch>,
    completing: Option<Box<Completing>>,
    count: usize,
    duration_ms: u64,
    wait: Option<Duration>,
    answer_by: Instant,
) -> Result<Vec<Lease>> {
    // A wait too long for the clock is a wait without end.
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let asked = Arc::new(SetOnce::new());
    let (reply, mut answer) = oneshot::channel();
    let desk = &dispatch.desk;
    let attendant = || Flight::new(&dispatch.context, Attendant::start(dispatch).attend());
    let (alone, flights) = {
        let mut line = desk.lock();
        let alone = line.attendants == 0;
        let drives = alone.then(attendant);
        let name = |items: &mut Items| {
            let completes = completing.iter().flat_map(|completing| &completing.leases);
            completes.for_each(|lease| by_lease(items, lease));
        };
        let (number, first) = dispatch.order.join(Kind::Lease, name, drives.clone());
        line.calls.push_back(Call {
            number,
            count,
            duration_ms,
            since: Instant::now(),
            until,
            answer_by,
            completing,
            asked: asked.clone(),
            reply,
        });
        let another = line.needs_another(dispatch.context.engine.worth_a_request());
        let own = drives.or_else(|| another.then(attendant));
        line.attendants += usize::from(own.is_some());
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
struct Attendant {
    dispatch: Arc<Dispatch>,
    /// `None`: it has left the line.
    lane: Option<Lane>,
    /// What is on its way.
    asked: Option<Asked>,
}

struct Asked {
    question: Question,
    stamp: Stamp,
    completes: Vec<Complete>,
}

impl Attendant {
    fn start(dispatch: &Arc<Dispatch>) -> Attendant {
        let lane = Some(dispatch.lanes.take());
        Attendant { dispatch: dispatch.clone(), lane, asked: None }
    }

    async fn attend(mut self) {
        let dispatch = self.dispatch.clone();
        let (desk, context) = (&dispatch.desk, &dispatch.context);
        let worth_a_request = context.engine.worth_a_request();
        let mut rested = false;
        loop {
            let door = desk.door.lock().await;
            board(|| desk.lock().aboard(worth_a_request)).await;
            let first = || desk.lock().first();
            let mut turn = loop {
                if let Some(turn) = dispatch.order.try_turn(Kind::Lease, first()) {
                    break turn;
                }
                let next = expire(&dispatch);
                tokio::select! {
                    turn = dispatch.order.turn(Kind::Lease, first) => break turn,
                    () = at(next) => {}
                }
            };
            let (question, answered) = {
                let mut line = desk.lock();
                clear(&dispatch, &mut line);
                let another = line.attendants > 1;
                // Whoever was here may have gone just when there was news. Then the last question is
                // for nothing: it passes the news on to other clients.
                if another && !line.are_worth(worth_a_request) || line.calls.is_empty() && !rested {
                    if !line.calls.is_empty() {
                        // For the other attendant.
                        desk.news.notify_one();
                    }
                    return self.leave(&mut line);
                }
                line.away += 1;
                let question = Question::next(&mut line.calls, turn.limit());
                (question, line.answered)
            };
            turn.sends(question.last);
            let patience = match question.waits {
                true => PATIENCE * (context.waiting_queues.load(Ordering::Relaxed).max(1) as u32),
                false => Duration::ZERO,
            };
            let sent = Instant::now();
            let until = match question.answer_by {
                Some(answer_by) => answer_by,
                None if question.is_empty() => sent + PASS_ON.min(context.timeout),
                None => sent + context.timeout,
            };
            let operation = question.operation();
            let (mut question, stamp) = (question, self.stamp(until));
            let completes = std::mem::take(&mut question.completes);
            let wanted = std::mem::take(&mut question.wanted);
            let mut asking =
                Box::pin(ask(dispatch.clone(), completes.clone(), wanted, patience, stamp.clone()));
            self.asked = Some(Asked { question, stamp, completes });
            let departed = depart(asking.as_mut()).await;
            let in_place = answered[operation] && context.engine.leases_in_one_step();
            let unanswered: Option<Sent<'_>> = match in_place || departed.is_ready() {
                true => {
                    drop(turn);
                    None
                }
                false => Some(turn.end_unanswered()),
            };
            drop(door);
            let (completed, leased) = match departed {
                Poll::Ready(answer) => answer,
                Poll::Pending => loop {
                    let next = self.expire(until);
                    let next = expire(&dispatch).map_or(next, |in_line| next.min(in_line));
                    tokio::select! {
                        biased;
                        answer = &mut asking => break answer,
                        () = at(Some(next)) => {}
                    }
                },
            };
            drop(unanswered);
            let Some(Asked { mut question, stamp, completes }) = self.asked.take() else { return };
            if let Some(completed) = completed {
                question.completed(&completes, &completed);
            }
            match leased {
                Ok(leased) => {
                    let look_in = leased.look_in.unwrap_or(patience).min(patience);
                    let (parcels, again) = allot(&dispatch, leased, question, sent);
                    hand_over(context, parcels);
                    rested = !again;
                    desk.lock().answered[operation] = true;
                    if !rested {
                        continue;
                    }
                    if self.leave_to_another() {
                        // What the other one was told may be older.
                        return desk.news.notify_one();
                    }
                    rest(&dispatch, look_in).await;
                }
                Err(error) => {
                    rested = false;
                    if error.outcome_unknown() {
                        self.give_up(&question, &completes, stamp);
                    }
                    desk.lock().away -= 1;
                    let numbers: Vec<u64> = question.calls.iter().map(|call| call.number).collect();
                    dispatch.order.leave(Kind::Lease, &numbers);
                    for call in question.calls {
                        let _ = call.reply.send(Err(error.clone()));
                    }
                }
            }
        }
    }

    fn stamp(&mut self, until: Instant) -> Stamp {
        let lanes = &self.dispatch.lanes;
        self.lane.get_or_insert_with(|| lanes.take()).next(until)
    }

    /// Calls that were sent, and whose own time or that of the request is over, are told so. When to do it
    /// again.
    fn expire(&mut self, until: Instant) -> Instant {
        let now = Instant::now();
        let mut next = look_again(now, until);
        for call in self.asked.iter_mut().flat_map(|asked| &mut asked.question.calls) {
            // One that waits for an item has no time of its own for this answer.
            let end = end_of_wait(call.expires().unwrap_or(until), until);
            if end > now {
                next = next.min(end);
            } else if !call.reply.is_closed() {
                call.fail(self.dispatch.late(true));
            }
        }
        next
    }

    /// The outcome of a request is unknown: items may have been leased to nobody. Its lane stays as it
    /// is until that is known; other requests go on with a new one.
    fn give_up(&mut self, question: &Question, completes: &[Complete], stamp: Stamp) {
        if question.items > 0 {
            self.lane = Some(self.dispatch.lanes.take());
            recover(&self.dispatch, stamp, !completes.is_empty());
        } else if let Some(lane) = &mut self.lane {
            lane.unknown();
        }
    }

    /// Leaves if there is another one.
    fn leave_to_another(&mut self) -> bool {
        let dispatch = self.dispatch.clone();
        let mut line = dispatch.desk.lock();
        let another = line.attendants > 1;
        if another {
            self.leave(&mut line);
        }
        another
    }

    fn leave(&mut self, line: &mut Line) {
        if let Some(lane) = self.lane.take() {
            self.dispatch.lanes.put_back(lane);
        }
        line.attendants -= 1;
        if line.attendants == 0 {
            self.dispatch.order.rests(Kind::Lease);
        }
    }
}

/// What is left to do when a panic, or the end of the runtime, has ended the task.
impl Drop for Attendant {
    fn drop(&mut self) {
        // It has left by itself.
        if self.lane.is_none() {
            return;
        }
        let dispatch = self.dispatch.clone();
        let mut gone = Vec::new();
        if let Some(Asked { question, stamp, completes }) = self.asked.take() {
            self.give_up(&question, &completes, stamp);
            dispatch.desk.lock().away -= 1;
            gone.extend(question.calls.into_iter().map(|call| (call, true)));
        }
        let mut line = dispatch.desk.lock();
        // Nothing comes back on a lane whose last request may be on its way.
        self.lane = None;
        self.leave(&mut line);
        if line.attendants == 0 {
            // Nobody serves those in line. The next call starts anew.
            gone.extend(line.calls.drain(..).map(|call| (call, false)));
        }
        drop(line);
        let numbers: Vec<u64> = gone.iter().map(|(call, _)| call.number).collect();
        dispatch.order.leave(Kind::Lease, &numbers);
        for (mut call, sent) in gone {
            call.fail(dispatch.stopped(sent));
        }
    }
}

/// Calls that are gone leave the line, all of them if the client is closed.
fn clear(dispatch: &Dispatch, line: &mut Line) {
    if dispatch.context.closed.is_cancelled() {
        for call in &mut line.calls {
            call.fail(Error::closed());
            call.completing = None;
        }
    }
    let mut gone = Vec::new();
    line.calls.retain(|call| {
        let stays = call.counts();
        if !stays && call.number > 0 {
            gone.push(call.number);
        }
        stays
    });
    dispatch.order.leave(Kind::Lease, &gone);
}

/// Calls in line whose time is over are told so. When the next one's will be.
fn expire(dispatch: &Dispatch) -> Option<Instant> {
    let now = Instant::now();
    let mut line = dispatch.desk.lock();
    let mut next = None::<Instant>;
    let mut any = false;
    for call in &mut line.calls {
        match call.expires() {
            Some(time) if time <= now => {
                any = true;
                // Nothing of it was sent: what it completes is not completed either.
                call.completing = None;
                call.fail(dispatch.late(false));
            }
            Some(time) => next = Some(next.map_or(time, |next| next.min(time))),
            None => {}
        }
    }
    if any {
        clear(dispatch, &mut line);
    }
    next
}

/// Asks the engine: what is completed, if anything was to be and it was, whatever became of the leasing.
async fn ask(
    dispatch: Arc<Dispatch>,
    completes: Vec<Complete>,
    wanted: Vec<Wanted>,
    patience: Duration,
    stamp: Stamp,
) -> (Option<Vec<bool>>, Result<Leased>) {
    let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
    if completes.is_empty() {
        return (None, engine.lease(queue, &wanted, patience, &stamp).await);
    }
    if wanted.is_empty() {
        return match engine.complete(queue, &completes, &stamp).await {
            Ok(completed) => {
                let nothing = Leased { items: Vec::new(), look_in: Some(Duration::ZERO) };
                (Some(completed), Ok(nothing))
            }
            Err(error) => (None, Err(error)),
        };
    }
    match engine.complete_and_lease(queue, &completes, &wanted, patience, &stamp).await {
        Ok(done) => (Some(done.completed), done.leased),
        Err(error) => (None, Err(error)),
    }
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
    // Calls that did not fit into the request have their number still. It must not hold up others when
    // they are not asked for again at once.
    let mut passed = Vec::new();
    for mut call in question.calls {
        let stays = !call.reply.is_closed() && !drained;
        if call.number > 0 && !stays {
            passed.push(std::mem::take(&mut call.number));
        }
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
            if call.number > 0 {
                passed.push(call.number);
            }
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
    dispatch.order.leave(Kind::Lease, &passed);
    dispatch.give_back(items.map(|item| item.token).collect());
    let new_calls = !line.calls.is_empty();
    for call in waiting.into_iter().rev() {
        line.put_back(call);
    }
    // The other attendant may wait for calls that only this one could ask for.
    dispatch.order.stand_again();
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
        let mut backoff = context.backoff();
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
                Err(error) if error.kind().is_retryable() => context.pause(&mut backoff).await,
                Err(_) => return,
            }
        }
    });
}
