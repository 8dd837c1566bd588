//! What a worker wrote down about its operations, before and after each: a kill in between leaves
//! an operation whose outcome is not known.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Each entry is written at once and whole, so that a kill loses none.
pub(crate) struct Writer(File);

impl Writer {
    pub(crate) fn open(path: &Path) -> Self {
        Writer(File::options().create(true).append(true).open(path).unwrap())
    }

    /// `what`: `a?` an add begins, `a+` it was true, `a-` false; `c` in the same way for what takes
    /// an item away for good, complete and remove.
    pub(crate) fn note<'a>(&self, what: &str, ids: impl IntoIterator<Item = &'a str>) {
        let lines: String = ids.into_iter().map(|id| format!("{what} {id}\n")).collect();
        (&self.0).write_all(lines.as_bytes()).unwrap();
    }
}

/// What is known of one item.
#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    pub(crate) added: usize,
    pub(crate) gone: usize,
    /// Removals that were begun, and had no answer.
    pub(crate) unknown: usize,
}

/// The ledgers of many workers together.
#[derive(Debug, Default)]
pub(crate) struct Ledger(pub(crate) HashMap<String, Known>);

impl Ledger {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut ledger = Ledger::default();
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "ledger") {
                ledger.take_in(&std::fs::read_to_string(path).unwrap());
            }
        }
        ledger
    }

    fn take_in(&mut self, text: &str) {
        for line in text.lines() {
            let (what, id) = line.split_once(' ').unwrap();
            let known = self.0.entry(id.to_owned()).or_default();
            match what {
                "a?" | "a-" => {}
                "a+" => known.added += 1,
                "c?" => known.unknown += 1,
                "c+" => (known.gone, known.unknown) = (known.gone + 1, known.unknown - 1),
                "c-" => known.unknown -= 1,
                other => panic!("entry {other:?}"),
            }
        }
    }

    /// Items whose add was acknowledged and that nobody tried to take away.
    pub(crate) fn must_be_there(&self) -> impl Iterator<Item = &String> {
        let there = |known: &Known| known.added > 0 && known.gone + known.unknown == 0;
        self.0.iter().filter(move |(_, known)| there(known)).map(|(id, _)| id)
    }

    /// Every item that was acknowledged went exactly once; or perhaps not to anybody's knowledge,
    /// if whoever took it was killed before it could write that down.
    pub(crate) fn assert_settled(&self) {
        for (id, known) in &self.0 {
            assert!(known.added <= 1, "{id} was added twice: {known:?}");
            assert!(known.gone <= 1, "{id} went twice: {known:?}");
            let lost = known.added == 1 && known.gone == 0 && known.unknown == 0;
            assert!(!lost, "{id} is lost: {known:?}");
        }
    }
}
