// Jobs and workers: definitions, arguments, results, cancellation, errors, and the end of a worker.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { type as arktype } from 'arktype'
import * as valibot from 'valibot'
import { z } from 'zod'

import { connect } from '../index.mjs'
import {
  Bury,
  currentJob,
  defineJobs,
  Discard,
  job,
  JobCancelledError,
  JobFailedError,
  JobGoneError,
  JobTimeoutError,
  RetryAfter,
  Snooze,
  worker,
} from '../jobs.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

const AT_ONCE = { baseMs: 0 }

/** A promise and the function that fulfils it. */
function gate() {
  let open
  const opened = new Promise((resolve) => (open = resolve))
  return { open, opened }
}

let number = 0
/** Jobs in a queue of their own. */
const queued = (types, options) => defineJobs(types, { queue: `jobs-${number++}`, ...options })

onEachEngine('jobs', (place) => {
  test('arguments, a result and what a handler knows of its job', async () => {
    const jobs = queued({ send: job({ retainMs: 60_000 }) })
    const at = new Date(0)
    const args = { to: 'ada', at, left: undefined, list: [1, null, 'x'] }
    const ref = await jobs.enqueue(place.client, 'send', args, { id: 'a', meta: { trace: 't' } })
    assert.equal(ref.added, true)
    assert.equal((await jobs.enqueue(place.client, 'send', {}, { id: 'a' })).added, false)
    const seen = []
    const handlers = {
      async send(job) {
        assert.equal(currentJob(), job)
        seen.push(job.args, job.name, job.queue, job.id, job.attempt, job.maxAttempts, job.meta)
        seen.push(job.lastError, job.generation > 0, job.remainingMs > 3_500_000)
        await job.progress('half')
        seen.push((await ref.info()).progress.toString())
        return { ok: [true] }
      },
    }
    const exit = await worker(place.client, jobs, handlers).runUntilIdle()
    assert.deepEqual(exit, { reason: 'idle', started: 1, running: 0, status: 0 })
    const arrived = { to: 'ada', at: '1970-01-01T00:00:00.000Z', list: [1, null, 'x'] }
    const known = ['send', jobs.queueOf('send'), 'a', 1, 10, { trace: 't' }, '', true, true, 'half']
    assert.deepEqual(seen, [arrived, ...known])
    assert.deepEqual(await ref.result(), { ok: [true] })
    assert.deepEqual(await jobs.ref(place.client, 'send', 'a').result(), { ok: [true] })
    assert.equal(currentJob(), undefined)
  })

  test('many jobs of several types, in batches', async () => {
    const jobs = queued({ a: job(), b: job({ queue: `jobs-b-${number++}` }) })
    const many = Array.from({ length: 1500 }, (_, i) => [i % 3 === 0 ? 'b' : 'a', { i }])
    const refs = await jobs.enqueueMany(place.client, many)
    assert.deepEqual(
      refs.map(({ name }) => name),
      many.map(([name]) => name),
    )
    const seen = new Set()
    const see = ({ name, args }) => void seen.add(`${name}${args.i}`)
    const exit = await worker(place.client, jobs, { a: see, b: see }).runUntilIdle()
    assert.equal(exit.started, 1500)
    assert.equal(seen.size, 1500)
    const bad = jobs.enqueueMany(place.client, [
      ['a', { i: 0 }],
      ['a', { i: NaN }],
    ])
    assert.equal((await errorOf(bad)).code, 'INVALID')
    assert.equal(await place.client.queue(jobs.queueOf('a')).queueLen(), 0)
  })

  test('options of a job, of its type and of an item', async () => {
    const jobs = queued({
      a: job({ priority: 3, unique: ({ order }) => `order-${order}`, key: 'one', timeoutMs: 7000 }),
    })
    const first = await jobs.enqueue(place.client, 'a', { order: 1 }, { priority: 5 })
    const item = await first.info()
    assert.equal(item.priority, 5)
    assert.equal(item.unique.toString(), 'order-1')
    assert.equal(item.key, 'one')
    assert.deepEqual(item.json(), { v: 1, job: 'a', args: { order: 1 } })
    assert.equal((await jobs.enqueue(place.client, 'a', { order: 1 })).added, false)
    const own = { timeoutMs: 5, retry: { attempts: 2, on: [TypeError, 'E'] }, delayMs: 60_000 }
    const other = await (await jobs.enqueue(place.client, 'a', { order: 2 }, own)).info()
    assert.equal(other.state, 'delayed')
    const { timeout, retry } = other.json()
    assert.deepEqual([timeout, retry.max, retry.on], [5, 2, ['TypeError', 'E']])
    let remaining
    await worker(place.client, jobs, {
      a: (job) => void (remaining = job.remainingMs),
    }).runUntilIdle()
    assert.ok(remaining > 0 && remaining <= 7000, `${remaining}`)
  })

  test('what a handler throws or returns decides what becomes of its job', async () => {
    const jobs = queued({ a: job({ retry: { attempts: 2, ...AT_ONCE }, retainMs: 60_000 }) })
    const ends = {
      discard: () => new Discard('nothing to do'),
      bury: () => {
        throw new Bury('never')
      },
      again: ({ attempt }) => {
        if (attempt === 1) throw new RetryAfter(0, 'busy')
        return attempt
      },
      snooze: (job) => (runs.snooze === 1 ? new Snooze(0) : job.attempt),
      text: () => Promise.reject('a text'),
      circle: () => {
        const circle = {}
        return (circle.circle = circle)
      },
    }
    const runs = {}
    const handler = (job) => {
      runs[job.id] = (runs[job.id] ?? 0) + 1
      return ends[job.id](job)
    }
    const refs = {}
    for (const id of Object.keys(ends)) {
      refs[id] = await jobs.enqueue(place.client, 'a', {}, { id })
    }
    // Jobs that wait for 0 ms may be due a moment later.
    const serving = worker(place.client, jobs, { a: handler })
    await serving.start()
    assert.equal(await refs.discard.result(), undefined)
    const buried = await errorOf(refs.bury.result())
    assert.ok(buried instanceof JobFailedError)
    assert.equal(buried.message, 'Bury: never')
    assert.equal(await refs.again.result(), 2)
    assert.equal(await refs.snooze.result(), 1)
    assert.equal((await errorOf(refs.text.result())).message, 'string: a text')
    assert.match((await errorOf(refs.circle.result())).message, /InvalidResult.*64 deep/)
    assert.equal((await serving.stop()).reason, 'drained')
    assert.deepEqual(runs, { discard: 1, bury: 1, again: 2, snooze: 2, text: 2, circle: 2 })
  })

  test('an error has the names of its classes, its message, its stack and its causes', async () => {
    class HttpError extends Error {}
    class RateLimited extends HttpError {}
    const jobs = queued({
      never: job({ retry: { never: [HttpError], ...AT_ONCE } }),
      on: job({ retry: { attempts: 2, on: ['HttpError'], ...AT_ONCE } }),
      code: job({ retry: { never: ['ENOENT'], ...AT_ONCE } }),
    })
    const runs = { never: 0, on: 0, code: 0 }
    const limited = ({ name }) => {
      runs[name] += 1
      throw new RateLimited('slow down', { cause: new TypeError('429') })
    }
    const code = ({ name }) => {
      runs[name] += 1
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    }
    const refs = []
    for (const name of Object.keys(runs)) refs.push(await jobs.enqueue(place.client, name, {}))
    const serving = worker(place.client, jobs, { never: limited, on: limited, code })
    await serving.start()
    const [error] = await Promise.all(refs.map((ref) => errorOf(ref.result())))
    await serving.stop()
    assert.deepEqual(runs, { never: 1, on: 2, code: 1 })
    const lines = error.message.split('\n')
    assert.equal(lines[0], 'RateLimited: slow down')
    assert.match(lines[1], /^ +at limited .*jobs\.test\.mjs/)
    assert.ok(lines.includes('caused by TypeError: 429'), error.message)
    assert.ok(!/dist.jobs|node:internal/.test(error.message), error.message)
  })

  test('whatever is thrown fails the job and not the worker', async () => {
    const jobs = queued({ a: job({ retry: { attempts: 1 } }) })
    const evil = {
      get message() {
        throw new Error('evil')
      },
      get name() {
        throw new Error('evil')
      },
      toString() {
        throw new Error('evil')
      },
    }
    const thrown = [undefined, null, 7, Symbol('s'), evil, Object.create(null), new Proxy({}, {})]
    const wrong = new Error('\ud800'.repeat(2000))
    wrong.stack = 7
    thrown.push(wrong)
    const refs = await jobs.enqueueMany(
      place.client,
      thrown.map((_, i) => ['a', { i }]),
    )
    const handler = ({ args }) => {
      throw thrown[args.i]
    }
    const exit = await worker(place.client, jobs, { a: handler }).runUntilIdle()
    assert.equal(exit.started, thrown.length)
    for (const ref of refs) assert.equal((await ref.info()).state, 'dead')
  })

  test('many jobs that end at once keep their own results, whatever kind of promise is returned', async () => {
    const jobs = queued({ a: job({ retainMs: 60_000, retry: { attempts: 1 } }) })
    const later = (value) => ({ then: (done) => setImmediate(done, value) })
    const kinds = [
      (i) => i,
      async (i) => i,
      (i) => later(i),
      (i) => Object.assign(() => undefined, later(i)),
      () => undefined,
      async () => {},
      (i) => {
        throw new Error(`at ${i}`)
      },
      async (i) => Promise.reject(new Error(`at ${i}`)),
      () => ({
        get then() {
          throw new Error('no promise')
        },
      }),
    ]
    const count = 13 * kinds.length
    const refs = []
    for (let i = 0; i < count; i++) refs.push(await jobs.enqueue(place.client, 'a', { i }))
    const handler = ({ args: { i } }) => kinds[i % kinds.length](i)
    const exit = await worker(
      place.client,
      jobs,
      { a: handler },
      { concurrency: count },
    ).runUntilIdle()
    assert.deepEqual([exit.started, exit.running], [count, 0])
    for (const [i, ref] of refs.entries()) {
      const kind = i % kinds.length
      if (kind < 4) assert.equal(await ref.result({ waitMs: 0 }), i)
      else if (kind < 6) assert.equal(await ref.result({ waitMs: 0 }), undefined)
      else {
        const { message } = await errorOf(ref.result({ waitMs: 0 }))
        assert.match(message, kind < 8 ? new RegExp(`^Error: at ${i}\\b`) : /^Error: no promise/)
      }
    }
  })

  test('a signal aborts for every kind of cancellation, with the reason', async () => {
    const jobs = queued({
      a: job({ retry: { attempts: 1 } }),
      short: job({ timeoutMs: 50, retry: { attempts: 1 } }),
    })
    const reasons = {}
    const handler = async ({ id, signal }) => {
      reasons[id] = 'runs'
      try {
        await sleep(60_000, undefined, { signal })
      } catch (error) {
        assert.ok(signal.reason instanceof JobCancelledError)
        reasons[id] = signal.reason.reason
        throw error
      }
    }
    const start = (name, id) => jobs.enqueue(place.client, name, {}, { id, retainMs: 60_000 })
    const user = await start('a', 'user')
    const timeout = await start('short', 'timeout')
    await start('a', 'shutdown')
    const serving = worker(place.client, jobs, { a: handler, short: handler })
    await serving.start()
    await eventually('it runs', () => reasons.user && reasons.shutdown)
    assert.equal(await user.cancel(), true)
    assert.ok((await errorOf(user.result())) instanceof JobCancelledError)
    await eventually('it is over', () => reasons.timeout === 'timeout')
    assert.match((await errorOf(timeout.result())).message, /^Timeout/)
    assert.equal((await serving.stop(0)).running, 0)
    assert.deepEqual(reasons, { user: 'user', timeout: 'timeout', shutdown: 'shutdown' })
    const { state, releases } = await jobs.ref(place.client, 'a', 'shutdown').info()
    assert.deepEqual([state, releases.reason], ['ready', 'shutdown'])
  })

  test('a signal that is first looked at after the cancellation has aborted', async () => {
    const jobs = queued({ a: job({ timeoutMs: 20, retainMs: 60_000 }) })
    const ref = await jobs.enqueue(place.client, 'a', {})
    const handler = async (job) => {
      await eventually('its time is over', () => job.cancelReason !== undefined)
      assert.throws(() => job.moreTime(1000), { code: 'INVALID' })
      return [job.signal.aborted, job.signal.reason.reason, job.remainingMs]
    }
    await worker(place.client, jobs, { a: handler }).runUntilIdle()
    assert.deepEqual(await ref.result(), [true, 'timeout', 0])
  })

  test('a timeout that comes while a schema checks the arguments has aborted', async () => {
    const validate = async (value) => (await sleep(300), { value })
    const args = { '~standard': { version: 1, vendor: 'test', validate } }
    const jobs = queued({ slow: job({ args, retry: { attempts: 1 }, retainMs: 60_000 }) })
    const ref = await jobs.enqueue(place.client, 'slow', {}, { timeoutMs: 50 })
    const slow = ({ signal, cancelReason }) => [signal.aborted, cancelReason]
    await worker(place.client, jobs, { slow }).runUntilIdle()
    assert.deepEqual(await ref.result({ waitMs: 0 }), [true, 'timeout'])
  })

  test('more time', async () => {
    const jobs = queued({ a: job({ timeoutMs: 100, retainMs: 60_000 }) })
    const ref = await jobs.enqueue(place.client, 'a', {})
    const handler = async ({ moreTime, signal }) => {
      moreTime(60_000)
      await sleep(200)
      assert.throws(() => moreTime(40 * 86_400_000), { code: 'INVALID' })
      return signal.aborted
    }
    await worker(place.client, jobs, { a: handler }).runUntilIdle()
    assert.equal(await ref.result(), false)
  })

  test('no more handlers than its concurrency run at the same time', async () => {
    const jobs = queued({ a: job() })
    await jobs.enqueueMany(
      place.client,
      Array.from({ length: 30 }, () => ['a', {}]),
    )
    let [now, most] = [0, 0]
    const handler = async () => {
      most = Math.max(most, (now += 1))
      await sleep(2)
      now -= 1
    }
    await worker(place.client, jobs, { a: handler }, { concurrency: 4, prefetch: 6 }).runUntilIdle()
    assert.equal(most, 4)
  })

  test('middleware is around handlers and around adding, the first one outermost', async () => {
    const seen = []
    const around = (name) => async (job, next) => {
      seen.push(`${name} before`)
      try {
        return await next()
      } finally {
        seen.push(`${name} after`)
      }
    }
    const trace = async (added, next) => {
      for (const one of added) one.meta.trace = `of ${one.name}`
      await next()
    }
    const jobs = queued({ a: job({ retainMs: 60_000 }) }, { middleware: [trace] })
    const ref = await jobs.enqueue(place.client, 'a', {})
    const middleware = [around('one'), around('two')]
    const handlers = { a: ({ meta }) => `${seen.push('handler')} ${meta.trace}` }
    await worker(place.client, jobs, handlers, { middleware }).runUntilIdle()
    assert.equal(await ref.result(), '3 of a')
    assert.deepEqual(seen, ['one before', 'two before', 'handler', 'two after', 'one after'])
  })

  test('events say what has become of jobs', async () => {
    const jobs = queued({ a: job({ retry: { attempts: 1 } }) })
    await jobs.enqueue(place.client, 'a', { fail: false })
    await jobs.enqueue(place.client, 'a', { fail: true })
    const seen = []
    const onEvent = ({ kind, outcome, job, error, durationMs }) => {
      seen.push([job.args.fail, kind, outcome, error?.message].filter((x) => x !== undefined))
      assert.ok(kind === 'started' || durationMs >= 0)
    }
    const handler = ({ args }) => {
      if (args.fail) throw new Error('on purpose')
    }
    await worker(place.client, jobs, { a: handler }, { onEvent, concurrency: 1 }).runUntilIdle()
    assert.deepEqual(seen, [
      [false, 'started'],
      [false, 'ended', 'completed'],
      [true, 'started'],
      [true, 'ended', 'dead', 'on purpose'],
    ])
  })

  test('the end of a worker: an abort signal, and what is refused', async () => {
    const jobs = queued({ a: job() })
    const { open, opened } = gate()
    const handlers = { a: () => open() }
    const controller = new AbortController()
    const one = worker(place.client, jobs, handlers)
    const running = one.run({ signals: false, signal: controller.signal })
    await jobs.enqueue(place.client, 'a', {})
    await opened
    await assert.rejects(one.run(), { code: 'INVALID', message: /runs already/ })
    controller.abort()
    assert.equal((await running).reason, 'drained')
    await assert.rejects(one.stop(), { code: 'INVALID', message: /does not run/ })
    // It may run again.
    assert.equal((await one.run({ signals: false, signal: AbortSignal.abort() })).status, 0)
    assert.deepEqual(await one.runUntilIdle(), {
      reason: 'idle',
      started: 0,
      running: 0,
      status: 3,
    })
  })

  test('a client that is closed ends its worker with an error', async () => {
    const client = await connect(place.url)
    const jobs = queued({ a: job() })
    const running = worker(client, jobs, { a: () => undefined }).run({ signals: false })
    const seen = assert.rejects(running, { code: 'CLOSED' })
    await jobs.enqueue(client, 'a', {})
    await client.close()
    await seen
  })
})

