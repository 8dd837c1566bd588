//! `top`: queues, rates, workers and leases on a screen that is refreshed.

mod screen;
mod view;

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use leaseq_report::duration;
use ratatui::Terminal;
use ratatui::backend::TermionBackend;
use ratatui::termion::event::Key;
use ratatui::termion::input::TermRead;
use ratatui::termion::raw::IntoRawMode;
use ratatui::termion::screen::IntoAlternateScreen;
use tokio::sync::mpsc;

use self::screen::{Screen, Sorting};
use self::view::Watch;
use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::stop::Stop;

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// The queues [default: all, up to 500]
    #[arg(value_name = "QUEUE")]
    queues: Vec<String>,
    /// How often to look: 100ms to 1h
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::read)]
    interval: Duration,
    /// What to begin with; the key s changes it
    #[arg(long, value_enum, default_value = "work")]
    sort: Sorting,
}

pub(crate) async fn top(shared: &Shared, args: TopArgs) -> Ended {
    let limits = Duration::from_millis(100)..=Duration::from_secs(3600);
    if !limits.contains(&args.interval) {
        return Err(Failure::usage("an interval is between 100ms and 1h"));
    }
    if !std::io::stdout().is_terminal() || shared.output.json {
        return Err(Failure::usage("top needs a terminal")
            .hint("leaseq status --watch writes into pipes, with --json too"));
    }
    // What is wrong is said before the screen is taken.
    shared.names(&args.queues).await?;
    let stop = Stop::listen()?;
    let mut keys = keys()?;
    // The terminal is as before when they are dropped, in a panic too.
    let raw = std::io::stdout().into_raw_mode()?.into_alternate_screen()?;
    let mut terminal = Terminal::new(TermionBackend::new(raw))?;
    terminal.hide_cursor()?;
    let mut screen = Screen::new(shared.server_name()?, shared.output.color, args.sort);
    let mut watch = Watch::new(args.queues);
    let mut ticks = tokio::time::interval(args.interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    terminal.draw(|frame| screen.draw(frame, &watch))?;
    loop {
        let pressed = tokio::select! {
            _ = ticks.tick() => {
                let client = shared.client().await?;
                let selected = screen.selected().map(str::to_owned);
                let look = watch.look(client, selected.as_deref());
                match keys_during(look, &mut keys, &stop).await {
                    Some(pressed) => pressed,
                    None => break,
                }
            }
            key = keys.recv() => match key.filter(|key| !QUIT.contains(key)) {
                Some(key) => vec![key],
                None => break,
            },
            () = stop.stopped() => break,
        };
        pressed.into_iter().for_each(|key| screen.press(key, &watch));
        terminal.draw(|frame| screen.draw(frame, &watch))?;
    }
    terminal.show_cursor()?;
    Ok(0)
}

const QUIT: [Key; 2] = [Key::Char('q'), Key::Ctrl('c')];

/// The keys that are pressed until it ends; `None`: it is to quit, also if the server does not answer.
async fn keys_during(
    look: impl Future<Output = ()>,
    keys: &mut mpsc::Receiver<Key>,
    stop: &Stop,
) -> Option<Vec<Key>> {
    let mut look = std::pin::pin!(look);
    let mut pressed = Vec::new();
    loop {
        tokio::select! {
            () = &mut look => return Some(pressed),
            key = keys.recv() => pressed.push(key.filter(|key| !QUIT.contains(key))?),
            () = stop.stopped() => return None,
        }
    }
}

/// The keys that are pressed. The thread ends with the process.
fn keys() -> std::io::Result<mpsc::Receiver<Key>> {
    let tty = ratatui::termion::get_tty()?;
    let (sender, receiver) = mpsc::channel(64);
    std::thread::Builder::new().name("keys".into()).spawn(move || {
        for key in tty.keys().map_while(Result::ok) {
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}
