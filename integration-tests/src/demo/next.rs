//! What to try after the demo.

use std::path::{Path, PathBuf};

/// Three commands, with a file of their own; `None` if the command line has not been built.
pub(super) fn commands() -> Option<[String; 3]> {
    let program = program()?;
    let here = std::env::current_dir().unwrap_or_default();
    let shown = program.strip_prefix(&here).map(|below| Path::new(".").join(below));
    let program = quoted(&shown.unwrap_or(program).to_string_lossy());
    let with = |arguments: &str| format!("{program} --url sqlite:build/try.db {arguments}");
    Some([
        with("add greetings 'hello, queue'"),
        with("status"),
        with("work greetings --burst -- cat"),
    ])
}

/// The command line, built beside this program.
pub(super) fn program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name("leaseq");
    program.exists().then_some(program)
}

/// An argument of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_what_was_quoted() {
        for text in ["./target/x/leaseq", "/a b/it's $HOME/leaseq"] {
            let script = format!("printf %s {}", quoted(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output();
            assert!(output.is_ok_and(|output| output.stdout == text.as_bytes()), "{text}");
        }
    }
}
