// The native half refuses what does not add up, whatever is handed over, and goes on.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'

import { eventually } from './support/wait.mjs'

const { Bridge, NativeClient } = createRequire(import.meta.url)('../native.js')
const NO_ID = 0xffffffff

let bridge, client, queue
/** Numbers of the calls that were answered, and holders of leases. */
const answered = []
const holders = []

before(async () => {
  bridge = new Bridge(() => {
    const [numbers, , leases] = bridge.take()
    // All that is asked for here has answers of two numbers: of no more interest than that.
    answered.push(numbers[0])
    holders.push(...leases)
  })
  client = new NativeClient(bridge)
  await answer(0, () => client.connect(0, 'memory:', {}))
  queue = client.queue('native')
})

after(() => answer(1, () => client.close(1)))

async function answer(call, begin) {
  begin()
  bridge.send()
  bridge.hold(true)
  await eventually(`call ${call} is answered`, () => answered.includes(call))
  bridge.hold(false)
}

const add = (sizes, bytes) => queue.addTogether(Uint32Array.from(sizes), Buffer.from(bytes))

test('lengths that do not add up', async () => {
  for (const [sizes, bytes] of [
    [[2, NO_ID, 5], 'abc'],
    [[2, 5, 1], 'abc'],
    [[2, NO_ID, 1], 'abc'],
    [[2, NO_ID, NO_ID], 'abc'],
    [[2, 1, 1, 3, 1, 1], 'abc'],
    [[2, NO_ID, 3, 3], 'abc'],
    [[2, NO_ID, 3, 3, NO_ID], 'abc'],
    [[2, NO_ID - 1, NO_ID], ''],
    [[], 'abc'],
  ]) {
    assert.throws(() => add(sizes, bytes), /do not add up/, `${sizes}`)
  }
  await answer(10, () => add([10, 1, 2], 'abc'))
  assert.ok(!answered.includes(2) && !answered.includes(3))
})

test('leases that are not there, and lists of different lengths', async () => {
  await answer(20, () => queue.lease(Uint32Array.of(20), 30_000, 0, undefined))
  const [holder] = holders
  const none = /no such lease/
  const uneven = /different lengths/
  const sums = /do not add up/
  const complete = (calls, results = '') =>
    queue.complete(Uint32Array.from(calls), holder, false, undefined, Buffer.from(results))
  for (const [text, begin] of [
    [none, () => complete([2, 0, NO_ID, 3, 1, NO_ID])],
    [none, () => queue.completeThenLease(Uint32Array.of(2, 0, 3, NO_ID), holder, 30_000, 0)],
    [none, () => queue.release(2, holder, 1, 0, '')],
    [none, () => queue.extendMany(2, [holder], [1], 30_000)],
    [none, () => queue.setProgress(2, holder, 1, 'x')],
    [none, () => holder.data(1)],
    [none, () => holder.completed(1)],
    [none, () => holder.endings(1)],
    [none, () => holder.releases(1)],
    [none, () => holder.trigger(1)],
    [sums, () => complete([2])],
    [sums, () => complete([2, 0])],
    [sums, () => complete([2, 0, NO_ID, 3])],
    [sums, () => complete([2, 0, 4], 'abc')],
    [sums, () => complete([2, 0, 2], 'abc')],
    [sums, () => complete([2, 0, NO_ID], 'abc')],
    [uneven, () => queue.completeThenLease(Uint32Array.of(2), holder, 30_000, 0)],
    [uneven, () => queue.completeMany(2, [holder], [], false, undefined, [], [])],
    [
      uneven,
      () => queue.completeAndLease(2, [holder], [0, 0], false, undefined, [], [], 1, 30_000, 0),
    ],
    [uneven, () => queue.releaseMany(2, [], [0], 0, '')],
    [uneven, () => queue.failMany(2, [holder], [0], [], 0, false, [])],
  ]) {
    assert.throws(begin, text, `${begin}`)
  }
  await answer(21, () => queue.extend(21, holder, 0, 30_000))
  assert.ok(!holder.isSettled(0))
  await answer(22, () =>
    queue.complete(Uint32Array.of(22, 0, 3), holder, true, undefined, Buffer.from('abc')),
  )
  assert.ok(holder.isSettled(0))
  assert.ok(!answered.includes(2) && !answered.includes(3))
})

test('items without data', () => {
  assert.throws(() => queue.addMany(2, ['a', ...Array(16).fill(undefined)]))
  assert.throws(() => queue.addMany(2, [undefined]))
})

test('follow-ups and adds that are not whole', () => {
  const item = ['a', ...Array(15).fill(undefined)]
  const having = (followUps) => queue.addMany(2, item.with(14, followUps))
  assert.throws(() => having([]), /missing/)
  assert.throws(() => having([['ended'], [true]]), /missing/)
  assert.throws(() => having([['ended'], [], item]), /different lengths/)
  assert.throws(() => having([[], [true], item]), /different lengths/)
  assert.throws(() => queue.completeMany(2, [], [], false, undefined, [], [1]))
  assert.throws(() => queue.addMany(2, item.with(15, ['queue', 'id', 'generation'])), /missing/)
})

test('numbers of calls that are as large as can be', async () => {
  bridge.cancel(NO_ID)
  const calls = Uint32Array.of(NO_ID, NO_ID - 1)
  queue.lease(calls, 30_000, undefined, undefined)
  bridge.send()
  for (const call of calls) await answer(call, () => bridge.cancel(call))
})
