import { setTimeout as sleep } from 'node:timers/promises'

import { NativeWorker } from '../../native.js'
import { call, watch } from '../calls'
import { flag, known, number, signalOf } from '../check'
import { type Client, connect, nativeClient } from '../client'
import { invalid } from '../errors'
import { readError } from '../wire'
import type { Job, Task } from './context'
import type { CancelReason } from './decisions'
import type { AnyJobType, ArgsIn, ArgsOut, Jobs, JobTable, Returned, ValueOf } from './define'
import type { Decision } from './decisions'
import { Ending } from './ending'
import { readSettings, type Settings, type WorkerOptions } from './options'
import { type AnyHandler, Runner } from './runner'

/** The function that runs jobs of a name. */
export type Handler<T extends AnyJobType> = (
  job: Job<ArgsOut<T>>,
) => Returned<T> | Decision | Promise<Returned<T> | Decision>

/** Handlers by the names of their jobs. A worker leases whatever its queues have. */
export type Handlers<T extends JobTable> = { [N in keyof T & string]?: Handler<T[N]> }

/** How a worker has ended. */
export interface Exit {
  /**
   * `drained`: it was asked to. `idle`: it was a burst, and there was nothing more to lease. `maxJobs`: it
   * has started as many jobs as it may. `hung`: too many handlers do not return, so a supervisor should
   * start a new process. `aborted`: a third signal has ended it.
   */
  readonly reason: 'drained' | 'idle' | 'maxJobs' | 'hung' | 'aborted'
  /** How many jobs it has started. */
  readonly started: number
  /** How many handlers still ran when it ended. */
  readonly running: number
  /** For the process: 0, or 3 if a burst found nothing to do, or 1 if something is wrong. */
  readonly status: number
}

export interface RunOptions {
  /** Whether SIGTERM and SIGINT end it. Default: true; in worker threads there are no signals. */
  signals?: boolean | undefined
  /** Ends it as a first signal does. */
  signal?: AbortSignal | undefined
}

const RUN = new Set(['signals', 'signal'])
/** How long the client may take to finish its requests when the process ends. */
const CLOSING = 300

/** Leases jobs for free slots and runs their handlers in this event loop. */
export class Worker<T extends JobTable> {
  readonly #client: Client
  readonly #jobs: Jobs<T>
  readonly #handlers: Handlers<T>
  readonly #options: WorkerOptions
  readonly #settings: Settings
  #native: NativeWorker | undefined
  #serving: Promise<Exit> | undefined

  /** @internal */
  constructor(client: Client, jobs: Jobs<T>, handlers: Handlers<T>, options: WorkerOptions) {
    this.#client = client
    this.#jobs = jobs
    this.#handlers = { ...handlers }
    this.#options = options
    this.#settings = readSettings(jobs as unknown as Jobs<JobTable>, this.#handlers, options)
  }

  /**
   * Runs until SIGTERM or SIGINT, and resolves when the handlers have ended: at the latest about 3 s after
   * the grace period. A second signal skips the grace period, a third ends the worker at once. Rejects with
   * `INVALID` for a wrong configuration, and if the client is closed or refuses the worker.
   */
  async run(options: RunOptions = {}): Promise<Exit> {
    const { signals, signal } = known(options, 'run', RUN)
    return this.#run({}, flag('signals', signals, true), signalOf(signal))
  }

  /**
   * Runs as `run` does, closes the client, and ends the process with the status of the exit, whatever
   * handlers still run. An error that nobody handles, such as a rejected promise that nobody awaits, is
   * written to standard error and ends the worker as a first signal does, with status 1.
   */
  async runProcess(): Promise<never> {
    let status = 0
    const failed = (error: unknown): void => {
      status = 1
      console.error('the worker ends, because nobody handles this error:', error)
    }
    try {
      const exit = await this.#run({ ownsProcess: true }, true, undefined, failed)
      status ||= exit.status
    } catch (error) {
      status = 1
      console.error('the worker has failed:', error)
    }
    // Leases of calls that the end has interrupted are given back.
    const closed = this.#client.close().catch(() => undefined)
    await Promise.race([closed, sleep(CLOSING)])
    process.exit(status)
  }

