// The testee in Node.js. Requests and answers: `testees/README.md`.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'

import { Lease, LeaseqError, connect } from '../../../bindings-node/index.mjs'
import {
  additions,
  allCamel,
  allSnake,
  bytes,
  camel,
  completion,
  failure,
  followUp,
  generation,
  given,
  noted,
  group,
  groupInfo,
  groupOutcome,
  groupValue,
  info,
  item,
  lease,
  listing,
  lost,
  keyLimits,
  keys,
  outcome,
  put,
  revision,
  schedule,
  scheduleInfo,
  settings,
  settingsChange,
  snake,
  counts,
} from './wire.mjs'
import { block } from './script.mjs'
import { THREADS } from './children.mjs'
import { OPS, closeWorkers, obeyJobs } from './workers.mjs'

const CAN = 'block cancel chains children follow_ups hang job_groups jobs nul order threads'.split(
  ' ',
)
const IN_THREADS = 'chains follow_ups force_stop job_groups jobs'.split(' ')

const clients = new Map()
const leases = new Map()
const calls = new Map()

function keep(name, given) {
  if (given instanceof Lease) {
    leases.set(name, given)
    return lease(given)
  }
  return given.map((one, i) => keep(`${name}/${i}`, one))
}

/** In JavaScript a handle is forgotten when it is collected, in its own time. */
async function drop(name) {
  leases.delete(name)
  await setImmediate()
  globalThis.gc() // with --expose-gc
}

/** Waits until the signal of a lease aborts. */
async function waitCancelled({ signal }) {
  if (!signal.aborted) await once(signal, 'abort')
  return signal.reason.name === 'AbortError'
}

async function obey(request, signal) {
  const { op, client: name } = request
  if (op === 'hello') return THREADS ? { can: IN_THREADS, only: 'jobs' } : { can: CAN }
  if (op === 'block') return block(request.ms)
  if (op === 'connect') return void clients.set(name, await connect(request.url))
  if (op === 'cancel') return calls.get(request.call)?.abort()
  if (op === 'drop') return drop(request.lease)
  if (op === 'look') return lease(leases.get(request.lease))
  const client = clients.get(name)
  if (op === 'close') {
    closeWorkers(name)
    return client.close()
  }
  if (OPS.has(op)) return obeyJobs(client, request)
  if (op === 'queues') return client.queues()
  if (op === 'registry') return callRegistry(client, request)
  return operate(client.queue(request.queue), request, signal)
}

async function callRegistry(client, { operation, arguments: given }) {
  const [method, fields] = [camel(operation), allCamel(given)]
  switch (operation) {
    case 'command_worker':
      return client[method](fields.worker, fields.command)
    case 'quiet_worker':
    case 'resume_worker':
      return client[method](fields.name)
    default:
      return allSnake(await client[method](fields))
  }
}

