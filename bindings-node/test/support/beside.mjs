// Mistakes of one caller, beside the calls of others.
import assert from 'node:assert/strict'
import { test as testOnce } from 'node:test'

import { AT_ONCE } from './engines.mjs'

export const BOOM = new Error('boom')
export const throws = () => {
  throw BOOM
}
/** A call that is never answered fails its test. */
export const test = (what, body) => testOnce(what, { timeout: 60_000 }, body)

/** An object that throws when this property is read; the others are as given. */
export const trap = (name, others) =>
  Object.defineProperty({ ...others }, name, { get: throws, enumerable: true })
export const proxy = (target) => new Proxy(target, { get: throws, has: throws, ownKeys: throws })

/**
 * Makes calls of others before and after each of the mistakes, all in one turn, and checks that every
 * one of them did what it was asked for. Results in what became of the mistakes.
 */
export async function beside(place, mistakes) {
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
