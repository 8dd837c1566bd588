// @ts-check
// Keeps a page fresh. Pages work without it.
import { poll, say, tick } from './poll.js'
import { showTimes } from './times.js'

const NUMBERS_MS = 2_000
const PAGE_MS = 2_000

/** @typedef {Record<string, string | boolean>} Numbers the counts of a queue, and its flags */

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
    if (old && !inUse(old) && old.innerHTML !== fresh.innerHTML) old.innerHTML = fresh.innerHTML
  }
  showTimes()
}

/** Shows the counts of a queue. */
function show(/** @type {Element} */ part, /** @type {Numbers} */ numbers) {
  for (const element of part.querySelectorAll('[data-number]')) {
    const text = String(numbers[element.getAttribute('data-number') ?? ''] ?? '')
    if (element.textContent !== text) element.textContent = text
    element.classList.toggle('zero', text === '0')
  }
  for (const element of part.querySelectorAll('[data-flag], [data-unless]')) {
    const { flag, unless } = /** @type {HTMLElement} */ (element).dataset
    element.toggleAttribute('hidden', flag ? !numbers[flag] : Boolean(numbers[unless ?? '']))
  }
}

async function refreshNumbers(/** @type {string} */ source) {
  const answer = await poll(source)
  const queues = new Map(Object.entries(/** @type {{ queues: Record<string, Numbers> }} */ (await answer.json()).queues))
  const shown = new Set()
  for (const part of document.querySelectorAll('[data-queue]')) {
    const name = part.getAttribute('data-queue') ?? ''
    const numbers = queues.get(name)
    shown.add(name)
    if (numbers) show(part, numbers)
  }
  // There are other queues now.
  if (shown.size !== queues.size || [...queues.keys()].some((name) => !shown.has(name))) await refreshPage()
}

const { numbers, failed } = document.body.dataset
if (numbers !== undefined) tick(NUMBERS_MS, () => refreshNumbers(numbers))
const lives = document.querySelector('[data-live]:not([data-live="queues"])') !== null
if (lives || failed !== undefined) tick(PAGE_MS, refreshPage)
showTimes()
say()
