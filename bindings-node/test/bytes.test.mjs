// Bytes that are odd, gone, or shared with another thread: stored as they are, or refused alone.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

import { beside, test, throws } from './support/beside.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

/** Bytes whose buffer now belongs to somebody else. */
function gone(bytes = Buffer.alloc(100, 'gone')) {
  const view = Uint8Array.from(bytes)
  structuredClone(view.buffer, { transfer: [view.buffer] })
  return view
}

/** Bytes whose buffer has become too short for them. */
function outOfBounds() {
  const buffer = new ArrayBuffer(16, { maxByteLength: 16 })
  const view = new Uint8Array(buffer, 8, 8)
  buffer.resize(4)
  return view
}

onEachEngine('bytes beside other calls', (place) => {
  test('bytes that are gone are refused in every place', async () => {
    for (const bad of [gone, outOfBounds]) {
      const { target, became } = await beside(place, [
        (q) => q.addItem(bad()),
        (q) => q.addItem({ data: bad() }),
        (q) => q.addItem({ data: bad(), id: 'a' }),
        (q) => q.addItem({ data: 'a', id: bad() }),
        (q) => q.addItem({ data: bad(), priority: 1 }),
        (q) => q.addItem({ data: 'a', id: bad(), maxAttempts: 2 }),
        (q) => q.addItem(bad(Buffer.alloc(100_000))),
        (q) => q.addItem(bad(), { signal: new AbortController().signal }),
        (q) => q.addItems(['a', bad()]),
        (q) => q.addItems(['a', { data: 'b', id: bad() }]),
        (q) => q.addItems([{ data: bad(), delayMs: 5 }]),
        (q) => q.get(bad()),
        (q) => q.remove(bad()),
        (q) => q.removeMany(['a', bad()]),
        (q) => q.requeue([bad()]),
        (q) => q.bury([bad()]),
        (q) => q.revise('a', { data: bad() }),
        (q) => q.revise(bad(), { data: 'a' }),
      ])
      for (const [i, { status, reason }] of became.entries()) {
        assert.deepEqual([i, status, reason?.code], [i, 'rejected', 'INVALID'])
        assert.match(reason.message, /^(data|id): the bytes are gone/)
      }
      assert.equal((await target.counts()).totals.added, 2)
    }
  })

  test('bytes that go to a worker thread in the same turn are stored', async () => {
    const queue = place.queue()
    const worker = new Worker(
      'require("node:worker_threads").parentPort.once("message", () => {})',
      {
        eval: true,
      },
    )
    // From the beginning: it may exit while the calls are on their way.
    const exited = once(worker, 'exit')
    const calls = [10, 5_000, 200_000].map((size) => {
      const data = new Uint8Array(size).fill(7)
      const id = Uint8Array.of(size, 1)
      const added = queue.addItem({ data, id })
      worker.postMessage(0, [data.buffer, id.buffer])
      assert.equal(data.length, 0)
      return added
    })
    assert.deepEqual(await Promise.all(calls), [true, true, true])
    const leases = await queue.leaseMany(5, AT_ONCE)
    assert.deepEqual(
      leases.map(({ data }) => [data.length, data.every((byte) => byte === 7)]),
      [10, 5_000, 200_000].map((size) => [size, true]),
    )
    await exited
  })

  test('empty bytes are data', async () => {
    const queue = place.queue()
    const resized = new ArrayBuffer(8, { maxByteLength: 8 })
    const tracking = new Uint8Array(resized)
    resized.resize(0)
    const empty = [new Uint8Array(0), Buffer.alloc(0), new Uint8Array(new ArrayBuffer(9), 9, 0)]
    const all = [...empty, tracking, '']
    const added = all.flatMap((data) => [queue.addItem(data), queue.addItem({ data, priority: 0 })])
    assert.ok((await Promise.all(added)).every((added) => added))
    assert.ok((await queue.addItems(all)).every((added) => added))
    const leases = await queue.leaseMany(100, AT_ONCE)
    assert.deepEqual(new Set(leases.map(({ data }) => data.length)), new Set([0]))
    assert.equal(leases.length, 3 * all.length)
  })

  test('bytes are what they are, whatever properties they have', async () => {
    const with_ = (name, descriptor) => Object.defineProperty(Buffer.from('abc'), name, descriptor)
    class Longer extends Uint8Array {
      get length() {
        return 50
      }
      get byteLength() {
        return 50
      }
    }
    const shared = new Uint8Array(new SharedArrayBuffer(3, { maxByteLength: 10 }))
    shared.set(Buffer.from('abc'))
    const odd = [
      with_('length', { value: 50 }),
      with_('length', { get: throws }),
      with_('byteLength', { value: 1 }),
      with_('byteLength', { value: 5_000 }),
      with_('buffer', { get: throws }),
      with_('constructor', { get: throws }),
      with_(Symbol.iterator, { get: throws }),
      with_('toString', { get: throws }),
      Longer.from(Buffer.from('abc')),
      runInNewContext('Uint8Array.of(97, 98, 99)'),
      shared,
    ]
    const { target, became } = await beside(place, [
      ...odd.map((bytes) => (q) => q.addItem(bytes)),
      ...odd.map((data) => (q) => q.addItem({ data, priority: 0 })),
      ...odd.map((data) => (q) => q.addItems([data])),
      (q) => q.addItem({ data: 'x', id: odd[0] }),
      (q) => q.addItem({ data: 'x', id: odd[2] }),
    ])
    for (const [i, { value, reason }] of became.entries()) {
      assert.deepEqual([i, [value].flat()], [i, [i < became.length - 1]], reason?.stack)
    }
    const stored = await target.leaseMany(100, AT_ONCE)
    const found = stored.map((lease) => [lease.text(), lease.id === 'abc'])
    assert.deepEqual(found, [...Array(33).fill(['abc', false]), ['x', true]])
  })

  test('memory that another thread writes and grows is read once', async () => {
    const buffer = new SharedArrayBuffer(64, { maxByteLength: 4096 })
    const script = `
      const { workerData: buffer } = require('node:worker_threads')
      for (let i = 0; ; i++) {
        new Uint8Array(buffer).fill(i)
        if (i % 100 === 0 && buffer.byteLength < 4096) buffer.grow(buffer.byteLength + 1)
      }`
    const worker = new Worker(script, { eval: true, workerData: buffer })
    const bytes = new Uint8Array(buffer)
    await eventually('it is written', () => Atomics.load(bytes, 0) > 0)
    for (let round = 0; round < 5; round++) {
      const { target, became } = await beside(
        place,
        Array.from({ length: 20 }, () => (q) => q.addItem({ data: bytes, id: bytes.slice(0, 5) })),
      )
      for (const { status, reason } of became) assert.equal(status, 'fulfilled', reason?.stack)
      for (const { data } of await target.leaseMany(100, AT_ONCE)) assert.ok(data.length >= 64)
    }
    await worker.terminate()
  })
})
