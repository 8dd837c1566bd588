//! Texts with random errors, for tests of parsers.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The inserted characters: some have a meaning in a URL, some cause trouble.
const PIECES: &[&str] = &[
    ":",
    "/",
    "//",
    "@",
    "?",
    "&",
    "=",
    "#",
    "%",
    "%00",
    "%ff",
    "%2F",
    "[",
    "]",
    ",",
    "{",
    "}",
    "0",
    "-1",
    "65536",
    "18446744073709551616",
    "\0",
    "\n",
    "\u{e9}",
    "\u{202e}",
    " ",
    ".",
    "..",
    "*",
    "redis",
    "sqlite",
    "timeout_ms=",
    "namespace=",
    "ca_file=",
    "max_data=",
    "synchronous=",
    "db=",
];

/// Passes `times` texts to `read`, each one of these with 1 to 6 errors. Prints the seed;
/// `LEASEQ_SEED` repeats it.
pub fn with_accidents(of: &[&str], times: usize, mut read: impl FnMut(&str)) {
    let seed =
        std::env::var("LEASEQ_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("LEASEQ_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..times {
        let mut text: Vec<char> = of[rng.random_range(0..of.len())].chars().collect();
        for _ in 0..=rng.random_range(0..6) {
            accident(&mut text, &mut rng);
        }
        read(&text.into_iter().collect::<String>());
    }
}

fn accident(text: &mut Vec<char>, rng: &mut StdRng) {
    let (a, b) = (rng.random_range(0..text.len() + 1), rng.random_range(0..text.len() + 1));
    let (from, to) = (a.min(b), a.max(b));
    match rng.random_range(0..5) {
        0 | 1 => {
            let piece = PIECES[rng.random_range(0..PIECES.len())];
            text.splice(from..from, piece.chars());
        }
        2 => drop(text.drain(from..to.min(from + 4))),
        3 => {
            let again: Vec<char> = text[from..to].to_vec();
            text.splice(to..to, again);
        }
        _ => text.truncate(to),
    }
    text.truncate(5_000);
}
