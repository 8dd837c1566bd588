//! Output: a table for people, tab-separated lines for pipes, JSON for programs.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use comfy_table::{ContentArrangement, Table, TableStyle};
use leaseq_report::{escaped, escaped_bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use crate::text;

/// Longest text of a cell of a table, in bytes; a wider terminal shows no more.
const MAX_CELL: usize = 500;
/// The width of a table that goes to no terminal, unless COLUMNS says another.
const WIDTH: u16 = 120;

/// How to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    /// Whether to write for people.
    pub(crate) table: bool,
    pub(crate) color: bool,
}

/// A value of a table.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Empty,
    Id(Vec<u8>),
    /// Untrusted text or data.
    Text(Vec<u8>),
    /// A word of this program; `true`: it deserves attention.
    Word(String, bool),
    Number(u64),
    /// A size of memory.
    Bytes(u64),
    Time(SystemTime),
    Duration(Duration),
}

impl Cell {
    pub(crate) fn text(text: impl AsRef<[u8]>) -> Cell {
        Cell::Text(text.as_ref().to_vec())
    }

    pub(crate) fn word(text: impl Into<String>) -> Cell {
        Cell::Word(text.into(), false)
    }

    /// A number that deserves attention unless it is 0.
    pub(crate) fn alarm(number: u64) -> Cell {
        if number == 0 { Cell::Number(0) } else { Cell::Word(number.to_string(), true) }
    }

    pub(crate) fn duration(duration: Option<Duration>) -> Cell {
        duration.map_or(Cell::Empty, Cell::Duration)
    }

    pub(crate) fn time(time: Option<SystemTime>) -> Cell {
        time.map_or(Cell::Empty, Cell::Time)
    }

    /// As a whole and exactly, on one line.
    pub(crate) fn exact(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Id(id) => text::id(id),
            Cell::Text(text) => escaped_bytes(text).into_owned(),
            Cell::Word(word, _) => word.clone(),
            Cell::Number(number) | Cell::Bytes(number) => number.to_string(),
            Cell::Time(time) => text::exact_time(*time),
            Cell::Duration(duration) => text::whole_ms(*duration).to_string(),
        }
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Cell::Empty => "-".into(),
            Cell::Text(text) => escaped_bytes(&text[..text.len().min(MAX_CELL)]).into_owned(),
            Cell::Time(time) => text::local_time(*time),
            Cell::Duration(duration) => text::rough(*duration),
            Cell::Bytes(bytes) => text::size(*bytes),
            Cell::Id(_) | Cell::Word(..) | Cell::Number(_) => self.exact(),
        }
    }
}

impl Output {
    pub(crate) fn new(json: bool, table: bool, color: Option<bool>) -> Output {
        let terminal = io::stdout().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = color.unwrap_or(terminal && !no_color && !dumb);
        Output { json, table: table || terminal, color }
    }

    /// Rows, each of as many cells as there are headings.
    pub(crate) fn rows(&self, headings: &[&str], rows: &[Vec<Cell>]) -> io::Result<()> {
        if self.table {
            if rows.is_empty() {
                // An empty table looks like a defect.
                self.note("none");
                return Ok(());
            }
            return self.line(&self.table(headings, rows));
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        for row in rows {
            let cells: Vec<String> = row.iter().map(Cell::exact).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
        out.flush()
    }

    pub(crate) fn table(&self, headings: &[&str], rows: &[Vec<Cell>]) -> String {
        let mut table = Table::new();
        table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width());
        let style = |text: &str, code: &str| match self.color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        };
        table.set_header(headings.iter().map(|text| style(text, "1")).collect::<Vec<_>>());
        for row in rows {
            let cells = row.iter().map(|cell| match cell {
                Cell::Word(word, true) => style(word, "31"),
                _ => cell.shown(),
            });
            let mut row = comfy_table::Row::from(cells.collect::<Vec<_>>());
            row.max_height(1);
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// One document.
    pub(crate) fn document(&self, value: &Value) -> io::Result<()> {
        let text = if self.table { format!("{value:#}") } else { value.to_string() };
        // A table keeps its lines: none of the values has one.
        let lines: Vec<_> = text.lines().map(escaped).collect();
        self.line(&lines.join("\n"))
    }

    /// One of several documents, on a line of its own.
    pub(crate) fn object(&self, value: &Value) -> io::Result<()> {
        self.line(&escaped(&value.to_string()))
    }

    /// A line, or several, that needs no escaping.
    pub(crate) fn line(&self, line: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// Whether nobody reads the output any more. Without this, a command that waits would learn of it from its next line.
    pub(crate) fn is_closed(&self) -> bool {
        let out = io::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        poll(&mut asked, Some(&Timespec::default())).is_ok()
            && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// A remark for people, on standard error. Escapes control characters.
    pub(crate) fn note(&self, text: &str) {
        // If nobody reads it, it does not matter.
        let _ = writeln!(io::stderr(), "{}", escaped(text));
    }
}

/// The width of the terminal, or else of COLUMNS.
fn width() -> u16 {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col,
        _ => columns().unwrap_or(WIDTH),
    }
}
