//! Between the event loop and the core: calls go over in one piece, answers come back in one piece.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use napi::bindgen_prelude::{BufferSlice, Float64ArraySlice, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status, sys};
use napi_derive::napi;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::unconstrained;

use crate::group::{Done, Group, Groups, Waiting};
use crate::lease::Leases;
use crate::runtime;
use crate::wire::{Answer, Outbox, Outcome};

type Call = Pin<Box<dyn Future<Output = Ending> + Send>>;
/// Weak: by itself it does not keep the process running.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

enum Order {
    Call(Call),
    /// A call that may have to wait for long, and can be cancelled.
    Wait(u32, AbortHandle, Call),
    Group(Group),
    Cancel(u32),
}

enum Ending {
    One(u32, Answer),
    Many(Done),
}

/// What can be cancelled, by slot.
#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Waiting(AbortHandle),
    /// It may have to wait when its group has its answer. True: not any more.
    Grouped(bool),
}

/// How many groups a call looks back for one to join.
const NEAR: usize = 4;

/// One for each event loop. When that ends, everything here does.
#[napi]
pub struct Bridge {
    shared: Arc<Shared>,
    pub(crate) line: Arc<Line>,
}

/// Calls that were not sent yet, and where they go. Only what JavaScript holds may hold
/// it: the driver ends with the last one.
pub(crate) struct Line {
    orders: Mutex<Vec<Order>>,
    driver: UnboundedSender<Vec<Order>>,
}

struct Shared {
    wake: Wake,
    outbox: Mutex<Outbox>,
}

