# The book: a website, and a check of all its examples.
.PHONY: docs test-docs

DOCS_VENV := $(CURDIR)/build/docs/venv

docs: $(DOCS_VENV)/ready ## build the book: build/docs/site/index.html
	$(DOCS_VENV)/bin/python docs/book.py build/docs/source build/docs/site

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
	python3 docs/check.py --node build/docs/leaseq-0.1.0.tgz
