// What has happened to an item before, from JavaScript and back: how leases ended, and why they
// were released.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { InvalidError } from '../index.mjs'
import { AT_ONCE, errorOf, onEachEngine } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

/** Each is text that could break something between here and the store, and that it must not change. */
const REASONS = [
  'no ink',
  ' ',
  '\0',
  'a\0b',
  'a\0c',
  '\r\n\t\x1b[31m',
  `"'\`\\`,
  "'; DROP TABLE item; --",
  ':',
  'a:1:2:b',
  'F1790000000000:1:1790000000000:x',
  ';H3:F1:',
  ':;:;',
  '%s%d%%',
  '{"reason":null}',
  '__proto__',
  'null',
  'grüße 🎉',
  '\u2028\u2029\ufeff\ufffd',
  '\ufeffmark',
  'x'.repeat(128),
  'ü'.repeat(64),
  '🎉'.repeat(32),
]

function isTime(ms) {
  assert.ok(Number.isInteger(ms) && Math.abs(ms - Date.now()) < 60_000, `${ms}`)
}

onEachEngine('what has happened before', (place) => {
  test('nothing has happened to a new item', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: '' })
    const lease = await queue.lease(AT_ONCE)
    for (const { endings, releases } of [lease, await queue.get('a')]) {
      assert.deepEqual([endings, releases], [[], null])
    }
    await queue.release(lease)
    assert.equal((await queue.lease(AT_ONCE)).releases, null)
  })

  test('a lease and an item tell how leases ended', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: '' })
    await queue.fail(await queue.lease(AT_ONCE), 'x')
    await queue.lease({ durationMs: 1, waitMs: 0 })
    await eventually('it is reclaimed', async () => (await queue.lightClean()).expired > 0)
    const lease = await queue.lease(AT_ONCE)
    const { endings } = lease
    const [failed, expired] = endings.map(({ atMs }) => atMs)
    assert.deepEqual(endings, [
      { kind: 'failed', atMs: failed },
      { kind: 'expired', atMs: expired },
    ])
    isTime(failed)
    isTime(expired)
    assert.ok(failed <= expired)
    for (const item of [await queue.get('a'), ...(await queue.list('leased')).items]) {
      assert.deepEqual([item.endings, item.releases], [endings, null])
    }
    await queue.complete(lease)
    assert.deepEqual(lease.endings, endings)
  })

  test('fail makes an item dead if it is asked to', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c', 'd'].map((id) => ({ id, data: '', maxAttempts: 5 })))
    const [a, b, c, d] = await queue.leaseMany(4, AT_ONCE)
    assert.equal(await queue.fail(a, 'x', { dead: true }), 'dead')
    assert.equal(await queue.fail(b, 'x', { dead: false }), 'ready')
    const failures = [
      [c, 'x'],
      [a, 'x'],
      [d, 'x'],
    ]
    assert.deepEqual(await queue.failMany(failures, { dead: true, delayMs: 0 }), [
      'dead',
      null,
      'dead',
    ])
    const { items } = await queue.list('dead')
    assert.deepEqual(items.map(({ id }) => id).sort(), ['a', 'c', 'd'])
    for (const { endings, lastError } of items) {
      assert.deepEqual([endings.map(({ kind }) => kind), lastError], [['failed'], 'x'])
    }
  })

  for (const reason of REASONS) {
    test(`a reason is kept as it is: ${JSON.stringify(reason)}`, async () => {
      const queue = place.queue()
      await queue.addItem({ id: 'a', data: '' })
      assert.equal(await queue.release(await queue.lease(AT_ONCE), { reason }), undefined)
      const again = await queue.lease(AT_ONCE)
      const first = again.releases
      assert.deepEqual(first, { reason, count: 1, firstAtMs: first?.firstAtMs })
      isTime(first.firstAtMs)
      assert.deepEqual(await queue.releaseMany([again], { reason, delayMs: 0 }), [true])
      const { releases } = await queue.get('a')
      assert.deepEqual(releases, { ...first, count: 2 })
      assert.deepEqual((await queue.lease(AT_ONCE)).releases, releases)
      assert.equal((await queue.check()).sound, true)
    })
  }

  test('an empty reason is none', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: '' })
    for (const [options, count] of [
      [{ reason: 'no ink' }, 1],
      [{ reason: '' }, undefined],
      [{ reason: 'no ink' }, 1],
      [{ reason: undefined }, undefined],
    ]) {
      await queue.release(await queue.lease(AT_ONCE), options)
      assert.equal((await queue.get('a')).releases?.count, count)
    }
  })

  test('what is wrong changes nothing', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'a', data: '' })
    const lease = await queue.lease(AT_ONCE)
    const fails = [
      [{ dead: 'yes' }, /^dead: "yes" is not true or false$/],
      [{ dead: 1 }, /^dead: 1 is not/],
      [{ dead: null }, /^dead: null is not/],
      [{ dead: true, delayMs: 1 }, /delay of 1 ms.*dead/],
      [{ dead: true, delayMs: -1 }, /delay of -1 ms/],
      [{ reason: 'no ink' }, /no option "reason".*dead/],
    ]
    const releases = [
      [{ reason: 5 }, /^reason: 5 is not a string$/],
      [{ reason: null }, /^reason: null is not/],
      [{ reason: Buffer.from('no ink') }, /^reason: an object of type Buffer is not/],
      [{ reason: ['no ink'] }, /^reason: an object of type Array is not/],
      [{ reason: 'a\ud800' }, /^reason: .*surrogate/],
      [{ reason: '\udc00' }, /^reason: .*surrogate/],
      [{ reason: 'x'.repeat(129) }, /reason of 129 bytes.*128/],
      [{ reason: 'ü'.repeat(65) }, /reason of 130 bytes.*128/],
      [{ reason: 'no ink', delayMs: NaN }, /NaN ms/],
      [{ dead: true }, /no option "dead".*reason/],
    ]
    const calls = [
      ...fails.flatMap(([options, text]) => [
        [queue.fail(lease, 'x', options), text],
        [queue.failMany([[lease, 'x']], options), text],
      ]),
      ...releases.flatMap(([options, text]) => [
        [queue.release(lease, options), text],
        [queue.releaseMany([lease], options), text],
      ]),
    ].map(([call, text]) => [errorOf(call), text])
    for (const [call, text] of calls) {
      const error = await call
      assert.ok(error instanceof InvalidError, error.stack)
      assert.match(error.message, text)
    }
    const item = await queue.get('a')
    assert.deepEqual(
      [item.state, item.failures, item.endings, item.releases],
      ['leased', 0, [], null],
    )
    assert.deepEqual([lease.isSettled, await queue.complete(lease)], [false, true])
  })
})
