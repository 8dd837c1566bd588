// A job on its way into its queue, with those of its chains.
import { randomUUID } from 'node:crypto'

import { jobData } from '../../native.js'
import { list, optionalNumber, storedText, text } from '../check'
import { invalid, LeaseqError, makeError } from '../errors'
import type { FollowUp, FollowUpOn, Item } from '../types'
import type { AnyJobType, ChainOptions, Enqueued, EnqueueOptions, JobTable, NewJob } from './define'
import { nativeRetry } from './retry'

const ITEM = ['id', 'priority', 'delayMs', 'dueAtMs', 'maxAttempts', 'retainMs', 'unique'] as const
const REST = [
  'uniqueForMs',
  'replace',
  'successor',
  'key',
  'expiresInMs',
  'group',
  'place',
] as const
const ITEM_NAMES = [...ITEM, ...REST]
/** The options of chains, and the ends that they are about. */
const ENDS = { onSuccess: 'completed', onFailure: 'dead', onEnd: 'ended' } as const
export const CHAINS = [...Object.keys(ENDS), 'then']
export const ENQUEUE: ReadonlySet<string> = new Set([
  ...ITEM_NAMES,
  ...CHAINS,
  'queue',
  'timeoutMs',
  'retry',
  'meta',
  'signal',
])
/** How many jobs lead from one to the next. */
const MAX_LEVELS = 16
/** A copy of texts by their names. */
function metaOf(job: string, meta: Record<string, string> = {}): Record<string, string> {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) {
    throw invalid(`job ${job}: meta: ${String(meta)} is no object with texts`)
  }
  for (const [name, value] of Object.entries(meta)) {
    storedText(`job ${job}: meta`, name)
    storedText(`job ${job}: meta ${name}`, value)
  }
  return { ...meta }
}

export type FollowUpJob = readonly [on: FollowUpOn, job: Prepared]

/** A job whose arguments were checked, on its way into its queue. */
export class Prepared implements NewJob {
  readonly meta: Record<string, string>
  readonly id: string

  constructor(
    readonly name: string,
    readonly queue: string,
    readonly args: unknown,
    private readonly json: string,
    private readonly type: AnyJobType,
    private readonly options: EnqueueOptions,
    private readonly followUps: readonly FollowUpJob[],
  ) {
    this.meta = metaOf(name, options.meta)
    this.id = options.id === undefined ? randomUUID() : text(`job ${name}: id`, options.id)
  }

  item(): Item {
    const { name, json, meta, args, options, type } = this
    const { timeoutMs, retry } = options
    const some = Object.keys(meta).length > 0 ? meta : undefined
    const rules = retry && nativeRetry(name, retry)
    const data = native(() =>
      jobData(name, json, some, optionalNumber(`job ${name}: timeoutMs`, timeoutMs), rules),
    )
    const item: Record<string, unknown> = { data }
    const { queue: _, timeoutMs: _timeout, retry: _retry, ...defaults } = type.options
    const all: Record<string, unknown> = { ...defaults }
    for (const key of ['unique', 'key']) {
      const of = all[key]
      if (typeof of === 'function') all[key] = (of as (args: unknown) => unknown)(args)
    }
    for (const key of ITEM_NAMES) {
      const value = options[key] ?? all[key]
      if (value !== undefined) item[key] = value
    }
    item['id'] = this.id
    if (this.followUps.length > 0) item['followUps'] = followUpItems(this.followUps, this.queue)
    return item as unknown as Item
  }

  /** This job and those of its chains. */
  all(): Prepared[] {
    return [this, ...this.followUps.flatMap(([, job]) => job.all())]
  }
}

/** What follows something in this queue. */
export function followUpItems(jobs: readonly FollowUpJob[], own: string): FollowUp[] {
  return jobs.map(([on, job]) => {
    const queue = job.queue === own ? {} : { queue: job.queue }
    return { on, item: { ...job.item(), ...queue }, withTrigger: true }
  })
}

/** An error of the native half, as its class. */
function native<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    throw error instanceof LeaseqError ? error : makeError(code, message)
  }
}

/** A job of a chain, as it is given. */
type Following = Enqueued<JobTable>

/** The jobs that are added at the ends of this, the first one of its chain among them. `level`: of how many others they are. */
export function chainsOf(
  what: string,
  options: ChainOptions,
  level: number,
): (readonly [FollowUpOn, Following])[] {
  const given: (readonly [FollowUpOn, Following])[] = []
  for (const [option, on] of Object.entries(ENDS)) {
    const jobs = following(what, option, options[option as keyof typeof ENDS])
    for (const job of jobs) given.push([on, job])
  }
  for (const job of chained(following(what, 'then', options.then))) given.push(['completed', job])
  if (given.length > 0 && level > MAX_LEVELS) {
    throw invalid(`${what}: more than ${MAX_LEVELS} jobs that follow each other`)
  }
  return given
}

function following(what: string, option: string, given: readonly Following[] = []): Following[] {
  const jobs = list(`${what}: ${option}`, given)
  for (const job of jobs) {
    if (!Array.isArray(job)) {
      throw invalid(`${what}: ${option} has something that is no list of a name and arguments`)
    }
  }
  return jobs
}

/** The first job, which has the second one as its follower, and so on; nothing without jobs. */
function chained(jobs: Following[]): Following[] {
  return jobs.reduceRight<Following[]>((next, job) => {
    if (next.length === 0) return [job]
    const [name, args, options = {}] = job
    const onSuccess = [...list(`job ${name}: onSuccess`, options.onSuccess ?? []), ...next]
    return [[name, args, { ...options, onSuccess }]]
  }, [])
}
