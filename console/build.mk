# The web console: what its tests in a browser need.
.PHONY: console-tools test-console lint-console

console-tools: setup
	@if [[ ! console/browser/node_modules/.package-lock.json -nt console/browser/package-lock.json ]]; \
	then cd console/browser && $(NPM_CI); fi

# Pictures of the pages go to build/console.
test-console: console-tools ## visit the pages of the web console in a browser, and behind nginx
	LEASEQ_PARTS=$(TEST_PARTS) cargo test -p leaseq-console --test console -- --ignored

lint-console: console-tools
	console/browser/node_modules/.bin/tsc --checkJs --noEmit --strict --target es2022 --module es2022 --lib es2023,dom,dom.iterable \
	--types '' console/assets/app.js
