// Calls made in the same turn of the event loop travel together, and are answered each for itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, InvalidError } from '../index.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ids = (leases) => leases.map((lease) => lease?.id ?? null)

onEachEngine('calls made together', (place) => {
  test('a bad one spoils no other', async () => {
    const queue = place.queue()
    const others = place.queue()
    await others.addItem('x')
    const foreign = await others.lease(AT_ONCE)
    const adds = [
      { data: 'a', id: 'a' },
      { data: 'b', id: '' },
      { data: 'c', id: 'c' },
    ]
    const tooMuch = { data: 'd', id: 'd', priority: 10 }
    const added = await Promise.allSettled([...adds, tooMuch, 'e'].map((i) => queue.addItem(i)))
    assert.deepEqual(
      added.map(({ value, reason }) => value ?? reason instanceof InvalidError),
      [true, true, true, true, true],
    )
    assert.deepEqual(
      added.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    )
    const leases = await queue.leaseMany(10, AT_ONCE)
    assert.equal(leases.length, 3)
    const all = [leases[0], foreign, leases[1], leases[2]]
    const completed = await Promise.allSettled(all.map((lease) => queue.complete(lease)))
    assert.deepEqual(
      completed.map(({ value }) => value),
      [true, undefined, true, true],
    )
    assert.ok(completed[1].reason instanceof InvalidError)
    const durations = [30_000, 0, 30_000]
    const leased = await Promise.allSettled(
      durations.map((durationMs) => queue.lease({ durationMs, waitMs: 0 })),
    )
    assert.deepEqual(
      leased.map(({ value }) => value),
      [null, undefined, null],
    )
    assert.equal(leased[1].reason.code, 'INVALID')
    await others.release(foreign)
  })

  test('items of every kind of call keep the order of the calls', async () => {
    const queue = place.queue()
    const id = (id) => ({ data: 'x', id })
    await Promise.all([
      queue.addItem(id('a')),
      queue.addItem(id('b')),
      queue.addItems([id('c'), id('d')]),
      queue.addItem(id('e')),
      queue.addItem({ ...id('f'), priority: 0 }),
      queue.addItems([id('g')]),
    ])
    assert.deepEqual(ids(await queue.leaseMany(10, AT_ONCE)), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })

  test('items of every size and kind arrive as they were in the moment of the call', async () => {
    const queue = place.queue()
    const shared = new Uint8Array(100)
    const items = []
    const calls = []
    const add = (data, options) => {
      const expected = Buffer.from(data).toString('hex')
      items.push({ expected, id: options?.id === undefined ? undefined : Buffer.from(options.id) })
      calls.push(queue.addItem(options === undefined ? data : { data, ...options }))
    }
    // What gathers is bounded by number, by bytes, and by the bytes of one item.
    for (let i = 0; i < 700; i++) {
      shared.fill(i)
      add(shared)
      add(`${i} € 𝄞 `.repeat(i % 7))
      if (i % 5 === 0) add('y'.repeat(i * 13), { id: `id ß ${i}` })
      if (i % 7 === 0) add(Buffer.alloc(1 + 11 * i, i), { id: Uint8Array.of(0, i, i >> 8) })
      if (i % 50 === 0) add('', { id: `${i}`.padEnd(512, 'x'), priority: 0 })
      if (i % 90 === 0) add('z'.repeat(70_000))
      if (i % 110 === 0) add('more', { maxAttempts: 3 })
    }
    assert.ok((await Promise.all(calls)).every((added) => added))
    const leases = []
    while (leases.length < items.length) leases.push(...(await queue.leaseMany(1000, AT_ONCE)))
    assert.equal(leases.length, items.length)
    for (const [i, { expected, id }] of items.entries()) {
      assert.equal(leases[i].data.toString('hex'), expected)
      if (id === undefined) assert.match(leases[i].id, UUID)
      else assert.deepEqual(leases[i].idBytes, id)
    }
    assert.equal(new Set(leases.map((lease) => lease.idBytes.toString('hex'))).size, leases.length)
  })

  test('items of several queues go each to its own, in order', async () => {
    const queues = [place.queue(), place.queue(), place.queue()]
    const all = Array.from({ length: 300 }, (_, i) => `${i}`)
    await Promise.all(all.flatMap((data, i) => queues.slice(i % 3).map((q) => q.addItem(data))))
    for (const [q, queue] of queues.entries()) {
      const leases = await queue.leaseMany(1000, AT_ONCE)
      const expected = all.filter((_, i) => i % 3 <= q)
      assert.deepEqual(
        leases.map((lease) => lease.data.toString()),
        expected,
      )
    }
  })

  test('items that are too large are refused, each by itself', async () => {
    const client = await connect(place.url, { maxData: 50 })
    const queue = client.queue(`small-${place.engine}`)
    const data = [50, 51, 20, 5000].map((size) => 'x'.repeat(size))
    const added = await Promise.allSettled(data.map((data) => queue.addItem(data)))
    assert.deepEqual(
      added.map(({ value, reason }) => value ?? reason.code),
      [true, 'INVALID', true, 'INVALID'],
    )
    assert.match(added[1].reason.message, /data of 51 bytes is over the limit of 50$/)
    await client.close()
  })

  test('leases that came separately are completed each as it was asked for', async () => {
    const queue = place.queue()
    const others = place.queue()
    await Promise.all([queue.addItems(Array(120).fill('x')), others.addItems(Array(20).fill('y'))])
    const mine = []
    for (let i = 0; i < 12; i++) mine.push(...(await queue.leaseMany(10, AT_ONCE)))
    const foreign = await others.leaseMany(20, AT_ONCE)
    await queue.releaseMany(mine.slice(60, 70))
    const order = (i) => [mine[i], mine[119 - i], foreign[i % 20]]
    const calls = Array.from({ length: 60 }, (_, i) => order(i)).flat()
    const settled = await Promise.allSettled(
      calls.map((lease, i) => queue.complete(lease, i % 5 ? undefined : { strict: true })),
    )
    for (const [i, { value, reason }] of settled.entries()) {
      const at = mine.indexOf(calls[i])
      // One that was given back is still completed by its handle, but not strictly.
      const expected = at < 0 ? undefined : at < 60 || at >= 70 || i % 5 !== 0
      assert.equal(value, expected, `call ${i}`)
      if (at < 0) assert.ok(reason instanceof InvalidError)
    }
    const strict = calls.filter((lease, i) => i % 5 === 0 && mine.slice(60, 70).includes(lease))
    const { ready, leased } = await queue.counts()
    assert.deepEqual([ready, leased, strict.length > 0], [strict.length, 0, true])
  })

  test('calls of several kinds in turn are answered each with its own', async () => {
    const [from, to] = [place.queue(), place.queue()]
    const all = Array.from({ length: 130 }, (_, i) => `${i}`)
    await from.addItems(all.map((id) => ({ data: id, id })))
    const leases = await from.leaseMany(100, AT_ONCE)
    const each = leases.map((lease) => [
      to.addItem({ data: lease.data, id: lease.idBytes }),
      from.complete(lease),
      from.lease(AT_ONCE),
    ])
    for (const [i, calls] of each.entries()) {
      const [added, completed, next] = await Promise.all(calls)
      assert.deepEqual([added, completed, next?.id ?? null], [true, true, all[100 + i] ?? null])
    }
    assert.deepEqual(ids(await to.leaseMany(1000, AT_ONCE)), all.slice(0, 100))
    const { leased, totals } = await from.counts()
    assert.deepEqual([leased, totals.completed], [30, 100])
  })

  test('each has its own duration, wait and extension', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c', 'd'].map((id) => ({ data: id, id })))
    const [short, long, kept, still] = await Promise.all([
      queue.lease({ durationMs: 60_000, waitMs: 0 }),
      queue.lease({ durationMs: 600_000 }),
      queue.lease({ durationMs: 60_000, waitMs: 5, keepAlive: true }),
      queue.lease({ durationMs: 600_000, waitMs: 5 }),
    ])
    assert.deepEqual(new Set(ids([short, long, kept, still])), new Set(['a', 'b', 'c', 'd']))
    for (const lease of [short, kept]) assert.ok(lease.remainingMs <= 60_000)
    for (const lease of [long, still]) assert.ok(lease.remainingMs > 60_000)
  })

  test('one that finds nothing waits on by itself, or not', async () => {
    const queue = place.queue()
    await queue.addItem({ data: 'x', id: 'first' })
    const abort = new AbortController()
    const reason = new Error('enough')
    const calls = [
      queue.lease({ durationMs: 30_000 }),
      queue.lease({ durationMs: 30_000, waitMs: 0 }),
      queue.lease({ durationMs: 30_000, signal: abort.signal }),
      queue.lease({ durationMs: 30_000, waitMs: 20 }),
      queue.lease({ durationMs: 30_000 }),
    ]
    assert.equal((await calls[0]).id, 'first')
    assert.equal(await calls[1], null)
    assert.equal(await calls[3], null)
    abort.abort(reason)
    await assert.rejects(calls[2], reason)
    await queue.addItem({ data: 'x', id: 'second' })
    assert.equal((await calls[4]).id, 'second')
    assert.equal((await queue.counts()).leased, 2)
  })

  for (const [moment, comes] of Object.entries({
    'before they are sent': () => undefined,
    'while all ask together': () => new Promise(process.nextTick),
    'when they have asked': () => new Promise(setImmediate),
  })) {
    test(`what is given up ${moment} is not leased`, async () => {
      const queue = place.queue()
      const abort = new AbortController()
      const calls = Array.from({ length: 10 }, (_, i) =>
        queue.lease({ durationMs: 30_000, signal: i % 2 ? abort.signal : undefined }),
      )
      const settled = Promise.allSettled(calls)
      await comes()
      abort.abort()
      await queue.addItems(Array.from({ length: 10 }, () => 'x'))
      assert.deepEqual(
        (await settled).map(({ status }) => status),
        calls.map((_, i) => (i % 2 ? 'rejected' : 'fulfilled')),
      )
      const given = async () => (await queue.counts()).leased === 5
      await eventually('the others are not leased', given)
      assert.equal((await queue.counts()).ready, 5)
    })
  }

  test('more than goes into one answer is not mistaken for an empty queue', async () => {
    const queue = place.queue()
    const data = Buffer.alloc(3_000_000)
    await Promise.all(Array.from({ length: 12 }, () => queue.addItem(data)))
    const leases = await Promise.all(Array.from({ length: 13 }, () => queue.lease(AT_ONCE)))
    assert.equal(leases.filter((lease) => lease?.data.length === data.length).length, 12)
    assert.equal(leases[12], null)
  })

  test('loops that complete as they go on each complete what is theirs', async () => {
    const queue = place.queue()
    await queue.addItems(Array.from({ length: 500 }, (_, i) => ({ data: 'x', id: `${i}` })))
    const seen = new Set()
    const loop = async () => {
      for await (const lease of queue.leases({ durationMs: 30_000, waitMs: 0, complete: true })) {
        assert.ok(!seen.has(lease.id))
        seen.add(lease.id)
      }
    }
    await Promise.all(Array.from({ length: 60 }, loop))
    const { ready, leased, totals } = await queue.counts()
    assert.deepEqual([seen.size, ready, leased, totals.completed], [500, 0, 0, 500])
  })

  test('an error reaches every one of them', async () => {
    const client = await connect(place.url)
    const queue = client.queue(`closed-${place.engine}`)
    await queue.addItem('x')
    const waits = Array.from({ length: 3 }, () => queue.lease({ durationMs: 30_000 }))
    const all = Promise.allSettled(waits)
    await Promise.race(waits)
    await client.close()
    const after = [
      queue.addItem('y'),
      queue.addItem('z'),
      queue.lease(AT_ONCE),
      queue.lease(AT_ONCE),
    ]
    const settled = [...(await all).slice(1), ...(await Promise.allSettled(after))]
    assert.deepEqual(
      settled.map(({ reason }) => reason?.code),
      settled.map(() => 'CLOSED'),
    )
  })
})
