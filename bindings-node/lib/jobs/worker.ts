// Workers whose handlers run in this event loop.
import type { NativeWorker } from '../../native.js'
import { type Client, connect } from '../client'
import { ChildWorker } from './child_worker'
import type { Job } from './context'
import type { Decision } from './decisions'
import { type AnyJobType, type ArgsIn, type ArgsOut, Jobs, type JobTable } from './define'
import type { Returned, ValueOf } from './define'
import { NativeHost } from './host'
import { Lifecycle } from './lifecycle'
import { type ChildWorkerOptions, readSettings, type Settings } from './options'
import type { ThreadWorkerOptions, WorkerOptions } from './options'
import { type AnyHandler, Runner } from './runner'
import { ThreadWorker } from './thread_worker'

/** The function that runs jobs of a name. */
export type Handler<T extends AnyJobType> = (
  job: Job<ArgsOut<T>>,
) => Returned<T> | Decision | Promise<Returned<T> | Decision>

/** Handlers by the names of their jobs. A worker leases whatever its queues have. */
export type Handlers<T extends JobTable> = { [N in keyof T & string]?: Handler<T[N]> }

/** Leases jobs for free slots and runs their handlers in this event loop. */
export class Worker<T extends JobTable> extends Lifecycle {
  readonly #jobs: Jobs<T>
  readonly #handlers: Handlers<T>
  readonly #options: WorkerOptions
  readonly #settings: Settings

  /** @internal */
  constructor(client: Client, jobs: Jobs<T>, handlers: Handlers<T>, options: WorkerOptions) {
    const copy = { ...handlers }
    const settings = readSettings(jobs as unknown as Jobs<JobTable>, copy, options)
    super(client, settings.native, settings.graceMs)
    this.#jobs = jobs
    this.#handlers = copy
    this.#options = options
    this.#settings = settings
  }

  /**
   * Runs one attempt of a job and resolves to its result, for tests. It goes through JSON and through a queue
   * in memory of its own; the queues of this worker are not touched.
   */
  async runInline<N extends keyof T & string>(
    name: N,
    args: ArgsIn<T[N]>,
    options: { meta?: Record<string, string> } = {},
  ): Promise<ValueOf<T[N]>> {
    const client = await connect('memory:')
    try {
      const how = { ...options, queue: 'inline', maxAttempts: 1, retainMs: 60_000 }
      const ref = await this.#jobs.enqueue(client, name, args, how)
      const its = { ...this.#options, queues: ['inline'] }
      await new Worker(client, this.#jobs, this.#handlers, its).runUntilIdle()
      return await ref.result({ waitMs: 0 })
    } finally {
      await client.close()
    }
  }

  /** @internal */
  protected runner(native: NativeWorker): Runner {
    const handlers = this.#handlers as Record<string, AnyHandler>
    const jobs = this.#jobs as unknown as Jobs<JobTable>
    return new Runner(new NativeHost(native), jobs, handlers, this.#settings)
  }
}

/** A worker with a handler for some or all of the jobs, which run in this event loop. */
export function worker<T extends JobTable>(
  client: Client,
  jobs: Jobs<T>,
  handlers: Handlers<T>,
  options?: WorkerOptions,
): Worker<T>
/**
 * A worker whose handlers run in child processes, one job in each at a time. Each child imports the module, a
 * path or a `file:` URL, which exports `jobs` and `handlers`, and perhaps `middleware`. It is imported only
 * there, and must not start a worker itself.
 */
export function worker(
  client: Client,
  module: string | URL,
  options?: ChildWorkerOptions,
): ChildWorker
/**
 * A worker whose handlers run in worker threads of this process: for what computes. They are as the children of
 * the other one, but a crash of Node.js itself ends all of them.
 */
export function worker(
  client: Client,
  module: string | URL,
  options: ThreadWorkerOptions,
): ThreadWorker
export function worker<T extends JobTable>(
  client: Client,
  jobs: Jobs<T> | string | URL,
  handlers: Handlers<T> | ChildWorkerOptions | ThreadWorkerOptions = {},
  options: WorkerOptions = {},
): Worker<T> | ChildWorker | ThreadWorker {
  if (jobs instanceof Jobs) return new Worker(client, jobs, handlers as Handlers<T>, options)
  if (typeof handlers === 'object' && handlers !== null && 'threads' in handlers) {
    return new ThreadWorker(client, jobs, handlers as ThreadWorkerOptions)
  }
  return new ChildWorker(client, jobs, handlers as ChildWorkerOptions)
}
