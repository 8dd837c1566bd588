//! Help topics, completion and manual pages.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::{Ended, Failure};

const EXIT_CODES: &str = "\
Exit status of every command:

  0    success
  1    the answer is no, or there was nothing: no such item, no dead items, damage found
  2    wrong usage, or a server that cannot be reached
  3    partly done, or the outcome is unknown: look before you repeat it
  4    refused: not confirmed, or the user of the server lacks a right
  130  interrupted; a command that can be continued has said how
  141  nobody read the output any more
";

const ENVIRONMENT: &str = "\
Environment variables:

  LEASEQ_URL       the server; --url and --context win over it
  LEASEQ_CONTEXT   the context, if there is no LEASEQ_URL
  REDIS_URL        the server, if nothing else names one
  NO_COLOR         not empty: no colour
  COLUMNS          the width of tables that go to no terminal
  TZ               the time zone of tables
  XDG_CONFIG_HOME  contexts are in leaseq/contexts.toml below it; else below HOME/.config
";

const FORMATTING: &str = "\
On a terminal, a list is a table: local times, rounded durations, long texts cut off.
--table writes the same into a pipe.

In a pipe, a list has a line for each entry, its values separated by tabs: no headings, nothing cut off,
times as RFC 3339 in UTC, durations in whole milliseconds, an empty value for nothing.

With --json, the output is one JSON document; with status --watch, tail and export one object on each line.
Times are RFC 3339 in UTC, durations whole milliseconds under names that end in _ms. Bytes that are not text
are base64, under a name that ends in _base64. Errors are JSON on standard error:
  {\"error\":{\"kind\":…,\"message\":…,\"outcome_unknown\":…,\"status\":…}}

Control characters, characters that change the direction of text, and bytes that are not text are written as
\\u001b or \\xff, and in ids \\ as \\\\. Commands that take ids read them so with --escaped, and from standard
input. Only show --raw writes bytes as they are.
";

pub(crate) fn help(topic: &[String]) -> Ended {
    let names: Vec<&str> = topic.iter().map(String::as_str).collect();
    let text = match names[..] {
        ["exit-codes"] => EXIT_CODES.to_owned(),
        ["environment"] => ENVIRONMENT.to_owned(),
        ["formatting"] => FORMATTING.to_owned(),
        _ => {
            let mut command = Args::command();
            command.build();
            for name in &names {
                command = command.find_subcommand(name).cloned().ok_or_else(|| {
                    Failure::usage(format_args!("there is no command or topic {name}"))
                        .hint("topics: exit-codes, environment, formatting")
                })?;
            }
            command.render_long_help().to_string()
        }
    };
    write(text.as_bytes())
}

fn write(bytes: &[u8]) -> Ended {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(0)
}

pub(crate) fn completion(shell: Shell) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "leaseq", &mut script);
    write(&script)
}

pub(crate) fn man(folder: Option<&Path>) -> Ended {
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Args::command(), folder)?;
        return Ok(0);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut page)?;
    write(&page)
}
