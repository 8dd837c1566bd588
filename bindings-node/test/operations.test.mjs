// The operations of producers and workers, from JavaScript and back.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ItemInfo, Lease } from '../index.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'

onEachEngine('operations', (place) => {
  test('data goes in as text, bytes and JSON, and comes out as it was', async () => {
    const queue = place.queue()
    const large = Buffer.alloc(1_000_000, 'large')
    const whole = new Uint8Array([9, 1, 2, 9])
    const shared = new Uint8Array(new SharedArrayBuffer(2)).fill(7)
    const given = [
      ['', ''],
      ['grüße 🎉 \0', 'grüße 🎉 \0'],
      [Buffer.from([0, 255, 254]), Buffer.from([0, 255, 254])],
      [whole.subarray(1, 3), Buffer.from([1, 2])],
      [shared, Buffer.from([7, 7])],
      [large, large],
      [{ data: 'in an item' }, 'in an item'],
      [{ json: { a: [1, null, 'ü'] } }, '{"a":[1,null,"ü"]}'],
      [{ json: null }, 'null'],
    ]
    for (const [item, expected] of given) {
      assert.equal(await queue.addItem(item), true)
      const lease = await queue.lease(AT_ONCE)
      assert.ok(lease instanceof Lease)
      assert.ok(Buffer.isBuffer(lease.data))
      assert.deepEqual(lease.data, Buffer.from(expected))
      assert.equal(lease.data, lease.data)
      assert.equal(lease.text(), Buffer.from(expected).toString())
      assert.equal(await queue.complete(lease), true)
      assert.deepEqual(lease.data, Buffer.from(expected))
    }
    assert.deepEqual(
      await queue.addItems(given.map(([item]) => item)),
      given.map(() => true),
    )
    const leases = await queue.leaseMany(100, AT_ONCE)
    assert.deepEqual(
      leases.map((lease) => lease.data),
      given.map(([, expected]) => Buffer.from(expected)),
    )
    assert.deepEqual(leases[7].json(), { a: [1, null, 'ü'] })
    assert.equal(leases[8].json(), null)
    assert.deepEqual(
      await queue.completeMany(leases),
      given.map(() => true),
    )
  })

  test('what was handed over may be changed afterwards, and what came out too', async () => {
    const queue = place.queue()
    const data = Buffer.from('first')
    const added = queue.addItem(data)
    data.fill('x')
    assert.equal(await added, true)
    assert.equal(await queue.addItem('second'), true)
    const [first, second] = await queue.leaseMany(2, AT_ONCE)
    assert.equal(first.text(), 'first')
    first.data.fill('x')
    assert.equal(second.text(), 'second')
    assert.equal(second.id.length, 36)
  })

  test('ids are any bytes', async () => {
    const queue = place.queue()
    const ids = [
      'a',
      ' ',
      '../..',
      '{tag}:*',
      "'; DROP TABLE items; --",
      '__proto__',
      'ü🎉',
      'x'.repeat(512),
      '\0\n\r',
      Buffer.from([255, 254, 0]),
      Buffer.from([0xed, 0xa0, 0x80]),
    ]
    const items = ids.map((id) => ({ id, data: Buffer.from(id) }))
    assert.deepEqual(
      await queue.addItems(items),
      ids.map(() => true),
    )
    assert.deepEqual(
      await Promise.all(items.map((item) => queue.addItem(item))),
      ids.map(() => false),
    )
    const leases = await queue.leaseMany(100, AT_ONCE)
    assert.equal(leases.length, ids.length)
    for (const [i, lease] of leases.entries()) {
      assert.deepEqual(lease.idBytes, Buffer.from(ids[i]))
      assert.deepEqual(lease.data, Buffer.from(ids[i]))
      assert.equal(lease.id, Buffer.from(ids[i]).toString())
    }
    for (const id of ids) {
      const info = await queue.get(id)
      assert.ok(info instanceof ItemInfo)
      assert.deepEqual(info.idBytes, Buffer.from(id))
      assert.equal(await queue.remove(id), true)
      assert.equal(await queue.remove(id), false)
      assert.equal(await queue.get(id), null)
    }
  })

  test('a lease knows its item', async () => {
    const queue = place.queue()
    const item = { id: 'a', data: 'd', priority: 7, maxAttempts: 3 }
    assert.equal(await queue.addItem(item), true)
    const before = Date.now()
    const first = await queue.lease({ durationMs: 60_000 })
    assert.equal(first.queue, queue.name)
    assert.deepEqual(
      [first.id, first.priority, first.attempt, first.failures, first.expiries],
      ['a', 7, 1, 0, 0],
    )
    assert.deepEqual([first.maxAttempts, first.lastError, first.isLost], [3, '', false])
    assert.ok(first.waitedMs >= 0 && first.waitedMs < 10_000, `${first.waitedMs}`)
    assert.ok(first.remainingMs > 50_000 && first.remainingMs <= 60_000, `${first.remainingMs}`)
    assert.ok(first.deadlineMs > before + 50_000 && first.deadlineMs < before + 90_000)
    assert.equal(await queue.fail(first, new Error('no ink')), 'ready')
    const second = await queue.lease(AT_ONCE)
    assert.deepEqual(
      [second.attempt, second.failures, second.expiries, second.lastError],
      [2, 1, 0, 'no ink'],
    )
    assert.equal(second.generation, first.generation)
    assert.equal(await queue.complete(second), true)
    assert.equal(await queue.complete(second), false)
    assert.equal(await queue.addItem('without a limit'), true)
    assert.equal((await queue.lease(AT_ONCE)).maxAttempts, null)
  })

  test('priorities, delays and limits of attempts are heeded', async () => {
    const queue = place.queue()
    await queue.addItems([
      { id: 'low', data: '' },
      { id: 'high', data: '', priority: 9, maxAttempts: 1 },
      { id: 'late', data: '', delayMs: 86_400_000.5 },
    ])
    const counts = await queue.counts()
    assert.deepEqual([counts.ready, counts.delayed], [2, 1])
    assert.deepEqual(counts.readyByPriority, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    assert.equal(typeof counts.oldestReadyMs, 'number')
    const high = await queue.lease(AT_ONCE)
    assert.equal(high.id, 'high')
    assert.equal(await queue.fail(high, 'why', { delayMs: 5 }), 'dead')
    assert.equal((await queue.list('dead')).items[0].lastError, 'why')
    assert.deepEqual(await queue.requeue(['high', 'low', 'none']), [true, false, false])
    const late = await queue.get('late')
    assert.equal(late.state, 'delayed')
    assert.ok(late.atMs > Date.now() + 80_000_000 && late.atMs < Date.now() + 90_000_000)
    assert.equal((await queue.get('high')).atMs, null)
  })

  test('follow-ups are attached to items that are there', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: 'x' })
    const { generation } = await queue.get('a')
    const followUp = { on: 'completed', item: { id: 'next', data: 'y' }, withTrigger: true }
    assert.equal(await queue.attach('a', followUp, { ifGeneration: generation }), true)
    const both = [
      { id: 'a', followUp: { on: 'dead', item: 'z' } },
      { id: 'none', followUp },
    ]
    assert.deepEqual(await queue.attachMany(both), [true, false])
    assert.equal((await queue.get('a')).followUps.length, 2)
    assert.equal(await queue.complete(await queue.lease(AT_ONCE)), true)
    const next = await queue.lease(AT_ONCE)
    assert.deepEqual([next.id, next.trigger.id], ['next', 'a'])
    for (const [mistake, says] of [
      [() => queue.attach('a', { on: 'never', item: 'x' }), /a follow-up on "never"/],
      [() => queue.attach('a', { on: 'dead' }), /data/],
      [() => queue.attach('', followUp), /id/],
      [() => queue.attachMany([{ id: 'a', followup: followUp }]), /has no option "followup"/],
      [() => queue.attachMany(both, { ifGeneration: [generation] }), /1 generations for 2/],
    ]) {
      await assert.rejects(mistake(), { code: 'INVALID', message: says })
    }
  })

  test('items that are not leased are buried and revised, as they were seen', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c'].map((id) => ({ id, data: 'old', delayMs: 60_000 })))
    const [a, b, c] = (await queue.list('delayed')).items
    assert.equal(await queue.revise('a', { data: 'new', ifGeneration: a.generation }), true)
    assert.equal(await queue.revise('a', { data: 'newer', ifGeneration: a.generation }), false)
    assert.equal(await queue.remove('a', { ifGeneration: a.generation }), false)
    const revised = await queue.get('a')
    assert.equal(revised.text(), 'new')
    assert.equal(revised.addedAtMs, a.addedAtMs)
    assert.notEqual(revised.generation, a.generation)
    const seen = { ifGeneration: [a.generation, b.generation, null] }
    assert.deepEqual(await queue.bury(['a', 'b', 'c'], { ...seen, error: new Error('no') }), [
      false,
      true,
      true,
    ])
    assert.equal((await queue.get('b')).lastError, 'no')
    assert.deepEqual(await queue.bury(['a']), [true])
    assert.equal((await queue.get('a')).lastError, 'buried by an operator')
    assert.deepEqual(await queue.requeue(['c'], { ifGeneration: c.generation }), [false])
    assert.deepEqual(await queue.requeue(['c', 'c']), [true, false])
    const revisions = [
      { id: 'c', json: { n: 1 }, priority: 9, dueAtMs: 0, maxAttempts: 3 },
      { id: 'x', delayMs: 0 },
    ]
    assert.deepEqual(await queue.reviseMany(revisions), [true, false])
    const lease = await queue.lease(AT_ONCE)
    assert.deepEqual([lease.json(), lease.priority, lease.maxAttempts], [{ n: 1 }, 9, 3])
    for (const [mistake, says] of [
      [() => queue.removeMany(['a', 'b'], { ifGeneration: a.generation }), /1 generations for 2/],
      [() => queue.bury(['a'], { ifGeneration: ['?'] }), /is not a generation/],
      [() => queue.remove('a', { ifGeneration: 7 }), /ifGeneration: 7 is not a string|not a list/],
      [() => queue.revise('a', {}), /changes nothing/],
      [() => queue.revise('a', { data: 'x', json: 1 }), /data or json, not both/],
      [() => queue.revise('a', { dely: 1 }), /a revision has no option "dely"/],
      [() => queue.reviseMany([{ data: 'x' }]), /^id/],
    ]) {
      await assert.rejects(mistake(), { code: 'INVALID', message: says })
    }
  })

  test('progress is text or bytes', async () => {
    const queue = place.queue()
    const values = ['3 of 10 é', Uint8Array.of(0, 255), Buffer.from('ab'), '']
    await queue.addItems(values.map((_, i) => ({ id: `${i}`, data: '' })))
    const leases = await queue.leaseMany(values.length, { durationMs: 30_000 })
    for (const [i, value] of values.entries()) {
      assert.equal((await queue.get(`${i}`)).progress, null)
      assert.equal(await queue.setProgress(leases[i], value), undefined)
      assert.deepEqual((await queue.get(`${i}`)).progress, Buffer.from(value))
    }
    const listed = (await queue.list('leased')).items.map((item) => item.progress.toString('hex'))
    const expected = values.map((value) => Buffer.from(value).toString('hex'))
    assert.deepEqual(listed.sort(), expected.sort())
  })

  test('leases are extended, given back and failed, singly and together', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c', 'd'].map((id) => ({ id, data: '' })))
    const leases = await queue.leaseMany(4, { durationMs: 1_000 })
    const [a, b, c, d] = leases
    const deadline = await queue.extend(a, 60_000)
    assert.equal(deadline, a.deadlineMs)
    assert.ok(a.remainingMs > 50_000)
    const deadlines = await queue.extendMany(leases, 120_000)
    assert.deepEqual(
      deadlines,
      leases.map((lease) => lease.deadlineMs),
    )
    assert.equal(await queue.release(a), undefined)
    assert.equal((await queue.get('a')).state, 'ready')
    await queue.release(b, { delayMs: 60_000 })
    assert.equal((await queue.get('b')).state, 'delayed')
    assert.equal(a.isLost, false)
    assert.deepEqual(await queue.extendMany([a, c], 60_000), [null, c.deadlineMs])
    assert.deepEqual(
      await queue.failMany([
        [b, 'gone'],
        [c, 'x'.repeat(2_000)],
      ]),
      [null, 'ready'],
    )
    assert.equal((await queue.get('c')).lastError.length, 1_024)
    assert.deepEqual(await queue.releaseMany([c, d]), [false, true])
    assert.equal(c.isLost, false)
    assert.deepEqual(await queue.completeMany([d], { strict: true }), [false])
    assert.deepEqual(await queue.releaseMany([]), [])
  })

  test('batches larger than a step are split', async () => {
    const queue = place.queue()
    const count = 2_500
    const added = await queue.addItems(Array.from({ length: count }, (_, i) => `${i}`))
    assert.equal(added.filter(Boolean).length, count)
    let seen = 0
    for (;;) {
      const leases = await queue.leaseMany(5_000, AT_ONCE)
      if (leases.length === 0) break
      assert.ok(leases.length <= 1_000)
      for (const lease of leases) assert.equal(lease.text(), `${seen++}`)
      await queue.completeMany(leases)
    }
    assert.equal(seen, count)
    assert.deepEqual(await queue.addItems([]), [])
  })

  test('calls made together are answered each with its own', async () => {
    const queue = place.queue()
    const ids = Array.from({ length: 500 }, (_, i) => `id-${i % 250}`)
    const added = await Promise.all(ids.map((id) => queue.addItem({ id, data: id })))
    assert.deepEqual(
      added,
      ids.map((_, i) => i < 250),
    )
    const calls = Array.from({ length: 300 }, () => queue.lease(AT_ONCE))
    const leases = (await Promise.all(calls)).filter((lease) => lease !== null)
    assert.deepEqual(
      leases.map((lease) => lease.id),
      ids.slice(0, 250),
    )
    for (const lease of leases) assert.equal(lease.text(), lease.id)
    const done = await Promise.all(leases.map((lease) => queue.complete(lease)))
    assert.deepEqual(
      done,
      leases.map(() => true),
    )
  })
})
