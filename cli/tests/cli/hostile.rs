//! Ids, data and errors that try to control the terminal, to forge lines or to hide.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use leaseq::Item;

use crate::support::Bench;

const HOSTILE: [&[u8]; 8] = [
    b"\x1b[2J\x1b]0;owned\x07",
    b"a\tb\nfake\tdead",
    b"\x00\xff\xfe",
    "\u{202e}txt.exe\u{2066}".as_bytes(),
    "\u{9b}31m\u{85}\u{2028}".as_bytes(),
    b"back\\slash\\u001b",
    b"--yes",
    "\u{feff}\u{200b}\u{e0041}".as_bytes(),
];

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| {
        (c.is_control() && c != '\n' && c != '\t')
            || "\u{202e}\u{2066}\u{2028}\u{feff}\u{200b}\u{e0041}".contains(c)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_item_reaches_the_terminal_as_it_is() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        queue.configure(leaseq::SettingsChange::new().events(100)).await.unwrap();
        for bytes in HOSTILE {
            queue.add_item(Item::new(bytes).with_id(bytes)).await.unwrap();
            let error = String::from_utf8_lossy(bytes);
            assert_eq!(queue.bury([bytes], &error).await.unwrap(), [true]);
        }
        for form in ["--table", "--json", "--color=always"] {
            for args in [
                &["items", "q", "--state", "dead", form][..],
                &["dead", "q", form],
                &["dead", "q", "--group", form],
            ] {
                let run = bench.run(args).ok();
                assert!(is_harmless(&run.out) && is_harmless(&run.err), "{args:?}: {run:?}");
                if form == "--json" {
                    run.json();
                }
            }
            let tail = bench.run(&["tail", "q", "--no-follow", form]).ok();
            assert!(is_harmless(&tail.out) && is_harmless(&tail.err), "{form}: {tail:?}");
            assert_eq!(tail.out.lines().count(), 2 * HOSTILE.len(), "{form}: {tail:?}");
        }
        let lines = bench.run(&["items", "q", "--state", "dead"]).ok().out;
        assert_eq!(lines.lines().count(), HOSTILE.len(), "{lines}");
        let preview = bench.run(&["purge", "q", "--state", "dead", "--dry-run"]).ok().out;
        assert!(is_harmless(&preview), "{preview}");
        for (bytes, line) in HOSTILE.iter().zip(lines.lines()) {
            let shown = line.split('\t').next().unwrap();
            for form in ["--table", "--json"] {
                let run = bench.run(&["show", "q", "--escaped", form, "--", shown]).ok();
                assert!(is_harmless(&run.out), "{run:?}");
            }
            if !bytes.contains(&0) {
                let id = OsStr::from_bytes(bytes);
                let run =
                    bench.run(&[OsStr::new("show"), OsStr::new("q"), OsStr::new("--"), id]).ok();
                assert!(is_harmless(&run.out), "{run:?}");
            }
        }
        // Every id is found again as it was shown, and is no option.
        let removed = bench.run_with(&["remove", "q", "-"], lines.as_bytes());
        assert_eq!(removed.ok().out, "removed 8 of 8 items\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_worker_says_reaches_the_terminal_as_it_is() {
    for bench in Bench::all() {
        let client = leaseq::Client::connect(&bench.url).await.unwrap();
        let mut beat = leaseq::Beat::new(leaseq::WorkerId::new("\u{202e}txt.exe\u{2066}"));
        beat.host = "\u{feff}\u{200b}host".into();
        beat.queues = vec!["q".into()];
        beat.running = HOSTILE
            .iter()
            .map(|id| leaseq::RunningItem {
                queue: "q".into(),
                id: id.to_vec().into(),
                elapsed: std::time::Duration::from_secs(1),
                deadline: std::time::SystemTime::now(),
            })
            .collect();
        client.beat(&beat).await.unwrap();
        for args in [&["workers"][..], &["workers", "q", "--running"]] {
            for form in ["--table", "--json", "--color=always"] {
                let run = bench.run(&[args, &[form]].concat()).ok();
                assert!(is_harmless(&run.out) && is_harmless(&run.err), "{args:?}: {run:?}");
            }
        }
        let lines = bench.run(&["workers", "--running"]).ok().out;
        assert_eq!(lines.lines().count(), HOSTILE.len(), "{lines}");
    }
}

#[test]
fn names_and_arguments_are_quoted_harmlessly() {
    let bench = Bench::sqlite();
    for args in [
        &["status", "\x1b[2J"][..],
        &["show", "q\u{202e}", "x"],
        &["settings", "q", "\x1b]0;x\x07=1"],
        &["items", "q", "--cursor", "\x1b[2J"],
        &["items", "q", "--since", "\x1b[2J"],
        &["\x1b[2J"],
        &["help", "\x1b[2J"],
        &["--url", "\x1b[2J://x", "queues"],
    ] {
        for json in [false, true] {
            let args: Vec<&str> = args.iter().copied().chain(json.then_some("--json")).collect();
            let run = bench.run(&args);
            assert!((1..=4).contains(&run.status), "{run:?}");
            assert!(is_harmless(&run.err) && is_harmless(&run.out), "{run:?}");
        }
    }
}

#[test]
fn output_that_nobody_reads_ends_the_program_quietly() {
    let bench = Bench::sqlite();
    let mut command = bench.command(&["help"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = command.stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(141), 0), "{output:?}");
}
