// Groups: how values are converted. What they mean is in the scenarios.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { defineJobs, job, worker } from '../jobs.mjs'
import { AT_ONCE, onEachEngine } from './support/engines.mjs'

/** For what the client adds when the call that ended an item has answered. */
const WAITING = { durationMs: 30_000, waitMs: 10_000 }

onEachEngine('groups', (place) => {
  test('an item is added when the members of a group have ended', async () => {
    const queue = place.queue()
    const followUps = new Set([
      { on: 'ended', item: { id: 'all', data: 'all' }, withTrigger: true },
    ])
    const group = await queue.createGroup('g', { followUps })
    assert.deepEqual(group, { queue: queue.name, id: 'g', generation: group.generation })
    assert.deepEqual(await queue.createGroup(Buffer.from('g')), group)
    assert.equal(await queue.addItem({ id: '0', data: '', group, place: 0 }), true)
    const members = ['1', '2'].map((id) => ({ id, data: '', group, place: Number(id) }))
    assert.deepEqual(await queue.addItems(members), [true, true])
    const { changedAtMs, ...info } = await queue.group('g')
    const unsealed = { group, places: null, ended: 0, completed: 0, hasEnded: false }
    assert.deepEqual(info, unsealed)
    assert.ok(Math.abs(Date.now() - changedAtMs) < 86_400_000)
    assert.equal(await queue.sealGroup(group, 3), true)
    assert.equal(await queue.sealGroup(group, 4), false)
    const leases = await queue.leaseMany(3, AT_ONCE)
    await queue.complete(leases[0])
    await queue.fail(leases[1], 'no', { dead: true })
    const counted = await queue.group('g')
    assert.deepEqual([counted.places, counted.ended, counted.completed], [3, 2, 1])
    assert.deepEqual(await queue.groupPlaces(group), ['completed', 'ended', 'open'])
    assert.deepEqual(await queue.groupPlaces(group, { first: 2 }), ['open'])
    assert.deepEqual(await queue.groupPlaces(group, { first: 3 }), [])
    await queue.complete(leases[2])
    const next = await queue.lease(WAITING)
    assert.deepEqual([next.id, next.trigger.id, next.trigger.result], ['all', 'g', null])
    assert.equal((await queue.group('g')).hasEnded, true)
    assert.equal(await queue.cancelGroup(group), false)
    assert.equal(await queue.removeGroup(group), true)
    assert.equal(await queue.removeGroup(group), false)
    assert.equal(await queue.group('g'), null)
    assert.deepEqual(await queue.groupPlaces(group), [])
  })

  test('a wait resolves to how the group has ended', async () => {
    const queue = place.queue()
    const group = await queue.createGroup('g')
    assert.equal(await queue.groupOutcome('g', { waitMs: 0 }), null)
    assert.equal(await queue.groupOutcome('none', { waitMs: 1, expect: true }), null)
    assert.deepEqual(await queue.groupOutcome('none'), { kind: 'gone', info: null })
    const members = [0, 1].map((place) => ({ id: `${place}`, data: '', group, place }))
    await queue.addItems(members)
    assert.equal(await queue.sealGroup(group, 2), true)
    const waiting = queue.groupOutcome(Buffer.from('g'))
    const [first, second] = await queue.leaseMany(2, AT_ONCE)
    await queue.complete(first)
    await queue.fail(second, 'no', { dead: true })
    const ended = await waiting
    assert.deepEqual(ended, { kind: 'ended', info: await queue.group('g') })
    assert.deepEqual([ended.info.group, ended.info.completed], [group, 1])
    const unsealed = await queue.createGroup('aborted')
    const aborted = AbortSignal.abort()
    await assert.rejects(queue.groupOutcome('aborted', { signal: aborted }), { name: 'AbortError' })
    await queue.removeGroup(unsealed)
    assert.equal((await queue.groupOutcome('aborted')).kind, 'gone')
    await assert.rejects(queue.groupOutcome('g', { waitMs: -1 }), { code: 'INVALID' })
    await assert.rejects(queue.groupOutcome(''), { code: 'INVALID' })
  })

  test('an id that is no text stays what it is', async () => {
    const queue = place.queue()
    const id = Buffer.from([0xff, 0x31])
    const group = await queue.createGroup(id)
    assert.deepEqual(group.id, id)
    assert.equal(await queue.sealGroup(group, 1), true)
    assert.deepEqual((await queue.group(id)).group, group)
  })

  test('jobs are members', async () => {
    const jobs = defineJobs({ step: job(), last: job() }, { queue: place.queue().name })
    const queue = place.client.queue(jobs.queueOf('last'))
    const item = await jobs.item('last', { n: 2 })
    const group = await queue.createGroup('g', { followUps: [{ on: 'completed', item }] })
    for (const n of [0, 1]) {
      const ref = await jobs.enqueue(place.client, 'step', { n }, { group, place: n })
      assert.ok(ref.added)
    }
    assert.equal(await queue.sealGroup(group, 2), true)
    const seen = []
    const handler = ({ args }) => void seen.push(args.n)
    const w = worker(place.client, jobs, { step: handler, last: handler })
    // What has ended may be added a moment later.
    for (let idle = 0; idle < 3;) idle = (await w.runUntilIdle()).started > 0 ? 0 : idle + 1
    assert.deepEqual(seen.sort(), [0, 1, 2])
  })

  test('mistakes are refused, and change nothing', async () => {
    const queue = place.queue()
    const group = await queue.createGroup('g')
    const other = await place.queue().createGroup('g')
    const member = (options) => queue.addItem({ data: '', group, place: 0, ...options })
    for (const [mistake, says] of [
      [() => member({ place: undefined }), /a group, but no place/],
      [() => member({ group: undefined }), /a place, but no group/],
      [() => member({ place: -1 }), /place -1 is not a whole number between 0 and 99999/],
      [() => member({ place: 0.5 }), /place 0.5 is not a whole number/],
      [() => member({ place: 100_000 }), /place 100000 .* 99999/],
      [() => member({ place: '0' }), /place: "0" is not a number/],
      [() => member({ group: 'g' }), /a group: "g" is not an object/],
      [() => member({ group: { ...group, id: '' } }), /id/],
      [() => member({ group: { ...group, queue: '' } }), /queue/],
      [() => member({ group: { ...group, generation: '' } }), /not a generation/],
      [() => member({ group: { ...group, name: '' } }), /has no option "name"/],
      [() => member({ replace: true }), /cannot replace/],
      [() => queue.addItems([{ data: '', group, place: 100_000 }]), /place 100000/],
      [
        () =>
          queue.addItem({
            data: '',
            followUps: [{ on: 'dead', item: { data: '', group, place: 0 } }],
          }),
        /member of a group/,
      ],
      [() => queue.createGroup(''), /id/],
      [() => queue.createGroup('h', { followUps: [{ on: 'never', item: '' }] }), /"never"/],
      [() => queue.createGroup('h', { followUps: Array(17).fill({ on: 'dead', item: '' }) }), /16/],
      [() => queue.createGroup('h', { followups: [] }), /has no option "followups"/],
      [() => queue.sealGroup(group, 0), /places.* 1 and 100000/],
      [() => queue.sealGroup(group, 100_001), /places.* 1 and 100000/],
      [() => queue.sealGroup(group, 1.5), /places, 1.5/],
      [() => queue.sealGroup(other, 1), /queue/],
      [() => queue.cancelGroup(other), /queue/],
      [() => queue.removeGroup(other), /queue/],
      [() => queue.group(''), /id/],
      [() => queue.groupPlaces(other), /queue/],
      [() => queue.groupPlaces(group, { first: -1 }), /first: -1 is not/],
    ]) {
      await assert.rejects(mistake(), { code: 'INVALID', message: says }, `${mistake}`)
    }
    assert.equal(await queue.queueLen(), 0)
    assert.equal((await queue.group('g')).places, null)
    assert.equal(await queue.group('h'), null)
  })
})
