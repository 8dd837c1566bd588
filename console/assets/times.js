// @ts-check
// Shows times: how far away they are, or exactly, in UTC.

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

function exact(/** @type {number} */ time) {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Writes all times of the page. */
export function showTimes() {
  for (const element of document.querySelectorAll('time')) {
    const time = Date.parse(element.dateTime)
    const text = element.dataset.shown === 'distance' ? distance(time) : exact(time)
    if (element.textContent !== text) element.textContent = text
    if (element.dataset.shown === 'distance') element.title = exact(time)
  }
}

setInterval(showTimes, 1_000)
