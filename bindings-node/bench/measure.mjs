// What is measured of leaseq, and how.
export const DATA = 'x'.repeat(100)
/** Loops that make single calls at the same time. */
export const AT_ONCE = 100
const BULK = 1000

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** How many a second: `work` results in how many there were. */
export async function rate(work) {
  const begun = process.hrtime.bigint()
  const count = await work()
  return count / (Number(process.hrtime.bigint() - begun) / 1e9)
}

/** Adds `total` items, `callers` at once, each call for one item. */
export async function addSingly(queue, total, callers = AT_ONCE) {
  let left = total
  const loop = async () => {
    while (left-- > 0) await queue.addItem(DATA)
  }
  await Promise.all(Array.from({ length: callers }, loop))
  return total
}

/** Works off what is there in `callers` loops: going on to the next item completes the one before. */
export async function processInLoops(queue, callers = AT_ONCE) {
  let done = 0
  const loop = async () => {
    for await (const lease of queue.leases({ durationMs: 30_000, waitMs: 0, complete: true })) {
      if (lease.data.length !== DATA.length) throw new Error('wrong data')
      done += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, loop))
  const { leased, totals } = await queue.counts()
  return leased === 0 && totals.completed === totals.added ? done : NaN
}

/** Leases and completes what is there, `callers` at once, each call for one item. */
export async function processSingly(queue, callers = AT_ONCE) {
  let done = 0
  const loop = async () => {
    for (;;) {
      const lease = await queue.lease({ durationMs: 30_000, waitMs: 0 })
      if (lease === null) return
      if (lease.data.length !== DATA.length) throw new Error('wrong data')
      if (await queue.complete(lease)) done += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, loop))
  return done
}

export async function addInBulk(queue, total) {
  for (let added = 0; added < total; added += BULK) {
    const count = Math.min(BULK, total - added)
    await queue.addItems(Array.from({ length: count }, () => DATA))
  }
  return total
}

export async function processInBulk(queue) {
  let done = 0
  for (;;) {
    const leases = await queue.leaseMany(BULK, { durationMs: 30_000, waitMs: 0 })
    if (leases.length === 0) return done
    done += (await queue.completeMany(leases)).filter((completed) => completed).length
  }
}

/** The arguments of both benchmarks. */
export function readArguments() {
  // Ended from outside, it still stops its server.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const words = process.argv.slice(2)
  const value = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined)
  const rounds = Number(value('--rounds')) || undefined
  return {
    quick: words.includes('--quick'),
    json: value('--json'),
    rounds,
    peers: value('--peers'),
  }
}

/** Every item that was added was processed. */
export function expect(what, found, expected) {
  if (found !== expected) throw new Error(`${what}: ${found}, not ${expected}`)
}