async function operate(queue, request, signal) {
  const one = leases.get(request.lease)
  const many = (request.leases ?? []).map((name) => leases.get(name))
  const ids = (request.ids ?? []).map(bytes)
  const keepAlive = request.keep_alive ? given({ limitMs: request.keep_alive_limit_ms }) : undefined
  const [durationMs, waitMs] = [request.duration_ms, request.wait_ms]
  const how = given({ durationMs, waitMs, keepAlive, signal })
  const ended = given({ waitMs, expect: request.expect, signal })
  const complete = completion(request)
  const release = given({ delayMs: request.delay_ms, reason: request.reason })
  const fail = given({ delayMs: request.delay_ms, dead: request.dead, ...additions(request) })
  const error = request.error ?? ''
  const failures = many.map((one) => [one, error])
  switch (request.op) {
    case 'add_item':
      return queue.addItem(item(request))
    case 'add_items':
      return queue.addItems(request.items.map(item))
    case 'lease': {
      const got = await queue.lease(how)
      return got && keep(request.as, got)
    }
    case 'lease_many':
      return keep(request.as, await queue.leaseMany(request.count, how))
    case 'complete_and_lease': {
      const both = await queue.completeAndLease(many, request.count, { ...how, ...complete })
      return { completed: both.completed, leases: keep(request.as, both.leases) }
    }
    case 'complete':
      return queue.complete(one, complete)
    case 'complete_many':
      return queue.completeMany(many, complete)
    case 'extend':
      return queue.extend(one, durationMs)
    case 'extend_many':
      return (await queue.extendMany(many, durationMs)).map((at) => at ?? lost)
    case 'set_progress':
      return queue.setProgress(one, bytes(request.progress))
    case 'release':
      return queue.release(one, release)
    case 'release_many':
      return (await queue.releaseMany(many, release)).map((done) => (done ? null : lost))
    case 'fail':
      return queue.fail(one, error, fail)
    case 'fail_many':
      return (await queue.failMany(failures, fail)).map((state) => state ?? lost)
    case 'light_clean':
      return snake(await queue.lightClean())
    case 'counts':
      return counts(await queue.counts())
    case 'get':
      return info(await queue.get(bytes(request.id)))
    case 'get_many':
      return (await queue.getMany(ids, given({ data: request.with_data }))).map(info)
    case 'outcome':
      return outcome(await queue.outcome(bytes(request.id), ended))
    case 'outcome_many':
      return (await queue.outcomeMany(ids, ended)).map(outcome)
    case 'remove':
      return queue.remove(bytes(request.id), generation(request))
    case 'remove_many':
      return queue.removeMany(ids, generation(request))
    case 'requeue':
      return queue.requeue(ids, generation(request))
    case 'bury':
      return queue.bury(ids, given({ error: request.error, ...generation(request) }))
    case 'cancel_item':
      return queue.cancel(bytes(request.id), generation(request))
    case 'cancel_many':
      return queue.cancelMany(ids, generation(request))
    case 'attach':
      return queue.attach(bytes(request.id), followUp(request), generation(request))
    case 'attach_many':
      return queue.attachMany(
        request.attachments.map((one) => ({ id: bytes(one.id), followUp: followUp(one) })),
      )
    case 'create_group': {
      const followUps = request.follow_ups?.map(followUp)
      return groupValue(await queue.createGroup(bytes(request.id), given({ followUps })))
    }
    case 'seal_group':
      return queue.sealGroup(group(request.group), request.places)
    case 'cancel_group':
      return queue.cancelGroup(group(request.group))
    case 'remove_group':
      return queue.removeGroup(group(request.group))
    case 'group':
      return groupInfo(await queue.group(bytes(request.id)))
    case 'group_outcome':
      return groupOutcome(await queue.groupOutcome(bytes(request.id), ended))
    case 'group_places':
      return queue.groupPlaces(group(request.group), given({ first: request.first }))
    case 'wait_cancelled':
      return waitCancelled(one)
    case 'revise': {
      const { id, ...changed } = revision(request)
      return queue.revise(id, changed)
    }
    case 'revise_many':
      return queue.reviseMany(request.revisions.map(revision))
    case 'list': {
      const page = await queue.list(request.state, listing(request))
      return { ...page, items: page.items.map(info) }
    }
    case 'configure': {
      const options = given({ revision: request.revision })
      return settings(await queue.configure(settingsChange(request.change), options))
    }
    case 'set_key_limits':
      return queue.setKeyLimits(keyLimits(request.limits))
    case 'get_keys':
      return keys(await queue.getKeys(request.keys.map(bytes)))
    case 'settings':
      return settings(await queue.settings())
    case 'pause':
      return queue.pause(given({ durationMs: request.duration_ms, ...noted(request) }))
    case 'put_schedule':
      return queue.putSchedule(...put(request))
    case 'sync_schedules': {
      const { owner, revision, schedules } = request
      return queue.syncSchedules(owner, revision, schedules.map(schedule))
    }
    case 'record_history':
      return queue.recordHistory(allCamel(request.measured))
    case 'history':
      return allSnake(await queue.history(request.kind))
    case 'events': {
      const { after, limit, wait_ms: waitMs } = request
      return allSnake(await queue.events({ after, limit, waitMs, signal }))
    }
    case 'schedules':
      return (await queue.schedules(given({ data: request.with_data }))).map(scheduleInfo)
    case 'remove_schedule':
      return queue.removeSchedule(request.name)
    case 'pause_schedule':
      return queue.pauseSchedule(request.name, noted(request))
    case 'resume_schedule':
      return queue.resumeSchedule(request.name)
    case 'run_now':
      return queue.runNow(request.name)
    case 'purge':
      return queue.purge(request.state)
    default: // queue_len, processing, deep_clean, check, resume, drop_queue
      return queue[request.op.replace(/_(.)/, (_, letter) => letter.toUpperCase())]()
  }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const request = JSON.parse(line)
  const abort = new AbortController()
  if (request.call && request.op !== 'cancel') calls.set(request.call, abort)
  const answer = await obey(request, abort.signal).then(
    (gives) => ({ gives: gives ?? null }),
    (error) => {
      if (error instanceof LeaseqError) return { fails: failure(error) }
      if (error === abort.signal.reason) return { gives: 'cancelled' }
      throw error
    },
  )
  process.stdout.write(`${JSON.stringify({ n: request.n, ...answer })}\n`)
})
