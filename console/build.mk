# The web console: what its tests in a browser need.
.PHONY: console-tools test-console console-pictures lint-console

console-tools: setup
	@if [[ ! console/browser/node_modules/.package-lock.json -nt console/browser/package-lock.json ]]; \
	then cd console/browser && $(NPM_CI); fi

# Pictures of the pages go to build/console.
test-console: console-tools ## visit the pages of the web console in a browser, and behind nginx
	LEASEQ_PARTS=$(TEST_PARTS) cargo test -p leaseq-console --test console -- --ignored

# The pictures of the documentation are those of the last run of the tests.
PICTURES := overview item-leased dead

console-pictures: test-console ## take the pictures of the web console in docs/pictures
	mkdir -p docs/pictures
	for name in $(PICTURES); \
	do cp build/console/$$name-redis-administer-light-1280.png docs/pictures/console-$$name.png || exit 1; done

# The script that draws charts is a copy in this tree: crates are built without Node.js.
lint-console: console-tools
	console/browser/node_modules/.bin/tsc --project console/browser
	cd console && for file in uPlot.iife.min.js uPlot.min.css; \
	do cmp browser/node_modules/uplot/dist/$$file assets/uplot/$$file || exit 1; done
	cmp console/browser/node_modules/uplot/LICENSE console/assets/uplot/LICENSE
