//! Target 1: what a full cycle costs the server, beside raw commands that move the same data.
//!
//! [`Pipelined`] is what a program without scripts sends. Scripts that do no more than our commands
//! ([`Bare`]) show what an atomic step costs by itself. One raw command for a whole batch ([`Batched`])
//! is the floor, for a queue that keeps no ids apart, gives no token and no answer for each item.

use std::ops::Range;

use crate::Scale;
use crate::bare::Bare;
use crate::cycles::{Cycles, Kind};
use crate::raw::{Batched, Pipelined};
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, Setup, median};

/// Batches that one side runs before it is the other's turn: a machine that others use changes its
/// speed from one tenth of a second to the next, and both sides should have the same of it.
pub(crate) const TURN: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Add,
    Lease,
    Complete,
}

pub(crate) const STEPS: [Step; 3] = [Step::Add, Step::Lease, Step::Complete];

/// One way to move all batches through a queue.
pub(crate) trait Side {
    /// Those whose time counts.
    const COMMANDS: &[&str];

    async fn run(&mut self, step: Step, batches: Range<usize>);

    /// Whether all that was added was completed.
    async fn is_done(&mut self) -> bool;

    /// Microseconds of server time that these batches take.
    async fn turn(&mut self, setup: &Setup, step: Step, batches: Range<usize>) -> f64 {
        setup.reset_stats();
        self.run(step, batches).await;
        setup.usec(Self::COMMANDS)
    }
}

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let (mut to_raw, mut to_floor, mut to_bare) = (vec![], vec![], vec![]);
    let (mut steps, mut raws) = ([vec![], vec![], vec![]], vec![]);
    for round in 0..scale.rounds {
        let raw = Pipelined::new(&setup, scale.batches);
        let (own, raw) = in_turns(&setup, &format!("cycle-{round}"), raw, scale).await;
        steps.iter_mut().zip(own).for_each(|(step, usec)| step.push(usec));
        to_raw.push(own.iter().sum::<f64>() / raw);
        raws.push(raw);

        let floor = Batched::new(&setup, scale.batches);
        let (own, floor) = in_turns(&setup, &format!("floor-{round}"), floor, scale).await;
        to_floor.push(own.iter().sum::<f64>() / floor);

        let bare = Bare::new(&setup, scale.batches);
        let (own, bare) = in_turns(&setup, &format!("bare-{round}"), bare, scale).await;
        to_bare.push(own.iter().sum::<f64>() / bare);
    }
    let [add, lease, complete] = steps.map(median);
    // The faster the machine is in a round, the larger the ratio.
    let rounds = raws.iter().copied().zip(to_raw.iter().copied());
    let (fastest, its_ratio) = rounds.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let note = format!(
        "add {add:.2} + lease {lease:.2} + complete {complete:.2} µs, raw {raw:.2} µs; \
         the fastest round {its_ratio:.2} beside {fastest:.2} µs; INFO commandstats",
        raw = median(raws)
    );
    report.scene(Scene::redis(format!("batches of {BATCH}")));
    let what = "server time per cycle / raw commands, pipelined";
    report.target("1", what, median(to_raw), "×", (Bound::AtMost, 1.3), note);
    let what = "server time per cycle / one raw command per batch";
    report.info("1", what, median(to_floor), "×", "the floor: no ids, tokens or answers");
    let what = "server time per cycle / the same commands in bare scripts";
    report.info("1", what, median(to_bare), "×", "scripts that decide and keep nothing");
}

/// Microseconds of server time for a cycle: ours by its steps, and the other's.
async fn in_turns(
    setup: &Setup,
    queue: &str,
    mut other: impl Side,
    scale: Scale,
) -> ([f64; 3], f64) {
    let mut ours = Cycles::new(setup.queue(queue), Kind::Plain, BATCH, scale.batches);
    let (mut own, mut others) = ([0.0; 3], 0.0);
    for (step, own) in STEPS.into_iter().zip(&mut own) {
        for first in (0..scale.batches).step_by(TURN) {
            let batches = first..scale.batches.min(first + TURN);
            *own += ours.turn(setup, step, batches.clone()).await;
            others += other.turn(setup, step, batches).await;
        }
    }
    assert!(ours.is_done().await && other.is_done().await, "everything was completed");
    let cycles = (scale.batches * BATCH) as f64;
    (own.map(|usec| usec / cycles), others / cycles)
}
