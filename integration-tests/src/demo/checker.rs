//! The checker compares the workers' notes with the added items and the counts of the queue.

use std::collections::BTreeMap;

use leaseq::Counts;

use super::note::Note;

/// The notes of one worker.
pub(super) struct Record {
    pub(super) worker: String,
    /// It was killed: its last answer may be missing.
    pub(super) killed: bool,
    pub(super) notes: Vec<Note>,
}

/// The result of the check.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// How many items each worker completed, in the order of the records.
    pub(super) completed: Vec<usize>,
    /// One line for each error.
    pub(super) faults: Vec<String>,
}

/// Checks a run. `expected`: the right digest of every item.
///
/// A worker that was killed during a `complete` has a note from before but none of the answer. If no
/// other worker got true, the true was its own. The queue's count of completed items, which must equal
/// the number of items, confirms that.
pub(super) fn check_records(
    expected: &BTreeMap<String, String>,
    records: &[Record],
    counts: &Counts,
) -> Report {
    let mut report = Report { completed: vec![0; records.len()], faults: Vec::new() };
    let mut trues: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut unanswered: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        for note in &record.notes {
            let (Note::Before { id, .. } | Note::After { id, .. }) = note;
            match (expected.get(id), note) {
                (None, _) => {
                    report.faults.push(format!("{} noted {id}, which is no item", record.worker));
                }
                (Some(right), Note::Before { sha256, .. }) => {
                    unanswered.entry(id).or_default().push(i);
                    if right != sha256 {
                        report.faults.push(format!(
                            "{id}: {} has the digest {sha256}, right is {right}",
                            record.worker
                        ));
                    }
                }
                (Some(_), Note::After { completed, .. }) => {
                    let open = unanswered.entry(id).or_default();
                    match open.iter().position(|who| *who == i) {
                        Some(place) => drop(open.remove(place)),
                        None => report
                            .faults
                            .push(format!("{id}: {} completed it without the work", record.worker)),
                    }
                    if *completed {
                        trues.entry(id).or_default().push(i);
                    }
                }
            }
        }
    }
    for id in expected.keys() {
        let open = unanswered.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        for i in open.iter().filter(|i| !records[**i].killed) {
            let worker = &records[*i].worker;
            report.faults.push(format!("{id}: {worker} noted no answer of its complete"));
        }
        let killed = open.iter().copied().find(|i| records[*i].killed);
        match (trues.get(id.as_str()).map_or(&[][..], Vec::as_slice), killed) {
            ([one], _) => report.completed[*one] += 1,
            ([], Some(killed)) => report.completed[killed] += 1,
            ([], None) => report.faults.push(format!("{id} is lost: nobody completed it")),
            (many, _) => {
                let names: Vec<&str> = many.iter().map(|i| records[*i].worker.as_str()).collect();
                report.faults.push(format!("{id} was completed twice: {}", names.join(", ")));
            }
        }
    }
    report.faults.extend(check_counts(expected.len() as u64, counts));
    report
}

/// Checks the counts of the queue.
fn check_counts(items: u64, counts: &Counts) -> Vec<String> {
    let totals = &counts.totals;
    let mut faults = Vec::new();
    for (what, is) in [("added", totals.added), ("completed", totals.completed)] {
        if is != items {
            faults.push(format!("the queue counted {is} items {what}, not {items}"));
        }
    }
    let left = counts.ready + counts.delayed + counts.leased + counts.dead;
    if left > 0 {
        faults.push(format!("{left} items are still in the queue"));
    }
    if totals.expired == 0 {
        faults.push("no lease expired: the run has proved nothing about that".into());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(id: &str, sha256: &str) -> Note {
        Note::Before { id: id.into(), sha256: sha256.into() }
    }

    fn after(id: &str, completed: bool) -> Note {
        Note::After { id: id.into(), completed }
    }

    /// Items `a` and `b` with digests `1` and `2`; the first worker was killed.
    fn report(first: &[Note], second: &[Note], change: impl FnOnce(&mut Counts)) -> Report {
        let expected = [("a", "1"), ("b", "2")].map(|(id, sha)| (id.into(), sha.into())).into();
        let record = |worker: &str, killed, notes: &[Note]| Record {
            worker: worker.into(),
            killed,
            notes: notes.to_vec(),
        };
        let records = [record("first", true, first), record("second", false, second)];
        let mut counts = Counts::default();
        counts.totals.added = 2;
        counts.totals.completed = 2;
        counts.totals.expired = 1;
        change(&mut counts);
        check_records(&expected, &records, &counts)
    }

    fn whole(id: &str, sha256: &str) -> [Note; 2] {
        [before(id, sha256), after(id, true)]
    }

    #[test]
    fn a_sound_run_has_no_faults() {
        let late = [before("a", "1"), after("a", false)];
        let report = report(&whole("a", "1"), &[whole("b", "2"), late].concat(), |_| ());
        assert!(report.faults.is_empty(), "{:?}", report.faults);
        assert_eq!(report.completed, [1, 1]);
    }

    #[test]
    fn a_killed_worker_may_have_lost_its_answer() {
        let report = report(&[before("a", "1")], &whole("b", "2"), |_| ());
        assert!(report.faults.is_empty(), "{:?}", report.faults);
        assert_eq!(report.completed, [1, 1]);
    }

    #[test]
    fn each_broken_promise_is_told() {
        let sound = [whole("a", "1"), whole("b", "2")].concat();
        let told = |first: &[Note], second: &[Note], change: fn(&mut Counts), fault: &str| {
            let faults = report(first, second, change).faults;
            assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}");
        };
        let none = |_: &mut Counts| ();
        told(&whole("a", "1"), &[], none, "b is lost");
        told(&whole("a", "1"), &[before("b", "2"), after("b", false)], none, "b is lost");
        told(&whole("a", "1"), &sound, none, "a was completed twice: first, second");
        told(&[], &[sound.clone(), sound.clone()].concat(), none, "a was completed twice");
        told(
            &[],
            &[whole("a", "3"), whole("b", "2")].concat(),
            none,
            "has the digest 3, right is 1",
        );
        told(&[before("a", "3")], &sound, none, "has the digest 3, right is 1");
        told(&[], &[sound.clone(), vec![after("a", false)]].concat(), none, "without the work");
        told(&whole("a", "1"), &[before("b", "2")], none, "noted no answer");
        told(&whole("c", "1"), &sound, none, "which is no item");
        told(&[], &sound, |counts| counts.totals.completed = 3, "3 items completed, not 2");
        told(&[], &sound, |counts| counts.totals.added = 1, "1 items added, not 2");
        told(&[], &sound, |counts| counts.dead = 1, "1 items are still in the queue");
        told(&[], &sound, |counts| counts.totals.expired = 0, "no lease expired");
    }
}
