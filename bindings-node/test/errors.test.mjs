// Every error has its class and code, whichever way it comes.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import * as leaseq from '../index.mjs'
import { AT_ONCE, errorOf, onEachEngine } from './support/engines.mjs'
import { command, startRedis } from './support/redis.mjs'
import { eventually } from './support/wait.mjs'

const { connect, LeaseqError } = leaseq
const CLASSES = {
  INVALID: leaseq.InvalidError,
  LEASE_LOST: leaseq.LeaseLostError,
  UNAVAILABLE: leaseq.UnavailableError,
  INCOMPATIBLE: leaseq.IncompatibleError,
  CLOSED: leaseq.ClosedError,
  INTERNAL: leaseq.InternalError,
}
const seen = new Set()

function expect(error, code, text = /^[^A-Z].*[^.]$/s) {
  assert.ok(error instanceof LeaseqError, `${error?.stack ?? error}`)
  assert.ok(error instanceof CLASSES[code], `${error.name}: ${error.message}`)
  assert.equal(error.code, code)
  assert.equal(error.name, CLASSES[code].name)
  assert.equal(error.retryable, code === 'UNAVAILABLE')
  assert.match(error.message, text)
  seen.add(code)
}

after(() => assert.deepEqual([...seen].sort(), Object.keys(CLASSES).sort()))