const SCHEMAS = {
  zod: z.object({ to: z.string(), order: z.number().int().default(1) }),
  valibot: valibot.object({
    to: valibot.string(),
    order: valibot.optional(valibot.pipe(valibot.number(), valibot.integer()), 1),
  }),
  arktype: arktype({ to: 'string', order: 'number.integer = 1' }),
}

for (const [vendor, args] of Object.entries(SCHEMAS)) {
  test(`a schema of ${vendor} checks arguments where they are added and where they are used`, async () => {
    const client = await connect('memory:')
    const jobs = defineJobs({ send: job({ args, retainMs: 60_000 }) })
    const ref = await jobs.enqueue(client, 'send', { to: 'ada' })
    // What the producer has given; the worker makes more of it.
    assert.deepEqual((await ref.info()).json().args, { to: 'ada' })
    for (const wrong of [{ to: 7 }, {}, { to: 'ada', order: 1.5 }, { to: 'ada', order: 'x' }]) {
      const error = await errorOf(jobs.enqueue(client, 'send', wrong))
      assert.equal(error.code, 'INVALID')
      assert.match(error.message, /^job send: the arguments do not fit: "(to|order)": /)
    }
    const data = JSON.stringify({ v: 1, job: 'send', args: { to: 7 } })
    await client.queue('default').addItem({ id: 'wrong', data })
    await worker(client, jobs, { send: ({ args }) => args }).runUntilIdle()
    assert.deepEqual(await ref.result(), { to: 'ada', order: 1 })
    // A newer worker may understand it.
    const { state, failures, lastError } = await client.queue('default').get('wrong')
    assert.deepEqual([state, failures], ['delayed', 0])
    assert.ok(lastError === '' || /to/.test(lastError))
    await client.close()
  })
}

