//! Hostile ids, data, errors and parameters.

use leaseq::Item;
use leaseq_console::Role;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::http::Request;
use crate::support::{Engine, TOKENS, bury};

/// Texts that do harm where they are taken for something else.
pub(crate) const TEXTS: [&str; 8] = [
    "<img src=x onerror=alert(1)>",
    "\"><script>alert(1)</script>",
    "'; alert(1); //",
    "</textarea><script>alert(1)</script>",
    "\u{202e}gnp.exe\u{2066}",
    "javascript:alert(1)",
    "{{7*7}}${7*7}%{7*7}",
    "a\0b\r\nSet-Cookie: x=y",
];

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_shown_as_texts() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        for text in TEXTS {
            bury(&queue, text, text, text).await;
            queue
                .add_item(Item::new(text).with_id([text.as_bytes(), b"\xff"].concat()))
                .await
                .unwrap();
        }
        let console = engine.console().await;
        let mut links = Vec::new();
        for state in ["dead", "ready"] {
            let page = console.get(&format!("/queues/mail?state={state}")).await;
            harmless(&page.body);
            let parts = page.body.split("class=\"id\" href=\"").skip(1);
            links.extend(parts.map(|part| part.split('"').next().unwrap().replace("&#38;", "&")));
        }
        assert_eq!(links.len(), 2 * TEXTS.len());
        for link in links {
            for link in
                [link.clone(), format!("{link}&as=text"), link.replace("/item?", "/item/edit?")]
            {
                let page = console.get(&link).await;
                assert_eq!(page.status, 200, "{link}: {page:?}");
                harmless(&page.body);
            }
        }
        for text in TEXTS {
            let text =
                percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
            for path in [
                "/?find=",
                "/queues/mail?id=",
                "/queues/mail?error=",
                "/login?next=",
                "/queues/mail?done=",
                "/queues/mail/item?id=",
                "/queues/",
            ] {
                harmless(&console.get(&format!("{path}{text}")).await.body);
            }
        }
    }
}

#[track_caller]
fn harmless(page: &str) {
    for wrong in ["<img src=x", "<script>alert", "\0", "\u{202e}", "\u{2066}", "=\"javascript:"] {
        // What somebody has typed stands in its field.
        let fields: Vec<_> = page
            .split(" value=\"")
            .map(|part| part.split_once('"').map_or(part, |(_, rest)| rest))
            .collect();
        let shown = if wrong.starts_with('<') { page.to_owned() } else { fields.join("") };
        assert!(!shown.contains(wrong), "{wrong:?} in {page}");
    }
    let safe: Vec<_> = page.match_indices("</textarea>").collect();
    assert!(safe.len() <= 1, "{page}");
}

/// Templates mark as safe only times, which this program has written.
#[test]
fn templates_escape_everything_but_times() {
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/templates")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("|safe") {
            let before = text[..at].rsplit("{{ ").next().unwrap();
            let name = before.rsplit('.').next().unwrap();
            let is_time = ["at", "ends", "time", "seen", "next", "since"].contains(&name)
                || name.ends_with("time()");
            assert!(is_time, "{}: {before}", path.display());
        }
        for wrong in ["style=", " onclick", " onload", "javascript:", "http://", "escape=\"none\""]
        {
            let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!text.contains(wrong), "{}: {wrong}", path.display());
        }
        assert!(!text.contains("<script>"), "{}", path.display());
    }
}

/// Random parameters get an answer that is no failure of the program.
#[tokio::test(flavor = "multi_thread")]
async fn random_parameters_do_no_harm() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let engine = Engine::sqlite();
    let queue = engine.queue("mail").await;
    bury(&queue, "one", "data", "error").await;
    let console = engine.console().await;
    let names = [
        "state",
        "id",
        "data",
        "error",
        "cursor",
        "order",
        "from",
        "find",
        "as",
        "done",
        "n",
        "of",
        "part",
        "item",
        "for",
        "priority",
        "max_attempts",
        "next",
        "token",
        "queue",
        "group",
        "name",
        "instance",
        "rate",
        "after",
        "key",
        "value",
        "action",
        "to",
    ];
    let words = [
        "dead",
        "ready",
        "one",
        "-1",
        "0",
        "1",
        "18446744073709551616",
        "reverse",
        "hex",
        "json",
        "f:dead:1:1",
        "r:ready:1:1",
        "%",
        "%zz",
        "%00",
        "%ff%fe",
        "..",
        "~",
        "\\xff",
        "\\",
        "1h",
        "requeue",
        "a b",
        "99999",
    ];
    let rounds = if std::env::var_os("LEASEQ_STRESS").is_some() { 5_000 } else { 300 };
    for _ in 0..rounds {
        let route = &leaseq_console::ROUTES[rng.random_range(0..leaseq_console::ROUTES.len())];
        let word = |rng: &mut StdRng| -> String {
            match rng.random_range(0..4) {
                0 => (0..rng.random_range(0..40))
                    .map(|_| format!("%{:02x}", rng.random::<u8>()))
                    .collect(),
                _ => words[rng.random_range(0..words.len())].replace(' ', "+"),
            }
        };
        let mut path = route.path.to_owned();
        while let Some((before, rest)) = path.clone().split_once('{') {
            let (_, after) = rest.split_once('}').unwrap();
            let part = if rng.random_bool(0.7) { "mail".into() } else { word(&mut rng) };
            path = format!("{before}{part}{after}");
        }
        let query: Vec<String> = (0..rng.random_range(0..5))
            .map(|_| format!("{}={}", names[rng.random_range(0..names.len())], word(&mut rng)))
            .collect();
        let path = format!("{path}?{}", query.join("&")).replace('\\', "%5c");
        let request = match route.method {
            "GET" => Request::get(&path),
            _ => {
                let form: Vec<(&str, String)> = (0..rng.random_range(0..5))
                    .map(|_| (names[rng.random_range(0..names.len())], word(&mut rng)))
                    .collect();
                let form: Vec<_> =
                    form.iter().map(|(name, value)| (*name, value.as_str())).collect();
                Request::post(&path, &form)
            }
        };
        let answer =
            console.send(request.header("Authorization", &format!("Bearer {}", TOKENS[2].1))).await;
        assert!(answer.status < 500, "{path}: {answer:?}");
    }
    console.get("/").await.has(200, "Queues");
}

/// Another character in the place of what cannot be read would select other items.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_utf8_selects_nothing() {
    let engine = Engine::sqlite();
    let queue = engine.queue("mail").await;
    bury(&queue, "a", "\u{fffd}", "\u{fffd}").await;
    let console = engine.console().await;
    for part in ["data", "error", "id", "kind"] {
        let query = format!("state=dead&{part}=%ff");
        console.get(&format!("/queues/mail?{query}")).await.has(400, "must be UTF-8");
        let path = "/queues/mail/bulk/remove";
        let form = Request::body(path, "application/x-www-form-urlencoded", &query);
        let answer = console.send_as(Role::Administer, form).await;
        answer.has(400, "must be UTF-8");
    }
    console.get("/queues/mail?state=dead&data=%EF%BF%BD").await.has(200, ">a</bdi>");
    console.get("/tasks").await.has(200, "No bulk changes");
}