onEachEngine('what is wrong is said before anything is touched', (place) => {
  const cases = {
    'data of a wrong type': [(q) => q.addItem(5), /data: 5 is neither/],
    'data that is missing': [(q) => q.addItem(), /data: undefined is neither/],
    'data of another view': [(q) => q.addItem(new DataView(new ArrayBuffer(1))), /DataView/],
    'an item without data': [(q) => q.addItem({ id: 'a' }), /data: undefined is neither/],
    'an item that is null': [(q) => q.addItem(null), /null is not an object/],
    'data and json': [(q) => q.addItem({ data: '', json: 1 }), /not both/],
    'json of a function': [(q) => q.addItem({ json: () => 1 }), /cannot be written as json/],
    'json with a bigint': [(q) => q.addItem({ json: 1n }), /cannot be written as json/],
    'half a surrogate pair': [(q) => q.addItem('a\ud800'), /surrogate/],
    'half a surrogate pair in an id': [(q) => q.addItem({ id: '\udc00', data: '' }), /surrogate/],
    'an empty id': [(q) => q.addItem({ id: '', data: '' }), /id "" has 0 bytes.*512/],
    'a long id': [(q) => q.addItem({ id: 'ü'.repeat(257), data: '' }), /514 bytes.*512/],
    'too much data': [(q) => q.addItem(Buffer.alloc((8 << 20) + 1)), /8388609 bytes.*8388608/],
    'a high priority': [(q) => q.addItem({ data: '', priority: 10 }), /priority 10.*0 and 9/],
    'a low priority': [(q) => q.addItem({ data: '', priority: -1 }), /priority -1.*0 and 9/],
    'a broken priority': [(q) => q.addItem({ data: '', priority: 0.5 }), /0\.5.*0 and 9/],
    'a priority of text': [(q) => q.addItem({ data: '', priority: '1' }), /priority: "1" is not/],
    'a huge priority': [(q) => q.addItem({ data: '', priority: 256 }), /256.*0 and 9/],
    'no attempts': [(q) => q.addItem({ data: '', maxAttempts: 0 }), /0.*1 and 65535/],
    'a negative delay': [(q) => q.addItem({ data: '', delayMs: -1 }), /delay of -1 ms/],
    'a long delay': [(q) => q.addItem({ data: '', delayMs: 367 * 86_400_000 }), /366 days/],
    'an endless delay': [(q) => q.addItem({ data: '', delayMs: Infinity }), /Infinity|inf/],
    'an unknown option of an item': [(q) => q.addItem({ data: '', delay: 5 }), /no option "delay"/],
    'one bad item of many': [
      (q) => q.addItems(['a', { id: 'b', data: '', priority: -1 }]),
      /item "b": priority -1/,
    ],
    'one item of a wrong type': [(q) => q.addItems(['a', 5]), /data: 5/],
    'no lease options': [(q) => q.lease(), /undefined is not an object/],
    'no duration': [(q) => q.lease({}), /durationMs: undefined is not a number/],
    'a duration of NaN': [(q) => q.lease({ durationMs: NaN }), /NaN ms/],
    'a duration of 0': [(q) => q.lease({ durationMs: 0 }), /0 ms.*30 days/],
    'a long duration': [(q) => q.lease({ durationMs: 31 * 86_400_000 }), /30 days/],
    'a negative wait': [(q) => q.lease({ durationMs: 1, waitMs: -1 }), /wait of -1 ms/],
    'a misspelt option': [(q) => q.lease({ duration: 1 }), /no option "duration".*durationMs/],
    'keepAlive as text': [(q) => q.lease({ durationMs: 1, keepAlive: 'yes' }), /"yes"/],
    'a short keepAlive': [
      (q) => q.lease({ durationMs: 100, keepAlive: { limitMs: 1 } }),
      /limit of 1ms is shorter/,
    ],
    'a signal that is none': [(q) => q.lease({ durationMs: 1, signal: {} }), /not an AbortSignal/],
    'leases of none': [(q) => q.leaseMany(0, AT_ONCE), /0/],
    'a broken number of leases': [(q) => q.leaseMany(1.5, AT_ONCE), /1\.5/],
    'completing nothing': [(q) => q.complete(), /no lease/],
    'completing what is no lease': [(q) => q.completeMany([{}]), /no lease/],
    'completing what is no list': [(q) => q.completeMany(5), /leases: 5 is not a list/],
    'failing leases without errors': [(q) => q.failMany([{}]), /not a list/],
    'adding the letters of a text': [(q) => q.addItems('abc'), /items: "abc" is not a list/],
    'adding the bytes of a buffer': [(q) => q.addItems(Buffer.from('a')), /not a list/],
    'removing the letters of a text': [(q) => q.removeMany('abc'), /ids: "abc" is not a list/],
    'an unknown state': [(q) => q.list('done'), /"done".*ready, delayed, leased, dead/],
    'an unknown state to purge': [(q) => q.purge('all'), /"all"/],
    'a limit of 0': [(q) => q.list('ready', { limit: 0 }), /limit of 0/],
    'a limit of 1,001': [(q) => q.list('ready', { limit: 1001 }), /1001.*1000/],
    'a prefix that is too long': [
      (q) => q.list('ready', { idPrefix: 'x'.repeat(513) }),
      /id_prefix of 513 bytes.*512/,
    ],
    'a time that is none': [(q) => q.list('ready', { sinceMs: NaN }), /since NaN ms: not a time/],
    'an option that there is not': [(q) => q.list('ready', { prefix: 'x' }), /prefix.*idPrefix/],
    'data that is no flag': [(q) => q.getMany(['a'], { data: 1 }), /data: 1 is not true or false/],
    'a cursor of nobody': [(q) => q.list('ready', { cursor: 'x' }), /cursor/],
    'an id of a wrong type': [(q) => q.get(5), /id: 5/],
    'an empty id to remove': [(q) => q.removeMany(['a', '']), /0 bytes/],
    'options that are none': [(q) => q.counts('fast'), /"fast" is not an object/],
    'options that are none, to drop': [(q) => q.dropQueue('all'), /"all" is not an object/],
    'an unknown option to drop': [(q) => q.dropQueue({ state: 'dead' }), /no option "state"/],
    'a force that is none': [(q) => q.dropQueue({ force: 1 }), /force: 1/],
    'a signal that is none to drop': [(q) => q.dropQueue({ signal: 5 }), /5 is not an AbortSignal/],
    'an unknown option of a call': [(q) => q.counts({ timeout: 5 }), /no option "timeout"/],
  }
  for (const [what, [attempt, text]] of Object.entries(cases)) {
    test(what, async () => {
      const queue = place.queue()
      expect(await errorOf(attempt(queue)), 'INVALID', text)
      assert.equal((await queue.counts()).totals.added, 0)
    })
  }

  test('the name of a queue', () => {
    for (const name of ['', 'a b', 'x'.repeat(129), 'ü', undefined, 5]) {
      try {
        place.client.queue(name)
        assert.fail(`${name}`)
      } catch (error) {
        expect(error, 'INVALID')
      }
    }
  })

  test('a lease of another queue', async () => {
    const [one, other] = [place.queue(), place.queue()]
    await one.addItem('a')
    const lease = await one.lease(AT_ONCE)
    for (const attempt of [
      other.complete(lease),
      other.extend(lease, 1_000),
      other.setProgress(lease, 'x'),
      other.release(lease),
      other.fail(lease, 'x'),
      other.completeMany([lease]),
    ].map(errorOf)) {
      expect(await attempt, 'INVALID', /was given to queue/)
    }
    assert.equal(await one.complete(lease), true)
  })

  test('a value out of its limits, later', async () => {
    const queue = place.queue()
    await queue.addItem('not json')
    const lease = await queue.lease(AT_ONCE)
    for (const attempt of [
      queue.extend(lease, -1),
      queue.extend(lease, 'long'),
      queue.setProgress(lease, 5),
      queue.setProgress(lease, '\ud800'),
      queue.setProgress(lease, 'x'.repeat(1_025)),
      queue.release(lease, { delayMs: NaN }),
      queue.fail(lease, 'x', { delayMs: -5 }),
      queue.complete(lease, { strict: 'yes' }),
      queue.extendMany([lease], 0),
    ].map(errorOf)) {
      expect(await attempt, 'INVALID')
    }
    assert.throws(
      () => lease.json(),
      (error) => (expect(error, 'INVALID', /json/), true),
    )
    // None of them counts as completed or given back.
    await lease[Symbol.asyncDispose]()
    assert.equal(await queue.queueLen(), 1)
  })

  test('a lease that is lost', async () => {
    const queue = place.queue()
    await queue.addItem({ id: 'mine', data: '' })
    const lease = await queue.lease({ durationMs: 1 })
    await eventually('it is reclaimed', async () => (await queue.lightClean()).expired > 0)
    for (const attempt of [
      queue.setProgress(lease, 'late'),
      queue.extend(lease, 1_000),
      queue.release(lease),
      queue.fail(lease, 'late'),
    ].map(errorOf)) {
      expect(await attempt, 'LEASE_LOST', /"mine"/)
    }
    assert.equal(lease.isLost, true)
    assert.equal(await queue.complete(lease, { strict: true }), false)
  })

  test('a client that is closed', async () => {
    const client = await connect(place.url)
    const queue = client.queue('closing')
    const waiting = errorOf(queue.lease({ durationMs: 1_000 }))
    await client.close()
    await client.close()
    expect(await waiting, 'CLOSED')
    expect(await errorOf(queue.addItem('a')), 'CLOSED')
    expect(await errorOf(client.queues()), 'CLOSED')
    expect(await errorOf(queue.dropQueue()), 'CLOSED')
    try {
      client.queue('another')
      assert.fail('a queue of a closed client')
    } catch (error) {
      expect(error, 'CLOSED')
    }
  })

  test('the error of a call tells where it was made', async () => {
    const caller = async () => {
      await place.queue().addItem({ data: '', priority: 10 })
    }
    assert.match((await errorOf(caller())).stack, /at async caller .*errors\.test\.mjs/)
  })
})

