// @ts-check
// Shows times: how far away they are, or exactly, in the zone of the viewer or in UTC.

const UNITS = /** @type {const} */ ([
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
])

/** What the clock of the server is ahead of the one of this machine, in ms. */
const ahead = Date.parse(document.body.dataset.now ?? '') - Date.now() || 0

/** As the server writes it: two units at most. */
function rough(/** @type {number} */ seconds) {
  const at = UNITS.findIndex(([, length]) => seconds >= length)
  const [unit, length] = UNITS[at] ?? UNITS[3]
  const [small, rest] = UNITS[at + 1] ?? ['', 0]
  const first = `${Math.floor(seconds / length)}${unit}`
  return rest ? `${first}${String(Math.floor((seconds % length) / rest)).padStart(2, '0')}${small}` : first
}

function distance(/** @type {number} */ time) {
  const seconds = Math.floor((Date.now() + ahead - time) / 1_000)
  if (seconds === 0) return 'just now'
  return seconds > 0 ? `${rough(seconds)} ago` : `in ${rough(-seconds)}`
}

/** How a time can be shown. */
const SHOWN = /** @type {Record<string, (time: number) => string>} */ ({
  distance,
  exact: (time) => exact(time),
  left: (time) => (time > Date.now() + ahead ? rough(Math.floor((time - Date.now() - ahead) / 1_000)) : `expired ${distance(time)}`),
  for: (time) => rough(Math.max(0, Math.floor((Date.now() + ahead - time) / 1_000))),
})

const KEY = 'leaseq-zone'

/** @typedef {'utc' | 'local'} Zone */

/** @type {Zone} */
let chosen = 'local'
try {
  if (localStorage.getItem(KEY) === 'utc') chosen = 'utc'
} catch {
  // The browser keeps nothing.
}

/** In which zone times are shown. */
export function zone() {
  return chosen
}

/** @type {Intl.DateTimeFormatOptions} */
const digits = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' }
/** @param {string} [timeZone] */
const format = (timeZone) => new Intl.DateTimeFormat('en-GB', { ...digits, hourCycle: 'h23', timeZoneName: 'short', timeZone })
const formats = { utc: format('UTC'), local: format() }

function exact(/** @type {number} */ time) {
  const parts = Object.fromEntries(formats[zone()].formatToParts(time).map(({ type, value }) => [type, value]))
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second} ${parts.timeZoneName}`
}

/** Writes all times of the page. */
export function showTimes() {
  for (const element of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll('time[datetime]'))) {
    const { shown = 'exact' } = element.dataset
    const time = Date.parse(element.dateTime)
    const text = SHOWN[shown]?.(time) ?? ''
    if (element.textContent !== text) element.textContent = text
    if (shown !== 'exact') element.title = exact(time)
    if (shown === 'left') element.className = text.startsWith('expired') ? 'badge bad' : ''
  }
  // How much of the time between two others is over.
  for (const meter of /** @type {NodeListOf<SVGElement>} */ (document.querySelectorAll('svg[data-from]'))) {
    const [from, until] = [Number(meter.dataset.from), Number(meter.dataset.until)]
    const share = Math.floor(((Date.now() + ahead - from) * 100) / Math.max(1, until - from))
    const used = Math.min(100, Math.max(0, share))
    meter.setAttribute('aria-label', `${used} % used`)
    meter.lastElementChild?.setAttribute('width', String(used))
    meter.lastElementChild?.classList.toggle('late', used >= 80)
  }
}

setInterval(showTimes, 1_000)

const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('#zone'))
const say = () => button && (button.textContent = `Show times in ${chosen === 'utc' ? 'local time' : 'UTC'}`)
if (button) {
  button.hidden = false
  button.addEventListener('click', () => {
    chosen = chosen === 'utc' ? 'local' : 'utc'
    try {
      localStorage.setItem(KEY, chosen)
    } catch {
      // The next page shows local times again.
    }
    say()
    showTimes()
    document.dispatchEvent(new Event('zone'))
  })
  say()
}
