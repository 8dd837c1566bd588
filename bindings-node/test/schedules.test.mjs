// Schedules: rules that add items at certain times.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { connect, scheduleTimes } from '../index.mjs'

let client, queue
before(async () => {
  client = await connect('memory:')
  queue = client.queue('schedules')
})
after(() => client.close())

test('a schedule is put and shown', async () => {
  const options = { cron: '0 9 * * mon-fri', zone: 'Europe/Berlin', owner: 'app', revision: 7 }
  const data = Buffer.from('data')
  assert.equal(await queue.putSchedule('s', { data, priority: 3 }, options), 'added')
  const [info] = await queue.schedules()
  const { nextMs, ...rest } = info
  assert.deepEqual(rest, {
    ...options,
    name: 's',
    data,
    everyMs: null,
    missed: 'one',
    graceMs: null,
    overlap: false,
    priority: 3,
    delayMs: 0,
    maxAttempts: null,
    retainMs: null,
    unique: null,
    uniqueForMs: null,
    replace: false,
    successor: false,
    key: null,
    expiresInMs: null,
    paused: false,
    pausedAtMs: null,
    pausedBy: '',
    pauseReason: '',
    lastId: null,
  })
  const { cron, zone } = options
  assert.deepEqual(scheduleTimes({ cron, zone }, { count: 1 }), [nextMs])
  const updated = { ...options, missed: 5, graceMs: 1000 }
  assert.equal(await queue.putSchedule('s', { data, priority: 3 }, updated), 'updated')
  assert.equal(await queue.putSchedule('s', { data, priority: 3 }, updated), 'unchanged')
  assert.equal(await queue.putSchedule('s', data, { ...updated, revision: 6 }), 'outdated')
  assert.equal((await queue.schedules())[0].missed, 5)
  assert.equal((await queue.schedules({ data: false }))[0].data.length, 0)
  await assert.rejects(async () => queue.schedules({ data: 'no' }), { code: 'INVALID' })
  assert.equal(await queue.pauseSchedule('s', { by: 'ada', reason: 'twice' }), true)
  const [paused] = await queue.schedules({ data: false })
  assert.deepEqual([paused.pausedBy, paused.pauseReason, paused.data.length], ['ada', 'twice', 0])
  assert.equal(typeof paused.pausedAtMs, 'number')
  assert.equal(await queue.runNow('s'), true)
  assert.equal((await queue.lease({ durationMs: 1000, waitMs: 0 })).priority, 3)
  assert.equal(await queue.resumeSchedule('s'), true)
  assert.equal(await queue.removeSchedule('s'), true)
  assert.equal(await queue.removeSchedule('s'), false)
})

test('a call that waits gets the item of a tick', async () => {
  await queue.putSchedule('t', 'x', { everyMs: 100 })
  const lease = await queue.lease({ durationMs: 30_000, waitMs: 10_000 })
  assert.match(lease.id, /^t@/)
  await queue.removeSchedule('t')
})

test('an owner declares its schedules', async () => {
  const all = ['a', 'b'].map((name) => ({ name, item: 'x', everyMs: 60_000 }))
  assert.deepEqual((await queue.syncSchedules('deployed', 1, all)).added, ['a', 'b'])
  assert.deepEqual((await queue.syncSchedules('deployed', 2, all.slice(1))).removed, ['a'])
  await queue.syncSchedules('deployed', 3, [])
})

test('wrong values are refused', async () => {
  for (const [options, says] of [
    [{}, /either cron or everyMs/],
    [{ everyMs: 1000, cron: '* * * * *' }, /either cron or everyMs/],
    [{ everyMs: 1000, zone: 'UTC' }, /no zone/],
    [{ everyMs: 50 }, /100 ms/],
    [{ everyMs: 1000, missed: 'two' }, /missed/],
    [{ everyMs: 1000, missed: 0 }, /1 and 1000/],
    [{ everyMs: '1000' }, /everyMs/],
    [{ every: 1000 }, /no option/],
  ]) {
    await assert.rejects(queue.putSchedule('w', 'x', options), { code: 'INVALID', message: says })
  }
  assert.throws(() => scheduleTimes({ everyMs: 1000 }, { count: 1001 }), { code: 'INVALID' })
})
