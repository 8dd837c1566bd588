//! How `top` is drawn, and what its keys do.

use std::cmp::Reverse;
use std::time::SystemTime;

use clap::ValueEnum;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::termion::event::Key;
use ratatui::text::Line;
use ratatui::widgets::{Row, Table, TableState};

use super::view::{Rates, Running, Watch};
use crate::commands::workers;
use crate::output::Cell;
use crate::text;

/// The order of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sorting {
    /// Most ready and leased items first
    Work,
    /// Most dead items first
    Dead,
    /// Most completions in a second first
    Rate,
    /// By name
    Name,
}

impl Sorting {
    fn next(self) -> Sorting {
        match self {
            Sorting::Work => Sorting::Dead,
            Sorting::Dead => Sorting::Rate,
            Sorting::Rate => Sorting::Name,
            Sorting::Name => Sorting::Work,
        }
    }
}

/// What is selected, and how to draw.
pub(super) struct Screen {
    server: String,
    color: bool,
    sort: Sorting,
    selected: Option<String>,
}

type Queue<'a> = (&'a str, &'a leaseq::Counts, Rates);

impl Screen {
    pub(super) fn new(server: String, color: bool, sort: Sorting) -> Screen {
        Screen { server, color, sort, selected: None }
    }

    /// The queue whose leases are shown; `None`: those of all.
    pub(super) fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    pub(super) fn press(&mut self, key: Key, watch: &Watch) {
        let queues = self.sorted(watch);
        let place = self.selected.as_ref().and_then(|name| queues.iter().position(|q| q.0 == name));
        let chosen = match key {
            Key::Down | Key::Char('j') => place.map_or(0, |place| place + 1),
            Key::Up | Key::Char('k') => place.unwrap_or(0).saturating_sub(1),
            Key::Esc => {
                self.selected = None;
                return;
            }
            Key::Char('s') => {
                self.sort = self.sort.next();
                return;
            }
            _ => return,
        };
        let last = queues.len().saturating_sub(1);
        self.selected = queues.get(chosen.min(last)).map(|queue| queue.0.to_owned());
    }

