// `for await` and `await using`: nothing stays leased that nobody works on.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'

const OPTIONS = { durationMs: 600_000 }

async function filled(place, count = 3) {
  const queue = place.queue()
  await queue.addItems(Array.from({ length: count }, (_, i) => ({ id: `${i}`, data: `${i}` })))
  return queue
}

/** How many items are ready, leased and completed. */
async function state(queue) {
  const { ready, leased, totals } = await queue.counts()
  return [ready, leased, totals.completed]
}

onEachEngine('iteration', (place) => {
  test('goes through what is there, and ends when nothing comes', async () => {
    const queue = await filled(place)
    const seen = []
    for await (const lease of queue.leases({ ...OPTIONS, waitMs: 0 })) {
      seen.push(lease.text())
      await queue.complete(lease)
    }
    assert.deepEqual(seen, ['0', '1', '2'])
    assert.deepEqual(await state(queue), [0, 0, 3])
  })

  test('left by break, it gives the current lease back', async () => {
    const queue = await filled(place)
    for await (const lease of queue.leases(OPTIONS)) {
      if (lease.id === '1') break
      await queue.complete(lease)
    }
    assert.deepEqual(await state(queue), [2, 0, 1])
    assert.equal((await queue.get('1')).failures, 0)
  })

  test('left by an exception, it gives the current lease back and lets it through', async () => {
    const queue = await filled(place)
    const reason = new Error('the work failed')
    const loop = async () => {
      for await (const lease of queue.leases(OPTIONS)) throw reason
    }
    assert.equal(await errorOf(loop()), reason)
    assert.deepEqual(await state(queue), [3, 0, 0])
  })

  test('left after settling, it gives nothing back', async () => {
    const queue = await filled(place)
    for await (const lease of queue.leases(OPTIONS)) {
      await queue.fail(lease, 'x', { delayMs: 60_000 })
      break
    }
    let completed
    for await (const lease of queue.leases(OPTIONS)) {
      // On its way when the loop is left.
      completed = queue.complete(lease)
      break
    }
    assert.equal(await completed, true)
    assert.deepEqual((await state(queue)).slice(0, 2), [1, 0])
    assert.equal((await queue.get('0')).state, 'delayed')
  })

  test('left after the lease was lost, it says nothing', async () => {
    const queue = await filled(place, 1)
    for await (const lease of queue.leases(OPTIONS)) {
      await queue.remove(lease.id)
      break
    }
    assert.deepEqual(await state(queue), [0, 0, 0])
  })

  test('left after the client was closed, it ends', async () => {
    const client = await connect(place.url)
    const queue = client.queue('closed-in-a-loop')
    await queue.addItem('a')
    for await (const lease of queue.leases(OPTIONS)) {
      await client.close()
      break
    }
  })

  test('aborted, the loop throws the reason', async () => {
    const queue = await filled(place, 1)
    const controller = new AbortController()
    const loop = async () => {
      for await (const lease of queue.leases({ ...OPTIONS, signal: controller.signal })) {
        await queue.complete(lease)
        setImmediate(() => controller.abort('enough'))
      }
    }
    assert.equal(await errorOf(loop()), 'enough')
    assert.deepEqual(await state(queue), [0, 0, 1])
  })

  test('return ends an iteration that waits, and takes no item', async () => {
    const queue = place.queue()
    const leases = queue.leases(OPTIONS)
    const waiting = leases.next()
    await queue.counts()
    assert.deepEqual(await leases.return(), { value: undefined, done: true })
    assert.deepEqual(await waiting, { value: undefined, done: true })
    await queue.addItem('a')
    assert.deepEqual(await state(queue), [1, 0, 0])
  })

  test('with complete, going on completes what the turn has not settled', async () => {
    const queue = await filled(place, 4)
    const seen = []
    for await (const lease of queue.leases({ ...OPTIONS, waitMs: 0, complete: true })) {
      seen.push(lease.id)
      if (lease.id === '1') await queue.fail(lease, 'later', { delayMs: 60_000 })
      // On its way when the loop goes on.
      if (lease.id === '2') void queue.release(lease, { delayMs: 60_000 })
    }
    assert.deepEqual(seen, ['0', '1', '2', '3'])
    assert.deepEqual(await state(queue), [0, 0, 2])
    assert.equal((await queue.counts()).delayed, 2)
  })

  test('with complete, a turn that does not end completes nothing', async () => {
    const queue = await filled(place)
    for await (const lease of queue.leases({ ...OPTIONS, complete: true })) {
      if (lease.id === '1') break
    }
    assert.deepEqual(await state(queue), [2, 0, 1])
    const reason = new Error('the work failed')
    const loop = async () => {
      for await (const lease of queue.leases({ ...OPTIONS, complete: true })) throw reason
    }
    assert.equal(await errorOf(loop()), reason)
    assert.deepEqual(await state(queue), [2, 0, 1])
    assert.equal((await queue.get('1')).failures, 0)
  })

  test('with complete, aborted or returned while it waits, the last turn is completed', async () => {
    const queue = await filled(place, 1)
    const controller = new AbortController()
    const options = { ...OPTIONS, complete: true, signal: controller.signal }
    const loop = async () => {
      for await (const lease of queue.leases(options))
        setImmediate(() => controller.abort('enough'))
    }
    assert.equal(await errorOf(loop()), 'enough')
    assert.deepEqual(await state(queue), [0, 0, 1])

    for (const soon of [true, false]) {
      await queue.addItem('a')
      const leases = queue.leases({ ...OPTIONS, complete: true })
      const { value } = await leases.next()
      const waiting = leases.next()
      while (!soon && !value.isSettled) await queue.counts()
      assert.deepEqual(await leases.return(), { value: undefined, done: true })
      assert.deepEqual(await waiting, { value: undefined, done: true })
      assert.deepEqual((await state(queue)).slice(0, 2), [0, 0])
    }
    assert.equal((await queue.counts()).totals.completed, 3)
  })

  test('with complete, a client closed while it waits has completed the last turn', async () => {
    const client = await connect(place.url)
    const queue = client.queue(`closed-${Math.random()}`)
    await queue.addItem('a')
    const leases = queue.leases({ ...OPTIONS, complete: true })
    const { value } = await leases.next()
    const waiting = errorOf(leases.next())
    while (!value.isSettled) await queue.counts()
    await client.close()
    assert.equal((await waiting).code, 'CLOSED')
  })

  test('an option of a loop that does not exist is refused', async () => {
    const loop = async (options) => {
      for await (const lease of place.queue().leases(options)) return lease
    }
    for (const wrong of [{ ...OPTIONS, complet: true }, { ...OPTIONS, complete: 1 }, {}]) {
      assert.equal((await errorOf(loop(wrong))).code, 'INVALID')
    }
  })

  test('a lease at the end of its block is given back, unless it was settled', async () => {
    const queue = await filled(place)
    const block = async (work) => {
      const lease = await queue.lease(OPTIONS)
      try {
        await work(lease)
      } finally {
        // What `await using` does.
        await lease[Symbol.asyncDispose]()
      }
    }
    await block(async () => {})
    assert.deepEqual(await state(queue), [3, 0, 0])
    await errorOf(block(() => Promise.reject(new Error('x'))))
    assert.deepEqual(await state(queue), [3, 0, 0])
    await block((lease) => queue.complete(lease))
    await block((lease) => queue.release(lease, { delayMs: 60_000 }))
    assert.deepEqual(await state(queue), [1, 0, 1])
  })

  test('a client at the end of its block is closed', async () => {
    const client = await connect(place.url)
    await client[Symbol.asyncDispose]()
    assert.equal((await errorOf(client.queues())).code, 'CLOSED')
  })
})
