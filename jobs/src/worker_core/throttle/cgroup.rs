//! What a cgroup of version 2 uses of its limits.

use std::fs;
use std::path::Path;

/// In percent; `None`: unknown, or there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) memory: Option<f64>,
    pub(super) swap: Option<f64>,
}

/// Where the cgroups are, and which one this process is in.
const ROOT: &str = "/sys/fs/cgroup";
const OWN: &str = "/proc/self/cgroup";

/// Of the cgroup of this process and those around it, what the fullest uses. `None` for what has no limit.
pub(super) fn read() -> Usage {
    let own = fs::read_to_string(OWN).unwrap_or_default();
    // Version 1 has other lines as well.
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    path.map(|path| read_at(Path::new(ROOT), path)).unwrap_or_default()
}

fn read_at(root: &Path, path: &str) -> Usage {
    let own = root.join(path);
    let mut fullest = Usage::default();
    for group in own.ancestors().take_while(|group| group.starts_with(root)) {
        fullest.memory = fullest.memory.into_iter().chain(memory(group)).reduce(f64::max);
        fullest.swap = fullest.swap.into_iter().chain(swap(group)).reduce(f64::max);
    }
    fullest
}

/// The working set: not what the kernel takes back before anything else.
fn memory(group: &Path) -> Option<f64> {
    let limit = number(&group.join("memory.max"))?;
    let current = number(&group.join("memory.current"))?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let inactive = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let inactive = inactive.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0.0);
    percent((current - inactive).max(0.0), limit)
}

fn swap(group: &Path) -> Option<f64> {
    let limit = number(&group.join("memory.swap.max"))?;
    percent(number(&group.join("memory.swap.current"))?, limit)
}

/// `None`: there is no such file, or it says `max`.
fn number(file: &Path) -> Option<f64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn percent(used: f64, limit: f64) -> Option<f64> {
    (limit > 0.0).then(|| used / limit * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }

    #[test]
    fn the_fullest_of_the_groups_counts_without_its_page_cache() {
        let root = tempfile::tempdir().unwrap();
        let stat = "anon 300\nfile 600\ninactive_file 500\nactive_file 100\n";
        write(
            &root.path().join("pods/own"),
            &[("memory.max", "max\n"), ("memory.current", "900\n")],
        );
        assert_eq!(read_at(root.path(), "pods/own"), Usage::default());
        let limited =
            [("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", stat)];
        write(&root.path().join("pods/own"), &limited);
        let usage = read_at(root.path(), "pods/own");
        assert_eq!((usage.memory, usage.swap), (Some(40.0), None));
        let outer = [
            ("memory.max", "2000"),
            ("memory.current", "1900"),
            ("memory.swap.max", "100"),
            ("memory.swap.current", "25"),
        ];
        write(&root.path().join("pods"), &outer);
        let usage = read_at(root.path(), "pods/own");
        assert_eq!((usage.memory, usage.swap), (Some(95.0), Some(25.0)));
        // No swap at all is not a full one.
        write(&root.path().join("pods"), &[("memory.swap.max", "0")]);
        assert_eq!(read_at(root.path(), "pods/own").swap, None);
        assert_eq!(read_at(root.path(), "gone"), Usage::default());
    }
}