test('an asynchronous schema, one that throws, and one for the result', async () => {
  const client = await connect('memory:')
  const text = z.string().refine(async (value) => value !== 'no')
  const jobs = defineJobs({
    a: job({ args: z.object({ text }), result: z.coerce.date(), retainMs: 60_000 }),
    b: job({ args: z.object({}), result: z.string(), retainMs: 60_000 }),
  })
  assert.equal((await errorOf(jobs.enqueue(client, 'a', { text: 'no' }))).code, 'INVALID')
  const a = await jobs.enqueue(client, 'a', { text: 'yes' })
  const b = await jobs.enqueue(client, 'b', {})
  await worker(client, jobs, { a: () => new Date(5), b: () => 5 }).runUntilIdle()
  assert.deepEqual(await a.result(), new Date(5))
  await assert.rejects(b.result(), { code: 'INVALID', message: /the result/ })
  await client.close()
})

test('values that other languages would read differently are refused', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job() })
  const deep = Array.from({ length: 64 }).reduce((inner) => [inner], 1)
  for (const value of [
    NaN,
    Infinity,
    2 ** 53,
    -(2 ** 60),
    1n,
    '\ud800',
    Symbol('s'),
    () => 1,
    new Map(),
    new Set(),
    Promise.resolve(),
    /x/,
    new Date(NaN),
    Buffer.from('x'),
    new Uint8Array(1),
    [undefined],
    deep,
    { '\udc00': 1 },
  ]) {
    const error = await errorOf(jobs.enqueue(client, 'a', { value }))
    assert.equal(error.code, 'INVALID', String(error))
    assert.match(error.message, /^job a: /)
  }
  for (const args of [undefined, null, [1], 'text', 7, new Date(0)]) {
    assert.equal((await errorOf(jobs.enqueue(client, 'a', args))).code, 'INVALID')
  }
  for (const options of [{ nonsense: 1 }, { timeoutMs: 0 }, { retry: { attempts: 0 } }]) {
    assert.equal((await errorOf(jobs.enqueue(client, 'a', {}, options))).code, 'INVALID')
  }
  assert.match((await errorOf(jobs.enqueue(client, 'b', {}))).message, /no job "b"/)
  assert.match((await errorOf(jobs.enqueue(client, 'toString', {}))).message, /no job/)
  assert.deepEqual(await client.queues(), [])
  const whole = { __proto__: null, max: 2 ** 53 - 1, min: -(2 ** 53 - 1), ['__proto__']: 'own' }
  assert.equal((await jobs.enqueue(client, 'a', { whole })).added, true)
  let seen
  await worker(client, jobs, { a: ({ args }) => void (seen = args.whole) }).runUntilIdle()
  assert.equal(JSON.stringify(seen), JSON.stringify(whole))
  await client.close()
})

