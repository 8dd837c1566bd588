// The holder of a lease learns that another client has cancelled its item.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'

/** What the contract promises. */
const WITHIN_MS = 5_000

onEachEngine('a cancellation', (place) => {
  for (const how of ['signal', 'isCancelled']) {
    test(`is known to the holder within 5 s by its ${how}`, { timeout: 60_000 }, async () => {
      const queue = place.queue()
      await queue.addItem({ data: 'x', id: 'a' })
      const lease = await queue.lease({ ...AT_ONCE, durationMs: 600_000 })
      // The first look makes the client ask.
      assert.equal(lease.isCancelled, false)
      // A signal alone does not keep the process alive.
      const alive = setTimeout(() => {}, 60_000)
      const aborted = how === 'signal' && once(lease.signal, 'abort')
      const other = await connect(place.url)
      const begun = performance.now()
      assert.equal(await other.queue(queue.name).cancel('a'), true)
      if (how === 'signal') {
        await aborted
      } else {
        while (!lease.isCancelled) await new Promise((resolve) => setImmediate(resolve))
      }
      const late = performance.now() - begun
      assert.ok(late < WITHIN_MS, `${late} ms`)
      assert.equal(lease.isCancelled, true)
      clearTimeout(alive)
      await other.close()
    })
  }
})
