// The operations of operators, from JavaScript and back.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { AT_ONCE, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

onEachEngine('operators', (place) => {
  test('a queue is dropped, if need be by force', async () => {
    const queue = place.queue()
    for (const options of [undefined, { force: false }, { force: true }]) {
      await queue.addItem('x')
      assert.equal(await queue.dropQueue(options), true)
      assert.equal(await queue.dropQueue(options), false)
    }
  })

  test('a listing is read page by page', async () => {
    const queue = place.queue()
    await queue.addItems(Array.from({ length: 25 }, (_, i) => ({ id: `${i}`, json: { i } })))
    const seen = []
    let cursor = null
    do {
      const page = await queue.list('ready', { cursor, limit: 10 })
      assert.ok(page.items.length <= 10)
      for (const item of page.items) {
        assert.equal(item.json().i, Number(item.id))
        assert.deepEqual([item.state, item.priority, item.maxAttempts], ['ready', 0, null])
        assert.ok(Math.abs(item.addedAtMs - Date.now()) < 60_000)
        seen.push(item.id)
      }
      cursor = page.cursor
    } while (cursor !== null)
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, i) => `${i}`),
    )
    assert.deepEqual(await queue.list('dead'), { items: [], cursor: null, examined: 0 })
  })

  test('operators look, remove, purge and pause', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c'].map((id) => ({ id, data: '' })))
    assert.deepEqual(await queue.removeMany(['a', 'none']), [true, false])
    assert.deepEqual([await queue.queueLen(), await queue.processing()], [2, 0])
    await queue.pause()
    assert.equal((await queue.counts()).paused, true)
    assert.equal(await queue.lease(AT_ONCE), null)
    assert.deepEqual(await queue.leaseMany(5, { durationMs: 1, waitMs: 1 }), [])
    const waiting = queue.lease({ durationMs: 30_000 })
    await queue.resume()
    assert.equal((await waiting).id, 'b')
    assert.equal(await queue.processing(), 1)
    assert.equal(await queue.purge('ready'), 1)
    assert.equal(await queue.purge('dead'), 0)
    assert.ok((await place.client.queues()).includes(queue.name))
  })

  test('cleans report what they did', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const lease = await queue.lease({ durationMs: 1 })
    await eventually('the lease is lost', () => lease.isLost)
    const report = await eventually('it is reclaimed', async () => {
      const report = await queue.lightClean()
      return report.expired > 0 && report
    })
    assert.deepEqual(report, { promoted: 0, expired: 1, died: 0, removed: 0, nextInMs: null })
    const sound = await queue.check()
    assert.deepEqual([sound.sound, sound.items, sound.found], [true, 1, {}])
    assert.equal((await queue.deepClean()).sound, true)
    assert.equal(await queue.complete(lease), true)
    const { totals } = await queue.counts()
    assert.deepEqual([totals.added, totals.expired, totals.completed], [1, 1, 1])
  })
})
