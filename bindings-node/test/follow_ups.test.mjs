// Follow-ups, items that calls add, and their triggers.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { AT_ONCE, onEachEngine } from './support/engines.mjs'

/** For what the client adds when the call that ended an item has answered. */
const WAITING = { durationMs: 30_000, waitMs: 10_000 }

const texts = (leases) => leases.map((lease) => lease.text())

onEachEngine('follow-ups', (place) => {
  test('they follow the end of their item, in chains and in other queues', async () => {
    const [queue, other] = [place.queue(), place.queue()]
    const last = { on: 'ended', item: { data: 'last', queue: other.name } }
    const next = { id: 'next', json: { step: 2 }, priority: 3, followUps: [last] }
    const item = {
      id: Buffer.from([0xff, 0x31]),
      data: 'first',
      followUps: new Set([
        { on: 'completed', item: next, withTrigger: true },
        { on: 'dead', item: 'never' },
        { on: 'completed', item: new Uint8Array([7]) },
      ]),
    }
    assert.equal(await queue.addItem(item), true)
    const first = await queue.lease(AT_ONCE)
    assert.equal(first.trigger, null)
    assert.equal(await queue.complete(first, { result: Buffer.from([1, 0]) }), true)

    const second = await queue.lease(AT_ONCE)
    assert.deepEqual([second.id, second.json(), second.priority], ['next', { step: 2 }, 3])
    assert.deepEqual(second.trigger, {
      id: '\ufffd1',
      idBytes: Buffer.from([0xff, 0x31]),
      result: Buffer.from([1, 0]),
    })
    const third = await queue.lease(AT_ONCE)
    assert.deepEqual([third.data, third.trigger], [Buffer.from([7]), null])
    assert.equal(await queue.lease(AT_ONCE), null)
    assert.equal(await other.lease(AT_ONCE), null)
    assert.equal(await queue.complete(second), true)
    assert.equal((await other.lease(WAITING)).text(), 'last')
  })

  test('a death fires, with a trigger that has no result; many items have follow-ups', async () => {
    const queue = place.queue()
    const followUps = [{ on: 'dead', item: 'alarm', withTrigger: true }]
    const items = ['a', 'b'].map((id) => ({ id, data: '', followUps }))
    assert.deepEqual(await queue.addItems([...items, 'plain']), [true, true, true])
    const leases = await queue.leaseMany(3, AT_ONCE)
    assert.equal(await queue.fail(leases[0], 'no', { dead: true }), 'dead')
    assert.deepEqual(await queue.completeMany(leases.slice(1)), [true, true])
    const alarm = await queue.lease(AT_ONCE)
    assert.equal(alarm.text(), 'alarm')
    assert.deepEqual([alarm.trigger.id, alarm.trigger.result], ['a', null])
    assert.equal(await queue.lease(AT_ONCE), null)
  })

  test('calls add items if they end theirs', async () => {
    const queue = place.queue()
    await queue.addItems(['1', '2', '3', '4', '5', '6'].map((id) => ({ id, data: id })))
    const [one, two, three, four, five, six] = await queue.leaseMany(6, AT_ONCE)
    assert.equal(await queue.complete(one, { add: ['a', { json: 'b' }], result: 'r' }), true)
    assert.equal(await queue.complete(one, { add: ['never'] }), false)
    assert.deepEqual(texts(await queue.leaseMany(9, AT_ONCE)), ['a', '"b"'])

    const adds = [['c'], []]
    assert.deepEqual(await queue.completeMany([two, three], { adds }), [true, true])
    const both = await queue.completeAndLease([four], 9, { ...AT_ONCE, adds: [['d']] })
    assert.deepEqual(both.completed, [true])
    const rest = texts(both.leases.concat(await queue.leaseMany(9, WAITING)))
    assert.deepEqual(rest, ['c', 'd'])

    assert.equal(await queue.fail(five, 'no', { add: ['never'], delayMs: 60_000 }), 'delayed')
    assert.equal(await queue.fail(six, 'no', { add: ['e'], dead: true }), 'dead')
    assert.deepEqual(texts(await queue.leaseMany(9, AT_ONCE)), ['e'])
    await queue.addItems([
      { data: '7', maxAttempts: 1 },
      { data: '8', maxAttempts: 2 },
    ])
    const failures = (await queue.leaseMany(2, AT_ONCE)).map((lease) => [lease, 'no'])
    const how = { adds: [['f'], ['never']] }
    assert.deepEqual(await queue.failMany(failures, how), ['dead', 'ready'])
    assert.deepEqual(texts(await queue.leaseMany(9, AT_ONCE)).sort(), ['8', 'f'])
  })

  test('what is wrong is invalid, and changes nothing', async () => {
    const queue = place.queue()
    await queue.addItem('leased')
    const lease = await queue.lease(AT_ONCE)
    const having = (...followUps) => queue.addItem({ data: '', followUps })
    const own = { data: '' }
    own.followUps = [{ on: 'ended', item: own }]
    for (const [begin, says] of [
      [() => having({ on: 'done', item: '' }), /"done".*completed, dead or ended/],
      [() => having({ on: 'ended' }), /undefined/],
      [() => having({ on: 'ended', item: '', trigger: true }), /no option "trigger"/],
      [() => having({ on: 'ended', item: '', withTrigger: 1 }), /withTrigger: 1/],
      [() => having('next'), /"next"/],
      [() => queue.addItem({ data: '', followUps: 'next' }), /followUps: "next" is not a list/],
      [() => having(...Array(17).fill({ on: 'ended', item: '' })), /17.*16/],
      [() => having({ on: 'ended', item: { data: '', priority: 10 } }), /priority 10/],
      [() => having({ on: 'ended', item: { data: '', queue: 'no name' } }), /no name/],
      [() => queue.addItem({ data: '', queue: 1 }), /queue: 1 is not a string/],
      [() => queue.addItem({ data: '', queue: 'other' }), /other/],
      [() => queue.addItem(own), /more than 16/],
      [() => queue.complete(lease, { add: 'x' }), /"x" is not a list/],
      [() => queue.complete(lease, { add: [1] }), /1/],
      [() => queue.complete(lease, { adds: [] }), /no option "adds"/],
      [() => queue.complete(lease, { add: Array(1000).fill('') }), /1000.*999/],
      [() => queue.completeMany([lease], { adds: [] }), /0 lists of adds for 1 leases/],
      [() => queue.fail(lease, '', { dead: true, add: [{ data: '', id: '' }] }), /id/],
      [() => queue.failMany([[lease, '']], { dead: true, adds: [[], []] }), /2 lists of adds/],
    ]) {
      await assert.rejects(begin, (error) => {
        assert.equal(error.code, 'INVALID', `${begin}: ${error}`)
        assert.match(error.message, says, `${begin}`)
        return true
      })
    }
    assert.equal(await queue.queueLen(), 0)
    assert.equal(await queue.complete(lease, { strict: true }), true)
  })
})
