// Handlers in worker threads.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { connect } from '../index.mjs'
import { JobCancelledError, ThreadWorker, worker } from '../jobs.mjs'
import { jobs } from './support/children.mjs'
import { errorOf } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

const APP = new URL('support/children.mjs', import.meta.url)
let folder, client

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-threads-'))
  client = await connect('memory:')
})
after(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

const add = (name, args = {}, options = {}) => jobs.enqueue(client, name, args, options)
const run = (options = {}) => worker(client, APP, { threads: 1, ...options }).runUntilIdle()
const errorText = async (ref) => (await ref.info()).lastError
const begun = (ref) =>
  eventually('its begin', async () => String((await ref.info())?.progress) === 'begun')

test('handlers get what they get elsewhere, and events say what has become of jobs', async () => {
  const refs = [
    await add('about', {}, { meta: { k: 'v' } }),
    await add('checked', { n: 21 }),
    await add('fail', { how: 'error' }),
  ]
  const events = []
  const onEvent = ({ kind, job, outcome, error }) =>
    events.push([kind, job.name, outcome, error?.name, error?.message])
  const exit = await run({ onEvent })
  assert.deepEqual([exit.started, exit.status, exit.reason], [3, 0, 'idle'])
  const { pid, count, ...about } = await refs[0].result({ waitMs: 0 })
  assert.deepEqual([pid, count], [process.pid, 1])
  assert.deepEqual(about, {
    id: refs[0].id,
    queue: 'tests',
    attempt: 1,
    maxAttempts: 1,
    meta: { k: 'v' },
    args: {},
    seen: 'around about',
    inTime: true,
    isCurrent: true,
    stdin: 0,
  })
  assert.equal(await refs[1].result({ waitMs: 0 }), 42)
  // The next job may start before the end of the one before it is told.
  const of = (name) =>
    events.filter(([, its]) => its === name).map(([kind, , ...rest]) => [kind, ...rest])
  const started = ['started', undefined, undefined, undefined]
  assert.deepEqual(of('about'), [started, ['ended', 'completed', undefined, undefined]])
  assert.deepEqual(of('checked'), [started, ['ended', 'completed', undefined, undefined]])
  assert.deepEqual(of('fail'), [started, ['ended', 'dead', 'Broken', 'on purpose']])
})

test('decisions, retries and chains are those of other workers', async () => {
  const states = {
    discard: 'completed',
    bury: 'dead',
    later: 'dead',
    snooze: 'delayed',
  }
  const refs = []
  for (const how of Object.keys(states)) refs.push([how, await add('decide', { how })])
  const retried = await add('retried')
  await add('chained', {}, { id: 'a', then: [['chained', {}, { id: 'b' }]] })
  await run({ threads: 2 })
  await run()
  for (const [how, ref] of refs) assert.equal((await ref.info()).state, states[how], how)
  assert.deepEqual(await retried.result({ waitMs: 0 }), [2, 'Broken: first'])
  const second = jobs.ref(client, 'chained', 'b')
  assert.deepEqual(await second.result({ waitMs: 0 }), [[null, null], 'a'])
  await client.queue('tests').dropQueue()
})

test('whatever a handler does ends only its job and its thread', async () => {
  const says = {
    exit: /^ChildDied: the worker thread ended with status 3/,
    rejection: /^ChildDied: the worker thread has failed: .*nobody handles this/,
    timer: /^ChildDied: the worker thread has failed: .*on purpose/,
    result: /^InvalidResult: the result/,
    recursion: /^RangeError: Maximum call stack/,
    text: /^string: a text/,
    proxy: /^Object: its message cannot be shown/,
  }
  const refs = []
  for (const how of Object.keys(says)) refs.push([how, await add('fail', { how })])
  const last = await add('about')
  assert.equal((await run({ threads: 2 })).started, refs.length + 1)
  for (const [how, ref] of refs) {
    const { state, lastError } = await ref.info()
    assert.equal(state, 'dead', how)
    assert.match(lastError, says[how], how)
  }
  assert.equal((await last.result({ waitMs: 0 })).id, last.id)
})

test('a thread that computes is terminated after its timeout; its worker goes on', async () => {
  const [blocks, more] = [await add('blocks'), await add('more')]
  // The leases of both are extended meanwhile.
  await run({ threads: 2, killAfterMs: 300, leaseMs: 100 })
  assert.match(await errorText(blocks), /^Timeout: the handler ran for more than 200ms/)
  assert.equal((await blocks.info()).failures, 1)
  assert.equal(await more.result({ waitMs: 0 }), 'in time')
})

test('cancelled jobs end', async () => {
  const refs = [await add('waits'), await add('ignores')]
  const w = worker(client, APP, { threads: 2, killAfterMs: 300, leaseMs: 1000 })
  assert.ok(w instanceof ThreadWorker)
  await w.start()
  for (const ref of refs) {
    await begun(ref)
    assert.ok(await ref.cancel())
  }
  for (const ref of refs) await ref.wait({ waitMs: 30_000 })
  const ended = await Promise.all(refs.map((ref) => errorOf(ref.result({ waitMs: 0 }))))
  assert.ok(ended.every((error) => error instanceof JobCancelledError))
  assert.equal((await w.stop()).status, 0)
})

test('a timer that is late does not touch the next job of the thread', async () => {
  const [tidies, next] = [await add('tidies', { ms: 200 }), await add('about')]
  const events = []
  const onEvent = ({ kind, job, outcome }) => events.push([job.name, outcome ?? kind])
  const w = worker(client, APP, { threads: 1, prefetch: 1, killAfterMs: 400, onEvent })
  await w.start()
  await begun(tidies)
  await tidies.cancel()
  await eventually('its answer to that', async () => {
    return String((await tidies.info())?.progress) === 'tidies'
  })
  // When this thread goes on, the job has ended, and the time to kill it is over: both are still to be heard of.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  assert.equal((await next.result({ waitMs: 30_000 })).id, next.id)
  assert.equal((await w.stop()).status, 0)
  const of = (name) => events.filter(([its]) => its === name).map(([, what]) => what)
  assert.deepEqual(of('tidies'), ['started', 'cancelled'])
  assert.deepEqual(of('about'), ['started', 'completed'])
})

test('a worker that ends gives its jobs back', async () => {
  const refs = [await add('waits'), await add('ignores')]
  const w = worker(client, APP, { threads: 2 })
  await w.start()
  for (const ref of refs) await begun(ref)
  await w.stop(0)
  for (const ref of refs) {
    const { failures, releases } = await ref.info()
    assert.deepEqual([failures, releases.reason], [0, 'shutdown'])
    await ref.cancel()
  }
})

test('a thread is replaced after its jobs, and ended when its heap is too large', async () => {
  const refs = []
  for (let i = 0; i < 3; i += 1) refs.push(await add('about'))
  await run({ maxJobsPerChild: 2 })
  const counts = await Promise.all(refs.map((ref) => ref.result({ waitMs: 0 })))
  assert.deepEqual(
    counts.map(({ count }) => count),
    [1, 2, 1],
  )
  const greedy = await add('fail', { how: 'heap' })
  await run({ memoryLimit: 40 * 2 ** 20 })
  assert.match(await errorText(greedy), /^OutOfMemory: the worker thread has failed/)
})

test('a first thread that does not start is an error with its reason', async () => {
  const ref = await add('about')
  const write = async (name, code) => {
    const file = join(folder, name)
    await writeFile(file, code)
    return file
  }
  const modules = {
    [join(folder, 'nothing.mjs')]: /Cannot find module/,
    [await write('throws.mjs', 'throw new Error("on purpose")')]: /on purpose/,
    [await write('exits.mjs', 'process.exit(7)')]: /status 7/,
    [await write('empty.mjs', '')]: /exports no `jobs` of `defineJobs`/,
    [await write('hangs.mjs', 'await new Promise((r) => setTimeout(r, 60_000))')]:
      /a worker thread: has failed: it was not ready after 500 ms/,
  }
  for (const [file, reason] of Object.entries(modules)) {
    const error = await errorOf(
      worker(client, file, { threads: 1, startTimeoutMs: 500 }).runUntilIdle(),
    )
    assert.equal(error.code, 'INVALID', file)
    assert.match(error.message, reason, file)
  }
  assert.equal((await ref.info()).state, 'ready')
  await ref.cancel()
})

test('options that are wrong are refused', async () => {
  for (const options of [
    { threads: 0 },
    { threads: 1.5 },
    { threads: '2' },
    { threads: 1, processes: 1 },
    { threads: 1, isolation: 'job' },
    { threads: 1, maxMemoryPerChild: 1 },
    { threads: 1, maxJobsPerChild: 0 },
    { threads: 1, concurrency: 2 },
  ]) {
    const error = await errorOf((async () => worker(client, APP, options).runUntilIdle())())
    assert.equal(error?.code, 'INVALID', JSON.stringify(options))
  }
})
