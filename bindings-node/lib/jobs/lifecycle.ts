// From the start of a worker to its end, wherever its handlers run.
import { setTimeout as sleep } from 'node:timers/promises'

import { NativeWorker, type NativeWorkerOptions } from '../../native.js'
import { call, watch } from '../calls'
import { flag, known, number, signalOf } from '../check'
import { type Client, nativeClient } from '../client'
import { invalid } from '../errors'
import { readError } from '../wire'
import type { Task } from './context'
import type { CancelReason } from './decisions'
import { Ending, outliveSignals } from './ending'

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

/** A job as the native half gives it. */
interface Given extends Task {
  readonly args: unknown
  /** Why it is to stop already. */
  readonly stop: CancelReason | null
}

interface Change {
  burst?: boolean
  ownsProcess?: boolean
}

/** Runs jobs, and reports how they have ended. @internal */
export interface Runs {
  /** Calls `over` when the job has ended and everything about it was told. */
  run(task: Task, args: unknown, over: () => void): void
  stop(job: number, reason: CancelReason): void
  close?(): Promise<void>
}

/** What all workers can do. */
export abstract class Lifecycle {
  readonly #client: Client
  readonly #options: NativeWorkerOptions
  readonly #graceMs: number
  #native: NativeWorker | undefined
  #serving: Promise<Exit> | undefined

  /** @internal */
  constructor(client: Client, options: NativeWorkerOptions, graceMs: number) {
    this.#client = client
    this.#options = options
    this.#graceMs = graceMs
  }

  /** What runs the jobs; `undefined`: they run elsewhere. @internal */
  protected abstract runner(native: NativeWorker): Runs | undefined

  /** What is known only when it starts. @internal */
  protected async prepare(options: NativeWorkerOptions): Promise<NativeWorkerOptions> {
    return options
  }

  /** Tells what happens elsewhere, until the worker has ended. @internal */
  protected listen(_native: NativeWorker): Promise<void> | undefined {
    return undefined
  }

  /** It could not start. @internal */
  protected async abandon(): Promise<void> {}

  /**
   * Runs until SIGTERM or SIGINT, and resolves when the handlers have ended: at the latest about 3 s after
   * the grace period. A second signal skips the grace period, a third ends the worker at once. Rejects with
   * `INVALID` for a wrong configuration, and if the client is closed or refuses the worker.
   */
  async run(options: RunOptions = {}): Promise<Exit> {
    const { signals, signal } = known(options, 'run', RUN)
    return this.#run({}, flag('signals', signals, true), signalOf(signal))
  }

  /** Tells why the worker of a process has failed, and returns the status of the process. @internal */
  reportFailure = (error: unknown): number => {
    console.error('the worker has failed:', error)
    return 1
  }

  /**
   * Runs as `run` does, closes the client, and ends the process with the status of the exit, whatever
   * handlers still run. An error that nobody handles, such as a rejected promise that nobody awaits, is
   * written to standard error and ends the worker as a first signal does, with status 1.
   */
  async runProcess(): Promise<never> {
    outliveSignals()
    let status = 0
    const failed = (error: unknown): void => {
      status = 1
      console.error('the worker ends, because nobody handles this error:', error)
    }
    try {
      const exit = await this.#run({ ownsProcess: true }, true, undefined, failed)
      status ||= exit.status
    } catch (error) {
      status = this.reportFailure(error)
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
  async stop(graceMs = this.#graceMs): Promise<Exit> {
    const serving = this.#serving
    if (serving === undefined) throw invalid('the worker does not run')
    this.#native?.drain(number('graceMs', graceMs))
    return serving
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#serving !== undefined) await this.stop()
  }

  async #run(
    change: Change,
    signals: boolean,
    signal?: AbortSignal,
    failed?: (error: unknown) => void,
  ): Promise<Exit> {
    // Before it starts: a job may run at once, and whoever sees that may send a signal.
    const ending = new Ending(this.#graceMs)
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

  async #start(change: Change): Promise<{ native: NativeWorker; serving: Promise<Exit> }> {
    if (this.#native !== undefined) throw invalid('the worker runs already')
    const native = new NativeWorker(nativeClient(this.#client))
    this.#native = native
    try {
      const options = await this.prepare({ ...this.#options, ...change })
      await call<void, NativeWorker>(native, {}, (native) => (slot) => native.start(slot, options))
    } catch (error) {
      this.#native = undefined
      await this.abandon()
      throw error
    }
    const serving = this.#serve(native, change.ownsProcess === true)
    this.#serving = serving
    return { native, serving }
  }

  async #serve(native: NativeWorker, ownsProcess: boolean): Promise<Exit> {
    const runner = this.runner(native)
    const unwatch = runner && watchStops(native, runner)
    const listening = this.listen(native)
    let running = 0
    let last: () => void = () => undefined
    const over = (): void => {
      running -= 1
      if (running === 0) last()
    }
    try {
      for (;;) {
        const jobs = await call<Given[], NativeWorker>(
          native,
          {},
          (native) => (slot) => native.next(slot),
        )
        if (jobs.length === 0) break
        running += jobs.length
        for (const job of jobs) {
          runner!.run(job, job.args, over)
          if (job.stop !== null) runner!.stop(job.number, job.stop)
        }
      }
      await listening
      const { error, ...exit } = JSON.parse(native.exit()) as Exit & { error: unknown }
      if (error !== null) throw readError(error)
      // Those that have reported their ends; events may not have arrived.
      const ended = exit.running === 0 && exit.reason !== 'aborted'
      if (ended && !ownsProcess && running > 0) {
        await new Promise<void>((resolve) => (last = resolve))
      }
      return exit
    } finally {
      unwatch?.()
      await runner?.close?.()
      native.abort()
      this.#native = this.#serving = undefined
    }
  }
}

/** Aborts the signals of jobs that are to stop. */
function watchStops(native: NativeWorker, runner: Runs): () => void {
  let stop: () => void = () => undefined
  let over = false
  const next = (): void => {
    if (over) return
    stop = watch(
      (_, slot) => native.stops(slot),
      (stops) => {
        next()
        // Jobs that have arrived with this begin first.
        queueMicrotask(() => {
          for (const [number, reason] of stops as [number, CancelReason][]) {
            runner.stop(number, reason)
          }
        })
      },
    )
  }
  next()
  return () => {
    over = true
    stop()
  }
}