test('a wrong configuration is refused', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job(), b: job() })
  const handler = () => undefined
  for (const begin of [
    () => worker(client, jobs, { b: 7 }),
    () => worker(client, jobs, { c: handler }),
    () => worker(client, jobs, { b: handler }, { nonsense: 1 }),
    () => worker(client, jobs, { b: handler }, { concurrency: 'x' }),
    () => worker(client, jobs, { b: handler }, { queues: 7 }),
    () => job({ nonsense: 1 }),
    () => defineJobs({}, { nonsense: 1 }),
    () => defineJobs({ a: job({ timeoutMs: 0 }) }),
  ]) {
    assert.throws(begin, { code: 'INVALID' }, `${begin}`)
  }
  for (const [handlers, options] of [
    [{}, {}],
    [{ b: handler }, { concurrency: 0 }],
    [{ b: handler }, { concurrency: 1001 }],
    [{ b: handler }, { prefetch: 901 }],
    [{ b: handler }, { prefetch: 0.5 }],
    [{ b: handler }, { queues: ['x', 'x'] }],
    [{ b: handler }, { queues: { x: 1001 } }],
    [{ b: handler }, { leaseMs: 99 }],
    [{ b: handler }, { maxJobs: 0 }],
    [{ b: handler }, { graceMs: -1 }],
  ]) {
    const one = worker(client, jobs, handlers, options)
    await assert.rejects(one.runUntilIdle(), { code: 'INVALID' }, JSON.stringify(options))
  }
  await client.close()
})