test('a URL that is wrong', async () => {
  for (const [url, options, text] of [
    ['foo://x', {}, /unknown url scheme/],
    ['', {}, /url/],
    [5, {}, /5 is not a string/],
    ['memory:', { namespace: 5 }, /namespace: 5/],
    ['memory:', { timeoutMs: '5' }, /timeoutMs: "5"/],
    ['memory:', { timeoutMs: 1 }, /timeout of 1 ms/],
    ['memory:', { maxData: 0 }, /max_data of 0/],
    ['memory:', { retries: 5 }, /no option "retries"/],
    ['memory:', { replicas: 1 }, /replicas is for servers/],
    ['memory:', { fsync: 'local' }, /fsync is for servers/],
    ['redis://127.0.0.1:1', { replicas: 11 }, /replicas of 11 is not between 0 and 10/],
    ['redis://127.0.0.1:1', { replicas: -1 }, /replicas -1 is not a whole number/],
    ['redis://127.0.0.1:1', { fsync: 0 }, /fsync of 0 is not between 1 and 10/],
    ['redis://127.0.0.1:1', { fsync: 'all' }, /fsync: "all"/],
    ['memory:?nonsense=1', {}, /nonsense/],
  ]) {
    expect(await errorOf(connect(url, options)), 'INVALID', text)
  }
})

