// Errors of jobs say which job they are about.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../index.mjs'
import { defineJobs, job, worker } from '../jobs.mjs'
import { errorOf } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

const jobs = defineJobs({ send: job({ retainMs: 60_000 }) }, { queue: 'mail' })
const client = await connect('memory:')
const JOB = 'queue mail, job send, item "a"'

/** The messages of what is thrown. */
function messagesOf(...calls) {
  return calls.map((call) => {
    try {
      call()
    } catch (error) {
      assert.equal(error.code, 'INVALID')
      return error.message
    }
    throw new Error('nothing was thrown')
  })
}

test('in a handler, and after its end', async () => {
  await jobs.enqueue(client, 'send', {}, { id: 'a', timeoutMs: 60_000 })
  let job
  const send = (one) => {
    job = one
    return messagesOf(
      () => job.moreTime(-1),
      () => job.moreTime(31 * 86_400_000),
      () => job.moreTime('long'),
      () => job.progress('x'.repeat(1025)),
      () => job.progress(7),
    )
  }
  await worker(client, jobs, { send }).runUntilIdle()
  assert.deepEqual(await jobs.ref(client, 'send', 'a').result(), [
    `${JOB}: -1 ms more are not between 0 and 2592000000`,
    `${JOB}: 2678400000 ms more are not between 0 and 2592000000`,
    `${JOB}: a time: "long" is not a number`,
    `${JOB}: progress of 1025 bytes is over the limit of 1024`,
    `${JOB}: progress: 7 is neither a string nor a Uint8Array`,
  ])
  assert.deepEqual(
    messagesOf(() => job.moreTime(1)),
    [`${JOB}: the job has ended`],
  )
  const late = await errorOf(job.progress('late'))
  assert.deepEqual([late.code, late.message], ['INVALID', `${JOB}: the job has ended`])
})

test('in a handler whose time is over', async () => {
  await jobs.enqueue(client, 'send', {}, { id: 'b', timeoutMs: 1 })
  let messages
  const send = async (job) => {
    await eventually('its time is over', () => job.cancelReason !== undefined)
    messages = [...messagesOf(() => job.moreTime(1)), job.signal.reason.message]
  }
  await worker(client, jobs, { send }).runUntilIdle()
  const called = 'queue mail, job send, item "b"'
  assert.deepEqual(messages, [`${called}: its time is over`, `${called}: timeout`])
})

test('of references', async () => {
  const messageOf = async (promise) => (await errorOf(promise)).message
  const ref = await jobs.enqueue(client, 'send', {}, { id: 'c' })
  const called = 'queue mail, job send, item "c"'
  assert.equal(await messageOf(ref.result({ waitMs: 0 })), `${called}: not ended within 0 ms`)
  await ref.cancel()
  assert.match(await messageOf(ref.result({ waitMs: 0 })), /^queue mail, job send, item "c": /)
})

test('of producers', async () => {
  for (const [options, says] of [
    [{ id: 7 }, 'job send: id: 7 is not a string'],
    [{ timeoutMs: 'x' }, 'job send: timeoutMs: "x" is not a number'],
    [{ timeoutMs: -1 }, 'job send: a timeout of -1 ms: not a length of time'],
    [{ retry: { attempts: 'x' } }, 'job send: retry: attempts: "x" is not a number'],
    [{ retry: { attempts: 0.5 } }, /^job send: attempts 0.5 is not a whole number/],
    [{ retry: { on: [7] } }, 'job send: retry: on: 7 is not a string'],
    [{ onEnd: 7 }, 'job send: onEnd: 7 is not a list'],
    [{ id: 'x', delayMs: -1 }, /^item "x": a delay of -1 ms/],
    [{ id: 'x', priority: 10 }, /item "x": priority 10/],
  ]) {
    const error = await errorOf(jobs.enqueue(client, 'send', {}, options))
    assert.equal(error.code, 'INVALID')
    assert.match(error.message, typeof says === 'string' ? new RegExp(`^${says}$`) : says)
  }
})

test.after(() => client.close())
