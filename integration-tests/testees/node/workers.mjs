// Jobs and workers of the testee.

import {
  JobCancelledError,
  JobFailedError,
  JobGoneError,
  JobNotRetainedError,
  JobRemovedError,
  JobTimeoutError,
  defineJobs,
  job,
  worker,
} from '../../../bindings-node/jobs.mjs'
import { Children, THREADS } from './children.mjs'
import { jobsOf, retry } from './jobs.mjs'
import { Notes } from './notes.mjs'
import { given } from './wire.mjs'

const refs = new Map()
const workers = new Map()

const text = (digits) => (digits === undefined ? undefined : Buffer.from(digits, 'hex').toString())
const key = ({ client, worker = 'worker' }) => JSON.stringify([client, worker])

/** What a request asks of a new job. */
const enqueueOptions = (request) =>
  given({
    id: text(request.id),
    unique: text(request.unique),
    uniqueForMs: request.unique_for_ms,
    priority: request.priority,
    delayMs: request.delay_ms,
    dueAtMs: request.due_at_ms,
    maxAttempts: request.max_attempts,
    retainMs: request.retain_ms,
    expiresInMs: request.expires_in_ms,
    replace: request.replace,
    successor: request.successor,
    timeoutMs: request.timeout_ms,
    retry: retry(request.retry),
    meta: request.meta,
    queue: request.queue,
    then: following(request.then),
    onFailure: following(request.on_failure),
    onEnd: following(request.on_end),
  })

const following = (jobs) =>
  jobs?.map((request) => [request.job, request.args, enqueueOptions(request)])

/** The names of a job and of those that follow it. */
const names = ({ job, then = [], on_failure: failure = [], on_end: end = [] }) => [
  job,
  ...[...then, ...failure, ...end].flatMap(names),
]

async function enqueue(client, request) {
  // Without a schema: producers of other versions are not asked what fits.
  const types = names(request).map((name) => [name, job()])
  const jobs = defineJobs(Object.fromEntries(types), { queue: request.queue })
  const ref = await jobs.enqueue(client, request.job, request.args, enqueueOptions(request))
  refs.set(request.as, ref)
  return ref.added
}

async function enqueueGroup(client, request) {
  const {
    queue,
    id,
    jobs: members,
    then = [],
    on_failure: failure = [],
    on_end: end = [],
  } = request
  const types = [...members, ...then, ...failure, ...end].flatMap(names)
  const jobs = defineJobs(Object.fromEntries(types.map((name) => [name, job()])), { queue })
  const options = given({
    then: following(request.then),
    onFailure: following(request.on_failure),
    onEnd: following(request.on_end),
  })
  const added = await jobs.enqueueGroup(client, text(id), following(members), options)
  return added.jobs.map((ref) => ref.added)
}

async function result({ ref, wait_ms: waitMs = 30_000 }) {
  try {
    return { value: (await refs.get(ref).result({ waitMs })) ?? null }
  } catch (error) {
    if (error instanceof JobFailedError) return { failed: error.message }
    if (error instanceof JobCancelledError) return 'cancelled'
    if (error instanceof JobRemovedError) return 'removed'
    if (error instanceof JobNotRetainedError) return 'not_retained'
    if (error instanceof JobGoneError) return 'gone'
    if (error instanceof JobTimeoutError) return null
    throw error
  }
}

/** A worker that was started. */
class Started {
  #end = new AbortController()
  #exit
  #children

  constructor(client, request, notes) {
    this.notes = notes
    if (request.children || THREADS) this.#children = new Children(request, notes)
    this.#exit = this.#run(client, request)
    this.#exit.catch(() => undefined)
  }

  async #run(client, request) {
    const worker = make(client, request, this.notes, this.#children)
    if (request.process) await worker.runProcess()
    return worker.run({ signals: false, signal: this.#end.signal })
  }

  drop() {
    this.#children?.drop()
  }

  end() {
    this.#end.abort()
  }

  async exit() {
    const { status, started } = await this.#exit
    return { status, started }
  }
}

function make(client, request, notes, children) {
  const queues = request.queues?.map(({ name, weight = 1 }) => [name, weight])
  // An object names none twice.
  const names = queues && new Set(queues.map(([name]) => name))
  const differ = queues && names.size === queues.length
  const options = given({
    queues: differ ? Object.fromEntries(queues) : queues?.map(([name]) => name),
    strictOrder: request.strict,
    prefetch: request.prefetch,
    burst: request.burst,
    maxJobs: request.max_jobs,
    leaseMs: request.lease_ms,
    killAfterMs: request.kill_after_ms,
    graceMs: request.grace_ms,
  })
  if (children) {
    return worker(client, children.module, { ...options, ...children.options(request.slots) })
  }
  const { jobs, handlers, middleware } = jobsOf(request, notes)
  const here = given({ concurrency: request.slots, middleware })
  return worker(client, jobs, handlers, { ...options, ...here })
}

function start(client, request) {
  // A worker that is started again goes on with the notes of the last one.
  const last = workers.get(key(request))
  const notes = last?.notes ?? new Notes()
  last?.drop()
  notes.path = request.log ?? notes.path
  workers.set(key(request), new Started(client, request, notes))
}

export const OPS = new Set(
  'enqueue enqueue_group result start_worker end_worker worker_exit tell seen'.split(' '),
)

/** Does what a request about jobs says. */
export async function obeyJobs(client, request) {
  const started = workers.get(key(request))
  switch (request.op) {
    case 'enqueue':
      return enqueue(client, request)
    case 'enqueue_group':
      return enqueueGroup(client, request)
    case 'result':
      return result(request)
    case 'start_worker':
      return start(client, request)
    case 'end_worker':
      return started.end()
    case 'worker_exit':
      return started.exit()
    case 'tell':
      return started.notes.tell(request.job, request.steps)
    default:
      return [...started.notes.seen]
  }
}

/** Forgets the workers of a client, which ends them when it is closed. */
export function closeWorkers(client) {
  for (const [of, started] of workers) {
    if (JSON.parse(of)[0] !== client) continue
    workers.delete(of)
    started.drop()
  }
}
