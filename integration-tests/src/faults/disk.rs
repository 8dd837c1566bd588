//! A small disk that can be filled: a file system in memory, which root can mount.

use std::path::Path;
use std::process::Command;

use crate::error::Error;

pub(super) struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    pub(super) fn mount(mib: u32) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("leaseq-disk-").tempdir()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "leaseq-faults"]);
        let output = mount.arg(folder.path()).output()?;
        if output.status.success() {
            return Ok(Disk { folder });
        }
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!("cannot mount a small disk: {}", why.trim()).into())
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the rest of the disk.
    pub(super) fn fill(&self) -> Result<(), Error> {
        use std::io::Write;
        let mut file = std::fs::File::create(self.filler())?;
        let piece = vec![0; 64 << 10];
        loop {
            match file.write(&piece) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Frees the space again.
    pub(super) fn free(&self) -> Result<(), Error> {
        match std::fs::remove_file(self.filler()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn filler(&self) -> std::path::PathBuf {
        self.folder.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, because a server that is just ending may still have a file open.
        let unmounted = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.folder.path().display());
        }
    }
}