test('a reference waits no longer than it is told, and a result is kept only if it is retained', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job() })
  const ref = await jobs.enqueue(client, 'a', {})
  assert.equal(await ref.wait({ waitMs: 0 }), null)
  assert.ok((await errorOf(ref.result({ waitMs: 1 }))) instanceof JobTimeoutError)
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(ref.result({ signal }), /enough/)
  await worker(client, jobs, { a: () => 1 }).runUntilIdle()
  assert.ok((await errorOf(ref.result())) instanceof JobGoneError)
  await client.close()
})

test('the item of a job, for a schedule', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job({ priority: 3 }) })
  const item = await jobs.item('a', { n: 1 })
  assert.deepEqual(item, { data: '{"v":1,"job":"a","args":{"n":1}}', priority: 3 })
  const queue = client.queue('default')
  await queue.putSchedule('s', item, { everyMs: 60_000 })
  await queue.runNow('s')
  const seen = []
  await worker(client, jobs, { a: ({ args }) => void seen.push(args) }).runUntilIdle()
  assert.deepEqual(seen, [{ n: 1 }])
  await client.close()
})

test('one attempt inline, through JSON', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job(), fails: job() })
  const one = worker(client, jobs, {
    a: ({ args }) => ({ got: args }),
    fails: () => {
      throw new TypeError('on purpose')
    },
  })
  assert.deepEqual(await one.runInline('a', { at: new Date(0) }), {
    got: { at: '1970-01-01T00:00:00.000Z' },
  })
  assert.match((await errorOf(one.runInline('fails', {}))).message, /^TypeError: on purpose/)
  assert.deepEqual(await client.queues(), [])
  await client.close()
})

