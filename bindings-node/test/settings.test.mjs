// Settings of a queue: which options are given, and what comes back.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { errorOf, onEachEngine } from './support/engines.mjs'

const NONE = {
  maxAttempts: null,
  retainMs: 0,
  maxDead: null,
  maxRetained: null,
  maxDeadAgeMs: null,
  maxRetainedAgeMs: null,
  rate: null,
  keyRate: null,
  revision: 0,
  paused: false,
  pausedUntilMs: null,
  pausedAtMs: null,
  pausedBy: '',
  pauseReason: '',
  rateLimitedUntilMs: null,
  keyLimit: 1,
  events: null,
}
const ALL = {
  maxAttempts: 5,
  retainMs: 1000,
  maxDead: 10,
  maxRetained: 20,
  maxDeadAgeMs: 500,
  maxRetainedAgeMs: 86_400_000,
  events: 100,
  rate: { count: 3, periodMs: 1000, burst: 5 },
  keyRate: { count: 1, periodMs: 2000, burst: 4 },
}

onEachEngine('settings', (place) => {
  test('undefined leaves a setting, null removes it', async () => {
    const queue = place.queue()
    assert.deepEqual(await queue.settings(), NONE)
    const first = await queue.configure(ALL)
    assert.deepEqual(first, { ...NONE, ...ALL, revision: first.revision })
    assert(first.revision > 1.6e12)
    assert.deepEqual(await queue.settings(), first)
    const change = { maxAttempts: null, retainMs: null, maxDead: undefined, maxDeadAgeMs: null }
    const second = await queue.configure(change)
    assert(second.revision > first.revision)
    const left = { ...first, maxAttempts: null, retainMs: 0, maxDeadAgeMs: null }
    assert.deepEqual(second, { ...left, revision: second.revision })
    assert.deepEqual(await queue.configure({}), second)
  })

  test('another revision is refused', async () => {
    const queue = place.queue()
    const { revision } = await queue.configure({ maxDead: 5 }, { revision: 0 })
    for (const other of [0, revision - 1, revision + 1]) {
      assert.equal(await queue.configure({ maxDead: 6 }, { revision: other }), null)
    }
    const changed = await queue.configure({ maxDead: 6 }, { revision })
    assert.equal(changed.maxDead, 6)
    assert.deepEqual(await queue.settings(), changed)
  })

  test('a pause has a duration', async () => {
    const queue = place.queue()
    const before = Date.now()
    await queue.pause({ durationMs: 3_600_000 })
    const { paused, pausedUntilMs } = await queue.settings()
    assert(paused && Math.abs(pausedUntilMs - before - 3_600_000) < 60_000)
    await queue.pause()
    assert.equal((await queue.settings()).pausedUntilMs, null)
    await queue.addItem('x')
    assert.equal(await queue.lease({ durationMs: 1000, waitMs: 0 }), null)
    await queue.pause({ by: 'ada', reason: 'full' })
    const { pausedAtMs, pausedBy, pauseReason } = await queue.settings()
    assert.deepEqual([pausedBy, pauseReason], ['ada', 'full'])
    assert(Math.abs(pausedAtMs - before) < 60_000)
    for (const wrong of [
      { by: 'x'.repeat(129) },
      { reason: 'x'.repeat(257) },
      { by: '\n' },
      { by: 7 },
    ]) {
      assert.equal((await errorOf(queue.pause(wrong))).code, 'INVALID')
    }
    await queue.pause({ durationMs: 50 })
    assert(await queue.lease({ durationMs: 1000, waitMs: 10_000 }), 'the end of the pause wakes it')
  })

  test('a rate is used up', async () => {
    const queue = place.queue()
    await queue.addItems([{ data: 'x' }, { data: 'x' }, { data: 'x' }])
    const { rate } = await queue.configure({ rate: { count: 2, periodMs: 60_000 } })
    assert.deepEqual(rate, { count: 2, periodMs: 60_000, burst: 2 })
    assert.equal((await queue.counts()).rateLimited, false)
    assert.equal((await queue.leaseMany(3, { durationMs: 1000, waitMs: 0 })).length, 2)
    assert.equal((await queue.counts()).rateLimited, true)
    const { rateLimitedUntilMs } = await queue.settings()
    assert(Math.abs(rateLimitedUntilMs - Date.now() - 30_000) < 30_000)
    assert.equal((await queue.configure({ rate: null })).rate, null)
    assert(await queue.lease({ durationMs: 1000, waitMs: 0 }))
  })

  test('wrong values change nothing', async () => {
    const queue = place.queue()
    for (const change of [
      { maxAttempts: 0 },
      { maxAttempts: 65_536 },
      { maxAttempts: 1.5 },
      { maxAttempts: '5' },
      { retainMs: 367 * 86_400_000 },
      { retainMs: -1 },
      { maxDead: 0 },
      { maxDead: NaN },
      { maxRetained: 1e12 },
      { maxRetained: true },
      { maxDeadAgeMs: 0 },
      { maxRetainedAgeMs: Infinity },
      { rate: 5 },
      { keyRate: 5 },
      { keyRate: { count: 1, periodMs: 86_400_000, burst: 367 } },
      { rate: {} },
      { rate: { count: 1 } },
      { rate: { count: 0, periodMs: 1 } },
      { rate: { count: 1.5, periodMs: 1 } },
      { rate: { count: 1, periodMs: 0 } },
      { rate: { count: 1, periodMs: 32 * 86_400_000 } },
      { rate: { count: 1, periodMs: 1, burst: 0 } },
      { rate: { count: 1, periodMs: 1, period: 5 } },
      { maxdead: 5 },
      { revision: 5 },
      null,
      undefined,
      5,
    ]) {
      const error = await errorOf(queue.configure(change))
      assert.equal(error.code, 'INVALID', JSON.stringify(change))
    }
    for (const revision of [-1, 1.5, '1', null]) {
      const error = await errorOf(queue.configure({ maxDead: 5 }, { revision }))
      assert.equal(error.code, 'INVALID', JSON.stringify(revision))
    }
    for (const durationMs of [0, -1, NaN, 367 * 86_400_000, '1', null]) {
      assert.equal((await errorOf(queue.pause({ durationMs }))).code, 'INVALID', durationMs)
    }
    assert.equal((await queue.settings()).revision, 0)
  })
})
