//! Marks of memory and swap, in control groups that the tests make: the worker is this test program, which runs the test
//! [`process`].

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::time::Duration;

use leaseq::Client;
use leaseq_jobs::{Context, Event, JobError, Producer, Throttle, Worker};
use leaseq_test_support::ControlGroup;

use crate::support::Echo;

const URL: &str = "LEASEQ_TEST_THROTTLED_URL";
const MIB: u64 = 1 << 20;

/// Not a test, but the worker of the others. It tells what happens, and allocates as many MiB as a line says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process of other tests"]
async fn process() {
    let Ok(url) = std::env::var(URL) else { return };
    std::thread::spawn(|| {
        let mut held: Vec<u8> = Vec::new();
        for line in std::io::stdin().lines() {
            let mebibytes: usize = line.unwrap().parse().unwrap();
            held.clear();
            held.shrink_to_fit();
            // Written, or it would not be there.
            held.resize(mebibytes << 20, 1);
        }
        std::process::exit(0);
    });
    let client = Client::connect(&url).await.unwrap();
    let worker = Worker::new(&client)
        .throttle(Throttle::from_env().unwrap())
        .on_event(|event| {
            if let Event::Throttled(throttled) = event {
                eprintln!("throttled {throttled}");
            }
        })
        .handle(|echo: Echo, _: Context| async move {
            eprintln!("ran {}", echo.text);
            Ok::<_, JobError>(())
        });
    worker.run_process().await
}

struct Process {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Process {
    fn start(group: &ControlGroup, url: &str, mark: (&str, &str)) -> Process {
        let mut command = group.command(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture", "control_groups::process"]);
        command.env(URL, url).env(mark.0, mark.1);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Process { child, input, lines }
    }

    fn hold(&mut self, mebibytes: u64) {
        writeln!(self.input, "{mebibytes}").unwrap();
    }

    /// The next line that it says.
    fn says(&mut self) -> String {
        self.lines.next().expect("the process goes on").unwrap()
    }
}

async fn is_throttled(group: ControlGroup, mark: (&str, &str), mebibytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("queue.db").display());
    let client = Client::connect(&url).await.unwrap();
    let producer = Producer::new(&client);
    let mut process = Process::start(&group, &url, mark);
    let echo = |text: &str| Echo { text: text.into() };
    producer.enqueue(echo("first")).await.unwrap();
    assert_eq!(process.says(), "ran first");
    process.hold(mebibytes);
    assert_eq!(process.says(), "throttled true");
    producer.enqueue(echo("second")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let queue = client.queue(<Echo as leaseq_jobs::Job>::QUEUE).unwrap();
    assert_eq!(queue.queue_len().await.unwrap(), 1, "a throttled worker leases nothing");
    process.hold(0);
    // The hook runs beside the handlers.
    let mut last = [process.says(), process.says()];
    last.sort();
    assert_eq!(last, ["ran second", "throttled false"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_throttled_by_the_memory_of_its_control_group() {
    let Some(group) = ControlGroup::new(400 * MIB, 0) else {
        eprintln!("no control group with a limit can be made here: not tested");
        return;
    };
    is_throttled(group, ("LEASEQ_THROTTLE_MEMORY", "70:50"), 320).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_throttled_by_the_swap_of_its_control_group() {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let group = ControlGroup::new(128 * MIB, 200 * MIB).filter(|_| swaps.lines().count() > 1);
    let Some(group) = group else {
        eprintln!("no control group with a limit of swap can be made here: not tested");
        return;
    };
    is_throttled(group, ("LEASEQ_THROTTLE_SWAP", "30:20"), 250).await;
}
