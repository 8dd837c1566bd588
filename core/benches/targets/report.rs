//! The table, and the same as JSON.

use std::process::Command;

use serde_json::{Value, json};

struct Line {
    target: &'static str,
    what: String,
    figure: f64,
    unit: &'static str,
    /// What the figure must not exceed, or must reach; `None` for figures that only inform.
    limit: Option<(Bound, f64)>,
    note: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost,
    AtLeast,
}

pub(crate) struct Report {
    quick: bool,
    lines: Vec<Line>,
}

impl Report {
    pub(crate) fn new(quick: bool) -> Self {
        Report { quick, lines: Vec::new() }
    }

    /// A figure with its limit.
    pub(crate) fn target(
        &mut self,
        target: &'static str,
        what: &str,
        figure: f64,
        unit: &'static str,
        limit: (Bound, f64),
        note: impl Into<String>,
    ) {
        let (what, note) = (what.to_owned(), note.into());
        self.lines.push(Line { target, what, figure, unit, limit: Some(limit), note });
    }

    /// A figure that explains others.
    pub(crate) fn info(
        &mut self,
        target: &'static str,
        what: &str,
        figure: f64,
        unit: &'static str,
        note: impl Into<String>,
    ) {
        let (what, note) = (what.to_owned(), note.into());
        self.lines.push(Line { target, what, figure, unit, limit: None, note });
    }

    pub(crate) fn print(&self) {
        println!("{}", machine());
        if self.quick {
            println!("--quick: one small round, to see that it works; the figures mean nothing");
        }
        println!("{:>3}  {:<58} {:>12} {:<10} {:>12}", "", "", "figure", "", "limit");
        for line in &self.lines {
            let limit = match line.limit {
                Some((Bound::AtMost, limit)) => format!("≤ {}", number(limit)),
                Some((Bound::AtLeast, limit)) => format!("≥ {}", number(limit)),
                None => String::new(),
            };
            let held = match line.held() {
                Some(true) => "ok",
                Some(false) => "MISSED",
                None => "",
            };
            println!(
                "{:>3}  {:<58} {:>12} {:<10} {limit:>12}  {held:<6} {}",
                line.target,
                line.what,
                number(line.figure),
                line.unit,
                line.note
            );
        }
    }

    pub(crate) fn write(&self, path: &str) {
        let lines: Vec<Value> = self
            .lines
            .iter()
            .map(|line| {
                json!({
                    "target": line.target, "what": line.what, "figure": line.figure,
                    "unit": line.unit, "limit": line.limit.map(|(_, limit)| limit),
                    "bound": line.limit.map(|(bound, _)| format!("{bound:?}")),
                    "held": line.held(), "note": line.note,
                })
            })
            .collect();
        let all = json!({ "machine": machine(), "quick": self.quick, "figures": lines });
        std::fs::write(path, format!("{all:#}\n")).unwrap();
        println!("figures written to {path}");
    }
}

impl Line {
    fn held(&self) -> Option<bool> {
        self.limit.map(|(bound, limit)| match bound {
            Bound::AtMost => self.figure <= limit,
            Bound::AtLeast => self.figure >= limit,
        })
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1_000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let server = Command::new("redis-server").arg("--version").output().ok();
    let server =
        server.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let version = server.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("?");
    format!(
        "{} {}, {cores} cores; redis-server {version} on loopback, no persistence; data of 100 bytes, ids of 36",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