test('a worker as a resource ends with its block', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job() })
  const { open, opened } = gate()
  const one = worker(client, jobs, { a: () => open() })
  await one.start()
  await jobs.enqueue(client, 'a', {})
  await opened
  await one[Symbol.asyncDispose]()
  await one[Symbol.asyncDispose]()
  assert.equal(await client.queue('default').queueLen(), 0)
  await client.close()
})

test('the signal of a job can be handed on', async () => {
  const client = await connect('memory:')
  const jobs = defineJobs({ a: job({ timeoutMs: 20, retry: { attempts: 1 } }) })
  const ref = await jobs.enqueue(client, 'a', {})
  const handler = async ({ signal }) => {
    await once(signal, 'abort')
    signal.throwIfAborted()
  }
  await worker(client, jobs, { a: handler }).runUntilIdle()
  assert.match((await ref.info()).lastError, /^Timeout/)
  await client.close()
})

test('what is wrong with a job is told when it is declared', async () => {
  const long = 'x'.repeat(129)
  for (const [types, says] of [
    [{ '': job() }, /name of a job, "", has 0 bytes, not between 1 and 128/],
    [{ [long]: job() }, /has 129 bytes/],
    [{ '\ud800': job() }, /half of a surrogate pair/],
    [{ a: job({ timeoutMs: -1 }) }, /job a: timeoutMs of -1 ms is not between 1 ms and 30 days/],
    [{ a: job({ timeoutMs: 30 * 86_400_000 + 1 }) }, /not between 1 ms and 30 days/],
    [{ a: job({ timeoutMs: '1' }) }, /job a: timeoutMs: "1" is not a number/],
    [{ a: job({ retry: 5 }) }, /job a: retry: 5 is not an object of options/],
    [{ a: job({ retry: { attempts: 0 } }) }, /job a: 0 attempts are not between 1 and 65535/],
  ]) {
    const error = await errorOf((async () => defineJobs(types))())
    assert.equal(error.code, 'INVALID', String(says))
    assert.match(error.message, says)
  }
  const jobs = defineJobs({ a: job() })
  const client = await connect('memory:')
  for (const [meta, says] of [
    [{ a: 1 }, /job a: meta a: 1 is not a string/],
    ['xy', /job a: meta: "?xy"? is no object with texts/],
    [['p'], /is no object with texts/],
    [{ a: '\ud800' }, /half of a surrogate pair/],
  ]) {
    const error = await errorOf(jobs.enqueue(client, 'a', {}, { meta }))
    assert.equal(error.code, 'INVALID', String(says))
    assert.match(error.message, says)
  }
  for (const [options, says] of [
    [{ middleware: [5] }, /middleware: 5 is not a function/],
    [{ middleware: 5 }, /middleware: 5 is not a list/],
    [{ onEvent: 5 }, /onEvent: 5 is not a function/],
  ]) {
    const start = async () => worker(client, jobs, { a: () => {} }, options).runUntilIdle()
    const error = await errorOf(start())
    assert.equal(error.code, 'INVALID', String(says))
    assert.match(error.message, says)
  }
  await client.close()
})
