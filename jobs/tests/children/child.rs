//! A child process of a worker in Rust: what `docs/child-protocol.md` describes. Its one job, `test.steps`, has the
//! steps `return`, `raise`, `exit`, `fail`, `block` and `until_cancelled`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::{Value, json};

/// The connection to the worker.
struct Worker(UnixStream);

impl Worker {
    /// It is the standard input, and moves out of the way of handlers that read theirs.
    fn connect() -> io::Result<Worker> {
        let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Ok(Worker(socket.into()))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let json = message.to_string();
        let size = u32::try_from(json.len()).map_err(io::Error::other)?;
        self.0.write_all(&size.to_be_bytes())?;
        self.0.write_all(json.as_bytes())
    }

    /// The next message; `None` at the end.
    fn receive(&mut self) -> io::Result<Option<Value>> {
        let mut size = [0; 4];
        match self.0.read_exact(&mut size) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut json = vec![0; u32::from_be_bytes(size) as usize];
        self.0.read_exact(&mut json)?;
        Ok(Some(serde_json::from_slice(&json)?))
    }
}

/// Does the steps, and returns the answer.
fn handle(worker: &mut Worker, job: &Value) -> io::Result<Value> {
    let mut answer = json!({"type": "done", "task": job["task"]});
    for step in job["args"]["steps"].as_array().into_iter().flatten() {
        match step[0].as_str().unwrap_or_default() {
            "return" => answer["result"] = step[1].clone(),
            "raise" => {
                answer["type"] = json!("failed");
                answer["classes"] = json!([step[1]]);
                answer["message"] = step[2].clone();
            }
            "exit" => std::process::exit(step[1].as_i64().unwrap_or_default() as i32),
            "fail" => return Err(io::Error::other("the child has failed")),
            "until_cancelled" => {
                while worker.receive()?.is_some_and(|it| it["type"] != "cancel") {}
            }
            _ => std::thread::park(),
        }
    }
    Ok(answer)
}

/// Not a test, but the child: this test program, which runs the test.
#[test]
#[ignore = "a process of other tests"]
fn process() {
    if std::env::var_os("LEASEQ_WORKER_PID").is_none() {
        return;
    }
    if let Err(error) = serve() {
        // The test program keeps what tests print.
        _ = writeln!(io::stderr(), "{error}");
        std::process::exit(1);
    }
    std::process::exit(0);
}

fn serve() -> io::Result<()> {
    let mut worker = Worker::connect()?;
    // If the worker has ended before, the connection is closed.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let jobs = json!({"test.steps": {"queue": "steps", "retry": {"max": 1}}});
    worker.send(&json!({"type": "hello", "version": 1, "jobs": jobs}))?;
    loop {
        worker.send(&json!({"type": "ready"}))?;
        let job = loop {
            match worker.receive()? {
                Some(message) if message["type"] == "cancel" => {}
                message => break message,
            }
        };
        let Some(job) = job.filter(|message| message["type"] == "run") else { return Ok(()) };
        worker.send(&json!({"type": "started", "task": job["task"]}))?;
        let answer = handle(&mut worker, &job)?;
        worker.send(&answer)?;
    }
}
