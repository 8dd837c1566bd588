// Workers that own their process or thread, and handlers that harm it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker as Thread } from 'node:worker_threads'

import { connect } from '../index.mjs'
import { defineJobs, job, worker } from '../jobs.mjs'
import { eventually } from './support/wait.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const jobs = defineJobs({ a: job({ retry: { baseMs: 0 } }) })
let folder, url, client

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-jobs-'))
  url = `sqlite:${join(folder, 'jobs.db')}?synchronous=normal`
  client = await connect(url)
})
after(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

/** A worker whose handler is this code. It sees `job`, `client`, `url` and `sleep`. */
const script = (handler, options = {}, run = 'runProcess()') => `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { connect } from ${JSON.stringify(join(PACKAGE, 'index.mjs'))}
  import { defineJobs, job, worker } from ${JSON.stringify(join(PACKAGE, 'jobs.mjs'))}
  const { queue, timeoutMs, ...options } = ${JSON.stringify(options)}
  const client = await connect(${JSON.stringify(url)})
  const jobs = defineJobs({ a: job({ timeoutMs, retry: { baseMs: 0 } }) }, { queue })
  const handler = async (job) => { ${handler} }
  const exit = await worker(client, jobs, { a: handler }, options).${run}
  console.log(JSON.stringify(exit))`

async function start(handler, options, run) {
  const args = ['--input-type=module', '-e', script(handler, options, run)]
  const child = spawn(process.execPath, args, { timeout: 60_000 })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (data) => (printed.out += data))
  child.stderr.setEncoding('utf8').on('data', (data) => (printed.err += data))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...printed }))
  return { child, ended, printed }
}

async function startThread(code) {
  const file = join(folder, `${threads++}.mjs`)
  await writeFile(file, code)
  return new Thread(file)
}

let threads = 0
const add = (queue, id, args = {}) => jobs.enqueue(client, 'a', args, { queue, id })
const look = (queue, id) => client.queue(queue).get(id)

test('signals: the first one lets handlers end, the second cancels them', async () => {
  await add('signals', 'ends')
  await add('signals', 'waits')
  const { child, ended, printed } = await start(
    `console.log(job.id)
    if (job.id === 'ends') while ((await sleep(5), (await client.queue('go').queueLen()) === 0));
    else await sleep(60_000, undefined, { signal: job.signal })`,
    { queue: 'signals' },
  )
  await eventually('both run', () => /ends/.test(printed.out) && /waits/.test(printed.out))
  child.kill('SIGTERM')
  await client.queue('go').addItem('x')
  await eventually('one has ended', async () => (await look('signals', 'ends')) === null)
  assert.equal((await look('signals', 'waits')).state, 'leased')
  child.kill('SIGINT')
  const { code, err } = await ended
  assert.equal(code, 0, err)
  const { state, failures, expiries, releases } = await look('signals', 'waits')
  assert.deepEqual([state, failures, expiries, releases.reason], ['ready', 0, 0, 'shutdown'])
})

test('signals that come when the worker has ended do not change how the process ends', async () => {
  await add('late', 'one')
  const { child, ended, printed } = await start(
    `process.once('exit', () => {
      for (const signal of ['SIGTERM', 'SIGINT']) process.kill(process.pid, signal)
    })
    console.log('running')`,
    { queue: 'late' },
  )
  await eventually('it runs', () => /running/.test(printed.out))
  child.kill('SIGTERM')
  const { code, signal, err } = await ended
  assert.deepEqual([code, signal], [0, null], err)
})

test('a rejected promise that nobody awaits ends the worker in order, with status 1', async () => {
  await add('unhandled', 'long')
  await add('unhandled', 'bad')
  const { ended } = await start(
    `if (job.id === 'bad') void Promise.reject(new Error('nobody awaits this'))
    else { await sleep(300); return }`,
    { queue: 'unhandled' },
  )
  const { code, err } = await ended
  assert.equal(code, 1)
  assert.match(err, /nobody handles this error: Error: nobody awaits this/)
  assert.equal(await client.queue('unhandled').queueLen(), 0)
})

test('a handler that ends its process uses an attempt', async () => {
  await add('exits', 'a')
  const { ended } = await start('process.exit(7)', { queue: 'exits', leaseMs: 200 })
  assert.equal((await ended).code, 7)
  const attempts = []
  const next = worker(
    client,
    jobs,
    { a: ({ attempt }) => void attempts.push(attempt) },
    { queues: ['exits'] },
  )
  await next.start()
  await eventually('it is done', async () => (await look('exits', 'a')) === null)
  await next.stop()
  assert.deepEqual(attempts, [2])
})

test('an event loop that is blocked for ten leases keeps them', async () => {
  await add('blocked', 'a')
  const { ended, printed } = await start(
    `console.log('attempt', job.attempt)
    await sleep(50)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)`,
    { queue: 'blocked', leaseMs: 200, burst: true },
  )
  await eventually('it runs', () => /attempt 1/.test(printed.out))
  const other = worker(client, jobs, { a: () => assert.fail('twice') }, { queues: ['blocked'] })
  await other.start()
  const { code, err } = await ended
  assert.equal(code, 0, err)
  assert.equal((await other.stop()).started, 0)
  assert.equal(await client.queue('blocked').queueLen(), 0)
})

test('a handler that never resolves keeps its job until the process ends', async () => {
  await add('never', 'a')
  const options = { queue: 'never', timeoutMs: 50, killAfterMs: 50, concurrency: 1, graceMs: 0 }
  const { ended } = await start('await new Promise(() => undefined)', options)
  const { code, err } = await ended
  assert.equal(code, 1, err)
  const { state, failures, lastError } = await look('never', 'a')
  assert.deepEqual([state, failures], ['delayed', 1])
  assert.match(lastError, /Timeout/)
})

test('a thread that is terminated while its handlers run: their jobs fail', async () => {
  await add('thread', 'a')
  const code = script('await new Promise(() => undefined)', { queue: 'thread' }, 'run()')
  const thread = await startThread(code)
  await eventually('it runs', async () => (await look('thread', 'a')).state === 'leased')
  await thread.terminate()
  await eventually('it has failed', async () => (await look('thread', 'a')).failures === 1)
  assert.match((await look('thread', 'a')).lastError, /^Dropped/)
})

test('a thread whose handler ends it: its job fails', async () => {
  await add('quits', 'a')
  const code = script('process.exit(3)', { queue: 'quits' }, 'run()')
  const thread = await startThread(code)
  await once(thread, 'exit')
  await eventually('it has failed', async () => (await look('quits', 'a')).failures === 1)
})

test('jobs of a killed worker are delivered again', async () => {
  await add('killed', 'a')
  const { child, ended } = await start('await sleep(60_000)', { queue: 'killed', leaseMs: 300 })
  await eventually('it runs', async () => (await look('killed', 'a')).state === 'leased')
  child.kill('SIGKILL')
  assert.equal((await ended).signal, 'SIGKILL')
  const next = worker(client, jobs, { a: () => undefined }, { queues: ['killed'] })
  await next.start()
  await eventually('it is done', async () => (await look('killed', 'a')) === null)
  await next.stop()
})
