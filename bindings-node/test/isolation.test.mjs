// One caller's mistake touches no other call, even when both travel in one request.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test as testOnce } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

import { connect, Lease, Queue } from '../index.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'
import { startRedis } from './support/redis.mjs'
import { run } from './support/run.mjs'
import { eventually } from './support/wait.mjs'

const AT_ONCE = { durationMs: 30_000, waitMs: 0 }
const BOOM = new Error('boom')
const throws = () => {
  throw BOOM
}
/** A call that is never answered fails its test. */
const test = (what, body) => testOnce(what, { timeout: 60_000 }, body)

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

/** An object that throws when this property is read; the others are as given. */
const trap = (name, others) =>
  Object.defineProperty({ ...others }, name, { get: throws, enumerable: true })
const proxy = (target) => new Proxy(target, { get: throws, has: throws, ownKeys: throws })

/**
 * Makes calls of others before and after each of the mistakes, all in one turn, and checks that every
 * one of them did what it was asked for. Results in what became of the mistakes.
 */
async function beside(place, mistakes) {
  const queue = place.queue()
  const target = place.queue()
  await target.addItems(['one', 'two'])
  const mine = await target.leaseMany(2, AT_ONCE)
  await queue.addItems(mistakes.flatMap((_, i) => [{ id: `old ${i}`, data: '' }, `first ${i}`]))
  const old = await queue.leaseMany(2 * mistakes.length, AT_ONCE)
  const item = (i) => ({ id: `new ${i}`, data: Buffer.from(`data of ${i}`) })
  const calls = mistakes.map((mistake, i) => {
    const before = [queue.addItem(item(2 * i)), queue.complete(old[2 * i])]
    let made
    try {
      made = mistake(target, mine)
    } catch (error) {
      assert.fail(`thrown, not rejected: ${error.stack}`)
    }
    const after = [queue.addItem(item(2 * i + 1)), queue.complete(old[2 * i + 1])]
    return [Promise.allSettled([made]), Promise.all([...before, ...after])]
  })
  for (const [, others] of calls) assert.deepEqual(await others, [true, true, true, true])
  const leases = await queue.leaseMany(1000, AT_ONCE)
  assert.deepEqual(
    leases.map((lease) => [lease.id, lease.text()]),
    calls.flatMap((_, i) => [2 * i, 2 * i + 1]).map((i) => [`new ${i}`, `data of ${i}`]),
  )
  assert.deepEqual(await queue.completeMany(leases), Array(leases.length).fill(true))
  return { target, mine, became: await Promise.all(calls.map(async ([made]) => (await made)[0])) }
}

