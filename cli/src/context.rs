//! Contexts: servers with names, in a file that only their user can read.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::{Ended, Failure, NO};
use crate::output::{Cell, Output};

/// The longest name of a context.
const MAX_NAME: usize = 64;

/// The file with the contexts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    pub(crate) current: Option<String>,
    #[serde(default)]
    servers: BTreeMap<String, String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Store a server under a name
    Add {
        name: String,
        /// Its URL; - reads it from standard input, so that no other user sees a password
        url: String,
    },
    /// Use a context from now on
    Use { name: String },
    /// List the contexts; passwords are not shown
    Ls,
    /// Remove a context
    Rm { name: String },
}

impl Contexts {
    fn path() -> Result<PathBuf, Failure> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = set("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")));
        let folder =
            folder.ok_or_else(|| Failure::usage("neither XDG_CONFIG_HOME nor HOME is set"))?;
        Ok(folder.join("leaseq/contexts.toml"))
    }

    pub(crate) fn load() -> Result<Contexts, Failure> {
        let Ok(path) = Self::path() else { return Ok(Contexts::default()) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Contexts::default());
            }
            Err(error) => return Err(Failure::usage(format_args!("{}: {error}", path.display()))),
        };
        // The error would quote a line, which may have a password.
        toml::from_str(&text).map_err(|_| {
            Failure::usage(format_args!("{} is not a file of contexts", path.display()))
        })
    }

    fn save(&self) -> Result<(), Failure> {
        let path = Self::path()?;
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::usage(format_args!("{}: {error}", path.display()))
        };
        let text = toml::to_string(self).map_err(|error| wrong(&error))?;
        let write = || -> std::io::Result<()> {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            // A reader never sees half of it.
            let new = path.with_extension(format!("toml.{}", std::process::id()));
            let mut options = std::fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &path)
        };
        write().map_err(|error| wrong(&error))
    }

    pub(crate) fn url(&self, name: &str) -> Result<String, Failure> {
        self.servers.get(name).cloned().ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> Failure {
    Failure::usage(format_args!("there is no context {name}")).hint("leaseq context ls lists them")
}

pub(crate) fn run(command: ContextCommand, output: &Output) -> Ended {
    let mut contexts = Contexts::load()?;
    match command {
        ContextCommand::Add { name, url } => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
                return Err(Failure::usage(format_args!(
                    "the name of a context has 1 to {MAX_NAME} characters of A-Z a-z 0-9 - _ ."
                )));
            }
            let url = if url == "-" {
                let mut text = String::new();
                std::io::stdin().take(1 << 16).read_to_string(&mut text)?;
                text.trim().to_owned()
            } else {
                url
            };
            if !url.contains(':') {
                return Err(Failure::usage("a url begins with redis://, rediss://, sqlite: …"));
            }
            contexts.servers.insert(name.clone(), url);
            contexts.current.get_or_insert(name);
            contexts.save()?;
        }
        ContextCommand::Use { name } => {
            contexts.url(&name)?;
            contexts.current = Some(name);
            contexts.save()?;
        }
        ContextCommand::Rm { name } => {
            contexts.servers.remove(&name).ok_or_else(|| unknown(&name))?;
            contexts.current = contexts.current.filter(|current| *current != name);
            contexts.save()?;
        }
        ContextCommand::Ls => return list(&contexts, output),
    }
    Ok(0)
}

fn list(contexts: &Contexts, output: &Output) -> Ended {
    let is_current = |name: &String| contexts.current.as_ref() == Some(name);
    let shown = contexts.servers.iter().map(|(name, url)| (name, leaseq::redact_url(url)));
    if output.json {
        let all: Vec<_> = shown
            .map(|(name, url)| json!({ "name": name, "url": url, "current": is_current(name) }))
            .collect();
        output.document(&json!(all))?;
    } else {
        let rows: Vec<_> = shown
            .map(|(name, url)| {
                let mark = if is_current(name) { "*" } else { "" };
                vec![Cell::word(mark), Cell::text(name), Cell::text(url)]
            })
            .collect();
        output.rows(&["", "NAME", "URL"], &rows)?;
    }
    Ok(if contexts.servers.is_empty() { NO } else { 0 })
}
