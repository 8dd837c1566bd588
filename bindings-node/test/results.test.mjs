// Retained items and their results, unique keys and replacement, from JavaScript and back.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { AT_ONCE, errorOf, onEachEngine } from './support/engines.mjs'

const HOUR = 3_600_000

onEachEngine('results', (place) => {
  const told = async (queue, id) => {
    const info = await queue.get(id)
    return info && [info.state, info.result?.toString() ?? null]
  }

  test('a result is kept with its item', async () => {
    const queue = place.queue()
    assert.equal(await queue.addItem({ id: 'a', data: 'd', retainMs: HOUR }), true)
    const { retainMs, result, endedAtMs, unique, uniqueBytes } = await queue.get('a')
    assert.deepEqual(
      [retainMs, result, endedAtMs, unique, uniqueBytes],
      [HOUR, ...Array(4).fill(null)],
    )
    assert.equal(await queue.complete(await queue.lease(AT_ONCE), { result: 'fine' }), true)
    const info = await queue.get('a')
    assert.deepEqual(
      [info.state, info.result, info.text()],
      ['completed', Buffer.from('fine'), 'd'],
    )
    assert.equal(info.atMs, info.endedAtMs + HOUR)
    assert.ok(Math.abs(Date.now() - info.endedAtMs) < 60_000)
    assert.deepEqual((await queue.list('completed')).items, [info])
    assert.deepEqual((await queue.list('cancelled')).items, [])
    const { completed, cancelled, totals } = await queue.counts()
    assert.deepEqual([completed, cancelled, totals.replaced], [1, 0, 0])
    assert.equal(await queue.purge('completed'), 1)
  })

  test('a result is text, bytes or nothing, of any size', async () => {
    const queue = place.queue()
    const large = 'l'.repeat(100_000)
    const given = ['', 'ü🎉', new Uint8Array([0, 255]), undefined, large, Buffer.from(large)]
    const expected = given.map((one) => (one === undefined ? null : Buffer.from(one)))
    const found = async (at) => (await queue.get(`${at}`)).result
    const lease = async () => {
      const ids = given.map((_, i) => ({ id: `${i}`, data: '', retainMs: HOUR }))
      assert.ok((await queue.addItems(ids)).every(Boolean))
      return queue.leaseMany(10, AT_ONCE)
    }
    const check = async (completed) => {
      assert.deepEqual(completed, Array(given.length).fill(true))
      for (const [i, result] of expected.entries()) assert.deepEqual(await found(i), result)
      assert.equal(await queue.purge('completed'), given.length)
    }
    const leases = await lease()
    await check(
      await Promise.all(leases.map((one, i) => queue.complete(one, { result: given[i] }))),
    )
    const results = given.map((one) => one ?? null)
    await check(await queue.completeMany(await lease(), { results: new Set(results) }))
    const both = await queue.completeAndLease(await lease(), 1, { ...AT_ONCE, results })
    await check(both.completed)
  })

  test('calls made together have each their own result and retention', async () => {
    const queue = place.queue()
    const ids = Array.from({ length: 400 }, (_, i) => `${i}`)
    await queue.addItems(ids.map((id) => ({ id, data: '', retainMs: id % 7 ? HOUR : 0 })))
    const leases = []
    while (leases.length < 400) leases.push(...(await queue.leaseMany(50, AT_ONCE)))
    const buffer = Buffer.alloc(10)
    const how = (i) => ({
      ...(i % 3 === 0 && { result: `${i} `.repeat(i % 50) }),
      ...(i % 3 === 1 && { result: buffer.fill(i) }),
      ...(i % 30 === 3 && { result: 'large'.repeat(2_000) }),
      ...(i % 5 === 0 && { retainMs: i % 2 ? 0 : 2 * HOUR }),
      ...(i % 11 === 0 && { strict: true }),
    })
    const expected = ids.map((_, i) => {
      const { result, retainMs = i % 7 ? HOUR : 0 } = how(i)
      return retainMs === 0 ? null : ['completed', result?.toString() ?? null]
    })
    const completed = await Promise.all(leases.map((lease, i) => queue.complete(lease, how(i))))
    assert.ok(completed.every(Boolean))
    assert.deepEqual(await Promise.all(ids.map((id) => told(queue, id))), expected)
    assert.equal((await queue.counts()).completed, expected.filter(Boolean).length)
  })

  test('a result that is too large fails only its own call', async () => {
    const client = await connect(place.url, { maxData: 10_000 })
    const queue = client.queue(`large-${place.engine}`)
    await queue.addItems(['0', '1', '2', '3', '4'].map((id) => ({ id, data: '', retainMs: HOUR })))
    const leases = await queue.leaseMany(5, AT_ONCE)
    const how = [
      { result: 'a' },
      { result: 'x'.repeat(10_001) },
      { result: 'b' },
      { retainMs: 400 * 86_400_000 },
      {},
    ]
    const calls = await Promise.allSettled(leases.map((one, i) => queue.complete(one, how[i])))
    assert.deepEqual(
      calls.map(({ value, reason }) => value ?? reason.code),
      [true, 'INVALID', true, 'INVALID', true],
    )
    assert.match(calls[1].reason.message, /a result of 10001 bytes is over the limit of 10000$/)
    assert.match(calls[3].reason.message, /366 days/)
    const small = await connect(place.url, { maxData: 3 })
    const tiny = small.queue(queue.name)
    await tiny.addItems(['5', '6'].map((id) => ({ id, data: '', retainMs: HOUR })))
    const more = await tiny.leaseMany(2, AT_ONCE)
    const [five, six] = await Promise.allSettled([
      tiny.complete(more[0], { result: 'four' }),
      tiny.complete(more[1], { result: 'six' }),
    ])
    assert.deepEqual([five.reason.code, six.value], ['INVALID', true])
    assert.deepEqual(await told(queue, '0'), ['completed', 'a'])
    assert.deepEqual(await told(queue, '2'), ['completed', 'b'])
    assert.deepEqual(await told(queue, '4'), ['completed', null])
    assert.deepEqual(await told(queue, '6'), ['completed', 'six'])
    assert.equal((await queue.counts()).leased, 3)
    await small.close()
    await client.close()
  })

  test('what is no result or no retention completes nothing', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b'])
    const leases = await queue.leaseMany(2, AT_ONCE)
    for (const [options, text] of [
      [{ result: 5 }, /a result: 5 is neither a string nor a Uint8Array/],
      [{ result: null }, /a result: null/],
      [{ result: '\ud800' }, /half of a surrogate pair/],
      [{ results: ['a'] }, /no option "results"/],
      [{ retainMs: '5' }, /retainMs: "5" is not a number/],
      [{ retainMs: -1 }, /a retention of -1 ms/],
      [{ retainMs: NaN }, /a retention of NaN ms/],
    ]) {
      const error = await errorOf(queue.complete(leases[0], options))
      assert.equal(error.code, 'INVALID')
      assert.match(error.message, text)
    }
    for (const [options, text] of [
      [{ results: 'ab' }, /results: "ab" is not a list/],
      [{ results: [] }, /0 results for 2 leases/],
      [{ results: ['a'] }, /1 results for 2 leases/],
      [{ results: ['a', 5] }, /a result: 5/],
      [{ retainMs: 367 * 86_400_000 }, /366 days/],
    ]) {
      for (const call of [
        queue.completeMany(leases, options),
        queue.completeAndLease(leases, 1, { ...AT_ONCE, ...options }),
      ].map(errorOf)) {
        const error = await call
        assert.equal(error.code, 'INVALID')
        assert.match(error.message, text)
      }
    }
    assert.match(
      (await errorOf(queue.completeMany(leases, { result: 'a' }))).message,
      /no option "result"/,
    )
    assert.equal(await queue.processing(), 2)
    assert.deepEqual(await queue.completeMany(leases), [true, true])
  })

  test('unique keys and replacement', async () => {
    const queue = place.queue()
    const item = (id, others) => ({ id, data: id, ...others })
    const bytes = new Uint8Array([255])
    assert.equal(await queue.addItem(item('a', { unique: 'key', uniqueForMs: HOUR })), true)
    assert.equal(await queue.addItem(item('b', { unique: Buffer.from('key') })), false)
    const more = [
      item('c', { unique: 'key', replace: true }),
      'plain',
      item('d', { unique: bytes }),
    ]
    assert.deepEqual(await queue.addItems(more), [true, true, true])
    assert.equal(await queue.get('a'), null)
    const c = await queue.get('c')
    assert.deepEqual([c.unique, c.uniqueBytes], ['key', Buffer.from('key')])
    const d = await queue.get('d')
    assert.deepEqual([d.unique, d.uniqueBytes], ['\ufffd', Buffer.from(bytes)])
    assert.equal((await queue.counts()).totals.replaced, 1)
    assert.equal(await queue.addItem(item('c', { replace: false })), false)
    assert.equal(await queue.addItem(item('c', { replace: true })), true)
    assert.equal((await queue.get('c')).unique, null)
    assert.equal(await queue.addItem(item('e', { unique: 'key', replace: true })), false)
  })

  test('a successor waits for a leased item', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: '1' })
    const lease = await queue.lease({ durationMs: 60_000 })
    const item = (data, successor) => ({ id: 'a', data, replace: true, successor })
    assert.equal(await queue.addItem(item('2', false)), false)
    assert.deepEqual(await queue.addItems([item('3', true)]), [true])
    assert.equal(String((await queue.get('a')).data), '1')
    assert.equal(await queue.complete(lease), true)
    assert.equal(String((await queue.get('a')).data), '3')
  })

  for (const [options, text] of [
    [{ retainMs: '1' }, /retainMs: "1" is not a number/],
    [{ retainMs: -1 }, /"i": a retention of -1 ms/],
    [{ retainMs: 367 * 86_400_000 }, /366 days/],
    [{ unique: 5 }, /unique: 5 is neither/],
    [{ unique: '' }, /between 1 and 512/],
    [{ unique: 'x'.repeat(513) }, /between 1 and 512/],
    [{ unique: '\ud800' }, /half of a surrogate pair/],
    [{ uniqueForMs: 5 }, /unique_for without a unique key/],
    [{ unique: 'k', uniqueForMs: NaN }, /"i": unique_for of NaN ms/],
    [{ replace: 1 }, /replace: 1 is not true or false/],
    [{ successor: 1 }, /successor: 1 is not true or false/],
    [{ successor: true }, /successor without replace/],
  ]) {
    test(`an item that is wrong: ${text}`, async () => {
      const queue = place.queue()
      const item = { id: 'i', data: 'x', ...options }
      for (const call of [queue.addItem(item), queue.addItems(['fine', item])].map(errorOf)) {
        const error = await call
        assert.equal(error.code, 'INVALID')
        assert.match(error.message, text)
      }
      assert.equal(await queue.queueLen(), 0)
    })
  }
})
