// @ts-check
// Writes values into the elements that name them. The server writes the same, so pages work without it.

/** @typedef {{ [name: string]: string | number | boolean | null | Values[] }} Values times are in ms since 1970 */

const BOUND = '[data-text], [data-set], [data-flag], [data-unless], [data-time], [data-rows]'

function change(/** @type {Element} */ element, /** @type {string} */ name, /** @type {string} */ value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

function write(/** @type {HTMLElement} */ element, /** @type {Values} */ values) {
  const { text, set, flag, unless, time, rows } = element.dataset
  if (text !== undefined) {
    const value = String(values[text] ?? '')
    if (element.textContent !== value) element.textContent = value
    if (element.closest('.num, .tile')) element.classList.toggle('zero', value === '0')
  }
  for (const pair of set?.split(' ') ?? []) {
    const [name = '', from = ''] = pair.split(':')
    change(element, name, String(values[from] ?? ''))
  }
  if (flag !== undefined) element.toggleAttribute('hidden', !values[flag])
  if (unless !== undefined) element.toggleAttribute('hidden', Boolean(values[unless]))
  const ms = time === undefined ? undefined : values[time]
  if (typeof ms === 'number') change(element, 'datetime', new Date(ms).toISOString())
  if (ms === null) {
    element.removeAttribute('datetime')
    element.textContent = ''
  }
  const list = rows === undefined ? null : values[rows]
  if (Array.isArray(list)) writeRows(element, list)
}

/** Each row has a key. Those that stay are the same elements, so that the focus and a selection stay in them. */
function writeRows(/** @type {HTMLElement} */ list, /** @type {Values[]} */ rows) {
  const template = list.querySelector(':scope > template')
  if (!(template instanceof HTMLTemplateElement)) return
  const active = document.activeElement
  const keys = new Set(rows.map((row) => row.key))
  const known = new Map()
  for (const row of [...list.children].slice(1)) {
    const { key } = /** @type {HTMLElement} */ (row).dataset
    if (keys.has(key ?? '')) known.set(key, row)
    else row.remove()
  }
  /** @type {Element} */
  let last = template
  for (const values of rows) {
    const row = known.get(values.key) ?? /** @type {Element} */ (template.content.firstElementChild).cloneNode(true)
    const next = last.nextElementSibling
    // One that goes to the end moves alone.
    if (next && next !== row && next.nextElementSibling === row) list.append(next)
    if (last.nextElementSibling !== row) last.after(row)
    row.dataset.key = String(values.key)
    draw(row, values)
    last = row
  }
  if (active instanceof HTMLElement && list.contains(active)) active.focus({ preventScroll: true })
}

/** Writes values into this element and those in it, but not into rows of lists in it. */
export function draw(/** @type {HTMLElement} */ part, /** @type {Values} */ values) {
  const own = part.closest('[data-rows]')
  for (const element of [part, .../** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll(BOUND))]) {
    if (element.parentElement?.closest('[data-rows]') === own) write(element, values)
  }
}
