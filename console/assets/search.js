// @ts-check
// Goes on with a search, page by page, until something is found or the user stops. Without it, "Continue" does one page.
import { poll } from './poll.js'

/** The server has others to serve. */
const PAUSE_MS = 50
/** After a page that could not be read. */
const RETRY_MS = 2_000

const begin = /** @type {HTMLButtonElement | null} */ (document.querySelector('#search-on'))
const said = document.querySelector('#searched')
let goes = false
let works = false

const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms))
const next = (/** @type {Document} */ page) => /** @type {HTMLAnchorElement | null} */ (page.querySelector('a[data-search]'))?.getAttribute('href')

async function search() {
  works = true
  let at = next(document)
  while (goes && at) {
    const page = await poll(at, 'text/html').then((answer) => answer.text()).catch(() => null)
    await pause(page === null ? RETRY_MS : PAUSE_MS)
    if (page === null) {
      if (said) said.textContent = 'The server does not answer; the search goes on by itself.'
      continue
    }
    const read = new DOMParser().parseFromString(page, 'text/html')
    const further = next(read)
    const found = read.querySelector('[data-found]') !== null
    if (said) said.textContent = read.querySelector('#searched')?.textContent ?? ''
    if (found || !further) return location.assign(at)
    at = further
  }
  // Here "Continue" goes on from where it was stopped.
  if (at) document.querySelector('a[data-search]')?.setAttribute('href', at)
  works = false
}

if (begin) {
  begin.hidden = false
  begin.addEventListener('click', () => {
    goes = !goes
    begin.textContent = goes ? 'Stop' : 'Search on'
    if (goes && !works) void search()
  })
}
