import type { NativeQueueOptions, NativeWorkerOptions } from '../../native.js'
import { called, flag, known, list, number, optionalNumber, text } from '../check'
import { invalid } from '../errors'
import type { Job } from './context'
import type { JobTable, Jobs } from './define'
import type { JobOutcome } from './host'
import { nativeRetry } from './retry'

/** Something around every handler, which `next` runs; the first one is the outermost. */
export type Middleware = (job: Job, next: () => Promise<unknown>) => Promise<unknown>

/** What a worker reports in its process. */
export type WorkerEvent =
  | { readonly kind: 'started'; readonly job: Job }
  | {
      readonly kind: 'ended'
      readonly job: Job
      readonly outcome: JobOutcome
      /** How long the handler ran. */
      readonly durationMs: number
      /** What the handler has thrown. */
      readonly error?: unknown
    }

/** Options of all workers. */
export interface CommonOptions {
  /**
   * From which queues: names or patterns such as `tenant-*`, or names with weights, 1 to 1,000. Default:
   * the queues of the jobs with handlers.
   */
  queues?: readonly string[] | Record<string, number> | undefined
  /** Leases from a queue only if those named before it have nothing. Default: false, by weights. */
  strictOrder?: boolean | undefined
  /**
   * How many jobs are leased in advance while all slots have one, so that none of them waits for the server. They wait
   * in this worker, although another one may be idle. With the slots at most 1,000. Default: 0.
   */
  prefetch?: number | undefined
  /** After how long a job of a killed worker is delivered again. Default: 30 s. */
  leaseMs?: number | undefined
  /**
   * How long after its timeout a handler that still runs counts as hanging; a child process is killed then.
   * Default: 10 s.
   */
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
  /** The name under which the worker is listed: 1 to 128 bytes without control characters. Default: the program and the host. */
  name?: string | undefined
}

/** Options of a worker whose handlers run in its event loop. */
export interface WorkerOptions extends CommonOptions {
  /** How many handlers run at the same time, 1 to 1,000. Default: 100. */
  concurrency?: number | undefined
  middleware?: readonly Middleware[] | undefined
  /** Is called when a handler starts and when its job is settled. Must not throw. */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

/** Options of a worker whose handlers run in child processes. */
export interface ChildWorkerOptions extends CommonOptions {
  /** How many child processes, 1 to 1,000. Default: one for each processor. */
  processes?: number | undefined
  /** `process`: children are reused (default). `job`: each job has a new one. */
  isolation?: 'process' | 'job' | undefined
  /** A child is replaced after this many jobs. Default: never. */
  maxJobsPerChild?: number | undefined
  /** A child is replaced after a job that leaves it with more bytes of memory (resident). Default: never. */
  maxMemoryPerChild?: number | undefined
  /**
   * A child with more bytes of memory (resident) is killed, and its job fails with the class `OutOfMemory`.
   * Default: none. Only on Linux.
   */
  memoryLimit?: number | undefined
  /** How long a child may take to import the module. Default: 60 s. */
  startTimeoutMs?: number | undefined
  /**
   * Is called when a handler starts and when its job is settled. Must not throw. The job is that of the event:
   * only the handler can ask for more time. An error has its class as `name`, and its text.
   */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

/** Options of a worker whose handlers run in worker threads of this process. */
export interface ThreadWorkerOptions extends CommonOptions {
  /** How many threads, 1 to 1,000. */
  threads: number
  /** A thread is replaced after this many jobs. Default: never. */
  maxJobsPerChild?: number | undefined
  /**
   * A thread whose heap needs more bytes is ended, and its job fails with the class `OutOfMemory`. Default: as
   * Node.js decides. Buffers are not counted.
   */
  memoryLimit?: number | undefined
  /** How long a thread may take to import the module. Default: 60 s. */
  startTimeoutMs?: number | undefined
  /** Is called when a handler starts and when its job is settled. Must not throw. */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

const NUMBERS = [
  'prefetch',
  'leaseMs',
  'killAfterMs',
  'graceMs',
  'cooldownMs',
  'staggerMs',
  'maxJobs',
] as const
export const COMMON = [...NUMBERS, 'queues', 'strictOrder', 'burst', 'name']
const NAMES = new Set([...COMMON, 'concurrency', 'middleware', 'onEvent'])
const CONCURRENCY = 100
const GRACE = 25_000

/** What happens around handlers. */
export interface Around {
  readonly middleware: readonly Middleware[]
  readonly onEvent: ((event: WorkerEvent) => void) | undefined
}

/** Options that were checked. */
export interface Settings extends Around {
  readonly native: NativeWorkerOptions
  readonly graceMs: number
}

function queuesOf(given: NonNullable<CommonOptions['queues']>): NativeQueueOptions[] {
  if (Array.isArray(given)) return given.map((name) => ({ name: text('a queue', name), weight: 1 }))
  if (typeof given !== 'object' || given === null)
    throw invalid('queues: neither names nor weights')
  return Object.entries(given).map(([name, weight]) => ({
    name,
    weight: number(`queue ${name}: the weight`, weight),
  }))
}

export const graceOf = (options: CommonOptions): number =>
  optionalNumber('graceMs', options.graceMs) ?? GRACE

/** What the native half gets of the options of all workers. No queue: those of the jobs. */
export function readCommon(options: CommonOptions): Omit<NativeWorkerOptions, 'jobs' | 'slots'> {
  const native: Record<string, unknown> = {
    queues: options.queues === undefined ? [] : queuesOf(options.queues),
    strict: flag('strictOrder', options.strictOrder),
    burst: flag('burst', options.burst),
    ownsProcess: false,
  }
  if (options.name !== undefined) native['name'] = text('name', options.name)
  for (const name of NUMBERS) {
    const value = optionalNumber(name, options[name])
    if (value !== undefined) native[name] = value
  }
  return native as unknown as NativeWorkerOptions
}

/** The names of the jobs with handlers. */
export function namesOf(jobs: Jobs<JobTable>, handlers: Record<string, unknown>): string[] {
  const names = Object.keys(handlers)
  for (const name of names) {
    jobs.queueOf(name)
    if (typeof handlers[name] !== 'function') {
      throw invalid(`job ${name}: its handler is no function`)
    }
  }
  return names
}

export function readSettings(
  jobs: Jobs<JobTable>,
  handlers: Record<string, unknown>,
  given: WorkerOptions,
): Settings {
  const options = known(given, 'a worker', NAMES)
  const names = namesOf(jobs, handlers)
  const queues = options.queues ?? [...new Set(names.map((name) => jobs.queueOf(name)))]
  const native = {
    ...readCommon({ ...options, queues }),
    jobs: names.map((name) => {
      const { timeoutMs, retry } = jobs.types[name]!.options
      return {
        name,
        timeoutMs: optionalNumber(`job ${name}: timeoutMs`, timeoutMs),
        retry: retry && nativeRetry(name, retry),
      }
    }),
    slots: optionalNumber('concurrency', options.concurrency) ?? CONCURRENCY,
  }
  return {
    native: native as unknown as NativeWorkerOptions,
    graceMs: graceOf(options),
    middleware: list('middleware', options.middleware ?? []).map((one) =>
      called('middleware', one),
    ),
    onEvent: options.onEvent && called('onEvent', options.onEvent),
  }
}
