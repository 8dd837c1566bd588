//! A terminal: the other end of a pseudo-terminal, and what its screen shows.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq_test_support::eventually;

use crate::support::Bench;

const ROWS: u16 = 40;
const COLUMNS: u16 = 150;
const LONG: Duration = Duration::from_secs(60);

/// Runs a program in a terminal of its own, and passes on what is typed and written.
const SCRIPT: &str = r"
import fcntl, os, pty, select, struct, sys, termios
end, tty = pty.openpty()
fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack('HHHH', int(sys.argv[1]), int(sys.argv[2]), 0, 0))
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(tty, fd)
    os.execvp(sys.argv[3], sys.argv[3:])
os.close(tty)
ends = [end, 0]
while True:
    for ready in select.select(ends, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            data = b''
        if ready == 0:
            if data:
                os.write(end, data)
            else:
                ends.remove(0)
        elif data:
            try:
                os.write(1, data)
            except BrokenPipeError:
                sys.exit(1)
        else:
            status = os.waitpid(child, 0)[1]
            sys.exit(os.waitstatus_to_exitcode(status) % 256)
";

pub(crate) struct Terminal {
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Runs the program with these arguments.
    pub(crate) fn run(bench: &Bench, args: &[&str]) -> Terminal {
        let made = bench.command(args);
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT, &ROWS.to_string(), &COLUMNS.to_string()]);
        command.arg(made.get_program()).args(made.get_args()).env_clear();
        command.envs(made.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm-256color").current_dir(bench.folder.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let [rows, columns] = [ROWS, COLUMNS].map(|size| size.try_into().unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (mut out, seen) = (child.stdout.take().unwrap(), screen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                seen.lock().unwrap().process(&buffer[..count]);
            }
        });
        Terminal { child, screen }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen is so.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&str) -> bool) {
        let seen = eventually(LONG, async || is(&self.text())).await;
        assert!(seen, "{what}: {}", self.text());
    }

    /// The process of the program.
    pub(crate) fn program(&self) -> rustix::process::Pid {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let ids = std::fs::read_to_string(children).unwrap();
        rustix::process::Pid::from_raw(ids.trim().parse().unwrap()).unwrap()
    }

    /// Waits for the end. The status, and whether the screen is that of a shell again.
    pub(crate) fn end(mut self) -> (i32, bool) {
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        let screen = self.screen.lock().unwrap();
        (status, !screen.screen().alternate_screen() && !screen.screen().hide_cursor())
    }
}