test('no URL at all', async () => {
  const { LEASEQ_URL, REDIS_URL } = process.env
  delete process.env.LEASEQ_URL
  delete process.env.REDIS_URL
  try {
    expect(await errorOf(connect()), 'INVALID', /LEASEQ_URL or REDIS_URL/)
    process.env.REDIS_URL = 'foo:'
    expect(await errorOf(connect()), 'INVALID', /unknown url scheme/)
    process.env.LEASEQ_URL = 'memory:'
    await (await connect()).close()
  } finally {
    delete process.env.LEASEQ_URL
    delete process.env.REDIS_URL
    Object.assign(process.env, LEASEQ_URL && { LEASEQ_URL }, REDIS_URL && { REDIS_URL })
  }
})

test('no server, and a password that is not told', async () => {
  const error = await errorOf(connect('redis://user:hunter2@127.0.0.1:1/', { timeoutMs: 50 }))
  expect(error, 'UNAVAILABLE')
  assert.equal(error.outcomeUnknown, false)
  assert.ok(!`${error.stack}`.includes('hunter2'), error.stack)
})

test('a URL where the options belong is not told', async () => {
  const error = await errorOf(connect(undefined, 'redis://user:hunter2@127.0.0.1:1/'))
  expect(error, 'INVALID', /options are a string/)
  assert.ok(!`${error.stack}`.includes('hunter2'), error.stack)
})

test('a server that gives no answer', async () => {
  const server = await startRedis()
  const client = await connect(server.url, { timeoutMs: 200 })
  const queue = client.queue('a')
  await queue.addItem('a')
  server.freeze()
  const error = await errorOf(queue.addItem('b'))
  server.thaw()
  expect(error, 'UNAVAILABLE')
  assert.equal(error.outcomeUnknown, true)
  await client.close()
  await server.stop()
})

test('a server that gives no answer leaves it open whether leases are completed', async () => {
  const server = await startRedis()
  const client = await connect(server.url, { timeoutMs: 200 })
  const queue = client.queue('a')
  await queue.addItems(['a', 'b', 'c'])
  const leases = await queue.leaseMany(3, AT_ONCE)
  server.freeze()
  const calls = [
    queue.complete(leases[0]),
    queue.completeMany([leases[1]]),
    queue.completeAndLease([leases[2]], 1, AT_ONCE),
  ]
  const errors = await Promise.all(calls.map(errorOf))
  server.thaw()
  for (const error of errors) expect(error, 'UNAVAILABLE')
  // A call that was not sent because others went before it is not executed, and says so.
  assert.deepEqual(
    leases.map(({ completed }) => completed),
    errors.map(({ outcomeUnknown }) => (outcomeUnknown ? null : false)),
  )
  assert.ok(errors.some(({ outcomeUnknown }) => outcomeUnknown))
  assert.ok(leases.every(({ isSettled }) => !isSettled))
  await client.close()
  await server.stop()
})

test('a server that would throw items away', async () => {
  const server = await startRedis('--maxmemory-policy', 'allkeys-lru')
  expect(await errorOf(connect(server.url)), 'INCOMPATIBLE', /noeviction/)
  await server.stop()
})

test('a queue that somebody else has written to', async () => {
  const server = await startRedis()
  const client = await connect(server.url)
  const queue = client.queue('a')
  await queue.addItem('a')
  await command(server, 'RENAME leaseq:{a}:items leaseq:{a}:aside')
  await command(server, 'SET leaseq:{a}:items x')
  expect(await errorOf(queue.lease(AT_ONCE)), 'INTERNAL')
  await client.close()
  await server.stop()
})
