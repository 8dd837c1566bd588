# C: the libraries, and this project's own programs in C.
.PHONY: c install-c test-c bench-c peers-c generate-c fmt-c lint-c

C_FLAGS := -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic -Werror
C_LEASEQ := -I$(CURDIR)/build/c/include -L$(CURDIR)/build/c/lib -lleaseq -Wl,-rpath,$(CURDIR)/build/c/lib

PREFIX := /usr/local
# The header is as its generator writes it.
C_SOURCES := $(filter-out %/leaseq.h,$(wildcard jobs/tests/*/*.c bindings-c/*/*.[ch] bindings-c/*/*.[ch]pp \
	bindings-c/*/*/*.[ch] integration-tests/clock/*.c integration-tests/testees/c/*.[ch]))

DEMO_WORKERS += 'c=$(CURDIR)/build/c/demo_worker' 'c/jobs=$(CURDIR)/build/c/demo_handler'
TESTEES += 'c=$(CURDIR)/build/c/testee'

# With other crates beside it, cargo compiles it again, because they need more features of others.
C_CRATES := -p leaseq-c

define install-c
	cargo build $(C_CRATES) --profile $(PROFILE)
	@bindings-c/packaging/install.sh $(PROGRAMS) $(1)
endef

c: setup ## build the C libraries into build/c, ready to link
	$(call install-c,$(CURDIR)/build/c)

install-c: PROFILE := dist
install-c: setup ## install header, libraries, pkg-config and CMake files: PREFIX=/usr/local
	$(call install-c,$(abspath $(PREFIX)))

test-c: PROFILE := dev
test-c: lint-c c ## what must hold for C
	LEASEQ_C_PREFIX=$(CURDIR)/build/c cargo test -p leaseq-c

build/c/demo_worker: c
	$(CC) $(C_FLAGS) integration-tests/testees/c/demo_worker.c -o $@ $(C_LEASEQ)

build/c/demo_handler: c
	$(CC) $(C_FLAGS) -DROOT='"$(CURDIR)"' integration-tests/testees/c/demo_handler.c -o $@ $(C_LEASEQ) -lcjson -lpthread

build/c/testee: c
	$(CC) $(C_FLAGS) -DCHILD_PROGRAM='"$(CURDIR)/integration-tests/testees/children/scripted.py"' \
		$(addprefix integration-tests/testees/c/,testee.c operate.c change.c groups.c work.c both.c settings.c keys.c schedules.c \
		ask.c look.c outcome.c say.c say_item.c notes.c script.c steps.c note_server.c children.c \
		produce.c worker_options.c workers.c) -o $@ $(C_LEASEQ) -lcjson -lpthread

build/c/bench: c
	$(CC) $(C_FLAGS) bindings-c/bench/*.c -o $@ $(C_LEASEQ)

bench-c: PROFILE := dist
bench-c: build/c/bench
	build/c/bench --json $(CURDIR)/build/bench-c.json

peers-c: PROFILE := dist
peers-c: build/c/bench
	build/c/bench --peers --json $(CURDIR)/build/bench-peers-c.json

generate-c: setup
	LEASEQ_GENERATE=1 cargo test -q -p leaseq-c --test c header::it_is_what_the_sources_say

fmt-c: setup
	clang-format -i $(C_SOURCES)

lint-c: setup
	clang-format --dry-run -Werror $(C_SOURCES)
