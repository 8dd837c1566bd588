// leaseq beside BullMQ and bee-queue, in one run, on one server of its own for each: the same data,
// 100 calls or handlers at once, handlers that do nothing. The rounds take turns, and the median of
// the ratios counts; `--rounds N` sets how many. The peers stand in a folder of their own: `--peers FOLDER`.
//
// Each is used as its documentation says for throughput: leaseq with 100 loops over leases that complete
// as they go on, which is what the workers of the others do by themselves, and with a worker for jobs, with and
// without `prefetch`; BullMQ with one worker of concurrency 100 and with what is completed removed; bee-queue without events, with what succeeded removed. A peer
// that is not there, fails or does not come to an end is reported, and the others go on.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

import { connect } from '../index.mjs'
import { defineJobs, job, worker } from '../jobs.mjs'
import { startRedis } from '../test/support/redis.mjs'
import {
  addInBulk,
  addSingly,
  AT_ONCE,
  DATA,
  expect,
  median,
  processInBulk,
  processInLoops,
  processSingly,
  rate,
  readArguments,
} from './measure.mjs'
import { Report } from './report.mjs'

const { quick, json, rounds: wanted, peers } = readArguments()
const ROUNDS = wanted ?? (quick ? 1 : 7)
const TOTAL = quick ? 500 : 20_000
/** leaseq does it so many times over, on a queue of its own each time: once is too short to measure. */
const TIMES = quick ? 1 : 5

const folder = resolve(peers)
const require = createRequire(join(folder, 'package.json'))
/** For one round of one peer. */
const LIMIT_MS = 120_000

/** `AT_ONCE` loops that add until the total is reached. */
async function addAll(total, add) {
  let left = total
  const loop = async () => {
    while (left-- > 0) await add()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  return total
}

async function leaseq(server, name) {
  const client = await connect(server.url)
  const queues = Array.from({ length: TIMES }, (_, i) => client.queue(`${name}-${i}`))
  const all = (work) =>
    rate(async () => {
      for (const queue of queues) expect('items', await work(queue), TOTAL)
      return TIMES * TOTAL
    })
  const add = await all((queue) => addSingly(queue, TOTAL))
  const work = await all((queue) => processInLoops(queue))
  for (const queue of queues) await addInBulk(queue, TOTAL)
  const twoCalls = await all((queue) => processSingly(queue))
  const bulkAdd = await all((queue) => addInBulk(queue, TOTAL))
  const bulkWork = await all((queue) => processInBulk(queue))
  const jobs = await asJobs(client, name)
  await client.close()
  return { add, work, twoCalls, bulkAdd, bulkWork, ...jobs }
}

/** The same with jobs: a worker whose handler does nothing. */
async function asJobs(client, name) {
  const queues = Array.from({ length: TIMES }, (_, i) => `${name}-jobs-${i}`)
  const jobs = defineJobs({ job: job() })
  const all = (work) =>
    rate(async () => {
      for (const queue of queues) expect('jobs', await work(queue), TOTAL)
      return TIMES * TOTAL
    })
  const args = { data: DATA }
  const enqueueAll = (queue) => addAll(TOTAL, () => jobs.enqueue(client, 'job', args, { queue }))
  const jobsAdd = await all(enqueueAll)
  const handlers = { job: async () => {} }
  const work = (prefetch) =>
    all(async (queue) => {
      const options = { queues: [queue], concurrency: AT_ONCE, prefetch }
      return (await worker(client, jobs, handlers, options).runUntilIdle()).started
    })
  const jobsWork = await work(0)
  for (const queue of queues) await enqueueAll(queue)
  const jobsAhead = await work(AT_ONCE)
  for (const queue of queues) expect('jobs left', await client.queue(queue).queueLen(), 0)
  return { jobsAdd, jobsWork, jobsAhead }
}

async function bullmq(server, name) {
  const { Queue, Worker } = require('bullmq')
  const connection = { host: '127.0.0.1', port: server.port, maxRetriesPerRequest: null }
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true }
  const queue = new Queue(name, { connection, defaultJobOptions })
  await queue.waitUntilReady()
  const add = await rate(() => addAll(TOTAL, () => queue.add('job', DATA)))
  const work = await rate(() => bullWork(Worker, name, connection))
  const jobs = (count) => Array.from({ length: count }, () => ({ name: 'job', data: DATA }))
  const bulkAdd = await rate(async () => {
    for (let added = 0; added < TOTAL; added += 1000) {
      await queue.addBulk(jobs(Math.min(1000, TOTAL - added)))
    }
    return TOTAL
  })
  await queue.close()
  return { add, work, bulkAdd }
}

async function bullWork(Worker, name, connection) {
  let done = 0
  const worker = new Worker(name, async () => {}, { connection, concurrency: AT_ONCE })
  await new Promise((resolve, reject) => {
    worker.on('error', reject)
    worker.on('completed', () => {
      if (++done === TOTAL) resolve()
    })
  })
  await worker.close()
  return TOTAL
}

