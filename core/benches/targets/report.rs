//! The table, and the same as JSON.

use std::process::Command;

use serde_json::{Value, json};

/// Under which conditions figures are taken.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    server: &'static str,
    persistence: &'static str,
    /// Bytes of data of an item.
    data: usize,
    concurrency: String,
}

impl Scene {
    /// A private Redis server without persistence, items of 100 bytes.
    pub(crate) fn redis(concurrency: impl Into<String>) -> Self {
        let concurrency = concurrency.into();
        Scene { server: "redis", persistence: "none", data: crate::setup::DATA, concurrency }
    }

    /// The embedded engine on a file, with this `synchronous`.
    pub(crate) fn embedded(mode: &str, concurrency: impl Into<String>) -> Self {
        let persistence = if mode == "full" { "synchronous=full" } else { "synchronous=normal" };
        Scene { server: "sqlite", persistence, ..Scene::redis(concurrency) }
    }

    /// Items of another size.
    pub(crate) fn data(self, data: usize) -> Self {
        Scene { data, ..self }
    }

    fn text(&self) -> String {
        let data = match self.data {
            1_000_000.. => format!("{} MB", self.data / 1_000_000),
            1_000.. => format!("{} kB", self.data / 1_000),
            _ => format!("{} B", self.data),
        };
        match self.server {
            "sqlite" => format!("{}, {data}, {}", self.persistence, self.concurrency),
            _ => format!("{data}, {}", self.concurrency),
        }
    }
}

struct Line {
    target: &'static str,
    what: String,
    figure: f64,
    unit: &'static str,
    /// What the figure must not exceed, or must reach; `None` for figures that only inform.
    limit: Option<(Bound, f64)>,
    scene: Scene,
    note: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost,
    AtLeast,
}

pub(crate) struct Report {
    quick: bool,
    scene: Scene,
    lines: Vec<Line>,
}

impl Report {
    pub(crate) fn new(quick: bool) -> Self {
        Report { quick, scene: Scene::redis(""), lines: Vec::new() }
    }

    /// The figures that follow are taken like this.
    pub(crate) fn scene(&mut self, scene: Scene) {
        self.scene = scene;
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
        self.add(target, what, figure, unit, Some(limit), note.into());
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
        self.add(target, what, figure, unit, None, note.into());
    }

    fn add(
        &mut self,
        target: &'static str,
        what: &str,
        figure: f64,
        unit: &'static str,
        limit: Option<(Bound, f64)>,
        note: String,
    ) {
        let (what, scene) = (what.to_owned(), self.scene.clone());
        self.lines.push(Line { target, what, figure, unit, limit, scene, note });
    }

    pub(crate) fn print(&self) {
        println!("{}", machine());
        if self.quick {
            println!("--quick: one small round, to see that it works; the figures mean nothing");
        }
        println!("{:>3}  {:<58} {:>12} {:<10} {:>8}", "", "", "figure", "", "limit");
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
            let note = [line.scene.text(), line.note.clone()];
            let note: Vec<_> = note.into_iter().filter(|part| !part.is_empty()).collect();
            println!(
                "{:>3}  {:<58} {:>12} {:<10} {limit:>8}  {held:<6} {}",
                line.target,
                line.what,
                number(line.figure),
                line.unit,
                note.join("; ")
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
                    "held": line.held(), "server": line.scene.server,
                    "persistence": line.scene.persistence, "data": line.scene.data,
                    "concurrency": line.scene.concurrency, "note": line.note,
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
    let server = std::env::var("LEASEQ_REDIS_SERVER").unwrap_or("redis-server".into());
    let server = Command::new(server).arg("--version").output().ok();
    let server =
        server.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let version = server.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("?");
    format!(
        "{} {}, {cores} cores; redis-server {version} on loopback, no persistence; ids of 36 bytes",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
