//! What is used of the memory of GPUs, as a program tells.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use super::marks::Throttle;
use crate::worker_core::log;

/// How often the program runs, and how long it may take.
const INTERVAL: Duration = Duration::from_secs(5);
/// Prints used and total memory of each GPU, in a line each.
const NVIDIA_SMI: [&str; 3] =
    ["nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"];

pub(super) struct Gpu {
    command: Vec<String>,
    last: Option<f64>,
    next: Instant,
    is_failing: bool,
}

impl Gpu {
    pub(super) fn new(throttle: &Throttle) -> Gpu {
        let command = match throttle.gpu_command.is_empty() {
            true => NVIDIA_SMI.map(str::to_owned).into(),
            false => throttle.gpu_command.clone(),
        };
        Gpu { command, last: None, next: Instant::now(), is_failing: false }
    }

    /// In percent, not older than 5 s. `None`: the program has failed.
    pub(super) async fn used(&mut self) -> Option<f64> {
        if Instant::now() < self.next {
            return self.last;
        }
        let used = run(&self.command).await;
        self.next = Instant::now() + INTERVAL;
        if let Err(failure) = &used
            && !std::mem::replace(&mut self.is_failing, used.is_err())
        {
            log::gpu_unknown(&self.command[0], failure);
        }
        self.is_failing = used.is_err();
        self.last = used.ok();
        self.last
    }
}

async fn run(command: &[String]) -> Result<f64, String> {
    let output = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(INTERVAL, output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err(format!("it runs for more than {INTERVAL:?}")),
    };
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    highest(&text).ok_or_else(|| "it prints no percentage".to_owned())
}

/// Of lines with a percentage, or with what is used and the whole of it.
fn highest(text: &str) -> Option<f64> {
    let percent = |line: &str| {
        let number = |text: &str| text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
        let percent = match line.split_once(',') {
            Some((used, of)) => number(used)? / number(of)? * 100.0,
            None => number(line)?,
        };
        percent.is_finite().then_some(percent)
    };
    text.lines().filter_map(percent).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_gpu_counts() {
        assert_eq!(highest("2048, 8192\n6144, 8192\n"), Some(75.0));
        assert_eq!(highest(" 12.5 %\n"), Some(12.5));
        assert_eq!(highest("30\n"), Some(30.0));
        assert_eq!(highest("[N/A], 0\nnone\n0, 0\n"), None);
    }

    #[tokio::test]
    async fn a_program_tells_or_fails() {
        let shell = |script: &str| ["sh", "-c", script].map(str::to_owned);
        assert_eq!(run(&shell("echo 70; echo 20%")).await, Ok(70.0));
        assert_eq!(run(&shell("exit 3")).await, Err("exit status: 3".to_owned()));
        assert_eq!(run(&shell("echo no")).await, Err("it prints no percentage".to_owned()));
        assert!(run(&["/no/such/program".to_owned()]).await.is_err());
    }
}
