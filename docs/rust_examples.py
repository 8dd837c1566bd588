"""Builds the examples in Rust as one program, and checks the manifests that pages show."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from examples import Example, WrongError
from pages import TOP
from runner import BUILD, FILE, REDIS, execute


def compile_rust(examples: list[Example]) -> Path:
    """Compile all examples in Rust as one program, which runs an example by its number."""
    manifest, *_ = [e for e in examples if e.language == "toml" and "[package]" in e.code]
    project = BUILD / "rust"
    (project / "src").mkdir(parents=True, exist_ok=True)
    profile = (TOP / "Cargo.toml").read_text()
    profiles = re.findall(r"^\[profile\.dev.*?(?=^\[profile\.release|\Z)", profile, re.M | re.S)
    text = manifest.code.replace("../leaseq/core", str(TOP / "core"))
    # What the examples depend on is compiled already, with these features.
    shared = f'leaseq-features = {{ path = "{TOP / "integration-tests/features"}" }}'
    # What pages about jobs need besides.
    jobs = f'leaseq-jobs = {{ path = "{TOP / "jobs"}" }}'
    serde = 'serde = { version = "1", features = ["derive"] }\nserde_json = "1"'
    text = text.replace("[dependencies]\n", f"[dependencies]\n{shared}\n{jobs}\n{serde}\n")
    # A workspace of its own, so that the project's Clippy and formatting skip it.
    text += "\n[workspace]\n\n" + "".join(profiles)
    write(project / "Cargo.toml", re.sub(r'name = ".*"', 'name = "leaseq-examples"', text))
    shutil.copyfile(TOP / "Cargo.lock", project / "Cargo.lock")
    main = "fn main() -> std::process::ExitCode {\n"
    main += "    match std::env::args().nth(1).as_deref() {\n"
    modules = ""
    for example in examples:
        if example.language != "rust":
            continue
        code = example.code.replace(f'"{FILE}"', '&std::env::var("LEASEQ_EXAMPLE_URL").unwrap()')
        # Options may follow.
        read = r'&(std::env::var("LEASEQ_EXAMPLE_REDIS").unwrap() + "\1")'
        code = re.sub(f'"{re.escape(REDIS)}([^"]*)"', read, code)
        module = f"example{example.number}"
        write(project / "src" / f"{module}.in", code)
        modules += (
            f"/// {example.block}\n#[allow(dead_code, unused)]\nmod {module} {{\n"
            f'    include!("{module}.in");\n'
            "    pub fn run() -> std::process::ExitCode {\n"
            "        std::process::Termination::report(main())\n    }\n}\n"
        )
        main += f'        Some("{example.number}") => {module}::run(),\n'
    main += "        _ => std::process::ExitCode::FAILURE,\n    }\n}\n"
    write(project / "src" / "main.rs", modules + main)
    target = os.environ.get("CARGO_TARGET_DIR", str(TOP / "target"))
    environment = {**os.environ, "CARGO_TARGET_DIR": target}
    execute(["cargo", "build", "--quiet"], project, environment, patience=1800)
    triple = os.environ.get("CARGO_BUILD_TARGET", "")
    return Path(target) / triple / "debug" / "leaseq-examples"


def check_manifest(example: Example) -> None:
    """Check that a Cargo.toml names this crate and existing features."""
    features = re.findall(r"features = \[(.*?)\]", example.code.replace("\n", " "))
    known = re.findall(r"^(\w+) = \[", (TOP / "core/Cargo.toml").read_text(), re.MULTILINE)
    if 'leaseq = { path = "../leaseq/core"' not in example.code:
        raise WrongError("it does not depend on ../leaseq/core")
    line = next(line for line in example.code.splitlines() if line.startswith("leaseq ="))
    for names in features if "features = [" in line else []:
        for name in re.findall(r'"(.*?)"', names):
            if name not in known:
                raise WrongError(f"the crate has no feature {name!r}")


def write(path: Path, text: str) -> None:
    """Write the file only if its text changes, so that cargo does not compile it again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
