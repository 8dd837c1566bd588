// What `leaseq/testing` has for the tests of programs.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { defineJobs, Discard, job, JobFailedError } from '../jobs.mjs'
import { Clock, inline, memory, runUntilIdle } from '../testing.mjs'

class NoPaper extends Error {}

const jobs = defineJobs({
  welcome: job({ retainMs: 60_000, retry: { attempts: 2, baseMs: 1000, capMs: 1000 } }),
  fails: job(),
  adds: job(),
})
let runs = 0
const handlers = jobs.handlers({
  welcome({ args: { to, failures = 0 }, attempt }) {
    runs++
    if (attempt <= failures) throw new Error('not yet')
    return `welcome, ${to}`
  },
  fails: () => {
    throw new NoPaper('empty')
  },
  async adds({ args: { client } }) {
    const ref = await jobs.enqueue(client, 'welcome', { to: 'nested' })
    return ref.result({ waitMs: 0 })
  },
})

test('a queue in memory whose time the test sets', async () => {
  const clock = new Clock(new Date('2030-01-01T00:00:00Z'))
  assert.equal(clock.nowMs, Date.UTC(2030, 0, 1))
  const client = await memory({ clock })
  const ref = await jobs.enqueue(
    client,
    'welcome',
    { to: 'ada', failures: 1 },
    { delayMs: 3_600_000 },
  )
  assert.equal(await runUntilIdle(client, jobs, handlers), 0)
  clock.advance(3_599_999)
  assert.equal(await runUntilIdle(client, jobs, handlers), 0)
  clock.advance(1)
  assert.equal(clock.nowMs, Date.UTC(2030, 0, 1, 1))
  // It fails, and is due again a second later at most.
  assert.equal(await runUntilIdle(client, jobs, handlers), 1)
  clock.advance(1000)
  assert.equal(await runUntilIdle(client, jobs, handlers), 1)
  assert.equal(await ref.result({ waitMs: 0 }), 'welcome, ada')
  clock.advance(60_001)
  assert.equal(await ref.info(), null)
  await client.close()
})

test('clients without a clock, and with clocks of their own, do not share a time', async () => {
  const [one, other] = [new Clock(0), new Clock(0)]
  const clients = [await memory({ clock: one }), await memory({ clock: other }), await memory()]
  for (const client of clients) await client.queue('q').addItem({ data: 'x', delayMs: 1000 })
  one.advance(1000)
  const lease = (client) => client.queue('q').lease({ durationMs: 1000, waitMs: 0 })
  assert.deepEqual(
    (await Promise.all(clients.map(lease))).map((got) => got !== null),
    [true, false, false],
  )
  for (const client of clients) await client.close()
})

test('inline, jobs run where they are enqueued', async () => {
  const client = await connect('memory:')
  const seen = []
  const middleware = [async (job, next) => (seen.push(job.name), next())]
  const running = await inline(jobs, handlers, { middleware })
  runs = 0
  const ref = await jobs.enqueue(client, 'welcome', { to: 'ada' }, { delayMs: 60_000 })
  assert.deepEqual([runs, ref.added, seen], [1, true, ['welcome']])
  assert.equal(await ref.result({ waitMs: 0 }), 'welcome, ada')
  const refs = await jobs.enqueueMany(client, [
    ['welcome', { to: 'b' }],
    ['welcome', { to: 'c' }],
  ])
  assert.deepEqual(await Promise.all(refs.map((one) => one.result())), ['welcome, b', 'welcome, c'])
  // One that adds another.
  const outer = await jobs.enqueue(client, 'adds', { client: {} })
  assert.equal(await outer.result({ waitMs: 0 }), 'welcome, nested')
  await assert.rejects(jobs.enqueue(client, 'fails', {}), NoPaper)
  await assert.rejects(jobs.enqueue(client, 'welcome', { to: NaN }), { code: 'INVALID' })
  await assert.rejects(inline(jobs, handlers), { code: 'INVALID' })
  await running.close()

  // Nothing was added to the queue of the program, and what is added now waits.
  assert.equal((await client.queue('default').counts()).ready, 0)
  await jobs.enqueue(client, 'welcome', { to: 'late' })
  assert.equal((await client.queue('default').counts()).ready, 1)
  await client.close()
})

test('inline without throwing, the reference has the error', async () => {
  const running = await inline(
    jobs,
    { ...handlers, adds: () => new Discard('nothing') },
    { throwErrors: false },
  )
  const ref = await jobs.enqueue(undefined, 'fails', {})
  await assert.rejects(ref.result({ waitMs: 0 }), (error) => {
    assert.ok(error instanceof JobFailedError)
    assert.match(error.message, /NoPaper: empty/)
    return true
  })
  assert.equal(await (await jobs.enqueue(undefined, 'adds', {})).result({ waitMs: 0 }), undefined)
  await running[Symbol.asyncDispose]()
})

test('what is wrong is refused', async () => {
  const clock = new Clock(0)
  for (const wrong of [
    () => new Clock('x'),
    () => new Clock(new Date(NaN)),
    () => new Clock(-1),
    () => clock.advance('1'),
    () => clock.advance(-1),
  ]) {
    assert.throws(wrong, { code: 'INVALID' })
  }
  await assert.rejects(inline(jobs, handlers, { other: 1 }), { code: 'INVALID' })
})
