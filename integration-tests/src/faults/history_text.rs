//! The history of one item as text, for reports.

use super::history::{History, Outcome, Span, Time};

impl History {
    /// The readable history of an item, or of all items with a unique key.
    pub(super) fn of(&self, name: &str) -> String {
        let ids = self.ids_of(name);
        let has = |id: &str| ids.contains(&id);
        let mut lines: Vec<(Time, String)> = Vec::new();
        let mut note = |span: Span, id: &str, text: String| {
            let about = if ids.len() > 1 { format!("{id}: ") } else { String::new() };
            lines.push((span.began, line(span, &(about + &text))));
        };
        for add in self.adds.iter().filter(|add| has(&add.id)) {
            let (who, outcome) = (&add.who, add.outcome);
            let text = format!("{who} adds data {:016x}{}: {outcome:?}", add.data, add.options);
            note(add.span, &add.id, text);
        }
        for (i, lease) in self.leases.iter().enumerate().filter(|(_, lease)| has(&lease.id)) {
            let text = format!(
                "{} gets lease {i} of generation {}, attempt {}, data {:016x}, from {} to {}{}",
                lease.who,
                lease.generation,
                lease.attempt,
                lease.data,
                lease.given_ms(),
                lease.deadline_ms,
                if lease.keep_alive { ", kept alive" } else { "" },
            );
            note(lease.span, &lease.id, text);
        }
        for settle in self.settles.iter().filter(|settle| has(&self.leases[settle.lease].id)) {
            let some = |what: &Option<String>, before: &str| {
                what.as_ref().map_or(String::new(), |what| format!(" {before}{what}"))
            };
            let text = format!(
                "{} {:?} lease {}: {:?}{}{}{}{}{}",
                settle.who,
                settle.how,
                settle.lease,
                settle.outcome,
                settle.deadline_ms.map_or(String::new(), |at| format!(" until {at}")),
                settle.kept.result.map_or(String::new(), |is| format!(", result {is:016x}")),
                settle.kept.retain_ms.map_or(String::new(), |ms| format!(", retained {ms} ms")),
                some(&settle.state, ""),
                some(&settle.said, "– "),
            );
            note(settle.span, &self.leases[settle.lease].id, text);
        }
        for change in self.changes.iter().filter(|change| has(&change.id)) {
            let expects = change.expects.and_then(|look| self.looks[look].seen.as_ref());
            let expects = expects.map_or(String::new(), |seen| format!(" of {}", seen.generation));
            let text = format!("{} {}{expects}: {:?}", change.who, change.what, change.outcome);
            note(change.span, &change.id, text);
        }
        for look in self.looks.iter().filter(|look| has(&look.id)) {
            let seen = look.seen.as_ref().map_or("nothing".into(), ToString::to_string);
            let how = if look.listed { "lists" } else { "sees" };
            note(look.span, &look.id, format!("{} {how} {seen}", look.who));
        }
        for probe in self.probes.iter().filter(|probe| probe.name.is(name)) {
            note(probe.span, name, format!("{name} is added at the end: {:?}", probe.outcome));
        }
        lines.sort();
        let mut text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        for left in self.left.iter().filter(|left| has(&left.id)) {
            text += &format!("{} in the end {}\n", left.id, left.seen);
        }
        text
    }

    /// The id, or the ids of the items with this unique key.
    fn ids_of<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let with_key = |add: &&super::history::Add| add.options.key.as_deref() == Some(name);
        let mut ids: Vec<_> = self.adds.iter().filter(with_key).map(|add| &*add.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() { vec![name] } else { ids }
    }

    /// How many calls have an unknown outcome.
    pub(super) fn unknown(&self) -> usize {
        let adds = self.adds.iter().map(|add| add.outcome);
        let settles = self.settles.iter().map(|settle| settle.outcome);
        let changes = self.changes.iter().map(|change| change.outcome);
        let all = adds.chain(settles).chain(changes);
        all.filter(|outcome| *outcome == Outcome::Unknown).count() + self.asks.len()
    }
}

fn line(span: Span, text: &str) -> String {
    let ms = |time: Time| format!("{:.3}", time.as_secs_f64());
    let ended = span.ended.map_or("never".into(), ms);
    format!("  {:>9} – {ended:>9} s  {text}", ms(span.began))
}
