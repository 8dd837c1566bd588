//! A progress bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// `what`: a plain word of this program.
    pub(crate) fn new(what: &'static str, total: u64) -> Progress {
        // Draws nothing where nobody sees it.
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let style = "{msg} {bar:30} {human_pos}/{human_len} {per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Progress(bar)
    }

    pub(crate) fn add(&self, count: u64) {
        self.0.inc(count);
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
