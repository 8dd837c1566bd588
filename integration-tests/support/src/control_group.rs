use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

/// A control group of Linux (version 1 or 2) with limits of its own, which is removed when this is dropped.
#[derive(Debug)]
pub struct ControlGroup(PathBuf);

impl Drop for ControlGroup {
    fn drop(&mut self) {
        _ = fs::remove_dir(&self.0);
    }
}

impl ControlGroup {
    /// A group that may use so many bytes of memory, and of swap if the kernel counts that. `None`: this user may not make
    /// groups, or there are none.
    pub fn new(memory: u64, swap: u64) -> Option<ControlGroup> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("leaseq-test-{}-{number}", std::process::id());
        // In version 1, the limit of both is above that of one.
        let one =
            [("memory.limit_in_bytes", memory), ("memory.memsw.limit_in_bytes", memory + swap)];
        let two = [("memory.max", memory), ("memory.swap.max", swap)];
        ControlGroup::make(&Path::new("/sys/fs/cgroup/memory").join(&name), &one)
            .or_else(|_| ControlGroup::make(&Path::new("/sys/fs/cgroup").join(&name), &two))
            .ok()
    }

    fn make(path: &Path, limits: &[(&str, u64); 2]) -> io::Result<ControlGroup> {
        fs::create_dir(path)?;
        let group = ControlGroup(path.to_owned());
        fs::write(path.join(limits[0].0), limits[0].1.to_string())?;
        _ = fs::write(path.join(limits[1].0), limits[1].1.to_string());
        Ok(group)
    }

    /// Moves a process into this group. What it has used before is not counted.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn join(&self, process: u32) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), process.to_string())
    }

    /// Starts a program in this group.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        let join = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
        command.args(["-c", join]).arg(&self.0).arg(program);
        command
    }
}
