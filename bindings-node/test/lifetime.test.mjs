// How clients, calls and leases end: with the process, with a worker thread, with the garbage.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

import { connect, LeaseLostError } from '../index.mjs'
import { errorOf, onEachEngine } from './support/engines.mjs'
import { run } from './support/run.mjs'
import { eventually } from './support/wait.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

const INDEX = JSON.stringify(new URL('../index.mjs', import.meta.url).href)

/** A worker thread that runs `script`, which sees `connect`, `url` and `say`. */
function thread(script, url) {
  const text = `
    const { parentPort, workerData: url } = require('node:worker_threads')
    const say = (word) => parentPort.postMessage(word)
    import(${INDEX}).then(async ({ connect }) => { ${script} })`
  return new Worker(text, { eval: true, workerData: url })
}

onEachEngine('lifetime', (place) => {
  test('the process ends by itself when only idle connections are left', async () => {
    const ended = await run(
      `const client = await connect(url)
       const queue = client.queue('idle')
       await queue.addItem('a')
       const lease = await queue.lease({ durationMs: 600_000, keepAlive: true })
       void lease.signal
       console.log(lease.text())`,
      place.url,
    )
    assert.deepEqual(ended, { code: 0, signal: null, printed: 'a\n' })
  })

  test('the process goes on while a call waits', async () => {
    const ended = await run(
      `const client = await connect(url)
       const lease = await client.queue('nothing').lease({ durationMs: 1_000, waitMs: 300 })
       console.log(lease)`,
      place.url,
    )
    assert.deepEqual(ended, { code: 0, signal: null, printed: 'null\n' })
  })

  test('the process can end in the middle of calls', async () => {
    const ended = await run(
      `const client = await connect(url)
       const queue = client.queue('exit')
       for (let i = 0; i < 1_000; i++) queue.addItem('a').then(() => queue.lease({ durationMs: 1 }))
       queue.lease({ durationMs: 1_000 })
       setTimeout(() => process.exit(7), 20)`,
      place.url,
    )
    assert.deepEqual(ended, { code: 7, signal: null, printed: '' })
  })

  test('close settles every pending call', async () => {
    const client = await connect(place.url)
    const queue = client.queue('close')
    const waiting = Array.from({ length: 50 }, () => errorOf(queue.lease({ durationMs: 1_000 })))
    const leases = queue.leases({ durationMs: 1_000 })
    const next = errorOf(leases.next())
    const others = [queue.addItem('a'), queue.counts(), queue.remove('none')]
    const settled = Promise.allSettled(others)
    await client.close()
    for (const error of [...waiting, next]) assert.equal((await error).code, 'CLOSED')
    await settled
  })

  test('a lease that is forgotten is not extended any more', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const take = async () => {
      const lease = await queue.lease({ durationMs: 2_000, keepAlive: true })
      void lease.signal
      return new WeakRef(lease)
    }
    const forgotten = await take()
    // It is extended while something refers to it: nobody else gets it in several of its durations.
    const held = await queue.lease({ durationMs: 2_000, waitMs: 0 })
    assert.equal(held, null)
    const again = await eventually('the item comes back', async () => {
      collect()
      return queue.lease({ durationMs: 60_000, waitMs: 20 })
    })
    assert.equal(forgotten.deref(), undefined)
    assert.equal(again.attempt, 2)
  })

  test('a lease that is kept alive is extended until it is settled', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const lease = await queue.lease({ durationMs: 2_000, keepAlive: true })
    const first = lease.deadlineMs
    await eventually('it is extended', () => lease.deadlineMs > first + 2_000)
    assert.equal(lease.isLost, false)
    assert.equal(await queue.complete(lease), true)
    assert.equal(lease.isLost, false)
    assert.equal((await queue.counts()).totals.expired, 0)
  })

  test('the signal of a lease says when it is lost', async () => {
    const queue = place.queue()
    await queue.addItems(['a', 'b', 'c'].map((id) => ({ id, data: '' })))
    const limited = { durationMs: 2_000, keepAlive: { limitMs: 2_000 } }
    const lease = await queue.lease(limited)
    const { signal } = lease
    assert.equal(signal, lease.signal)
    assert.equal(signal.aborted, false)
    await eventually('the signal is aborted', () => signal.aborted)
    assert.ok(signal.reason instanceof LeaseLostError)
    assert.match(signal.reason.message, /item "a": the lease is lost/)
    assert.equal(lease.isLost, true)

    const done = await queue.lease({ durationMs: 2_000 })
    const never = done.signal
    await queue.complete(done)
    await eventually('its deadline has passed', () => done.remainingMs === 0)
    await queue.counts()
    assert.equal(never.aborted, false)

    const late = await queue.lease({ durationMs: 1 })
    await eventually('it is lost', () => late.isLost)
    assert.equal(late.signal.aborted, true)
  })

  test('a worker thread has clients of its own, and ends by itself', async () => {
    const queue = place.queue()
    const workers = Array.from({ length: 3 }, () => {
      const worker = thread(
        `const client = await connect(url)
         const queue = client.queue('${queue.name}')
         say(await Promise.all(Array.from({ length: 100 }, () => queue.addItem('a'))))`,
        place.url,
      )
      return Promise.all([once(worker, 'message'), once(worker, 'exit')])
    })
    for (const [[added], exit] of await Promise.all(workers)) {
      assert.equal(added.filter(Boolean).length, 100)
      assert.deepEqual(exit, [0])
    }
    assert.equal(await queue.queueLen(), 300)
  })

  test('a worker thread that is terminated in calls leaves nothing leased that it did not get', async () => {
    const queue = place.queue()
    for (let i = 0; i < 10; i++) {
      const worker = thread(
        `const client = await connect(url)
         const queue = client.queue('${queue.name}')
         // As many waiting calls as there will be items.
         for (let i = 0; i < 20; i++) queue.lease({ durationMs: 600_000 }).then(() => say('got'))
         await queue.counts()
         say('waiting')
         for (;;) await queue.counts()`,
        place.url,
      )
      let got = 0
      const waiting = new Promise((resolve) => {
        worker.on('message', (word) => (word === 'got' ? (got += 1) : resolve()))
      })
      await waiting
      const ended = worker.terminate()
      const added = await queue.addItems(Array.from({ length: 20 }, () => 'a'))
      assert.equal(added.filter(Boolean).length, 20)
      await ended
      // What reached the thread's JavaScript is its own until the deadline; the rest comes back.
      await eventually('the rest is back', async () => (await queue.queueLen()) >= 20 - got - 1)
      await queue.purge('ready')
      await queue.purge('leased')
    }
  })

  test('a thread that is terminated in the middle of a storm does not crash the process', async () => {
    const ended = await run(
      `import { Worker } from 'node:worker_threads'
       import { once } from 'node:events'
       const script = \`
         const { parentPort, workerData: url } = require('node:worker_threads')
         import(${INDEX}).then(async ({ connect }) => {
           const queue = (await connect(url)).queue('storm')
           parentPort.postMessage('begun')
           const loop = async () => {
             for (;;) {
               await queue.addItem('a')
               const lease = await queue.lease({ durationMs: 1_000, keepAlive: true })
               await queue.complete(lease)
             }
           }
           for (let i = 0; i < 50; i++) loop()
         })\`
       for (let i = 0; i < 10; i++) {
         const worker = new Worker(script, { eval: true, workerData: url, execArgv: [] })
         await once(worker, 'message')
         for (let turns = 0; turns < 5 * i; turns++) await new Promise(setImmediate)
         await worker.terminate()
       }
       console.log('alive')`,
      place.url,
    )
    assert.deepEqual(ended, { code: 0, signal: null, printed: 'alive\n' })
  })
})
