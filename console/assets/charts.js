// @ts-check
// Draws the history. The page has the same as sentences and as a table.
import { poll, tick } from './poll.js'
import { zone } from './times.js'

const HISTORY_MS = 15_000
const PENDING_MS = 500
const HEIGHT = 180

/** @typedef {{ chart: string, name: string, values: (number | null)[] }} Line */
/** @typedef {{ begin: number, width: number, charts: { name: string, summary: string }[], lines: Line[],
 *    sparklines: [string, string, string][], nothing: boolean, pending: string }} History */

/** @type {typeof import('uplot')} */
const UPlot = Reflect.get(globalThis, 'uPlot')
const style = () => getComputedStyle(document.body)

/** The colour and the dashes of each line: nobody has to rely on colours. */
const LOOKS = /** @type {Record<string, [string, number[]]>} */ ({
  added: ['--ready', []],
  completed: ['--completed', []],
  failed: ['--dead', [6, 3]],
  expired: ['--held', [2, 2]],
  ready: ['--ready', []],
  leased: ['--leased', [6, 3]],
  'ran, p50': ['--completed', []],
  'ran, p95': ['--completed', [6, 3]],
  'waited, p50': ['--delayed', []],
  'waited, p95': ['--delayed', [2, 2]],
})

/** How CSS calls the dashes of a line. */
function dashes(/** @type {string} */ name) {
  const [, [first]] = LOOKS[name] ?? ['', []]
  if (first === undefined) return 'solid'
  return first > 2 ? 'dashed' : 'dotted'
}

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1, notation: 'compact' })

function duration(/** @type {number} */ ms) {
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`
  if (ms < 1_000) return `${numbers.format(ms)} ms`
  return ms < 120_000 ? `${numbers.format(ms / 1_000)} s` : `${numbers.format(ms / 60_000)} min`
}

/** Where the last values of a chart are, if it has any. */
function last(/** @type {import('uplot')} */ { data: [times, ...lines] }) {
  const at = times.findLastIndex((_, at) => lines.some((values) => values[at] != null))
  return at < 0 ? undefined : at
}

/** The chart of each place, and which lines it has.
 *  @type {Map<string, { has: string, plot: import('uplot') }>} */
const drawn = new Map()

function draw(/** @type {HTMLElement} */ place, /** @type {History} */ history) {
  const name = place.dataset.chart ?? ''
  const lines = history.lines.filter((line) => line.chart === name)
  const times = lines[0]?.values.map((_, at) => history.begin + at * history.width) ?? []
  const data = /** @type {import('uplot').AlignedData} */ ([times, ...lines.map((line) => line.values)])
  const has = lines.map((line) => line.name).join()
  const old = drawn.get(name)
  if (old?.has === has) return old.plot.setData(data)
  old?.plot.destroy()
  const write = name === 'times' ? duration : (/** @type {number} */ value) => numbers.format(value)
  const colour = (/** @type {string} */ variable) => style().getPropertyValue(variable)
  const axis = {
    stroke: () => colour('--muted'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style().fontFamily}`,
  }
  const series = lines.map((line) => {
    const [variable, dash] = LOOKS[line.name] ?? ['--ink', []]
    return {
      label: line.name,
      stroke: () => colour(variable),
      dash,
      width: 1.75,
      points: { show: false },
      value: (/** @type {import('uplot')} */ _, /** @type {number | null} */ value) => (value === null ? '–' : write(value)),
    }
  })
  place.replaceChildren()
  const plot = new UPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { markers: { width: 2, dash: (_, at) => dashes(lines[at - 1]?.name ?? '') } },
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (seconds) => (zone() === 'utc' ? UPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC') : new Date(seconds * 1e3)),
      fmtDate: (template) => UPlot.fmtDate(template.replace('{M}/{D}/{YY}', '{D} {MMM} {YYYY}').replace('{M}/{D}', '{D} {MMM}').replace('{h}:{mm}{aa}', '{HH}:{mm}').replace('{h}{aa}', '{HH}:00')),
      scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, name === 'times' ? 0.001 : 1)] } },
      axes: [axis, { ...axis, size: 56, values: (_, values) => values.map(write) }],
      // The latest values, as long as nobody points at others.
      hooks: { setLegend: [(plot) => plot.cursor.idx == null && plot.setLegend({ idx: last(plot) }, false)] },
      series: [{ value: '{YYYY}-{MM}-{DD} {HH}:{mm}' }, ...series],
    },
    data,
    place,
  )
  drawn.set(name, { has, plot })
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place)
}

async function refresh(/** @type {string} */ source) {
  const history = /** @type {History} */ (await (await poll(source)).json())
  const pending = document.querySelector('#pending')
  pending?.toggleAttribute('hidden', history.pending === '')
  if (pending) pending.textContent = history.pending
  // The server reads the rest meanwhile.
  if (history.pending) setTimeout(() => void refresh(source).catch(() => undefined), PENDING_MS)
  for (const { name, summary } of history.charts) {
    const place = document.querySelector(`[data-summary="${name}"]`)
    if (place && place.textContent !== summary) place.textContent = summary
  }
  document.querySelector('[data-history] > .nothing')?.toggleAttribute('hidden', !history.nothing)
  document.querySelector('[data-history] > .charts')?.toggleAttribute('hidden', history.nothing)
  const places = history.nothing ? [] : document.querySelectorAll('[data-chart]')
  for (const place of places) draw(/** @type {HTMLElement} */ (place), history)
  for (const [queue, points, text] of history.sparklines) {
    const spark = document.querySelector(`[data-spark="${CSS.escape(queue)}"]`)
    spark?.querySelector('polyline')?.setAttribute('points', points)
    spark?.setAttribute('aria-label', text)
  }
}

const source = document.querySelector('[data-history]')?.getAttribute('data-history')
if (source) {
  const first = () =>
    refresh(source).catch(() => {
      for (const place of document.querySelectorAll('[data-chart] > p')) place.textContent = 'The history cannot be read now.'
    })
  void first()
  tick(HISTORY_MS, () => refresh(source))
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn.forEach(({ plot }) => plot.redraw()))
document.addEventListener('zone', () => drawn.forEach(({ plot }) => plot.redraw(false, true)))
