//! Every list of operations in the project has the declared ones, and no others.

use std::collections::BTreeSet;

use super::{DECLARATIONS, Kind};

/// Methods of the trait that no call of a user runs.
const NO_OPERATIONS: [&str; 9] = [
    "min_batch",
    "leases_in_one_step",
    "undoes_failures",
    "confirms",
    "diagnose",     // of the client: `doctor`
    "queues",       // of the client
    "wait_endings", // by the task that waits for outcomes
    "retire",
    "close",
];

/// What differs from file to file.
struct List {
    path: &'static str,
    /// What else its methods are for.
    others: &'static [&'static str],
}

const INTERFACE: List = List { path: "core/src/engine/interface.rs", others: &NO_OPERATIONS };
const RUST: List = List { path: "core/src/queue", others: &[] };
const PYTHON: List =
    List { path: "bindings-python/python/leaseq/_leaseq.pyi", others: &["name", "give_back"] };
const NODE: List = List {
    path: "bindings-node/lib/{queue,settle,operator,groups,schedules}.ts",
    others: &["constructor", "leases", "stoppableLease"],
};
const C: List = List {
    path: "bindings-c/include/leaseq.h",
    others: &["requeue_many", "bury_many", "enqueue", "name", "free"],
};
const BOOK: List = List { path: "docs/languages.md", others: &[] };
const PROTOCOL: List = List { path: "core/docs/protocol.md", others: &[] };

fn read(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names that stand between `before` and one of `after`.
fn names_between<'a>(text: &'a str, before: &str, after: &[char]) -> BTreeSet<&'a str> {
    let names = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
    names.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_')).collect()
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// The calls in every language.
fn calls() -> impl Iterator<Item = &'static str> {
    DECLARATIONS.iter().flat_map(|declared| declared.calls).copied()
}

/// What is wrong with a list that has `found`.
fn differences(list: &List, expected: BTreeSet<String>, found: &BTreeSet<&str>) -> Vec<String> {
    let path = list.path;
    let lacking = expected.iter().filter(|name| !found.contains(name.as_str()));
    let unknown =
        found.iter().filter(|name| !expected.contains(**name) && !list.others.contains(name));
    lacking
        .map(|name| format!("{path} lacks {name}"))
        .chain(
            unknown.map(|name| format!("{path} has {name}: declare it in core/src/operation.rs")),
        )
        .collect()
}

fn owned<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_list_has_the_declared_operations() {
    let mut wrong = Vec::new();

    let interface = read(INTERFACE.path);
    let interface = &interface[interface.find("trait Engine").unwrap()..];
    let names = DECLARATIONS.iter().map(|declared| declared.name);
    wrong.extend(differences(&INTERFACE, owned(names), &names_between(interface, " fn ", &['('])));

    let folder = format!("{}/src/queue", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let rust: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let found = names_between(&rust, "pub async fn ", &['(', '<']);
    let found = found.into_iter().filter(|name| !name.ends_with("_with")).collect();
    let only_rust = DECLARATIONS.iter().flat_map(|declared| declared.rust_calls).copied();
    wrong.extend(differences(&RUST, owned(calls().chain(only_rust)), &found));

    let python = read(PYTHON.path);
    let python = &python[python.find("\nclass Queue:").unwrap() + 1..];
    let python = &python[..python.find("\nclass ").unwrap_or(python.len())];
    let found = names_between(python, "\n    def ", &['(']);
    wrong.extend(differences(&PYTHON, owned(calls()), &found));

    let node = ["queue", "settle", "operator", "groups", "schedules"]
        .map(|file| read(&format!("bindings-node/lib/{file}.ts")));
    let node = node.concat().replace("\n  async ", "\n  ");
    let found = node.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("  ")?.split_once(['(', '<'])?;
        (!name.is_empty() && name.chars().all(char::is_alphanumeric)).then_some(name)
    });
    let expected = calls().map(camel_case).collect();
    wrong.extend(differences(&NODE, expected, &found.collect()));

    let c = read(C.path);
    let found = names_between(&c, " leaseq_queue_", &['(']);
    let found: BTreeSet<_> = found.into_iter().map(|name| name.trim_end_matches("_with")).collect();
    let expected = calls().map(|call| call.trim_start_matches("queue_").to_owned()).collect();
    wrong.extend(differences(&C, expected, &found));

    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The table of the book names each call in each language, those for many items with `…`.
#[test]
fn the_book_has_the_declared_operations() {
    let book = read(BOOK.path);
    let book = &book[book.find("## The same operation in each language").unwrap()..];
    let rows: Vec<Vec<&str>> = book
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').collect())
        .collect();
    let mut wrong = Vec::new();
    for call in calls().filter(|call| !call.ends_with("_many")) {
        let c = call.trim_start_matches("queue_");
        let spellings = [(2, call.to_owned()), (3, call.to_owned()), (4, camel_case(call))];
        for (column, name) in spellings {
            let name = format!("`{name}`");
            if !rows.iter().any(|row| row[column].contains(&name)) {
                wrong.push(format!(
                    "{}, column {}: lacks {name}",
                    BOOK.path,
                    rows[0][column].trim()
                ));
            }
        }
        let names = [format!("`leaseq_queue_{c}`"), format!("`…_{c}`")];
        if !rows.iter().any(|row| names.iter().any(|name| row[5].contains(name))) {
            wrong.push(format!("{}, column {}: lacks {}", BOOK.path, rows[0][5].trim(), names[1]));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What takes batches and what takes steps says so in the trait, and has its bound in the protocol.
#[test]
fn operations_are_of_the_declared_kind() {
    let interface = read(INTERFACE.path);
    let protocol = read(PROTOCOL.path);
    let bounds = protocol.lines().find(|line| line.starts_with("| items in one call of")).unwrap();
    for declared in DECLARATIONS {
        let name = declared.name;
        let signature = interface.split(&format!(" fn {name}(")).nth(1).unwrap();
        let signature = signature.split(';').next().unwrap();
        let kind = match (signature.contains("request_id:"), signature.contains(": &[")) {
            (true, true) => Kind::Batch,
            (true, false) => Kind::Step,
            (false, _) => Kind::Repeatable,
        };
        assert_eq!(declared.kind, kind, "{}, {name}", INTERFACE.path);
        let is_bounded = bounds.contains(&format!("`{name}`"));
        assert!(kind != Kind::Batch || is_bounded, "{}, Bounds: lacks {name}", PROTOCOL.path);
    }
}
