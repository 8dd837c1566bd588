//! Reads the sources and checks the promises that hold for every export.

use std::path::Path;

use syn::{Expr, ExprCall, Item, ItemFn, Stmt};

use crate::installed::HERE;

fn functions() -> Vec<ItemFn> {
    let mut functions = Vec::new();
    for entry in Path::new(HERE).join("src").read_dir().unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let items = syn::parse_file(&text).unwrap().items;
        functions.extend(items.into_iter().filter_map(|item| match item {
            Item::Fn(function) => Some(function),
            _ => None,
        }));
    }
    functions
}

/// The name of the call that ends a body, if nothing before it can panic.
fn guarded_by(function: &ItemFn) -> Option<String> {
    let (last, before) = function.block.stmts.split_last()?;
    // The statements before may only make closures, constants and structs.
    let harmless = before.iter().all(|statement| match statement {
        Stmt::Item(_) => true,
        Stmt::Local(local) => local.init.as_ref().is_some_and(|init| {
            let null = |call: &ExprCall| path(&call.func).is_some_and(|p| p == "std::ptr::null");
            match &*init.expr {
                Expr::Closure(_) | Expr::Struct(_) => true,
                Expr::Call(call) => null(call),
                _ => false,
            }
        }),
        _ => false,
    });
    if !harmless {
        return None;
    }
    let mut last = match last {
        Stmt::Expr(last, _) => last,
        _ => return None,
    };
    if let Expr::Unsafe(block) = last {
        let [Stmt::Expr(inner, _)] = block.block.stmts.as_slice() else { return None };
        last = inner;
    }
    match last {
        Expr::Call(call) => path(&call.func),
        _ => None,
    }
}

fn path(function: &Expr) -> Option<String> {
    let Expr::Path(path) = function else { return None };
    let names: Vec<_> = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
    Some(names.join("::"))
}

fn is_exported(function: &ItemFn) -> bool {
    function.sig.abi.is_some()
}

#[test]
fn every_export_catches_panics() {
    let functions = functions();
    let by_name = |name: &str| functions.iter().find(|function| function.sig.ident == name);
    let mut checked = 0;
    for function in functions.iter().filter(|function| is_exported(function)) {
        // Follows functions of this crate down to a guard.
        let (mut at, mut steps) = (function, 0);
        loop {
            let name = guarded_by(at);
            let name = name.unwrap_or_else(|| panic!("{} does not end with a guard", at.sig.ident));
            let short = name.rsplit("::").next().unwrap();
            let guards = ["guard::value", "guard::free", "guard::free_at_once", "look"];
            let guards = guards.iter().chain(&["status", "status_at_once", "status_of_each"]);
            if guards.clone().any(|guard| *guard == name) {
                break;
            }
            at = by_name(short).unwrap_or_else(|| panic!("{}: {name}?", function.sig.ident));
            steps += 1;
            assert!(steps < 5, "{}: in circles", function.sig.ident);
        }
        checked += 1;
    }
    assert!(checked > 100, "{checked} exports");
}

#[test]
fn the_guards_themselves_begin_by_catching() {
    for (name, inner) in [
        ("value", "catch_unwind"),
        ("look", "value"),
        ("free", "free_at_once"),
        ("free_at_once", "value"),
    ] {
        let functions = functions();
        let function = functions.iter().find(|function| function.sig.ident == name).unwrap();
        let text = format!("{:?}", function.block.stmts);
        assert!(text.contains(inner), "{name} does not use {inner}");
        assert_eq!(function.block.stmts.len(), 1, "{name} does something else as well");
    }
}

#[test]
fn every_export_is_named_and_reachable_by_its_name() {
    for function in functions().iter().filter(|function| is_exported(function)) {
        let name = function.sig.ident.to_string();
        let exported = function.attrs.iter().any(|attribute| attribute.path().is_ident("unsafe"));
        // Exempt: the three hooks that a fork calls.
        let hook = name.starts_with("after_in_") || name == "before";
        assert!(exported != hook, "{name}: no_mangle is missing");
        assert!(hook || name.starts_with("leaseq_"), "{name}");
    }
}
