# The packages of a release.
.PHONY: setup-release release release-platform test-release test-packages lint-packages

RELEASE := build/release
RELEASE_TOOLS := $(CURDIR)/build/release-tools

setup-release:
	@.ci/setup --release

release: setup-release node-tools $(RELEASE_TOOLS)/all ## make every package of a release: build/release
	packaging/release $(RELEASE)

# Elsewhere than on x86_64 with glibc: PLATFORM=linux-arm64-musl RUST_TARGET=aarch64-unknown-linux-musl
release-platform: setup-release node-tools $(RELEASE_TOOLS)/all
	packaging/release-platform $(PLATFORM) $(RUST_TARGET) $(RELEASE)

test-release: setup-release ## install the packages of build/release in an empty Debian, and use them (as root)
	packaging/test $(RELEASE)

# The packages with programs, of the build for tests: what is in them, and that they install and work.
test-packages: PROFILE := dev
test-packages: setup node-tools $(RELEASE_TOOLS)/ready
	cargo build --profile $(PROFILE) -p leaseq-cli -p leaseq-cleaner -p leaseq-c -p leaseq-node
	$(RELEASE_TOOLS)/bin/python packaging/linked.py --licences build/LICENSE-THIRD-PARTY
	@rm -rf build/packages
	COMPRESSION=0 packaging/assemble $(firstword $(subst -, ,$(CARGO_BUILD_TARGET))) $(PROGRAMS) $(PROGRAMS) \
		build/LICENSE-THIRD-PARTY build/packages
	packaging/npm-package build/packages
	packaging/npm-platform linux-x64-gnu $(PROGRAMS)/libleaseq_node.so build/LICENSE-THIRD-PARTY build/packages
	packaging/test --here build/packages

lint-packages: setup $(RELEASE_TOOLS)/ready
	@packaging/version --check
	@$(RELEASE_TOOLS)/bin/python packaging/linked.py --check

$(RELEASE_TOOLS)/ready: packaging/requirements.txt
	python3 -m venv $(RELEASE_TOOLS)
	$(RELEASE_TOOLS)/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

$(RELEASE_TOOLS)/all: packaging/requirements-release.txt $(RELEASE_TOOLS)/ready
	$(RELEASE_TOOLS)/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@
