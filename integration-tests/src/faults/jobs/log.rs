//! The log of a worker: a line for each note of its handlers, which survives the process.

use std::path::Path;

use super::history::{Micros, Run};
use crate::error::Error;

/// The runs of handlers that a log tells.
pub(super) fn read(path: &Path, worker: usize) -> Result<Vec<Run>, Error> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // No handler has run.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut runs: Vec<Run> = Vec::new();
    // A killed process may have written half a line.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [at, id, what, rest @ ..] = &words[..] else {
            return Err(format!("{line:?} is no line of a log").into());
        };
        let at: Micros = at.parse()?;
        let open =
            |runs: &mut Vec<Run>| runs.iter().rposition(|run| run.id == *id && run.end.is_none());
        match (*what, rest) {
            ("start", [attempt]) => {
                let (id, attempt) = ((*id).to_owned(), attempt.parse()?);
                runs.push(Run {
                    worker,
                    id,
                    attempt,
                    start: at,
                    end: None,
                    told: None,
                    over: Vec::new(),
                });
            }
            ("cancelled", [reason]) => {
                let open = open(&mut runs).ok_or_else(|| format!("{line:?} is of no run"))?;
                runs[open].told = Some(((*reason).to_owned(), at));
            }
            ("over", [what]) => {
                let open = open(&mut runs).ok_or_else(|| format!("{line:?} is of no run"))?;
                runs[open].over.push(((*what).to_owned(), at));
            }
            ("end", []) => {
                let open = open(&mut runs).ok_or_else(|| format!("{line:?} is of no run"))?;
                runs[open].end = Some(at);
            }
            _ => {}
        }
    }
    Ok(runs)
}
