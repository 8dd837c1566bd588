// Jobs whose handlers do what they should not, for child processes.
import { setTimeout as sleep } from 'node:timers/promises'

import { Bury, currentJob, defineJobs, Discard, job, RetryAfter, Snooze } from '../../jobs.mjs'

const once = { retainMs: 60_000, retry: { attempts: 1 } }
export const jobs = defineJobs(
  {
    about: job(once),
    checked: job({
      ...once,
      args: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) =>
            value.n > 0 ? { value: { n: value.n * 2 } } : { issues: [{ message: 'too small' }] },
        },
      },
    }),
    chained: job(once),
    options: job(once),
    misuse: job(once),
    decide: job(once),
    fail: job(once),
    retried: job({ ...once, retry: { attempts: 2, baseMs: 0 } }),
    allocate: job(once),
    blocks: job({ ...once, timeoutMs: 200 }),
    more: job({ ...once, timeoutMs: 300 }),
    pauses: job(once),
    waits: job(once),
    ignores: job(once),
    tidies: job(once),
    unknown: job(once),
  },
  { queue: 'tests' },
)

let count = 0
let seen
const kept = []
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

export const middleware = [
  async (job, next) => {
    seen = `around ${job.name}`
    return next()
  },
]

class Broken extends TypeError {}

const FAILURES = {
  error: () => {
    throw new Broken('on purpose', { cause: new Error('the cause') })
  },
  exit: () => process.exit(3),
  abort: () => process.abort(),
  killed: () => sleep(60_000, process.kill(process.pid, 'SIGKILL')),
  rejection: () => sleep(60_000, void Promise.reject(new Error('nobody handles this'))),
  timer: () => sleep(60_000, setTimeout(FAILURES.error)),
  result: () => new Map(),
  nan: () => NaN,
  recursion: function recursion() {
    return recursion() + 1
  },
  text: () => {
    throw 'a text'
  },
  proxy: () => {
    throw new Proxy(
      {},
      { get: FAILURES.error, getPrototypeOf: FAILURES.error, has: FAILURES.error },
    )
  },
  heap: () => {
    for (const all = []; ;) all.push(Array(1000).fill(all.length))
  },
}

export const handlers = {
  about: async (job) => {
    await sleep(1)
    count += 1
    const stdin = await process.stdin.toArray()
    const { id, queue, attempt, maxAttempts, meta, args, remainingMs } = job
    const inTime = remainingMs > 0 && remainingMs <= 3_600_000
    const isCurrent = currentJob() === job
    const result = { id, queue, attempt, maxAttempts, meta, args, seen, count, inTime, isCurrent }
    return { ...result, stdin: stdin.length, pid: process.pid }
  },
  checked: ({ args }) => args.n,
  options: () => process.execArgv,
  misuse: async ({ moreTime, progress }) => {
    const messages = []
    const tell = (error) => messages.push(error.message)
    for (const wrong of [() => moreTime(-1), () => progress('x'.repeat(1025))]) {
      try {
        wrong()
      } catch (error) {
        tell(error)
      }
    }
    return messages
  },
  chained: ({ previous, previousId }) => [previous ?? null, previousId ?? null],
  decide: ({ args: { how } }) => {
    if (how === 'discard') throw new Discard()
    if (how === 'bury') return new Bury('never')
    if (how === 'later') throw new RetryAfter(60_000, 'busy')
    if (how === 'snooze') throw new Snooze(60_000)
  },
  fail: ({ args }) => FAILURES[args.how](),
  retried: ({ attempt, lastError }) => {
    if (attempt === 1) throw new Broken('first')
    return [attempt, lastError.split('\n')[0]]
  },
  allocate: async ({ args: { mib, keep } }) => {
    for (let i = 0; i < mib; i += 20) {
      kept.push(Buffer.alloc(20 * 2 ** 20, 1))
      if (!keep) await sleep(50)
    }
    return process.pid
  },
  blocks: ({ progress }) => {
    progress('begun')
    block(60_000)
  },
  more: async ({ moreTime, progress }) => {
    moreTime(30_000)
    await progress('more')
    await sleep(600)
    return 'in time'
  },
  pauses: async ({ progress }) => {
    progress('begun')
    await sleep(1000)
    return 'done'
  },
  waits: async ({ progress, signal }) => {
    progress('begun')
    await sleep(60_000, undefined, { signal })
  },
  tidies: async ({ args: { ms }, progress, signal }) => {
    progress('begun')
    await sleep(60_000, undefined, { signal }).catch(() => undefined)
    await progress('tidies')
    await sleep(ms)
    throw signal.reason
  },
  ignores: async ({ progress }) => {
    progress('begun')
    await sleep(60_000)
  },
}
