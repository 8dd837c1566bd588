// Completing leases, and what they say about it afterwards.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { Lease } from '../index.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

onEachEngine('completions', (place) => {
  test('a batch is completed and the next is leased in one call', async () => {
    const queue = place.queue()
    await queue.addItems(['0', '1', '2', '3', '4'].map((id) => ({ id, data: id })))
    const first = await queue.leaseMany(2, AT_ONCE)
    const { completed, leases } = await queue.completeAndLease(first, 2, AT_ONCE)
    assert.deepEqual(completed, [true, true])
    assert.deepEqual(
      leases.map((lease) => [lease instanceof Lease, lease.text(), lease.isSettled]),
      [
        [true, '2', false],
        [true, '3', false],
      ],
    )
    assert.deepEqual(
      first.map((lease) => lease.isSettled),
      [true, true],
    )
    const mixed = [first[0], leases[1]]
    const second = await queue.completeAndLease(mixed, 5, { ...AT_ONCE, strict: true })
    assert.deepEqual(second.completed, [false, true])
    assert.deepEqual(
      second.leases.map((lease) => lease.id),
      ['4'],
    )
    const kept = { durationMs: 3_000, waitMs: 0, keepAlive: true }
    await queue.addItem('kept')
    const third = await queue.completeAndLease(second.leases, 1, kept)
    const before = third.leases[0].deadlineMs
    await eventually('it is extended', () => third.leases[0].deadlineMs > before)
    assert.deepEqual(await queue.completeAndLease([], 1, AT_ONCE), { completed: [], leases: [] })
    const { leased, totals } = await queue.counts()
    assert.deepEqual([leased, totals.completed], [2, 4])
  })

  test('what is wrong in such a call completes nothing', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const lease = await queue.lease(AT_ONCE)
    const wrong = [
      () => queue.completeAndLease(lease, 1, AT_ONCE),
      () => queue.completeAndLease([{}], 1, AT_ONCE),
      () => queue.completeAndLease([lease], 0, AT_ONCE),
      () => queue.completeAndLease([lease], '1', AT_ONCE),
      () => queue.completeAndLease([lease], 1, {}),
      () => queue.completeAndLease([lease], 1),
      () => queue.completeAndLease([lease], 1, { ...AT_ONCE, strictly: true }),
      () => queue.completeAndLease([lease], 1, { ...AT_ONCE, strict: 1 }),
      () => place.queue().completeAndLease([lease], 1, AT_ONCE),
    ]
    for (const call of wrong) await assert.rejects(call, { code: 'INVALID' }, String(call))
    assert.equal(lease.isSettled, false)
    assert.equal(await queue.complete(lease), true)
  })

  test('the signal of a lease that a strict call finds lost is aborted', async () => {
    const queue = place.queue()
    await queue.addItem('x')
    const lease = await queue.lease(AT_ONCE)
    const { signal } = lease
    assert.equal(await queue.remove(lease.id), true)
    const { completed } = await queue.completeAndLease([lease], 1, { ...AT_ONCE, strict: true })
    assert.deepEqual(completed, [false])
    const inTime = { signal: AbortSignal.timeout(10_000) }
    if (!signal.aborted) await once(signal, 'abort', inTime)
    assert.deepEqual([signal.reason.code, lease.isSettled], ['LEASE_LOST', false])
  })

  test('a lease says whether it was completed', async () => {
    const queue = place.queue()
    await queue.addItems(['0', '1', '2', '3', '4'].map((id) => ({ id, data: id })))
    const leases = await queue.leaseMany(5, AT_ONCE)
    const said = () => leases.map((lease) => [lease.completed, lease.isSettled])
    assert.deepEqual(said(), Array(5).fill([false, false]))
    await queue.release(leases[1])
    await queue.remove('2')
    await queue.remove('3')
    assert.equal(await queue.complete(leases[3], { strict: true }), false)
    assert.deepEqual(await queue.completeMany([leases[0], leases[2]]), [true, false])
    assert.equal(await queue.complete(leases[0]), false)
    await queue.completeAndLease([leases[4]], 1, AT_ONCE)
    assert.deepEqual(said(), [
      [true, true],
      [false, true],
      [false, true],
      [false, false],
      [true, true],
    ])
  })
})
