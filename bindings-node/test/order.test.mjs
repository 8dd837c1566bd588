// Calls that are made without waiting for answers are executed in the order in which they were made.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'

const { NativeQueue } = createRequire(import.meta.url)('../native.js')

const item = (id) => ({ id, data: '' })
const code = (call) => call.catch((error) => error.code)

const id = async (call) => (await call)?.id ?? null
const ids = async (call) => (await call).map((lease) => lease.id)

/** Calls made in one turn for a queue that has a leased item `a`, and what they answer in this order. */
const IN_ONE_TURN = {
  'an item takes the place of one that was completed': (q, a) => [
    [q.complete(a), true],
    [q.addItem(item('a')), true],
  ],
  'and again': (q, a) => [
    [q.addItem(item('a')), false],
    [q.complete(a), true],
    [q.addItem(item('a')), true],
    [q.complete(a), false],
    [q.addItem(item('a')), false],
  ],
  'with items of every kind of call': (q, a) => [
    [q.addItem('x'), true],
    [q.addItems([item('a')]), [false]],
    [q.addItem({ ...item('a'), priority: 3 }), false],
    [q.complete(a), true],
    [q.addItem({ ...item('a'), priority: 3 }), true],
    [q.addItems([item('a'), item('b')]), [false, true]],
    [q.addItem(item('b')), false],
  ],
  'with completing of every kind': (q, a) => [
    [q.addItem(item('a')), false],
    [q.completeMany([a]), [true]],
    [q.addItem(item('a')), true],
    [q.complete(a, { strict: true }), false],
  ],
  'an item is leased after it was added': (q) => [
    [id(q.lease(AT_ONCE)), null],
    [q.addItem(item('b')), true],
    [id(q.lease(AT_ONCE)), 'b'],
    [q.addItems([item('c'), item('d')]), [true, true]],
    [ids(q.leaseMany(5, AT_ONCE)), ['c', 'd']],
  ],
  'an item is leased after it was given back': (q, a) => [
    [id(q.lease(AT_ONCE)), null],
    [q.release(a), undefined],
    [id(q.lease(AT_ONCE)), 'a'],
    [q.complete(a, { strict: true }), false],
  ],
  'an item is leased after it failed': (q, a) => [
    [q.fail(a, 'x'), 'ready'],
    [id(q.lease(AT_ONCE)), 'a'],
    [code(q.extend(a, 60_000)), 'LEASE_LOST'],
  ],
  'a lease is extended before the item is completed': (q, a) => [
    [q.extend(a, 60_000).then((at) => at > 0), true],
    [q.complete(a), true],
    [code(q.extend(a, 60_000)), 'LEASE_LOST'],
    [code(q.release(a)), 'LEASE_LOST'],
  ],
  'an item is removed after it was added, and added after that': (q) => [
    [q.remove('b'), false],
    [q.addItem(item('b')), true],
    [q.remove('b'), true],
    [q.addItem(item('b')), true],
    [q.removeMany(['a', 'b']), [true, true]],
    [q.addItem(item('a')), true],
  ],
  'an item is added between completing and leasing': (q, a) => [
    [q.addItem(item('b')), true],
    [
      q.completeAndLease([a], 1, AT_ONCE).then((both) => [both.completed, both.leases[0]?.id]),
      [[true], 'b'],
    ],
    [q.addItem(item('a')), true],
  ],
}

onEachEngine('in one turn', (place) => {
  for (const [what, calls] of Object.entries(IN_ONE_TURN)) {
    test(what, async () => {
      for (let round = 0; round < 10; round++) {
        const queue = place.queue()
        await queue.addItem(item('a'))
        const made = calls(queue, await queue.lease(AT_ONCE))
        const answers = await Promise.all(made.map(([answer]) => answer))
        const expected = made.map(([, answer]) => answer)
        assert.deepEqual(answers, expected, `round ${round}`)
      }
    })
  }

  test('what was called before `close` is done', async () => {
    const client = await connect(place.url)
    const queue = client.queue(`closing-${place.engine}`)
    await queue.addItem(item('a'))
    const lease = await queue.lease(AT_ONCE)
    const calls = [queue.addItem(item('b')), queue.complete(lease), queue.addItem(item('c'))]
    const closed = client.close()
    assert.deepEqual(await Promise.all(calls), [true, true, true])
    assert.equal(await code(queue.counts()), 'CLOSED')
    await closed
  })

  test('calls go over in their order, and those of one kind that follow one another together', async () => {
    const [queue, other] = [place.queue(), place.queue()]
    const natives = new Map([queue, other].map((queue, i) => [queue.native, i]))
    await queue.addItems(['a', 'b', 'c'].map(item))
    const [a, b, c] = await queue.leaseMany(3, AT_ONCE)
    const seen = []
    const originals = {}
    for (const name of Object.getOwnPropertyNames(NativeQueue.prototype)) {
      const original = (originals[name] = NativeQueue.prototype[name])
      if (name === 'constructor') continue
      NativeQueue.prototype[name] = function (...args) {
        seen.push(`${name} ${natives.get(this)}${args[0].length ? ` ${args[0].length}` : ''}`)
        return original.apply(this, args)
      }
    }
    try {
      await Promise.all([
        queue.addItem('x'),
        queue.addItem('x'),
        queue.complete(a),
        queue.addItem('x'),
        other.addItem('x'),
        queue.addItem({ data: 'x', priority: 1 }),
        queue.addItem('x'),
        queue.lease(AT_ONCE),
        queue.lease(AT_ONCE),
        queue.lease({ ...AT_ONCE, durationMs: 40_000 }),
        queue.complete(b),
        queue.complete(c, { strict: true }),
        queue.counts(),
        queue.addItem('x'),
        queue.remove('x'),
        queue.addItem('x'),
        other.addItem('x'),
      ])
    } finally {
      Object.assign(NativeQueue.prototype, originals)
    }
    assert.deepEqual(seen, [
      'addTogether 0 6',
      'complete 0 3',
      'addTogether 0 3',
      'addTogether 1 3',
      'add 0',
      'addTogether 0 3',
      'lease 0 2',
      'lease 0 1',
      'complete 0 3',
      'complete 0 3',
      'counts 0',
      'addTogether 0 3',
      'remove 0',
      'addTogether 0 3',
      'addTogether 1 3',
    ])
  })
})
