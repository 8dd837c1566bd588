//! Leases nothing while the machine is short of memory, swap or GPU memory.

mod cgroup;
mod gpu;
mod marks;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use self::gpu::Gpu;
pub use self::marks::{Marks, Throttle};
use super::capacity::Waiting;
use super::log;
use super::state::{Phase, Shared};

/// How often memory and swap are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at what is used as long as the worker leases.
pub(super) async fn run(shared: Arc<Shared>, throttle: Throttle) {
    tokio::select! {
        () = watch(&shared, throttle) => {}
        () = shared.until_phase(Phase::Draining) => {}
    }
}

async fn watch(shared: &Arc<Shared>, throttle: Throttle) {
    let mut gpu = Gpu::new(&throttle);
    loop {
        let gpu_used = match throttle.gpu {
            Some(_) => gpu.used().await,
            None => None,
        };
        // A machine that is short of memory may take long to read a file.
        let read = throttle.clone();
        let used =
            tokio::task::spawn_blocking(move || usage::read(&read)).await.unwrap_or_default();
        let used = [
            ("memory", throttle.memory, used.memory),
            ("swap", throttle.swap, used.swap),
            ("gpu", throttle.gpu, gpu_used),
        ];
        apply(shared, &used);
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Something of which a machine has only so much: its name, its marks, and how many percent of it are used.
type Used = (&'static str, Option<Marks>, Option<f64>);

/// Begins or ends to throttle. What cannot be read has no effect.
fn apply(shared: &Arc<Shared>, used: &[Used]) {
    let is = |test: fn(&Marks, f64) -> bool| {
        used.iter().find_map(|(what, marks, used)| {
            let (marks, used) = ((*marks)?, (*used)?);
            test(&marks, used).then_some((*what, used))
        })
    };
    let above = is(|marks, used| used >= f64::from(marks.high));
    let not_below = is(|marks, used| used >= f64::from(marks.low));
    if let Some((what, percent)) = above {
        if shared.set_throttled(true) {
            log::throttled(what, percent);
        }
    } else if not_below.is_none() && shared.set_throttled(false) {
        log::resumed();
    }
}

impl Shared {
    /// Leases nothing while it is throttled, and gives back what waits to be started. False: nothing has changed.
    pub(super) fn set_throttled(self: &Arc<Self>, throttled: bool) -> bool {
        let mut state = self.lock();
        if state.throttled == throttled {
            return false;
        }
        state.throttled = throttled;
        state.throttles += u64::from(throttled);
        if throttled {
            self.give_back_waiting(&mut state, Waiting::All);
        }
        drop(state);
        self.wake_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobOptions, QueueOptions, WorkerOptions};

    #[tokio::test]
    async fn a_worker_is_throttled_from_the_high_mark_until_it_is_below_the_low_one() {
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new("q")];
        options.jobs.insert("job".into(), JobOptions::new());
        let shared = Shared::new(options, 1).unwrap();
        let marks = Some(Marks::new(90, 80));
        let is_throttled = |memory, swap| {
            apply(
                &shared,
                &[("memory", marks, memory), ("swap", marks, swap), ("gpu", None, None)],
            );
            shared.lock().throttled
        };
        assert!(!is_throttled(Some(89.0), Some(85.0)));
        assert!(is_throttled(Some(90.0), Some(0.0)));
        assert!(is_throttled(Some(80.0), Some(0.0)), "not below the low mark");
        assert!(is_throttled(Some(0.0), Some(85.0)), "the other is not below the low mark");
        assert!(!is_throttled(Some(79.0), None));
        assert!(is_throttled(None, Some(99.0)));
        assert!(!is_throttled(None, None), "what is unknown throttles nobody");
        assert_eq!(shared.lock().throttles, 2);
    }
}
