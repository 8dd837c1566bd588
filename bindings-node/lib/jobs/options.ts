import type { NativeQueueOptions, NativeWorkerOptions } from '../../native.js'
import { flag, known, number, optionalNumber, text } from '../check'
import { invalid } from '../errors'
import type { Job } from './context'
import type { JobTable, Jobs } from './define'
import { nativeRetry } from './retry'

/** Something around every handler, which `next` runs; the first one is the outermost. */
export type Middleware = (job: Job, next: () => Promise<unknown>) => Promise<unknown>

/** What a worker reports in its process. */
export type WorkerEvent =
  | { readonly kind: 'started'; readonly job: Job }
  | {
      readonly kind: 'ended'
      readonly job: Job
      /** What has become of the job; `lost`: another worker has it, or it has ended otherwise. */
      readonly outcome: 'completed' | 'retried' | 'dead' | 'released' | 'cancelled' | 'lost'
      /** How long the handler ran. */
      readonly durationMs: number
      /** What the handler has thrown. */
      readonly error?: unknown
    }

export interface WorkerOptions {
  /**
   * From which queues: names or patterns such as `tenant-*`, or names with weights, 1 to 1,000. Default:
   * the queues of the jobs with handlers.
   */
  queues?: readonly string[] | Record<string, number> | undefined
  /** Leases from a queue only if those named before it have nothing. Default: false, by weights. */
  strictOrder?: boolean | undefined
  /** How many handlers run at the same time, 1 to 1,000. Default: 100. */
  concurrency?: number | undefined
  /** After how long a job of a killed worker is delivered again. Default: 30 s. */
  leaseMs?: number | undefined
  /** How long after its timeout a handler that still runs counts as hanging. Default: 10 s. */
  killAfterMs?: number | undefined
  /** How long handlers may go on when the worker ends. Default: 25 s. */
  graceMs?: number | undefined
  /** Ends after this many jobs. */
  maxJobs?: number | undefined
  /** Ends when its queues have nothing more to lease and no handler runs. */
  burst?: boolean | undefined
  /** How long a slot stays empty after each job. */
  cooldownMs?: number | undefined
  /** The least time between the starts of two jobs. */
  staggerMs?: number | undefined
  /** The name under which the worker is listed. Default: the program and the host. */
  name?: string | undefined
  middleware?: readonly Middleware[] | undefined
  /** Is called when a handler starts and when its job is settled. Must not throw. */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

const TIMES = ['leaseMs', 'killAfterMs', 'graceMs', 'cooldownMs', 'staggerMs', 'maxJobs'] as const
const OTHERS = ['queues', 'strictOrder', 'concurrency', 'burst', 'name', 'middleware', 'onEvent']
const NAMES = new Set([...TIMES, ...OTHERS])
const CONCURRENCY = 100
const GRACE = 25_000

/** Options that were checked. */
export interface Settings {
  readonly native: NativeWorkerOptions
  readonly graceMs: number
  readonly middleware: readonly Middleware[]
  readonly onEvent: ((event: WorkerEvent) => void) | undefined
}

function queuesOf(
  queues: WorkerOptions['queues'],
  jobs: Jobs<JobTable>,
  names: string[],
): NativeQueueOptions[] {
  const given = queues ?? [...new Set(names.map((name) => jobs.queueOf(name)))]
  if (Array.isArray(given)) return given.map((name) => ({ name: text('a queue', name), weight: 1 }))
  if (typeof given !== 'object' || given === null)
    throw invalid('queues: neither names nor weights')
  return Object.entries(given).map(([name, weight]) => ({
    name,
    weight: number(`queue ${name}: the weight`, weight),
  }))
}

export function readSettings(
  jobs: Jobs<JobTable>,
  handlers: Record<string, unknown>,
  given: WorkerOptions,
): Settings {
  const options = known(given, 'a worker', NAMES)
  const names = Object.keys(handlers)
  for (const name of names) {
    if (typeof handlers[name] !== 'function')
      throw invalid(`job ${name}: its handler is no function`)
  }
  const native: Record<string, unknown> = {
    queues: queuesOf(options.queues, jobs, names),
    jobs: names.map((name) => {
      jobs.queueOf(name)
      const { timeoutMs, retry } = jobs.types[name]!.options
      return {
        name,
        timeoutMs: optionalNumber(`job ${name}: timeoutMs`, timeoutMs),
        retry: retry && nativeRetry(retry),
      }
    }),
    strict: flag('strictOrder', options.strictOrder),
    slots: optionalNumber('concurrency', options.concurrency) ?? CONCURRENCY,
    burst: flag('burst', options.burst),
    ownsProcess: false,
  }
  if (options.name !== undefined) native['name'] = text('name', options.name)
  for (const name of TIMES) {
    const value = optionalNumber(name, options[name])
    if (value !== undefined) native[name] = value
  }
  return {
    native: native as unknown as NativeWorkerOptions,
    graceMs: optionalNumber('graceMs', options.graceMs) ?? GRACE,
    middleware: options.middleware ?? [],
    onEvent: options.onEvent,
  }
}
