# Node.js: the package, and other queues to measure beside. Nothing that is installed here runs a
# script of its own.
.PHONY: node node-tools node-peers node-runners node-debug test-node run-node-tests bench-node peers-node fmt-node lint-node

NPM := npm --prefix bindings-node
NPM_QUIET := --ignore-scripts --no-audit --no-fund --loglevel=error
NPM_CI := npm ci $(NPM_QUIET)
NODE_PEERS := $(CURDIR)/build/peers-node
NODE_RUNNERS := $(CURDIR)/build/runners-node

DEMO_WORKERS += 'node=node integration-tests/testees/node/demo_worker.mjs' \
	'node/jobs=node integration-tests/testees/node/demo_handler.mjs'
TESTEES += 'node=node --expose-gc integration-tests/testees/node/testee.mjs'
JOB_TESTEES += 'node-threads=node --expose-gc integration-tests/testees/node/testee.mjs --threads'

node: setup node-tools ## build the package for Node.js: bindings-node/, and build/node/leaseq-VERSION.tgz
	@mkdir -p build/node
	$(call once,build/node/built,$(NODE_SOURCES) $(CORE_SOURCES),$(NODE_PACK))

NODE_SOURCES := bindings-node/src bindings-node/lib bindings-node/index.* bindings-node/*.json bindings-node/*.toml
# Its tool takes the folder of the profile `dev` for `debug` only if it is not named.
NODE_NATIVE = $(NPM) run --silent native $(if $(filter-out dev,$(PROFILE)),-- --profile $(PROFILE))
NODE_PACK = $(NODE_NATIVE) && $(NPM) run --silent compile && $(NPM) run --silent prepack && \
	cd bindings-node && npm pack --silent --ignore-scripts --pack-destination ../build/node && cd ..

node-tools:
	@if [[ ! bindings-node/node_modules/.package-lock.json -nt bindings-node/package-lock.json ]]; \
	then cd bindings-node && $(NPM_CI); fi

# Not `npm ci`: it wants packages for every platform to be in the lock file, and not every registry
# has them.
node-peers: setup
	@mkdir -p $(NODE_PEERS) && cmp -s bindings-node/bench/peers/package.json $(NODE_PEERS)/package.json \
	&& test -d $(NODE_PEERS)/node_modules || { cp bindings-node/bench/peers/package*.json $(NODE_PEERS)/ \
	&& cd $(NODE_PEERS) && npm install --no-save --omit=optional $(NPM_QUIET); } \
	|| echo "the peers for Node.js could not be installed; the benchmark will say so"

# Test runners that users of leaseq/testing have.
node-runners: setup
	@mkdir -p $(NODE_RUNNERS) && cmp -s bindings-node/test/runners/package.json $(NODE_RUNNERS)/package.json \
	&& test -d $(NODE_RUNNERS)/node_modules || { cp bindings-node/test/runners/package*.json $(NODE_RUNNERS)/ \
	&& cd $(NODE_RUNNERS) && npm install --no-save $(NPM_QUIET); }

test-node: PROFILE := dev
test-node: lint-node node-peers node-runners node-debug ## what must hold for Node.js
	$(MAKE) --no-print-directory run-node-tests

# A debug build: what is generated beside it must be what is committed.
node-debug: PROFILE := dev
node-debug: setup node-tools
	mkdir -p build/drift && cd bindings-node && cp -r native.js native.d.ts npm ../build/drift/
	$(NODE_NATIVE) && $(NPM) run --silent compile
	@rm -f build/node/built
	$(NPM) run --silent packages
	@cd bindings-node && for made in native.js native.d.ts npm; do \
	diff -r $$made ../build/drift/$$made || { echo "$$made is not what was committed"; exit 1; }; done

run-node-tests:
	$(NPM) test || { [[ -n '$(REPEAT)' ]] && echo 'repeated: tests of Node.js' >> build/repeated.log && $(NPM) test; }
	node bindings-node/bench/leaseq.mjs --quick
	node bindings-node/bench/peers.mjs --quick --peers $(NODE_PEERS)

bench-node: PROFILE := dist
bench-node: node
	node bindings-node/bench/leaseq.mjs --json $(CURDIR)/build/bench-node.json

peers-node: PROFILE := dist
peers-node: node node-peers
	node bindings-node/bench/peers.mjs --peers $(NODE_PEERS) --json $(CURDIR)/build/bench-peers-node.json

fmt-node: setup node-tools
	$(NPM) run --silent format

lint-node: setup node-tools
	$(NPM) run --silent lint
