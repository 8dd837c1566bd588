// @ts-check
// Keeps a page fresh. Pages work without it.
import { draw } from './draw.js'
import { poll, say, tick } from './poll.js'
import './search.js'
import { showTimes } from './times.js'

const VALUES_MS = 2_000
const PAGE_MS = 2_000

/** @typedef {import('./draw.js').Values} Values */

/** Whether somebody is using this part, so that it must stay as it is. */
function inUse(/** @type {Element} */ part) {
  const active = document.activeElement
  const edits = active && part.contains(active) && active.matches('input, select, textarea, summary')
  return edits || part.querySelector('details[open], input:checked') !== null
}

/** Puts the parts of the page that have changed in place of the old ones. */
async function refreshPage() {
  const part = /** @type {HTMLElement | null} */ (document.querySelector('[data-source]'))
  const answer = await poll(part?.dataset.source ?? location.href, 'text/html')
  // The page of an error: the server answers again.
  if (document.body.dataset.failed !== undefined) return location.reload()
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  // An item is not leased any more.
  if (part && !page.querySelector('[data-source]') && !inUse(document.body)) return location.reload()
  for (const fresh of page.querySelectorAll('[data-live]')) {
    const name = fresh.getAttribute('data-live')
    const old = document.querySelector(`[data-live="${name}"]`)
    if (old && !inUse(old) && old.innerHTML !== fresh.innerHTML) replace(old, fresh)
  }
  if (page.body.dataset.phase) document.body.dataset.phase = page.body.dataset.phase
  showTimes()
}

/** Keeps the focus in the part: on what is in the same place now, else on the first thing that can have it. */
function replace(/** @type {Element} */ old, /** @type {Element} */ fresh) {
  const inside = () => /** @type {HTMLElement[]} */ ([...old.querySelectorAll('a, button')])
  const at = inside().findIndex((element) => element === document.activeElement)
  old.innerHTML = fresh.innerHTML
  if (at >= 0) (inside()[at] ?? inside()[0])?.focus({ preventScroll: true })
}

/** What the page shows, without loading it. */
async function refreshValues(/** @type {string} */ source) {
  const values = /** @type {Values} */ (await (await poll(source)).json())
  const { phase } = document.body.dataset
  // Its parts are others now.
  if (phase !== undefined && phase !== values.phase) return refreshPage()
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-drawn]'))) draw(part, values)
  showTimes()
}

async function refreshNumbers(/** @type {string} */ source) {
  const answer = await poll(source)
  const queues = new Map(Object.entries(/** @type {{ queues: Record<string, Values> }} */ (await answer.json()).queues))
  const shown = new Set()
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-queue]'))) {
    const name = part.dataset.queue ?? ''
    const numbers = queues.get(name)
    shown.add(name)
    if (numbers) draw(part, numbers)
  }
  showTimes()
  // There are other queues now.
  if (shown.size !== queues.size || [...queues.keys()].some((name) => !shown.has(name))) await refreshPage()
}

const { numbers, values, failed } = document.body.dataset
if (numbers !== undefined) tick(VALUES_MS, () => refreshNumbers(numbers))
if (values !== undefined) tick(VALUES_MS, () => refreshValues(values))
const lives = values === undefined && document.querySelector('[data-live]:not([data-live="queues"])') !== null
if (lives || failed !== undefined) tick(PAGE_MS, refreshPage)
showTimes()
say()
