//! The header matches the sources, compiles everywhere, and documents everything.

use std::path::Path;
use std::process::Command;

use crate::installed::{HERE, prefix, succeed};

fn generated() -> String {
    let config = cbindgen::Config::from_file(Path::new(HERE).join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(HERE).with_config(config).generate();
    let mut text = Vec::new();
    bindings.unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

pub(crate) fn committed() -> String {
    std::fs::read_to_string(Path::new(HERE).join("include/leaseq.h")).unwrap_or_default()
}

#[test]
fn it_is_what_the_sources_say() {
    // `make generate` sets it.
    if std::env::var_os("LEASEQ_GENERATE").is_some() {
        std::fs::write(Path::new(HERE).join("include/leaseq.h"), generated()).unwrap();
    }
    assert!(committed() == generated(), "include/leaseq.h is out of date: run `make generate`");
}

/// A function of the header.
pub(crate) struct Function {
    pub(crate) comment: String,
    pub(crate) result: String,
    pub(crate) name: String,
    /// Types with names, as in the header.
    pub(crate) parameters: Vec<String>,
}

pub(crate) fn functions() -> Vec<Function> {
    let header = committed();
    let mut functions = Vec::new();
    let mut comment = "";
    // Comments and declarations are separated by empty lines.
    for part in header.split("\n\n") {
        let (before, declaration) = match part.split_once("*/\n") {
            Some((before, after)) => (before, after),
            None => (comment, part),
        };
        comment = before;
        let declaration = declaration.trim().replace('\n', " ");
        if declaration.starts_with("typedef") {
            continue;
        }
        let Some((head, rest)) = declaration.split_once('(') else { continue };
        let Some(parameters) = rest.strip_suffix(");") else { continue };
        let at = head.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap();
        let parameters = parameters.split(',').map(|p| p.trim().to_owned());
        functions.push(Function {
            comment: comment.to_owned(),
            result: head[..=at].trim().to_owned(),
            name: head[at + 1..].to_owned(),
            parameters: parameters.filter(|parameter| parameter != "void").collect(),
        });
    }
    assert!(functions.len() > 100, "{} functions found", functions.len());
    functions
}

#[test]
fn every_function_says_what_it_returns() {
    for function in functions() {
        assert!(function.comment.contains("/**"), "{} has no comment", function.name);
        let fallible = function.result == "leaseq_status" && function.name != "leaseq_error_status";
        assert_eq!(function.comment.contains("@return"), fallible, "{}", function.name);
        let last = function.parameters.last().map_or("", String::as_str);
        let takes_error = last == "leaseq_error **error" && !function.name.ends_with("_free");
        assert_eq!(takes_error, fallible, "{}: {last}", function.name);
        let pointer = function.result.ends_with('*');
        let lives = function.comment.replace("\n * ", " ").to_lowercase().contains("lives");
        assert!(!pointer || lives, "{} does not say how long it lives", function.name);
    }
}

#[test]
fn it_compiles_as_c_and_cpp_of_every_age() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, extension, standard, header) in [
        ("cc", "c", "c99", "leaseq.h"),
        ("cc", "c", "c11", "leaseq.h"),
        ("cc", "c", "c2x", "leaseq.h"),
        ("c++", "cpp", "c++11", "leaseq.h"),
        ("c++", "cpp", "c++17", "leaseq.h"),
        ("c++", "cpp", "c++17", "leaseq.hpp"),
        ("c++", "cpp", "c++20", "leaseq.hpp"),
    ] {
        let source = folder.path().join(format!("only.{extension}"));
        // Included twice: it must have an include guard.
        let text = format!("#include <{header}>\n#include <{header}>\nint x;\n");
        std::fs::write(&source, text).unwrap();
        let mut command = Command::new(compiler);
        command.arg(format!("-std={standard}"));
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]);
        command.args(["-fsyntax-only", "-I"]).arg(prefix().join("include")).arg(&source);
        succeed(&mut command);
    }
}
