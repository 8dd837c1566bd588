//! Every script as it is put together.

use super::*;

#[test]
fn every_script_is_listed_and_every_call_names_its_command() {
    for (name, text) in TEXTS.iter() {
        for call in text.split("redis.call(").skip(1) {
            let first = call.split([',', ')']).next().unwrap();
            assert!(first.contains('\''), "{name}: redis.call({first}");
        }
    }
    let index = commands(Script::AuditIndex);
    assert!(["hdel", "zrem", "hscan", "zscan", "time"].iter().all(|name| index.contains(name)));
}

/// A user that only reads needs no right to write, not even for code that is never reached.
#[test]
fn what_only_looks_names_no_command_that_writes() {
    let writes = [
        "hset", "hdel", "hincrby", "lpush", "rpush", "rpop", "lmpop", "lset", "zadd", "zrem",
        "unlink", "persist", "pexpire", "xadd",
    ];
    for (name, text) in TEXTS.iter().filter(|(_, text)| text.starts_with("#!lua flags=no-writes")) {
        let found = commands_in(text);
        assert!(writes.iter().all(|write| !found.contains(*write)), "{name}: {found:?}");
    }
}

/// In Lua a name that is not defined is a global variable, which stops the script where it is used.
#[test]
fn every_function_is_defined_before_it_is_used() {
    let names: BTreeSet<&str> = TEXTS.iter().flat_map(|(_, text)| functions(text)).collect();
    for (name, text) in TEXTS.iter() {
        // What a function makes for itself is not known behind it.
        let (mut outside, mut rest) = (String::new(), *text);
        while let Some((before, inside, behind)) = next_wrapper(rest) {
            outside += before;
            assert_defined(&names, name, &format!("{outside}{inside}"));
            outside += &inside[..inside.find('\n').unwrap()];
            outside += "\n";
            rest = behind;
        }
        assert_defined(&names, name, &(outside + rest));
    }
}

/// As functions. Keys are constants too: a script has those that it names.
#[test]
fn every_constant_is_defined() {
    for (name, text) in TEXTS.iter() {
        let code: Vec<String> = text
            .lines()
            .map(|line| line.split("--").next().unwrap().split('\'').step_by(2).collect())
            .collect();
        let declared = code.iter().filter_map(|line| line.strip_prefix("local "));
        let declared: BTreeSet<&str> =
            declared.flat_map(|line| line.split('=').next().unwrap().split([',', ' '])).collect();
        let is_constant = |word: &&str| {
            let is_part =
                |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            word.len() > 1 && word.as_bytes()[0].is_ascii_uppercase() && word.bytes().all(is_part)
        };
        let words = code
            .iter()
            .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        for word in words.filter(is_constant) {
            assert!(["KEYS", "ARGV"].contains(&word) || declared.contains(word), "{name}: {word}");
        }
    }
}

fn functions(text: &str) -> impl Iterator<Item = &str> {
    let defined = text.split("local function ").skip(1);
    defined.map(|text| text.split('(').next().unwrap())
}

/// What stands before the next function that makes functions of its own, this function, and what stands behind it.
fn next_wrapper(text: &str) -> Option<(&str, &str, &str)> {
    let from = text
        .match_indices("local function ")
        .find(|(at, _)| text[*at..].lines().next().unwrap().ends_with("(...)"))?
        .0;
    let name = functions(&text[from..]).next().unwrap();
    let end = format!("return {name}(...)\nend\n");
    let to = from + text[from..].find(&end)? + end.len();
    Some((&text[..from], &text[from..to], &text[to..]))
}

fn assert_defined(names: &BTreeSet<&str>, script: &str, text: &str) {
    let code: String =
        text.lines().map(|line| line.split("--").next().unwrap().to_owned() + "\n").collect();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_list = |text: &str| text.bytes().all(|byte| is_word(byte) || b", ".contains(&byte));
    for name in names {
        let used = code.match_indices(name).map(|(at, _)| at).find(|&at| {
            let bytes = code.as_bytes();
            let before = bytes[at - 1];
            !is_word(before)
                && before != b'.'
                && before != b'\''
                && !is_word(bytes[at + name.len()])
        });
        let Some(at) = used else { continue };
        let line = code[..at].rsplit('\n').next().unwrap();
        let of_loop = line.rsplit_once("for ").is_some_and(|(_, names)| is_list(names));
        let of_function = line.contains("function")
            && line.rsplit_once('(').is_some_and(|(_, names)| is_list(names));
        let is_local = line.trim_start().strip_prefix("local ").is_some_and(is_list);
        assert!(of_loop || of_function || is_local, "{script}: {name} in {line:?}");
    }
}

/// A script has an `L` in the protocol if it runs once for the request id of its operation.
#[test]
fn the_protocol_has_every_script() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocol.md");
    let protocol = std::fs::read_to_string(path).unwrap();
    let table = protocol.split("| script | reads |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let found: BTreeSet<String> =
        rows.map(|row| row.split('|').nth(1).unwrap().replace('`', "").trim().to_owned()).collect();
    // A variant for extended queues is described with the plain one.
    let declared: BTreeSet<String> = TEXTS
        .iter()
        .filter(|(name, _)| !name.ends_with(" extended"))
        .map(|(name, text)| match text.contains("= load_reply()") {
            true => format!("{name} L"),
            false => (*name).to_owned(),
        })
        .collect();
    let lacking: Vec<_> = declared.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&declared).collect();
    assert!(lacking.is_empty() && unknown.is_empty(), "{path}: {lacking:?}, not {unknown:?}");
}

#[test]
fn every_script_whose_changes_must_last_is_confirmed_and_always_writes() {
    let confirmed = Script::ALL.iter().filter(|script| script.is_confirmed());
    for script in confirmed {
        let (name, text) = TEXTS[*script as usize];
        let always = ["= load_reply()", "touch()"];
        assert!(always.iter().any(|write| text.contains(write)), "{name}");
    }
    for (script, (name, text)) in Script::ALL.iter().zip(TEXTS.iter()) {
        assert!(script.is_confirmed() || !text.contains("= load_reply()"), "{name}");
    }
}

#[test]
fn every_operation_that_changes_state_has_a_script() {
    for operation in Operation::ALL.iter().filter(|operation| operation.has_request_id()) {
        let mut texts = Script::ALL
            .iter()
            .filter(|script| script.operations().contains(operation))
            .map(|script| TEXTS[*script as usize].1);
        assert!(texts.any(|text| text.contains("= load_reply()")), "{operation:?}");
    }
}
