// What only shows after a while: a blocked event loop, and what grows.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { onEachEngine } from './support/engines.mjs'
import { run } from './support/run.mjs'

// `make nightly` runs 200,000.
const CYCLES = Number(process.env.LEASEQ_CYCLES ?? 50_000)

onEachEngine('endurance', (place) => {
  test('a lease is kept alive while the event loop is blocked for ten seconds', async () => {
    const queue = place.queue()
    await queue.addItem('a')
    const lease = await queue.lease({ durationMs: 3_000, keepAlive: true })
    const first = lease.deadlineMs
    // Somebody else, who would get the item if the lease expired.
    const rival = run(
      `const client = await connect(url)
       const lease = await client.queue('${queue.name}').lease({ durationMs: 1_000, waitMs: 9_000 })
       console.log(lease)
       await client.close()`,
      place.url,
    )
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000)
    assert.equal(lease.isLost, false)
    assert.ok(lease.deadlineMs > first + 8_000, `${lease.deadlineMs - first}`)
    assert.equal(await queue.complete(lease, { strict: true }), true)
    assert.deepEqual(await rival, { code: 0, signal: null, printed: 'null\n' })
    assert.equal((await queue.counts()).totals.expired, 0)
  })

  test(`nothing grows over ${CYCLES} cycles`, async () => {
    const ended = await run(
      `import { readdirSync } from 'node:fs'
       const client = await connect(url)
       const queue = client.queue('cycles')
       const data = Buffer.alloc(100, 'x')
       let cycles = 0
       async function round(upTo) {
         const loop = async () => {
           while (cycles++ < upTo) {
             await queue.addItem(data)
             const controller = new AbortController()
             const { signal } = controller
             const keepAlive = cycles % 10 === 0
             const lease = await queue.lease({ durationMs: 60_000, keepAlive, signal })
             if (cycles % 10 === 1) void lease.signal
             if (lease.data.length !== 100) throw new Error('wrong data')
             if (cycles % 10 === 2) {
               const given = queue.lease({ durationMs: 60_000, signal })
               controller.abort()
               const other = await given.catch(() => null)
               if (other !== null) await queue.release(other)
             }
             await queue.complete(lease)
           }
         }
         await Promise.all(Array.from({ length: 100 }, loop))
       }
       const measure = () => {
         gc()
         const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
         const handles = process.getActiveResourcesInfo().length
         const files = readdirSync('/proc/self/fd').length
         const threads = readdirSync('/proc/self/task').length
         return { heapUsed, external, arrayBuffers, rss, handles, files, threads }
       }
       await round(${CYCLES / 5})
       const before = measure()
       await round(${CYCLES})
       await new Promise(setImmediate)
       const after = measure()
       console.log(JSON.stringify({ before, after }))
       await client.close()`,
      place.url,
      '--expose-gc',
    )
    assert.equal(ended.code, 0, ended.printed)
    const { before, after } = JSON.parse(ended.printed)
    for (const what of ['handles', 'files', 'threads']) {
      assert.ok(after[what] <= before[what] + 1, `${what}: ${before[what]}, then ${after[what]}`)
    }
    // 50 bytes for each of 50,000 cycles would be seen; the whole process breathes more.
    for (const [what, most] of Object.entries({
      heapUsed: 2_500_000,
      external: 2_500_000,
      arrayBuffers: 2_500_000,
      rss: 20_000_000,
    })) {
      const grown = after[what] - before[what]
      assert.ok(grown < most, `${what} grew by ${grown} bytes: ${ended.printed}`)
    }
  })
})