  /** Runs until there is nothing more to lease and no handler runs. Does not wait for delayed jobs. */
  runUntilIdle(): Promise<Exit> {
    return this.#run({ burst: true }, false)
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

  /** Starts in the background. Signals are left to the program. */
  async start(): Promise<void> {
    await this.#start({})
    // `stop` rejects with its error.
    this.#serving?.catch(() => undefined)
  }

  /**
   * Ends in order, as after a first signal; resolves when the handlers have ended. The grace period is that
   * of the worker unless it is given.
   */
  async stop(graceMs = this.#settings.graceMs): Promise<Exit> {
    const serving = this.#serving
    if (serving === undefined) throw invalid('the worker does not run')
    this.#native?.drain(number('graceMs', graceMs))
    return serving
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#serving !== undefined) await this.stop()
  }

  async #run(
    change: { burst?: boolean; ownsProcess?: boolean },
    signals: boolean,
    signal?: AbortSignal,
    failed?: (error: unknown) => void,
  ): Promise<Exit> {
    // Before it starts: a job may run at once, and whoever sees that may send a signal.
    const ending = new Ending(this.#settings.graceMs)
    try {
      if (signals) ending.onSignals()
      if (signal !== undefined) ending.onAbort(signal)
      if (failed !== undefined) ending.onUncaught(failed)
      const { native, serving } = await this.#start(change)
      ending.begin(native)
      return await serving
    } finally {
      ending.close()
    }
  }

  async #start(change: {
    burst?: boolean
    ownsProcess?: boolean
  }): Promise<{ native: NativeWorker; serving: Promise<Exit> }> {
    if (this.#native !== undefined) throw invalid('the worker runs already')
    const native = new NativeWorker(nativeClient(this.#client))
    this.#native = native
    try {
      const options = { ...this.#settings.native, ...change }
      await call<void, NativeWorker>(native, {}, (native) => (slot) => native.start(slot, options))
    } catch (error) {
      this.#native = undefined
      throw error
    }
    const serving = this.#serve(native, change.ownsProcess === true)
    this.#serving = serving
    return { native, serving }
  }

  async #serve(native: NativeWorker, ownsProcess: boolean): Promise<Exit> {
    const handlers = this.#handlers as Record<string, AnyHandler>
    const runner = new Runner(
      native,
      this.#jobs as unknown as Jobs<JobTable>,
      handlers,
      this.#settings,
    )
    const unwatch = watchStops(native, runner)
    const running = new Set<Promise<void>>()
    try {
      for (;;) {
        const tasks = await call<Task[], NativeWorker>(
          native,
          {},
          (native) => (slot) => native.next(slot),
        )
        if (tasks.length === 0) break
        for (const task of tasks) {
          const one: Promise<void> = runner.run(task).finally(() => running.delete(one))
          running.add(one)
        }
      }
      const { error, ...exit } = JSON.parse(native.exit()) as Exit & { error: unknown }
      if (error !== null) throw readError(error)
      // Those that have reported their ends; events may not have arrived.
      const ended = exit.running === 0 && exit.reason !== 'aborted'
      if (ended && !ownsProcess) await Promise.all(running)
      return exit
    } finally {
      unwatch()
      native.abort()
      this.#native = this.#serving = undefined
    }
  }
}

/** Aborts the signals of jobs that are to stop. */
function watchStops(native: NativeWorker, runner: Runner): () => void {
  let stop: () => void = () => undefined
  let over = false
  const next = (): void => {
    if (over) return
    stop = watch(
      (_, slot) => native.stops(slot),
      (stops) => {
        next()
        for (const [number, reason] of stops as [number, CancelReason][]) {
          runner.stop(number, reason)
        }
      },
    )
  }
  next()
  return () => {
    over = true
    stop()
  }
}

/** A worker with a handler for some or all of the jobs. */
export function worker<T extends JobTable>(
  client: Client,
  jobs: Jobs<T>,
  handlers: Handlers<T>,
  options: WorkerOptions = {},
): Worker<T> {
  return new Worker(client, jobs, handlers, options)
}
