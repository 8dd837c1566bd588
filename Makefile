# The one front door: people and CI call the same targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build demo test bench fmt lint

# Rust's own installer does not reach shells that were open before.
export PATH := $(PATH):$(HOME)/.cargo/bin

BENCH := cargo bench -p leaseq --bench targets --
# The benchmarks for one iteration, so that they cannot rot.
BENCH_QUICK := $(BENCH) --quick

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | column -t -s '|'

setup: ## install what a fresh Debian machine lacks (silent when nothing is)
	@.ci/setup

build: setup ## build everything
	cargo build --workspace --release

demo: setup ## put real work through the queue, and check it
	cargo build --release -p leaseq-conformance
	@cargo run --release -q -p leaseq-conformance --bin demo

test: lint ## everything that must hold; CI calls this
	cargo test --workspace --all-features
	$(BENCH_QUICK)
	@echo "make test: all passed"

bench: setup ## measure the figures; JSON goes to build/bench.json
	mkdir -p build
	$(BENCH) --json $(CURDIR)/build/bench.json

fmt: setup ## format the sources
	cargo fmt --all

lint: setup ## formatting, lints of Rust and Lua, documentation
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	luacheck -q core/src/engine/redis/scripts
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps
