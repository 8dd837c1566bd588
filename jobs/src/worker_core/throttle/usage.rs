//! What is used of memory and swap.

use sysinfo::{MemoryRefreshKind, System};

use super::cgroup::{self, Usage};
use super::marks::Throttle;

/// Of the cgroup as far as it is limited, else of the machine.
pub(super) fn read(throttle: &Throttle) -> Usage {
    let own = cgroup::read();
    let has_all = (throttle.memory.is_none() || own.memory.is_some())
        && (throttle.swap.is_none() || own.swap.is_some());
    if has_all {
        return own;
    }
    let machine = machine();
    Usage { memory: own.memory.or(machine.memory), swap: own.swap.or(machine.swap) }
}

fn machine() -> Usage {
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::everything());
    let percent = |used: u64, of: u64| (of > 0).then(|| used as f64 / of as f64 * 100.0);
    let used = system.total_memory().saturating_sub(system.available_memory());
    Usage {
        memory: percent(used, system.total_memory()),
        swap: percent(system.used_swap(), system.total_swap()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_uses_some_of_its_memory() {
        let memory = machine().memory.unwrap();
        assert!(memory > 0.0 && memory < 100.0, "{memory} %");
        // Of a cgroup it may be less than one percent.
        let used = read(&Throttle::new().memory(90, 80)).memory.unwrap();
        assert!((0.0..=100.0).contains(&used), "{used} %");
    }
}
