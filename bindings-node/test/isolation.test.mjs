// One caller's mistake touches no other call, even when both travel in one request.
import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'

import { connect, Lease, Queue } from '../index.mjs'
import { beside, BOOM, proxy, test, throws, trap } from './support/beside.mjs'
import { AT_ONCE, errorOf, onEachEngine } from './support/engines.mjs'
import { startRedis } from './support/redis.mjs'
import { run } from './support/run.mjs'

onEachEngine('beside other calls', (place) => {
  test('what throws while it is read rejects its own call, and that does nothing', async () => {
    const options = { durationMs: 1_000, waitMs: 0 }
    const half = function* (first) {
      yield first
      throw BOOM
    }
    const mistakes = [
      ...['data', 'json', 'id', 'priority', 'delayMs', 'maxAttempts', 'retainMs', 'unique'].map(
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
      (q, [one]) => q.complete(one, trap('result')),
      (q, [one]) => q.complete(one, trap('retainMs')),
      (q, [one]) => q.completeMany(half(one)),
      (q, [one]) => q.completeMany([one], trap('strict')),
      (q, [one]) => q.completeMany([one], trap('results')),
      (q, [one]) => q.completeMany([one], { results: half('x') }),
      (q, [one]) => q.completeAndLease([one], 1, trap('waitMs', options)),
      (q, [one]) => q.completeAndLease(half(one), 1, options),
      (q, [one]) => q.completeAndLease([one], 1, { ...options, results: half('x') }),
      (q, [one]) => q.extend(one, 60_000, trap('signal')),
      (q, [one]) => q.setProgress(one, 'x', trap('signal')),
      (q, [one]) => q.extendMany(half(one), 60_000),
      (q, [one]) => q.release(one, trap('delayMs')),
      (q, [one]) => q.release(one, trap('reason')),
      (q, [one]) => q.releaseMany(half(one)),
      (q, [one]) => q.fail(one, 'x', trap('delayMs')),
      (q, [one]) => q.fail(one, 'x', trap('dead')),
      (q, [one]) => q.failMany(half([one, 'x'])),
      (q, [one]) => q.failMany([half(one)]),
      (q) => q.get('a', proxy({})),
      (q) => q.list('ready', trap('cursor')),
      (q) => q.removeMany(half('a')),
      (q) => q.requeue(half('a')),
      (q) => q.remove('a', trap('ifGeneration')),
      (q) => q.bury(half('a')),
      (q) => q.bury(['a'], trap('error')),
      (q) => q.revise('a', trap('data')),
      (q) => q.reviseMany(half({ id: 'a', data: 'x' })),
      (q) => q.attach('a', trap('on')),
      (q) => q.attachMany(half({ id: 'a', followUp: { on: 'dead', item: 'x' } })),
      (q) => q.createGroup('g', trap('followUps')),
      (q) => q.sealGroup(trap('queue'), 1),
      (q) => q.cancelGroup(trap('generation')),
      (q) => q.removeGroup(trap('id')),
      (q) => q.group('g', trap('signal')),
      (q) => q.groupPlaces(trap('generation')),
      (q) => q.groupOutcome('a', trap('expect')),
      (q) => q.addItem({ data: '', group: trap('queue'), place: 0 }),
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
