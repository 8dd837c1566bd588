// Waiting for the ends of items.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { connect, LeaseqError } from '../index.mjs'
import { AT_ONCE, errorOf } from './support/engines.mjs'
import { command, startRedis } from './support/redis.mjs'

test('an error is of its item', { timeout: 60_000 }, async () => {
  const server = await startRedis()
  after(() => server.stop())
  const client = await connect(server.url)
  const queue = client.queue('jobs')
  await queue.addItem({ data: 'x', id: 'unreadable', retainMs: 60_000 })
  await queue.complete(await queue.lease(AT_ONCE), { result: 'done' })
  await command(server, 'SET leaseq:{jobs}:results text')
  // The last id is asked about in a request of its own.
  const ids = Array.from({ length: 1000 }, (_, n) => `${n}`).concat('unreadable')
  for (const waitMs of [0, 30_000]) {
    const outcomes = await queue.outcomeMany(ids, { waitMs })
    const failed = outcomes.pop()
    assert.deepEqual(outcomes, Array(1000).fill({ kind: 'gone' }))
    assert.ok(failed instanceof LeaseqError, `${failed}`)
    assert.match(failed.message, /WRONGTYPE/)
    const alone = await errorOf(queue.outcome('unreadable', { waitMs }))
    assert.equal(alone.code, failed.code)
  }
  await client.close()
})
