// The history of a queue.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../index.mjs'

test('what is measured is counted in the row of its minute', async () => {
  const client = await connect('memory:')
  const queue = client.queue('history')
  assert.equal(await queue.recordHistory(), false)
  await queue.addItem('x')
  assert.equal(await queue.recordHistory({ runUs: [[15, 2]] }), true)
  assert.equal(await queue.recordHistory({ runUs: [[15, 1]] }), true)
  const [row] = await queue.history('hours')
  assert.equal(row.ready, 1)
  assert.equal(row.totals.added, 1)
  assert.equal(row.totals.expiredUnleased, 0)
  assert.deepEqual(row.runUs, { count: 3, p50: 15, p90: 15, p99: 15, values: [[15, 3]] })
  assert.deepEqual(row.waitingUs, { count: 0, p50: null, p90: null, p99: null, values: [] })
  assert.ok(Math.abs(Date.parse(row.at) - Date.now()) < 60_000)
  await assert.rejects(queue.history('seconds'), { code: 'INVALID' })
  await assert.rejects(queue.history(5), { code: 'INVALID' })
  await assert.rejects(queue.recordHistory({ colour: 1 }), { code: 'INVALID' })
  await assert.rejects(queue.recordHistory({ runUs: [[-1, 1]] }), { code: 'INVALID' })
  await client.close()
})