async function beeQueue(server, name) {
  const BeeQueue = require('bee-queue')
  const options = {
    redis: { host: '127.0.0.1', port: server.port },
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
  }
  const queue = new BeeQueue(name, { ...options, isWorker: false })
  await queue.ready()
  const add = await rate(() => addAll(TOTAL, () => queue.createJob(DATA).save()))
  const jobs = (count) => Array.from({ length: count }, () => queue.createJob(DATA))
  const worker = new BeeQueue(name, options)
  await worker.ready()
  const work = await rate(async () => {
    let done = 0
    const drained = new Promise((resolve, reject) => {
      worker.on('error', reject)
      worker.on('succeeded', () => {
        if (++done === TOTAL) resolve()
      })
    })
    worker.process(AT_ONCE, async () => {})
    await drained
    return TOTAL
  })
  await worker.close()
  const bulkAdd = await rate(async () => {
    for (let added = 0; added < TOTAL; added += 1000) {
      const failed = await queue.saveAll(jobs(Math.min(1000, TOTAL - added)))
      expect('jobs not saved', failed.size, 0)
    }
    return TOTAL
  })
  await queue.close()
  return { add, work, bulkAdd }
}

const PEERS = { leaseq, BullMQ: bullmq, 'bee-queue': beeQueue }
const rounds = []
/** Why a peer is out, by its name. */
const failures = {}

/** What became of it: rejected when it takes too long. */
function inTime(work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${LIMIT_MS} ms`)), LIMIT_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
for (let i = 0; i < ROUNDS; i++) {
  const rates = {}
  for (const [peer, measure] of Object.entries(PEERS)) {
    if (failures[peer] !== undefined) continue
    // A server of its own, as young as the others'.
    const server = await startRedis('--maxmemory-policy', 'noeviction')
    try {
      rates[peer] = await inTime(measure(server, `bench-${i}`))
    } catch (error) {
      if (peer === 'leaseq') throw error
      failures[peer] = String(error?.message ?? error).split('\n')[0]
    } finally {
      await server.stop()
    }
  }
  rounds.push(rates)
}

const report = new Report(quick)
const packages = { BullMQ: 'bullmq', 'bee-queue': 'bee-queue' }

/** Name and version, as far as they are known. */
function titled(peer) {
  const name = packages[peer]
  if (name === undefined) return peer
  try {
    const file = join(folder, 'node_modules', name, 'package.json')
    return `${peer} ${JSON.parse(readFileSync(file, 'utf8')).version}`
  } catch {
    return peer
  }
}

/** The median of the rounds; null when there is none. */
function figure(of, peer) {
  if (failures[peer] !== undefined) return null
  return median(rounds.map(of))
}

const KINDS = [
  ['add', 'add', `${AT_ONCE} at once`],
  ['work', 'process', `${AT_ONCE} at once`],
  ['twoCalls', 'process, two calls each', `${AT_ONCE} at once`],
  ['bulkAdd', 'add', 'by 1,000'],
  ['bulkWork', 'process', 'by 1,000'],
  ['jobsAdd', 'jobs: add', `${AT_ONCE} at once`],
  ['jobsWork', 'jobs: process', `${AT_ONCE} at once`],
  ['jobsAhead', 'jobs: process', `${AT_ONCE} at once, prefetch ${AT_ONCE}`],
]
/** What has no counterpart in the others. */
const OURS = new Set(['twoCalls', 'bulkWork', 'jobsAdd', 'jobsWork', 'jobsAhead'])
for (const peer of Object.keys(PEERS)) {
  for (const [kind, name, concurrency] of KINDS) {
    if (OURS.has(kind) && peer !== 'leaseq') continue
    const note = failures[peer] ?? ''
    const rate = figure((rates) => rates[peer][kind], peer)
    report.add('', `${titled(peer)}: ${name}, ${concurrency}`, rate, '/s', { concurrency, note })
  }
}

/** A ratio of two rates, each of a peer and a kind. */
function compare(target, what, [peer, kind], [other, of], atLeast) {
  const ratio = (rates) => rates[peer][kind] / rates[other][of]
  const middle = figure(ratio, other)
  const ratios = middle === null ? [] : rounds.map(ratio)
  const spread = `${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)}`
  const note = failures[other] ?? `${ROUNDS} rounds, ${spread}`
  const concurrency = `${AT_ONCE} at once`
  report.add(target, `${what}, ${concurrency}`, middle, '×', { atLeast, concurrency, note })
}

for (const [peer, atLeast] of [
  ['BullMQ', 5],
  ['bee-queue', null],
]) {
  const [third, fourteenth] = atLeast === null ? ['', ''] : ['3', '14']
  for (const [kind, name] of KINDS.slice(0, 2)) {
    compare(third, `leaseq / ${peer}: ${name}`, ['leaseq', kind], [peer, kind], atLeast)
  }
  const what = `leaseq's jobs / ${peer}: process`
  compare('', what, ['leaseq', 'jobsWork'], [peer, 'work'], null)
  compare(fourteenth, `${what}, with prefetch`, ['leaseq', 'jobsAhead'], [peer, 'work'], atLeast)
}
compare('13', 'jobs / items: process', ['leaseq', 'jobsWork'], ['leaseq', 'work'], 0.6)
report.print()
if (json !== undefined) report.write(json)
// A peer that did not come to an end may keep the process.
process.exit()
