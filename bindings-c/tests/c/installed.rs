//! The installed libraries, and programs linked with them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use leaseq_test_support::RedisServer;
use tempfile::TempDir;

pub(crate) const HERE: &str = env!("CARGO_MANIFEST_DIR");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Compiler flags of all C code of this project.
pub(crate) const STRICT: &[&str] =
    &["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1"];

/// A prefix filled by `make install-c`, once for all tests: that of `LEASEQ_C_PREFIX`, or a new
/// one.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        if let Some(prefix) = std::env::var_os("LEASEQ_C_PREFIX") {
            return prefix.into();
        }
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
        let mut make = Command::new("make");
        make.args(["-s", "-C", ROOT, "install-c", "PROFILE=dev"])
            .arg(format!("PREFIX={}", prefix.display()));
        succeed(make.env_remove("DESTDIR").env_remove("LIBDIR"));
        prefix
    })
}

/// The standard output of the command; panics if it fails.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (printed, errors) = texts(&output);
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{errors}", output.status);
    printed
}

pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Compiles a source file of this crate, with the shared library.
pub(crate) fn compile(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(HERE).join(source);
    let program = folder.join(source.file_stem().unwrap());
    let cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let mut compiler = Command::new(if cpp { "c++" } else { "cc" });
    compiler.args(STRICT.iter().filter(|flag| !(cpp && flag.starts_with("-std"))));
    compiler.args(cpp.then_some("-std=c++17")).args(flags).arg("-pthread");
    compiler.arg("-I").arg(prefix().join("include")).arg(source).arg("-o").arg(&program);
    compiler.arg("-L").arg(prefix().join("lib")).arg("-lleaseq");
    compiler.arg(format!("-Wl,-rpath,{}", prefix().join("lib").display()));
    succeed(&mut compiler);
    program
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Engine {
    Memory,
    File,
    Redis,
}

/// The URL of a queue, valid while this value lives.
pub(crate) struct Place {
    pub(crate) url: String,
    _server: Option<RedisServer>,
    pub(crate) folder: TempDir,
}

impl Engine {
    pub(crate) fn place(self) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let (url, server) = match self {
            Engine::Memory => ("memory:".into(), None),
            Engine::File => (format!("sqlite:{}", folder.path().join("q.db").display()), None),
            Engine::Redis => {
                let server = RedisServer::start();
                (server.url(), Some(server))
            }
        };
        Place { url, _server: server, folder }
    }
}
