# The book: a website, and a check of all its examples.
.PHONY: docs references test-docs

DOCS_VENV := $(CURDIR)/build/docs/venv

REFERENCES := $(CURDIR)/build/docs/reference

docs: references $(DOCS_VENV)/ready ## build the book, with the API references: build/docs/site/index.html
	$(DOCS_VENV)/bin/python docs/book.py build/docs/source build/docs/site

# From the packages as they were built last.
references: setup node-tools $(DOCS_VENV)/ready
	@$(PYTHON) -c 'import leaseq' 2>/dev/null || $(MAKE) --no-print-directory python
	@test -e bindings-node/native.d.ts
	rm -rf $(REFERENCES) && mkdir -p $(REFERENCES)/c
	cargo doc -q -p leaseq -p leaseq-jobs --all-features --no-deps
	cp -r $(TARGET_FOLDER)/doc $(REFERENCES)/rust
	PYTHONPATH=$$($(PYTHON) -c 'import leaseq, os; print(os.path.dirname(os.path.dirname(leaseq.__file__)))') \
		$(DOCS_VENV)/bin/pdoc --no-search --output-directory $(REFERENCES)/python leaseq leaseq.asyncio leaseq.jobs
	$(NPM) run --silent reference -- --out $(REFERENCES)/node
	cd bindings-c && { cat packaging/Doxyfile; echo "OUTPUT_DIRECTORY=$(REFERENCES)/c"; } | doxygen -
	cd $(REFERENCES)/c && mv html/* . && rmdir html

$(DOCS_VENV)/ready: docs/requirements.txt
	python3 -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

# Uses the packages of the last build, for release or for tests, and builds missing ones.
test-docs: docs node-tools ## run every example of the README and the book, and check every link
	@$(PYTHON) -c 'import leaseq' 2>/dev/null || $(MAKE) --no-print-directory python
	@test -e bindings-node/dist/index.js || $(MAKE) --no-print-directory node
	@test -e build/c/lib/libleaseq.so || $(MAKE) --no-print-directory c
	$(NPM) run --silent prepack
	cd bindings-node && npm pack --silent --ignore-scripts --pack-destination ../build/docs
	python3 docs/check.py --node build/docs/leaseq-$$(packaging/version).tgz
