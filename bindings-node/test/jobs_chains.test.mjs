// Jobs that are added when others have ended.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { defineJobs, job, worker } from '../jobs.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'

let number = 0
const types = () => ({
  sum: job({ retainMs: 60_000, retry: { attempts: 1 } }),
  other: job({ queue: `chains-other-${number}`, retainMs: 60_000, key: ({ k }) => k }),
})
const queued = (options) => defineJobs(types(), { queue: `chains-${number++}`, ...options })

onEachEngine('chains', (place) => {
  /** What handlers have seen: the arguments, and what was before them. */
  async function run(jobs, seen = []) {
    const handler = async ({ args, previous, previousId, meta }) => {
      if (args.fails) throw new Error('on purpose')
      seen.push([args.n, previous, previousId, meta.trace])
      return (previous ?? 0) + args.n
    }
    const w = worker(place.client, jobs, { sum: handler, other: handler })
    // What has ended may be added a moment later.
    for (let idle = 0; idle < 3;) idle = (await w.runUntilIdle()).started > 0 ? 0 : idle + 1
    return seen.sort(([a], [b]) => a - b)
  }

  test('a chain of several queues passes results on', async () => {
    const jobs = queued()
    const ref = await jobs.enqueue(
      place.client,
      'sum',
      { n: 1 },
      {
        id: 'first',
        then: [
          ['other', { n: 2, k: 'x' }, { id: 'second', meta: { trace: 't' } }],
          ['sum', { n: 3 }, { id: 'third' }],
        ],
        onFailure: [['sum', { n: 99 }]],
      },
    )
    assert.ok(ref.added)
    assert.deepEqual(await run(jobs), [
      [1, undefined, undefined, undefined],
      [2, 1, 'first', 't'],
      [3, 3, 'second', undefined],
    ])
    assert.equal((await jobs.ref(place.client, 'other', 'second').info()).key, 'x')
    assert.equal(await jobs.ref(place.client, 'sum', 'third').result({ waitMs: 0 }), 6)
  })

  test('failures and ends, of many jobs at once', async () => {
    const jobs = queued()
    const follow = (n) => ({
      onSuccess: [['sum', { n: n + 1 }]],
      onFailure: [['sum', { n: n + 2 }]],
      onEnd: [['sum', { n: n + 3 }]],
    })
    await jobs.enqueueMany(place.client, [
      ['sum', { n: 10 }, follow(10)],
      ['sum', { n: 20, fails: true }, follow(20)],
    ])
    const seen = await run(jobs)
    assert.deepEqual(
      seen.map(([n, previous]) => [n, previous]),
      [
        [10, undefined],
        [11, 10],
        [13, 10],
        [22, undefined],
        [23, undefined],
      ],
    )
  })

  test('jobs follow a group whose members have succeeded', async () => {
    const jobs = queued()
    const enqueued = await jobs.enqueueGroup(
      place.client,
      'g',
      [
        ['sum', { n: 1 }],
        ['other', { n: 2, k: 'x' }, { id: 'own' }],
        ['sum', { n: 3 }],
      ],
      {
        then: [
          ['other', { n: 10, k: 'x' }, { id: 'tenth' }],
          ['sum', { n: 11 }],
        ],
        onFailure: [['sum', { n: 99 }]],
        onEnd: [['sum', { n: 12 }]],
      },
    )
    const { group, jobs: added } = enqueued
    assert.equal(await enqueued.wait({ waitMs: 1 }), null)
    assert.deepEqual(
      added.map(({ id, queue, added }) => [id, queue, added]),
      [
        ['g/0', jobs.queueOf('sum'), true],
        ['own', jobs.queueOf('other'), true],
        ['g/2', jobs.queueOf('sum'), true],
      ],
    )
    assert.deepEqual([group.queue, group.id], [jobs.queueOf('sum'), 'g'])
    assert.deepEqual(
      (await run(jobs)).map(([n, previous, previousId]) => [n, previous, previousId]),
      [
        [1, undefined, undefined],
        [2, undefined, undefined],
        [3, undefined, undefined],
        [10, undefined, 'g'],
        [11, 10, 'tenth'],
        [12, undefined, 'g'],
      ],
    )
    const { kind, info } = await enqueued.wait({ waitMs: 30_000 })
    assert.deepEqual([kind, info.completed, info.group], ['completed', 3, group])
    const home = place.client.queue(group.queue)
    assert.equal(await home.removeGroup(group), true)
    assert.deepEqual(await enqueued.wait(), { kind: 'gone', info: null })
    const other = await home.createGroup('g')
    await home.addItem({ id: 'x', data: '', group: other, place: 0 })
    await home.sealGroup(other, 1)
    await home.remove('x')
    assert.equal((await home.groupOutcome('g')).kind, 'ended')
    assert.deepEqual(await enqueued.wait(), { kind: 'gone', info: null })
    const failing = [
      ['sum', { n: 1 }],
      ['sum', { n: 2, fails: true }],
    ]
    const ends = { onSuccess: [['sum', { n: 99 }]], onFailure: [['sum', { n: 3 }]] }
    await jobs.enqueueGroup(place.client, 'failing', failing, ends)
    assert.deepEqual(
      (await run(jobs)).map(([n, , previousId]) => [n, previousId]),
      [
        [1, undefined],
        [3, 'failing'],
      ],
    )
  })

  test('a cancelled group runs no more', async () => {
    const jobs = queued()
    const members = [
      ['sum', { n: 1 }],
      ['other', { n: 2, k: 'x' }],
    ]
    const ends = { onSuccess: [['sum', { n: 99 }]], onFailure: [['sum', { n: 3 }]] }
    const enqueued = await jobs.enqueueGroup(place.client, 'cancelled', members, ends)
    assert.equal(await enqueued.cancel(), true)
    assert.deepEqual(
      (await run(jobs)).map(([n, , previousId]) => [n, previousId]),
      [[3, 'cancelled']],
    )
    assert.equal((await enqueued.wait({ waitMs: 30_000 })).kind, 'ended')
    assert.equal(await enqueued.cancel(), false)
  })

  test('a group is added again after a crash', async () => {
    const jobs = defineJobs({ add: job() }, { queue: `chains-${number++}` })
    const queue = place.client.queue(jobs.queueOf('add'))
    const seen = []
    const work = async () => {
      const w = worker(place.client, jobs, { add: ({ args }) => void seen.push(args.n) })
      for (let idle = 0; idle < 3;) idle = (await w.runUntilIdle()).started > 0 ? 0 : idle + 1
      return seen.splice(0).sort()
    }
    // The program dies after it has added one of the members, which then ends.
    const item = await jobs.item('add', { n: 3 })
    const group = await queue.createGroup('g', { followUps: [{ on: 'completed', item }] })
    const first = { id: 'g/0', group, place: 0 }
    assert.ok((await jobs.enqueue(place.client, 'add', { n: 1 }, first)).added)
    assert.deepEqual(await work(), [1])
    const members = [
      ['add', { n: 1 }],
      ['add', { n: 2 }],
    ]
    for (const [added, ran] of [
      [
        [false, true],
        [2, 3],
      ],
      [[false, false], []],
    ]) {
      const again = await jobs.enqueueGroup(place.client, 'g', members, {
        then: [['add', { n: 3 }]],
      })
      assert.deepEqual(again.group, group)
      assert.deepEqual(
        again.jobs.map((ref) => ref.added),
        added,
      )
      assert.deepEqual(await work(), ran)
    }
    for (const [wrong, options, says] of [
      [[], {}, /0 jobs, not between 1 and 100000/],
      [[...members, ...members], {}, /another number of jobs/],
      [members, { nonsense: 1 }, /no option "nonsense"/],
      [members, { then: [['none', {}]] }, /there is no job "none"/],
      [members, { onEnd: 3 }, /onEnd: 3 is not a list/],
      [[['add', { n: NaN }]], {}, /NaN/],
    ]) {
      const error = await errorOf(jobs.enqueueGroup(place.client, 'g', wrong, options))
      assert.equal(error.code, 'INVALID', says)
      assert.match(error.message, says)
      // Nothing was added.
      assert.deepEqual(await work(), [])
    }
  })

  test('middleware sees all jobs of a chain', async () => {
    const names = []
    const trace = async (added, next) => {
      names.push(added.map(({ args, queue }) => [args.n, queue === 'elsewhere']))
      for (const { meta } of added) meta.trace = 't'
      await next()
    }
    const jobs = queued({ middleware: [trace] })
    const more = {
      then: [
        ['sum', { n: 2 }],
        ['sum', { n: 3 }, { queue: 'elsewhere' }],
      ],
    }
    const { added } = await jobs.enqueue(place.client, 'sum', { n: 1 }, more)
    assert.ok(added)
    assert.deepEqual(names, [
      [
        [1, false],
        [2, false],
        [3, true],
      ],
    ])
    names.length = 0
    await jobs.enqueueGroup(place.client, 'g', [['sum', { n: 4 }]], { then: [['sum', { n: 5 }]] })
    assert.deepEqual(names, [
      [
        [4, false],
        [5, false],
      ],
    ])
    assert.deepEqual(
      (await run(jobs)).map(([n, , , trace]) => [n, trace]),
      [
        [1, 't'],
        [2, 't'],
        [4, 't'],
        [5, 't'],
      ],
    )
  })

  test('what is wrong anywhere in a chain is refused before anything is added', async () => {
    const jobs = queued()
    const add = (options) => errorOf(jobs.enqueue(place.client, 'sum', { n: 1 }, options))
    const one = ['sum', { n: 1 }]
    const itself = [...one, {}]
    itself[2].onEnd = [itself]
    for (const [options, says] of [
      [{ then: [['none', {}]] }, /there is no job "none"/],
      [{ then: [one, ['sum', { n: NaN }]] }, /NaN/],
      [{ then: one }, /no list of a name and arguments/],
      [{ onEnd: 3 }, /onEnd: 3 is not a list/],
      [{ onEnd: [[...one, { nonsense: 1 }]] }, /no option "nonsense"/],
      [{ onEnd: [[...one, { priority: 99 }]] }, /priority/],
      [{ then: Array(17).fill(one) }, /16/],
      [{ onEnd: Array(17).fill(one) }, /16/],
      [{ onEnd: [itself] }, /more than 16 jobs that follow each other/],
      [{ then: [['sum', { n: 'x'.repeat(70_000) }]] }, /65536|64 KiB|65,536/],
    ]) {
      const error = await add(options)
      assert.equal(error.code, 'INVALID', says)
      assert.match(error.message, says)
    }
    assert.equal(await place.client.queue(jobs.queueOf('sum')).queueLen(), 0)
    assert.ok(
      (await jobs.enqueue(place.client, 'sum', one[1], { then: Array(16).fill(one) })).added,
    )
  })

  test('a result before that is no JSON makes the job dead', async () => {
    const jobs = queued()
    const queue = place.client.queue(jobs.queueOf('sum'))
    const item = await jobs.item('sum', { n: 1 }, { id: 'after' })
    const followUps = [{ on: 'completed', item, withTrigger: true }]
    await queue.addItem({ id: 'raw', data: '', followUps })
    const lease = await queue.lease({ durationMs: 30_000, waitMs: 0 })
    await queue.complete(lease, { result: 'no JSON' })
    await run(jobs)
    const { state, lastError } = await queue.get('after')
    assert.equal(state, 'dead')
    assert.match(lastError, /^Bury: the result of the previous job "raw": /)
  })
})
