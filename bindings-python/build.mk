# Python: an environment with the package built in it, and one each for other queues to measure beside.
.PHONY: python generate-python test-python run-python-tests bench-python peers-python fmt-python lint-python

PYTHON_VENV := $(CURDIR)/build/python
PYTHON := $(PYTHON_VENV)/bin/python
PYTHON_TESTEES := ../integration-tests/testees/python ../integration-tests/testees/children
PYTHON_DOCS := $(patsubst %,../docs/%.py,pages book check examples runner rust_examples)
# The other Python files that are formatted and checked here.
PYTHON_OTHERS := $(PYTHON_TESTEES) ../examples ../jobs/tests/children ../jobs/benches/child.py ../core/benches/chart.py ../packaging/linked.py $(PYTHON_DOCS)
PYTHON_PEERS := $(CURDIR)/build/peers-python
PYTHON_PEER_NAMES := $(patsubst bindings-python/bench/peers/%.txt,%,$(wildcard bindings-python/bench/peers/*.txt))
PYTHON_BENCH := $(PYTHON) bindings-python/bench/run.py
# Builds with the tools in the environment.
PYTHON_INSTALL = MATURIN_PEP517_ARGS="--profile $(PROFILE)" PATH="$(PYTHON_VENV)/bin:$$PATH" $(PYTHON) -m pip install -q \
	--disable-pip-version-check --no-build-isolation --force-reinstall --no-deps ./bindings-python

DEMO_WORKERS += 'python=$(PYTHON) -m leaseq.demo' \
	'python/jobs=$(PYTHON) integration-tests/testees/python/demo_handler.py'
TESTEES += 'python=$(PYTHON) integration-tests/testees/python/testee.py'
TESTEES += 'asyncio=$(PYTHON) integration-tests/testees/python/testee_asyncio.py'

python: setup $(PYTHON_VENV)/ready ## build the Python package into build/python, ready to import
	$(call once,$(PYTHON_VENV)/installed,bindings-python/src bindings-python/python bindings-python/*.toml jobs/src jobs/Cargo.toml $(CORE_SOURCES),$(PYTHON_INSTALL))

$(PYTHON_VENV)/ready: bindings-python/requirements.txt
	python3 -m venv $(PYTHON_VENV)
	$(PYTHON) -m pip install -q --disable-pip-version-check -r $<
	touch $@

# An environment for each. The benchmark reports one that cannot be made, with the end of its log, and
# measures the others.
$(PYTHON_PEERS)/%/ready: bindings-python/bench/peers/%.txt
	@mkdir -p $(PYTHON_PEERS)
	@{ python3 -m venv --clear $(@D) && $(@D)/bin/python -m pip install -q --disable-pip-version-check \
		-r $< && touch $@; } > $(PYTHON_PEERS)/$*.log 2>&1 || echo "$* could not be installed: $(PYTHON_PEERS)/$*.log"

# The blocking interface is made from that for asyncio.
generate-python: $(PYTHON_VENV)/ready
	$(PYTHON) bindings-python/generate_blocking.py

test-python: PROFILE := dev
test-python: lint-python python ## what must hold for Python
	$(MAKE) --no-print-directory run-python-tests

# Most tests wait for servers, processes or time, so more run at once than there are cores. Tests of one
# file run in one process, so that the packages are built once.
run-python-tests:
	cd bindings-python && { $(PYTHON) -m pytest -q --numprocesses 4 --dist loadfile || \
	{ [[ -n '$(REPEAT)' ]] && echo 'repeated alone: tests of Python' >> ../build/repeated.log && \
	$(PYTHON) -m pytest -q --last-failed --last-failed-no-failures none; }; }

bench-python: PROFILE := dist
bench-python: python
	$(PYTHON_BENCH) --json build/bench-python.json

peers-python: PROFILE := dist
peers-python: python $(PYTHON_PEER_NAMES:%=$(PYTHON_PEERS)/%/ready)
	$(PYTHON_BENCH) --peers $(PYTHON_PEERS) --json build/bench-peers-python.json

fmt-python: $(PYTHON_VENV)/ready
	cd bindings-python && $(PYTHON) -m ruff format -q . $(PYTHON_OTHERS) && $(PYTHON) -m ruff check -q --fix . $(PYTHON_OTHERS)

lint-python: setup $(PYTHON_VENV)/ready
	cd bindings-python && $(PYTHON) -m ruff format -q --check . $(PYTHON_OTHERS) \
		&& $(PYTHON) -m ruff check -q . $(PYTHON_OTHERS)
	$(PYTHON) bindings-python/generate_blocking.py --check
	cd bindings-python && $(PYTHON) -m mypy --strict python bench generate_blocking.py ../core/benches/chart.py $(PYTHON_DOCS)
