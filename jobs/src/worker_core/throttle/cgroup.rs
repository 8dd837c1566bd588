//! What a control group uses of its limits, in version 1 or 2.

use std::fs;
use std::path::Path;

/// In percent; `None`: unknown, or there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) memory: Option<f64>,
    pub(super) swap: Option<f64>,
}

/// Where the groups are, and which ones this process is in.
const ROOT: &str = "/sys/fs/cgroup";
const OWN: &str = "/proc/self/cgroup";
/// Version 1 says that there is no limit by one that is near the largest number.
const NO_LIMIT: f64 = (1u64 << 62) as f64;

#[derive(Debug, Clone, Copy)]
enum Version {
    One,
    Two,
}

/// Of the group of this process and those around it, what the fullest uses. `None` for what has no limit.
pub(super) fn read() -> Usage {
    let own = fs::read_to_string(OWN).unwrap_or_default();
    match own.lines().find_map(group_of_memory) {
        Some(path) => read_at(&Path::new(ROOT).join("memory"), path, Version::One),
        None => {
            let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
            path.map(|path| read_at(Path::new(ROOT), path, Version::Two)).unwrap_or_default()
        }
    }
}

/// Of a line of version 1, `4:memory:/group`.
fn group_of_memory(line: &str) -> Option<&str> {
    let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
    controllers.split(',').any(|controller| controller == "memory").then_some(path)
}

fn read_at(root: &Path, path: &str, version: Version) -> Usage {
    let own = root.join(path);
    let mut fullest = Usage::default();
    for group in own.ancestors().take_while(|group| group.starts_with(root)) {
        fullest.memory = fullest.memory.into_iter().chain(memory(group, version)).reduce(f64::max);
        fullest.swap = fullest.swap.into_iter().chain(swap(group, version)).reduce(f64::max);
    }
    fullest
}

/// The working set: not what the kernel takes back before anything else.
fn memory(group: &Path, version: Version) -> Option<f64> {
    let (limit, current, inactive) = match version {
        Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
        Version::Two => ("memory.max", "memory.current", "inactive_file "),
    };
    let (limit, current) = (number(&group.join(limit))?, number(&group.join(current))?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let inactive = stat.lines().find_map(|line| line.strip_prefix(inactive));
    let inactive = inactive.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0.0);
    percent((current - inactive).max(0.0), limit)
}

fn swap(group: &Path, version: Version) -> Option<f64> {
    let number = |file: &str| number(&group.join(file));
    match version {
        Version::Two => percent(number("memory.swap.current")?, number("memory.swap.max")?),
        // Counted together with the memory.
        Version::One => {
            let used = number("memory.memsw.usage_in_bytes")? - number("memory.usage_in_bytes")?;
            let limit = number("memory.memsw.limit_in_bytes")? - number("memory.limit_in_bytes")?;
            percent(used.max(0.0), limit)
        }
    }
}

/// `None`: there is no such file, or no limit.
fn number(file: &Path) -> Option<f64> {
    let number: f64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (number < NO_LIMIT).then_some(number)
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
        let read_at = |path| read_at(root.path(), path, Version::Two);
        assert_eq!(read_at("pods/own"), Usage::default());
        let limited =
            [("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", stat)];
        write(&root.path().join("pods/own"), &limited);
        let usage = read_at("pods/own");
        assert_eq!((usage.memory, usage.swap), (Some(40.0), None));
        let outer = [
            ("memory.max", "2000"),
            ("memory.current", "1900"),
            ("memory.swap.max", "100"),
            ("memory.swap.current", "25"),
        ];
        write(&root.path().join("pods"), &outer);
        let usage = read_at("pods/own");
        assert_eq!((usage.memory, usage.swap), (Some(95.0), Some(25.0)));
        // No swap at all is not a full one.
        write(&root.path().join("pods"), &[("memory.swap.max", "0")]);
        assert_eq!(read_at("pods/own").swap, None);
        assert_eq!(read_at("gone"), Usage::default());
    }

    #[test]
    fn version_1_counts_memory_and_swap_together() {
        assert_eq!(group_of_memory("4:memory:/pods/own"), Some("pods/own"));
        assert_eq!(group_of_memory("4:cpu,memory:/"), Some(""));
        assert_eq!(group_of_memory("9:name=systemd:/pods"), None);
        assert_eq!(group_of_memory("0::/pods"), None);
        let root = tempfile::tempdir().unwrap();
        let limited = [
            ("memory.limit_in_bytes", "1000"),
            ("memory.usage_in_bytes", "900"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 500\n"),
            ("memory.memsw.limit_in_bytes", "1400"),
            ("memory.memsw.usage_in_bytes", "1000"),
        ];
        write(&root.path().join("own"), &limited);
        let unlimited =
            [("memory.limit_in_bytes", "9223372036854771712"), ("memory.usage_in_bytes", "9000")];
        write(root.path(), &unlimited);
        let usage = read_at(root.path(), "own", Version::One);
        assert_eq!((usage.memory, usage.swap), (Some(40.0), Some(25.0)));
        assert_eq!(read_at(root.path(), "", Version::One), Usage::default());
    }
}