    fn sorted<'a>(&self, watch: &'a Watch) -> Vec<Queue<'a>> {
        let mut queues = watch.queues();
        match self.sort {
            Sorting::Work => {
                queues.sort_by_key(|(_, counts, _)| Reverse(counts.ready + counts.leased))
            }
            Sorting::Dead => queues.sort_by_key(|(_, counts, _)| Reverse(counts.dead)),
            Sorting::Rate => queues.sort_by(|a, b| b.2.completed.total_cmp(&a.2.completed)),
            Sorting::Name => {}
        }
        queues
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, watch: &Watch) {
        let workers = u16::try_from(watch.workers.len()).unwrap_or(u16::MAX).clamp(1, 8);
        let [head, queues, workers, leases, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(2),
            Constraint::Length(workers + 2),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(self.head(watch), head);
        self.draw_queues(frame, queues, watch);
        self.draw_workers(frame, workers, watch);
        self.draw_leases(frame, leases, watch);
        let keys = "q quit   ↑ ↓ select a queue   Esc all queues   s sort";
        frame.render_widget(Line::from(keys).style(self.style(Color::DarkGray)), foot);
    }

    fn style(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn head(&self, watch: &Watch) -> Line<'static> {
        let at = watch.seen.map_or_else(|| "…".into(), text::local_time);
        match &watch.error {
            None => Line::from(format!("leaseq top  {}  {at}", self.server)).bold(),
            Some(error) => {
                let text = format!("last seen {at}: {}", leaseq_report::escaped(error));
                Line::from(text).bold().style(self.style(Color::Red))
            }
        }
    }

    fn draw_queues(&self, frame: &mut Frame<'_>, area: Rect, watch: &Watch) {
        let queues = self.sorted(watch);
        let selected = self.selected().and_then(|name| queues.iter().position(|q| q.0 == name));
        let mut rows: Vec<Row<'_>> =
            queues.iter().map(|queue| self.row(&queue_row(queue))).collect();
        for (name, error) in watch.uncounted() {
            let cells =
                [Cell::text(name), Cell::Word(leaseq_report::escaped(error).into_owned(), true)];
            rows.push(self.row(&cells));
        }
        if watch.left_out > 0 {
            rows.push(Row::new([format!("… and {} more", watch.left_out)]));
        }
        let widths = [24, 9, 9, 9, 9, 9, 9, 9, 9, 9].map(Constraint::Length);
        let headings = [
            "QUEUE", "READY", "DELAYED", "HELD", "LEASED", "DEAD", "ADDED/S", "DONE/S", "FAILED/S",
            "OLDEST", "",
        ];
        let widths = widths.into_iter().chain([Constraint::Fill(1)]);
        self.table(frame, area, &headings, rows, widths, selected);
    }

    fn draw_workers(&self, frame: &mut Frame<'_>, area: Rect, watch: &Watch) {
        let now = SystemTime::now();
        let rows = watch.workers.iter().map(|worker| self.row(&workers::row(worker, now)));
        let widths = [24, 18, 16, 8, 20, 8, 6, 8, 9, 6].map(Constraint::Length);
        let widths = widths.into_iter().chain([Constraint::Fill(1)]);
        self.table(frame, area, &workers::HEADINGS, rows.collect(), widths, None);
    }

    fn draw_leases(&self, frame: &mut Frame<'_>, area: Rect, watch: &Watch) {
        let now = SystemTime::now();
        let meant = |lease: &&Running| self.selected().is_none_or(|name| name == lease.queue);
        let rows = watch.leases.iter().filter(meant).map(|lease| {
            let left = match lease.deadline.duration_since(now) {
                Ok(left) => Cell::Duration(left),
                Err(_) => Cell::Word("expired".into(), true),
            };
            self.row(&[
                left,
                Cell::text(&lease.queue),
                Cell::Number(lease.attempt.into()),
                Cell::Id(lease.id.to_vec()),
            ])
        });
        let widths = [Constraint::Length(9), Constraint::Length(24), Constraint::Length(8)];
        let widths = widths.into_iter().chain([Constraint::Fill(1)]);
        self.table(frame, area, &["LEFT", "QUEUE", "ATTEMPT", "ID"], rows.collect(), widths, None);
    }

    fn table(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        headings: &[&'static str],
        rows: Vec<Row<'_>>,
        widths: impl Iterator<Item = Constraint>,
        selected: Option<usize>,
    ) {
        let header = Row::new(headings.iter().copied()).style(Style::new().bold());
        let table = Table::new(rows, widths).header(header.top_margin(1));
        let table = table.row_highlight_style(Style::new().reversed());
        let mut state = TableState::new().with_selected(selected);
        frame.render_stateful_widget(table, area, &mut state);
    }

    /// Cells as they are shown, without control characters.
    fn row(&self, cells: &[Cell]) -> Row<'static> {
        let cells = cells.iter().map(|cell| {
            let style = match cell {
                Cell::Word(_, true) => self.style(Color::Red),
                _ => Style::new(),
            };
            ratatui::widgets::Cell::from(cell.shown()).style(style)
        });
        Row::new(cells.collect::<Vec<_>>())
    }
}

fn queue_row((name, counts, rates): &Queue<'_>) -> Vec<Cell> {
    let rate = |rate: f64| Cell::word(format!("{rate:.1}"));
    let state = match (counts.paused, counts.rate_limited) {
        (true, _) => Cell::Word("paused".into(), true),
        (false, true) => Cell::word("rate limited"),
        _ => Cell::word(""),
    };
    vec![
        Cell::text(name),
        Cell::Number(counts.ready),
        Cell::Number(counts.delayed),
        Cell::Number(counts.held),
        Cell::Number(counts.leased),
        Cell::alarm(counts.dead),
        rate(rates.added),
        rate(rates.completed),
        match rates.failed > 0.0 {
            true => Cell::Word(format!("{:.1}", rates.failed), true),
            false => rate(0.0),
        },
        Cell::duration(counts.oldest_ready),
        state,
    ]
}