onEachEngine('beside other calls', (place) => {
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

  test('what throws while it is read rejects its own call, and that does nothing', async () => {
    const options = { durationMs: 1_000, waitMs: 0 }
    const half = function* (first) {
      yield first
      throw BOOM
    }
    const mistakes = [
      ...['data', 'json', 'id', 'priority', 'delayMs', 'maxAttempts'].map(
        (name) => (q) => q.addItem(trap(name, { id: 'a' })),
      ),
      (q) => q.addItem(proxy({ data: 'a' })),
      (q) => q.addItem('a', proxy({})),
      (q) => q.addItem('a', trap('signal')),
      (q) => q.addItems(half('a')),
      (q) => q.addItems(['a', trap('data')]),
      (q) => q.addItems(proxy(['a'])),
      ...['durationMs', 'waitMs', 'keepAlive', 'signal'].map(
        (name) => (q) => q.lease(trap(name, options)),
      ),
      (q) => q.lease({ ...options, keepAlive: trap('limitMs') }),
      (q) => q.lease(proxy(options)),
      (q) => q.leaseMany(1, trap('durationMs', options)),
      (q) => q.leases(trap('durationMs', options)).next(),
      (q, [one]) => q.complete(one, trap('strict')),
      (q, [one]) => q.completeMany(half(one)),
      (q, [one]) => q.completeMany([one], trap('strict')),
      (q, [one]) => q.completeAndLease([one], 1, trap('waitMs', options)),
      (q, [one]) => q.completeAndLease(half(one), 1, options),
      (q, [one]) => q.extend(one, 60_000, trap('signal')),
      (q, [one]) => q.extendMany(half(one), 60_000),
      (q, [one]) => q.release(one, trap('delayMs')),
      (q, [one]) => q.releaseMany(half(one)),
      (q, [one]) => q.fail(one, 'x', trap('delayMs')),
      (q, [one]) => q.failMany(half([one, 'x'])),
      (q, [one]) => q.failMany([half(one)]),
      (q) => q.get('a', proxy({})),
      (q) => q.list('ready', trap('cursor')),
      (q) => q.removeMany(half('a')),
      (q) => q.requeue(half('a')),
      (q) => q.counts(trap('signal')),
      (q) => q.purge('ready', trap('signal')),
    ]
    const { target, mine, became } = await beside(place, mistakes)
    for (const [i, { reason }] of became.entries()) assert.equal(reason, BOOM, `${mistakes[i]}`)
    assert.deepEqual(await target.completeMany(mine), [true, true])
    const { totals } = await target.counts()
    assert.deepEqual([totals.added, totals.leased, totals.completed], [2, 2, 2])
  })

  test('what makes other calls while it is read comes after them', async () => {
    const client = place.client
    const queue = client.queue(`again-${place.engine}`)
    await queue.addItems(['a', 'b', 'c'].map((id) => ({ id, data: '' })))
    const [a, b, c] = await queue.leaseMany(3, AT_ONCE)
    const inner = []
    const also = (name, value, others, call) =>
      Object.defineProperty({ ...others }, name, {
        get: () => (inner.push(call()), value),
        enumerable: true,
      })
    const add = (id) => () => queue.addItem({ id, data: Buffer.from(`data of ${id}`) })
    const outer = [
      queue.addItem('plain'),
      queue.addItem(also('data', Buffer.from('outer 1'), { id: 'outer 1' }, add('inner 1'))),
      queue.addItem(also('id', 'outer 2', { data: 'outer 2' }, add('inner 2'))),
      queue.complete(a, also('strict', true, {}, add('inner 3'))),
      queue.complete(
        b,
        also('strict', true, {}, () => queue.complete(c)),
      ),
      queue.addItem({ id: 'outer 3', json: { toJSON: () => (inner.push(add('inner 4')()), 1) } }),
      queue.addItems([also('data', 'outer 4', { id: 'outer 4' }, () => queue.complete(a))]),
    ]
    assert.deepEqual((await Promise.all(outer)).flat(), Array(7).fill(true))
    assert.deepEqual(await Promise.all(inner), [true, true, true, true, true, false])
    const leases = await queue.leaseMany(100, AT_ONCE)
    assert.deepEqual(
      leases.slice(1).map((lease) => [lease.id, lease.text()]),
      [
        ['inner 1', 'data of inner 1'],
        ['outer 1', 'outer 1'],
        ['inner 2', 'data of inner 2'],
        ['outer 2', 'outer 2'],
        ['inner 3', 'data of inner 3'],
        ['inner 4', 'data of inner 4'],
        ['outer 3', '1'],
        ['outer 4', 'outer 4'],
      ],
    )
  })

  test('a signal that is none of Node.js hinders nobody', async () => {
    const deaf = { aborted: false, addEventListener() {} }
    const refusing = { aborted: false, addEventListener: throws }
    const reasonless = Object.assign(new EventTarget(), { aborted: false })
    Object.defineProperty(reasonless, 'reason', { get: throws })
    const { target, became } = await beside(place, [
      (q) => q.addItem('a', { signal: deaf }),
      (q) => q.counts({ signal: deaf }),
      (q) => q.addItem('a', { signal: refusing }),
      (q) => q.lease({ durationMs: 1_000, signal: trap('aborted', deaf) }),
    ])
    assert.deepEqual(
      became.map(({ status, reason }) => reason ?? status),
      ['fulfilled', 'fulfilled', BOOM, BOOM],
    )
    await target.purge('ready')
    const waiting = [1, 2].map(() => errorOf(target.lease({ durationMs: 1, signal: reasonless })))
    await target.counts()
    reasonless.dispatchEvent(new Event('abort'))
    assert.deepEqual(await Promise.all(waiting), [BOOM, BOOM])
  })

  test('a signal that is aborted while the arguments are read', async () => {
    const controller = new AbortController()
    const item = {
      get data() {
        controller.abort('enough')
        return 'a'
      },
    }
    const { target, became } = await beside(place, [
      (q) => q.addItem(item, { signal: controller.signal }),
    ])
    assert.equal(became[0].reason, 'enough')
    assert.equal((await target.counts()).totals.added, 2)
  })

  test('a lease that is frozen is a lease; what only looks like one is not', async () => {
    const { target, mine, became } = await beside(place, [
      (q, [one]) => q.complete(new Proxy(one, {})),
      (q, [one]) => q.complete(proxy(one)),
      (q, [one]) => q.completeMany([Object.create(one)]),
      (q) => q.complete(Object.create(Lease.prototype)),
      (q) => q.release(Object.create(Lease.prototype)),
      (q, [one]) => q.complete(Object.freeze(one)),
    ])
    assert.deepEqual(
      became.map(({ value, reason }) => value ?? reason.code),
      [...Array(5).fill('INVALID'), true],
    )
    assert.deepEqual([mine[0].isSettled, mine[0].text(), mine[1].isSettled], [true, 'one', false])
    assert.equal(await target.complete(mine[1]), true)
  })

  test('a lease of another client', async () => {
    const client = await connect('memory:')
    const { became } = await beside(place, [
      async (q) => {
        const other = client.queue(q.name)
        await other.addItem('a')
        const lease = await other.lease(AT_ONCE)
        const answers = [q.complete(lease), q.complete(lease, { strict: true }), q.addItem('b')]
        const lost = errorOf(q.extend(lease, 60_000))
        return [...(await Promise.all(answers)), (await lost).code]
      },
    ])
    assert.deepEqual(became[0].value, [false, false, true, 'LEASE_LOST'])
    await client.close()
  })

  test('a method that is called on something else', async () => {
    const { addItem, complete, lease, counts } = Queue.prototype
    const { became } = await beside(place, [
      async () => addItem.call({}, 'a'),
      async () => addItem.call(undefined, 'a'),
      () => addItem.call(Object.create(Queue.prototype), { data: 'a', id: 'b' }),
      (_, [one]) => complete.call(Object.create(Queue.prototype), one),
      () => lease.call(Object.create(Queue.prototype), AT_ONCE),
      async () => counts.call({}),
    ])
    for (const { status } of became) assert.equal(status, 'rejected')
  })

  test('anything that was thrown can be the error of an item', async () => {
    const odd = [
      [Object.create(null), 'an error that cannot be written as text'],
      [proxy({}), 'an error that cannot be written as text'],
      [trap('message'), '[object Object]'],
      [Object.assign(new Error(), { message: 5 }), '5'],
      [Object.defineProperty(new Error(), 'message', { get: throws }), 'an error that cannot be'],
      [Symbol('s'), 'Symbol(s)'],
      [undefined, 'undefined'],
      ['half \ud800 pair', 'half \ufffd pair'],
      ['x'.repeat(5_000), 'x'.repeat(1_024)],
      [runInNewContext('new TypeError("of another realm")'), 'TypeError: of another realm'],
    ]
    const queue = place.queue()
    await queue.addItems(odd.map((_, i) => ({ id: `${i}`, data: '' })))
    for (const [i, [error, text]] of odd.entries()) {
      const lease = await queue.lease(AT_ONCE)
      assert.equal(lease.id, `${i}`)
      assert.equal(await queue.fail(lease, error, { delayMs: 60_000 }), 'delayed')
      assert.ok((await queue.get(`${i}`)).lastError.startsWith(text), `${i}`)
    }
    const reports = odd.map(([error]) => error)
    await queue.addItems(reports.map((_, i) => ({ id: `many ${i}`, data: '' })))
    const leases = await queue.leaseMany(100, AT_ONCE)
    const states = await queue.failMany(leases.map((lease, i) => [lease, reports[i]]))
    assert.deepEqual(states, Array(odd.length).fill('ready'))
  })

  test('a message shows a bad value in short, whatever it is', async () => {
    const queue = place.queue()
    const item = (data) => ({ data })
    for (const [value, text] of [
      [item(proxy({})), /^data: an object is neither/],
      [item({ constructor: { name: Symbol('x') } }), /^data: an object of type none is/],
      [item(() => 'the text of a function'), /^data: a function is neither/],
      [item(10n ** 500n), /^data: 10{63} is neither/],
      [{ '\x1b[31m\u009b\u202e': 1 }, /no option "\\u001b\[31m\\u\{9b\}\\u\{202e\}"/],
    ]) {
      assert.match((await errorOf(queue.addItem(value))).message, text)
    }
    await queue.addItem({ id: '\u009b31m', data: '\u009b31m' })
    const lease = await queue.lease(AT_ONCE)
    assert.throws(
      () => lease.json(),
      (error) => !error.message.includes('\u009b'),
    )
  })

  test('a continuation or a listener that throws', async () => {
    const ended = await run(
      `const client = await connect(url)
       const queue = client.queue('continuations')
       const seen = []
       process.on('uncaughtException', (error) => seen.push(error.message))
       await queue.addItem('lost')
       const lease = await queue.lease({ durationMs: 300, waitMs: 0 })
       lease.signal.addEventListener('abort', () => { throw new Error('listener') })
       const calls = Array.from({ length: 100 }, (_, i) => queue.addItem(String(i)))
       calls[3].then(() => { throw new Error('continuation') })
       console.log((await Promise.all(calls)).every((added) => added))
       while (seen.length < 2) await queue.counts()
       console.log(seen.sort().join())
       await client.close()`,
      place.url,
    )
    assert.deepEqual(ended, { code: 0, signal: null, printed: 'true\ncontinuation,listener\n' })
  })
})

test('an item above the limit of the server is refused alone', async () => {
  const server = await startRedis('--proto-max-bulk-len', '1mb')
  const client = await connect(server.url)
  try {
    const queue = client.queue('large')
    for (let round = 0; round < 5; round++) {
      const sizes = Array.from({ length: 20 }, (_, i) => (i === 7 ? 2 ** 21 : 8000))
      const calls = sizes.map((size) => queue.addItem(Buffer.alloc(size, 'x')))
      for (const [i, call] of calls.entries()) {
        if (i !== 7) assert.equal(await call, true)
        else assert.match((await errorOf(call)).message, /queue large.*proto-max-bulk-len/)
      }
    }
    assert.equal(await queue.queueLen(), 5 * 19)
  } finally {
    await client.close()
    await server.stop()
  }
})