impl Shared {
    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// JavaScript is woken once for all answers that are there when it comes.
    fn put(&self, answers: &mut Vec<(u32, Answer)>) {
        let mut outbox = self.outbox();
        let empty = outbox.numbers.is_empty();
        for (call, answer) in answers.drain(..) {
            outbox.put(call, answer);
        }
        drop(outbox);
        if empty {
            // If the event loop is ending, nobody waits any more.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Line {
    /// Puts a call in line that the engine answers soon.
    pub(crate) fn call(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        self.push(Order::Call(Box::pin(async move { Ending::One(call, work.await) })));
    }

    /// Puts a call in line that may wait for long. Cancelling it drops it.
    pub(crate) fn wait(&self, call: u32, work: impl Future<Output = Answer> + Send + 'static) {
        let (abort, work) = abortable(call, work);
        self.push(Order::Wait(call, abort, work));
    }

    /// For calls that go together with others.
    pub(crate) fn groups(&self) -> impl Groups {
        Open(self.orders())
    }

    fn push(&self, order: Order) {
        self.orders().push(order);
    }

    fn orders(&self) -> MutexGuard<'_, Vec<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Open<'a>(MutexGuard<'a, Vec<Order>>);

impl Groups for Open<'_> {
    /// No further back than the last call that is in no group: what is added stays in order.
    fn newest(&mut self) -> impl Iterator<Item = &mut Group> {
        self.0.iter_mut().rev().take(NEAR).map_while(|order| match order {
            Order::Group(group) => Some(group),
            _ => None,
        })
    }

    fn begin(&mut self, group: Group) {
        self.0.push(Order::Group(group));
    }
}

fn abortable(
    call: u32,
    work: impl Future<Output = Answer> + Send + 'static,
) -> (AbortHandle, Call) {
    let (abort, registration) = AbortHandle::new_pair();
    let work = Abortable::new(work, registration);
    let cancelled = Ok(Outcome::Cancelled);
    (abort, Box::pin(async move { Ending::One(call, work.await.unwrap_or(cancelled)) }))
}

#[napi]
impl Bridge {
    /// `wake` is called when there are answers to take.
    #[napi(constructor)]
    pub fn new(wake: Function<'_, (), ()>) -> Result<Self> {
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let shared = Arc::new(Shared { wake, outbox: Mutex::default() });
        let (driver, orders) = unbounded_channel();
        let runtime = runtime::handle().map_err(|e| napi::Error::from_reason(e.message))?;
        // Not in slices: what is ready now is to be answered at one go.
        runtime.spawn(unconstrained(drive(orders, shared.clone())));
        Ok(Bridge { shared, line: Arc::new(Line { orders: Mutex::default(), driver }) })
    }

    /// Sends the line on.
    #[napi]
    pub fn send(&self) {
        let orders = std::mem::take(&mut *self.line.orders());
        // The driver ends later than this.
        let _ = self.line.driver.send(orders);
    }

    /// Ends a call that waits. It is answered with "cancelled", or was answered before.
    #[napi]
    pub fn cancel(&self, call: u32) {
        self.line.push(Order::Cancel(call));
    }

    /// The answers that are there.
    #[napi(ts_return_type = "[Float64Array, Buffer, Leases[]]")]
    pub fn take<'env>(
        &self,
        env: &'env Env,
    ) -> Result<(Float64ArraySlice<'env>, BufferSlice<'env>, Vec<Leases>)> {
        let outbox = std::mem::take(&mut *self.shared.outbox());
        let holders = outbox.holders.into_iter().map(|held| Leases::new(held, env));
        Ok((
            Float64ArraySlice::from_data(env, outbox.numbers)?,
            BufferSlice::from_data(env, outbox.bytes)?,
            holders.collect::<Result<_>>()?,
        ))
    }

    /// Whether the process must not end now, because calls are pending.
    #[napi]
    pub fn hold(&self, env: &Env, hold: bool) -> Result<()> {
        let (env, wake) = (env.raw(), self.shared.wake.raw());
        // SAFETY: this is the thread of the function's event loop, which is running, and the
        // function lives as long as `wake`.
        let status = unsafe {
            match hold {
                true => sys::napi_ref_threadsafe_function(env, wake),
                false => sys::napi_unref_threadsafe_function(env, wake),
            }
        };
        match status {
            sys::Status::napi_ok => Ok(()),
            status => Err(napi::Error::new(Status::from(status), "the event loop is ending")),
        }
    }
}

/// What the driver has begun.
#[derive(Default)]
struct Running {
    calls: FuturesUnordered<Call>,
    slots: Vec<Slot>,
    answers: Vec<(u32, Answer)>,
}

impl Running {
    fn slot(&mut self, number: u32) -> &mut Slot {
        let number = number as usize;
        if number >= self.slots.len() {
            self.slots.resize_with(number + 1, Slot::default);
        }
        &mut self.slots[number]
    }

    fn begin(&mut self, order: Order) {
        match order {
            Order::Call(call) => self.calls.push(call),
            Order::Wait(number, abort, call) => {
                *self.slot(number) = Slot::Waiting(abort);
                self.calls.push(call);
            }
            Order::Group(group) => match group.alone() {
                Ok(waiting) => self.wait(waiting),
                Err(group) => {
                    if let Group::Lease { calls, .. } = &group {
                        calls.iter().for_each(|call| *self.slot(call.slot) = Slot::Grouped(false));
                    }
                    self.calls.push(Box::pin(async move { Ending::Many(group.run().await) }));
                }
            },
            Order::Cancel(number) => match self.slot(number) {
                Slot::Free => {}
                Slot::Waiting(abort) => abort.abort(),
                Slot::Grouped(cancelled) => *cancelled = true,
            },
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        let number = waiting.slot;
        let (abort, call) = abortable(number, waiting.run());
        *self.slot(number) = Slot::Waiting(abort);
        self.calls.push(call);
    }

    fn end(&mut self, ending: Ending) {
        match ending {
            Ending::One(number, answer) => self.answer(number, answer),
            Ending::Many(Done { answers, waiting }) => {
                for (number, answer) in answers {
                    self.answer(number, answer);
                }
                for waiting in waiting {
                    match self.slot(waiting.slot) {
                        Slot::Grouped(true) => self.answer(waiting.slot, Ok(Outcome::Cancelled)),
                        _ => self.wait(waiting),
                    }
                }
            }
        }
    }

    fn answer(&mut self, number: u32, answer: Answer) {
        *self.slot(number) = Slot::Free;
        self.answers.push((number, answer));
    }
}

/// Runs the calls of one event loop until that ends, then drops them, and gives back what they won.
async fn drive(mut orders: UnboundedReceiver<Vec<Order>>, shared: Arc<Shared>) {
    let mut running = Running::default();
    poll_fn(|task: &mut Context<'_>| {
        while let Poll::Ready(line) = orders.poll_recv(task) {
            let Some(line) = line else { return Poll::Ready(()) };
            for order in line {
                running.begin(order);
            }
        }
        while let Poll::Ready(Some(ending)) = running.calls.poll_next_unpin(task) {
            running.end(ending);
        }
        if !running.answers.is_empty() {
            shared.put(&mut running.answers);
        }
        Poll::Pending
    })
    .await;
    drop(running);
    let unseen = std::mem::take(&mut shared.outbox().holders);
    for held in unseen.into_iter().flatten() {
        // It would expire anyway, only later.
        tokio::spawn(async move { held.queue.release(&held.lease, Default::default()).await });
    }
}
