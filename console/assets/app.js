// @ts-check
// Keeps the numbers of a page fresh: asks for the page again every 2 s, and puts its parts that have changed in place of
// the old ones. Pages work without it. It asks nothing while nobody looks.

const EVERY_MS = 2_000
const MAX_PAUSE_MS = 15_000

/** @type {HTMLElement | null} */
const lost = document.querySelector('#lost')
let failures = 0
let since = Date.now()

/** Whether somebody is using this part, so that it must stay as it is. */
function inUse(/** @type {Element} */ part) {
  const active = document.activeElement
  const edits = active && part.contains(active) && active.matches('input, select, textarea, summary')
  return edits || part.querySelector('details[open], input:checked') !== null
}

function show(/** @type {boolean} */ reached) {
  failures = reached ? 0 : failures + 1
  if (reached) since = Date.now()
  if (!lost) return
  lost.hidden = failures < 2
  const seconds = Math.round((Date.now() - since) / 1_000)
  if (failures >= 2) lost.textContent = `No answer for ${seconds} s. These numbers are old; this page goes on by itself.`
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' }, signal: AbortSignal.timeout(10_000) })
  if (answer.redirected || answer.status === 401) return location.reload()
  if (!answer.ok) return show(false)
  // The page of an error: the server answers again.
  if (document.body.dataset.failed !== undefined) return location.reload()
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  for (const fresh of page.querySelectorAll('[data-live]')) {
    const name = fresh.getAttribute('data-live')
    const old = document.querySelector(`[data-live="${name}"]`)
    if (old && !inUse(old) && old.innerHTML !== fresh.innerHTML) old.innerHTML = fresh.innerHTML
  }
  show(true)
}

async function next() {
  const pause = Math.min(EVERY_MS * 2 ** Math.min(failures, 3), MAX_PAUSE_MS)
  await new Promise((resolve) => setTimeout(resolve, pause))
  if (document.visibilityState === 'visible') await refresh().catch(() => show(false))
  void next()
}

if (document.querySelector('[data-live]') || document.body.dataset.failed !== undefined) void next()
