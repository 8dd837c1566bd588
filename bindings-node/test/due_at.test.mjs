// The time at which an added item is due.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { errorOf, onEachEngine } from './support/engines.mjs'

onEachEngine('due at a time', (place) => {
  test('an item is due at its time, or at once if it has passed', async () => {
    const queue = place.queue()
    const dueAtMs = Date.now() + 3_600_000
    const items = [
      { data: 'x', id: 'late', dueAtMs, priority: 2 },
      { json: 1, id: 'past', dueAtMs: -1 },
      { data: 'x', id: 'fraction', dueAtMs: dueAtMs - 0.5 },
    ]
    assert.deepEqual(await queue.addItems(items), [true, true, true])
    assert.equal(await queue.addItem({ data: 'x', id: 'single', dueAtMs }), true)
    for (const id of ['late', 'single', 'fraction']) {
      const { state, atMs } = await queue.get(id)
      assert.deepEqual([id, state, atMs], [id, 'delayed', dueAtMs])
    }
    assert.equal((await queue.get('late')).priority, 2)
    assert.equal((await queue.get('past')).state, 'ready')
  })

  test('what is no time, too far ahead or with a delay is refused, and nothing is added', async () => {
    const queue = place.queue()
    const now = Date.now()
    for (const options of [
      { dueAtMs: NaN },
      { dueAtMs: Infinity },
      { dueAtMs: 8.64e15 },
      { dueAtMs: 8.7e15 },
      { dueAtMs: 1e300 },
      { dueAtMs: now + 400 * 86_400_000 },
      { dueAtMs: now, delayMs: 1 },
      { dueAtMs: '2030-01-01' },
      { dueAtMs: new Date() },
      { dueAtMs: null },
    ]) {
      const item = { data: 'x', id: 'a', ...options }
      for (const call of [() => queue.addItem(item), () => queue.addItems(['fine', item])]) {
        assert.equal((await errorOf(call())).code, 'INVALID', JSON.stringify(options))
      }
    }
    assert.equal(await queue.queueLen(), 0)
  })
})
