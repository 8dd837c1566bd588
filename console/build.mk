# The web console: what its tests in a browser need.
.PHONY: console-tools test-console lint-console

console-tools: setup
	@if [[ ! console/browser/node_modules/.package-lock.json -nt console/browser/package-lock.json ]]; \
	then cd console/browser && $(NPM_CI); fi

# Pictures of the pages go to build/console.
test-console: console-tools ## visit the pages of the web console in a browser, and behind nginx
	LEASEQ_PARTS=$(TEST_PARTS) cargo test -p leaseq-console --test console -- --ignored

# The script that draws charts is a file of ours: crates are built without Node.js.
lint-console: console-tools
	console/browser/node_modules/.bin/tsc --project console/browser
	cd console && for file in uPlot.iife.min.js uPlot.min.css; \
	do cmp browser/node_modules/uplot/dist/$$file assets/uplot/$$file; done
	cmp console/browser/node_modules/uplot/LICENSE console/assets/uplot/LICENSE
