// Giving up: each way of it, and nothing stays leased.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'
import { startRedis } from './support/redis.mjs'
import { eventually } from './support/wait.mjs'

const FOR_EVER = { durationMs: 600_000 }

/** All items are ready; a lease of 10 minutes would still be there. */
const allBack = (queue, count) =>
  eventually('all items are back', async () => (await queue.counts()).ready === count, 10_000)

onEachEngine('abort', (place) => {
  test('a signal that was aborted before', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const error = await errorOf(queue.lease({ ...FOR_EVER, signal: AbortSignal.abort() }))
    assert.equal(error.name, 'AbortError')
    const reason = { why: 'mine' }
    const signal = AbortSignal.abort(reason)
    for (const attempt of [
      queue.lease({ ...FOR_EVER, signal }),
      queue.leaseMany(5, { ...FOR_EVER, signal }),
      queue.completeAndLease([], 5, { ...FOR_EVER, signal }),
      queue.leases({ ...FOR_EVER, signal }).next(),
      queue.addItem('b', { signal }),
      queue.counts({ signal }),
      queue.dropQueue({ signal }),
      place.client.queues({ signal }),
      connect(place.url, { signal }),
    ].map(errorOf)) {
      assert.equal(await attempt, reason)
    }
    const { ready, totals } = await queue.counts()
    assert.deepEqual([ready, totals.added, totals.leased], [1, 1, 0])
  })

  test('a signal that is aborted while a call waits, after it has completed', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const lease = await queue.lease(FOR_EVER)
    const controller = new AbortController()
    const { signal } = controller
    const error = errorOf(queue.completeAndLease([lease], 1, { ...FOR_EVER, signal }))
    await eventually('it is completed', () => lease.isSettled)
    assert.equal(lease.completed, true)
    controller.abort('enough')
    assert.equal(await error, 'enough')
    await queue.addItem('b')
    const { ready, leased, totals } = await queue.counts()
    assert.deepEqual([ready, leased, totals.completed], [1, 0, 1])
  })

  test('a signal that is aborted later, with a reason', async () => {
    const queue = place.queue()
    const controller = new AbortController()
    const { signal } = controller
    const errors = [
      queue.lease({ ...FOR_EVER, signal }),
      queue.leaseMany(5, { ...FOR_EVER, signal }),
      queue.leases({ ...FOR_EVER, signal }).next(),
    ].map(errorOf)
    await queue.counts()
    const reason = new Error('shutting down')
    controller.abort(reason)
    for (const error of errors) assert.equal(await error, reason)
    await queue.addItem('a')
    assert.equal((await queue.counts()).ready, 1)
  })

  test('a signal that is aborted when its time is over', async () => {
    const signal = AbortSignal.timeout(10)
    const error = await errorOf(place.queue().lease({ ...FOR_EVER, signal }))
    assert.equal(error.name, 'TimeoutError')
  })

  test("the user's own listeners stay, and ours go", async () => {
    const queue = place.queue()
    const controller = new AbortController()
    const { signal } = controller
    const heard = []
    signal.onabort = () => heard.push('onabort')
    signal.addEventListener('abort', () => heard.push('listener'))
    const mine = getEventListeners(signal, 'abort').length
    await queue.addItem('a')
    assert.notEqual(await queue.lease({ ...FOR_EVER, signal }), null)
    assert.equal(await queue.lease({ ...FOR_EVER, waitMs: 0, signal }), null)
    await errorOf(queue.leaseMany(0, { ...FOR_EVER, signal }))
    assert.equal(getEventListeners(signal, 'abort').length, mine)
    const error = errorOf(queue.lease({ ...FOR_EVER, signal }))
    assert.equal(getEventListeners(signal, 'abort').length, mine + 1)
    controller.abort()
    assert.equal((await error).name, 'AbortError')
    assert.deepEqual(heard, ['onabort', 'listener'])
    assert.equal(getEventListeners(signal, 'abort').length, mine)
  })

  test('a hundred calls share a signal without a warning', async () => {
    const warnings = []
    const warned = (warning) => warnings.push(warning)
    process.on('warning', warned)
    const queue = place.queue()
    const controller = new AbortController()
    const options = { ...FOR_EVER, signal: controller.signal }
    const calls = Array.from({ length: 100 }, () => errorOf(queue.lease(options)))
    controller.abort()
    for (const error of await Promise.all(calls)) assert.equal(error.name, 'AbortError')
    await new Promise(setImmediate)
    process.off('warning', warned)
    assert.deepEqual(warnings, [])
  })

  test('an item that is won in the moment of the abort is given back', async () => {
    const queue = place.queue()
    const count = 20
    await queue.addItems(Array.from({ length: count }, (_, i) => `${i}`))
    let won = 0
    // Aborted after a turn more of the event loop each time: before, while and after it is won.
    for (let turns = 0; turns < 200; turns++) {
      const controller = new AbortController()
      const options = { ...FOR_EVER, signal: controller.signal }
      const many = turns % 2 === 1
      const call = many ? queue.leaseMany(3, options) : queue.lease(options)
      const outcome = call.then(
        (leases) => [leases].flat(),
        () => [],
      )
      for (let i = 0; i < turns % 40; i++) await new Promise(setImmediate)
      controller.abort()
      const leases = await outcome
      won += leases.length
      await queue.releaseMany(leases)
    }
    await allBack(queue, count)
    assert.ok(won > 0, 'no call was fast enough')
    assert.equal((await queue.check()).sound, true)
  })

  test('an add that is given up is executed or not, and the next call works', async () => {
    const queue = place.queue()
    const controller = new AbortController()
    const call = errorOf(queue.addItem({ id: 'a', data: '' }, { signal: controller.signal }))
    controller.abort('changed my mind')
    assert.equal(await call, 'changed my mind')
    assert.equal(await queue.addItem({ id: 'b', data: '' }), true)
    assert.ok((await queue.queueLen()) >= 1)
  })
})

test('a connection that is given up', async () => {
  const server = await startRedis()
  server.freeze()
  const controller = new AbortController()
  const call = errorOf(connect(server.url, { signal: controller.signal }))
  const late = connect(server.url)
  controller.abort(new Error('too slow'))
  assert.equal((await call).message, 'too slow')
  server.thaw()
  await (await late).close()
  await server.stop()
})
