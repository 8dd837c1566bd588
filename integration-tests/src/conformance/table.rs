//! The printed table: each scenario with each language on each engine, and the counts.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Passed,
    /// Not for this engine or language.
    NotMeant,
    Failed(String),
    /// A failure that is listed as known.
    Known,
    /// Listed as a known failure, but passed.
    Cured,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// By scenario, then by team and engine.
    rows: BTreeMap<String, BTreeMap<(String, usize), Mark>>,
    engines: Vec<&'static str>,
    teams: Vec<String>,
}

impl Table {
    pub(super) fn note(&mut self, scenario: &str, team: &str, engine: &'static str, mark: Mark) {
        let column = self.engines.iter().position(|name| *name == engine);
        let column = column.unwrap_or_else(|| {
            self.engines.push(engine);
            self.engines.len() - 1
        });
        if !self.teams.iter().any(|name| name == team) {
            self.teams.push(team.to_owned());
        }
        let row = self.rows.entry(scenario.to_owned()).or_default();
        // The worst of several results of one cell.
        let place = row.entry((team.to_owned(), column)).or_insert(Mark::Passed);
        if *place == Mark::Passed {
            *place = mark;
        }
    }

    pub(super) fn count(&self, wanted: impl Fn(&Mark) -> bool) -> usize {
        self.rows.values().flat_map(BTreeMap::values).filter(|mark| wanted(mark)).count()
    }

    pub(super) fn is_good(&self) -> bool {
        self.count(|mark| matches!(mark, Mark::Failed(_) | Mark::Cured)) == 0
    }

    /// The last lines.
    pub(super) fn counts(&self) -> String {
        let count = |mark: &Mark| self.count(|other| other == mark);
        let failed = self.count(|mark| matches!(mark, Mark::Failed(_) | Mark::Cured));
        format!(
            "{} scenarios, {} teams, {} engines; {} not meant, {} known to fail\n{} passed, {failed} failed",
            self.rows.len(),
            self.teams.len(),
            self.engines.len(),
            count(&Mark::NotMeant),
            count(&Mark::Known),
            count(&Mark::Passed),
        )
    }

    /// Each failure with its scenario, team and engine.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (scenario, marks) in &self.rows {
            for ((team, column), mark) in marks {
                let place = format!("{scenario} with {team} on {}", self.engines[*column]);
                match mark {
                    Mark::Failed(fault) => all.push(format!("{place}: {fault}")),
                    Mark::Cured => all.push(format!("{place}: passes, but is listed as failing")),
                    _ => {}
                }
            }
        }
        all
    }
}

impl fmt::Display for Table {
    /// A column for each engine, with a letter for each team: `.` passed, `-` not for it, `F` failed,
    /// `k` known to fail, `C` known to fail but passed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.keys().map(String::len).max().unwrap_or(0).max(8);
        let cell = self.teams.len().max(8);
        writeln!(f, "in each column, from the left: {}", self.teams.join(", "))?;
        write!(f, "{:<width$}", "scenario")?;
        for engine in &self.engines {
            write!(f, "  {engine:<cell$}")?;
        }
        writeln!(f)?;
        for (scenario, marks) in &self.rows {
            write!(f, "{scenario:<width$}")?;
            for column in 0..self.engines.len() {
                let letters: String = self
                    .teams
                    .iter()
                    .map(|team| match marks.get(&(team.clone(), column)) {
                        Some(Mark::Passed) => '.',
                        Some(Mark::NotMeant) => '-',
                        Some(Mark::Failed(_)) => 'F',
                        Some(Mark::Known) => 'k',
                        Some(Mark::Cured) => 'C',
                        None => ' ',
                    })
                    .collect();
                write!(f, "  {letters:<cell$}")?;
            }
            writeln!(f)?;
        }
        write!(f, "{}", self.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_failure_that_passes_fails_the_run() {
        let mut table = Table::default();
        table.note("a", "rust", "redis", Mark::Passed);
        table.note("b", "rust", "redis", Mark::Known);
        assert!(table.is_good());
        table.note("c", "rust", "redis", Mark::Cured);
        assert!(!table.is_good());
        assert_eq!(table.failures().len(), 1);
    }

    #[test]
    fn it_shows_every_scenario_and_counts() {
        let mut table = Table::default();
        table.note("adding", "rust", "redis", Mark::Passed);
        table.note("adding", "mixed", "redis", Mark::Failed("why".into()));
        let shown = table.to_string();
        assert!(shown.contains("adding    .F"), "{shown}");
        assert!(shown.ends_with("1 passed, 1 failed"), "{shown}");
        assert_eq!(table.failures(), ["adding with mixed on redis: why"]);
    }
}
