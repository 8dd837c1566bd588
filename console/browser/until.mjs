// Waits until this is true in the page. Playwright's own way evaluates text in the page, which the policy forbids.
const LIMIT_MS = 40_000

export async function until(page, what) {
  const end = Date.now() + LIMIT_MS
  while (!(await page.evaluate(what))) {
    if (Date.now() > end) throw new Error(`${page.url()}: not true: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

/** Waits until each chart is drawn, or the page says that there is nothing to draw. */
export async function untilDrawn(page) {
  await until(page, `[...document.querySelectorAll('[data-history]')].every((history) => {
    const shown = (selector) => history.querySelector(selector).checkVisibility()
    const drawn = [...history.querySelectorAll('[data-chart]')].every((place) => place.querySelector('canvas'))
    return shown('.nothing') ? !shown('.charts') : shown('.charts') && drawn
  })`)
}
