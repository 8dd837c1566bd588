// Runs handlers, and reports how they have ended.
import type { NativeWorker } from '../../native.js'
import { call } from '../calls'
import { current, Job, type Task } from './context'
import type { CancelReason } from './decisions'
import type { JobTable, Jobs } from './define'
import type { Settings, WorkerEvent } from './options'
import { type End, endOfError, endOfResult } from './report'
import { Mismatch, validate } from './schema'

/** A handler of any job. */
export type AnyHandler = (job: Job<never>) => unknown

export class Runner {
  readonly #running = new Map<number, Job>()
  readonly #native: NativeWorker
  readonly #jobs: Jobs<JobTable>
  readonly #handlers: Record<string, AnyHandler>
  readonly #settings: Settings

  constructor(
    native: NativeWorker,
    jobs: Jobs<JobTable>,
    handlers: Record<string, AnyHandler>,
    settings: Settings,
  ) {
    this.#native = native
    this.#jobs = jobs
    this.#handlers = handlers
    this.#settings = settings
  }

  stop(number: number, reason: CancelReason): void {
    this.#running.get(number)?.cancel(reason)
  }

  /** Never rejects. */
  async run(task: Task): Promise<void> {
    const begun = performance.now()
    let job: Job | undefined
    let end: End
    let thrown: { error: unknown } | undefined
    try {
      job = await this.#prepare(task)
      this.#running.set(task.number, job)
      this.#event({ kind: 'started', job })
      end = endOfResult(await this.#call(job))
    } catch (error) {
      if (error instanceof Mismatch && job === undefined) {
        end = { kind: 'invalidArgs', message: error.message }
      } else {
        thrown = { error }
        end = endOfError(error, job?.cancelReason)
      }
    }
    const durationMs = performance.now() - begun
    try {
      await this.#report(task.number, end, job && { job, durationMs, ...thrown })
    } finally {
      this.#running.delete(task.number)
    }
  }

  async #prepare(task: Task): Promise<Job> {
    const given: unknown = JSON.parse(task.data.toString())
    return new Job(task, this.#native, await validate(this.#jobs.types[task.name]!.args, given))
  }

  #call(job: Job): unknown {
    const handler = this.#handlers[job.name] as (job: Job) => unknown
    const { middleware } = this.#settings
    if (middleware.length === 0) return current.run(job, handler, job)
    const last = async (): Promise<unknown> => handler(job)
    const all = middleware.reduceRight<() => Promise<unknown>>(
      (next, one) => () => one(job, next),
      last,
    )
    return current.run(job, all)
  }

  async #report(
    number: number,
    end: End,
    about: { job: Job; durationMs: number; error?: unknown } | undefined,
  ): Promise<void> {
    const native = this.#native
    if (this.#settings.onEvent === undefined || about === undefined) {
      finish(native, undefined, number, end)
      return
    }
    type Outcome = Extract<WorkerEvent, { kind: 'ended' }>['outcome']
    const settle = (slot: number): void => finish(native, slot, number, end)
    const outcome = await call<Outcome, NativeWorker>(native, {}, () => settle)
    this.#event({ kind: 'ended', outcome, ...about })
  }

  #event(event: WorkerEvent): void {
    try {
      this.#settings.onEvent?.(event)
    } catch (error) {
      process.emitWarning(`onEvent has thrown: ${String(error)}`)
    }
  }
}

function finish(native: NativeWorker, slot: number | undefined, job: number, end: End): void {
  switch (end.kind) {
    case 'done':
      return native.done(slot, job, end.result)
    case 'snooze':
      return native.snooze(slot, job, end.delayMs)
    case 'cancelled':
      return native.cancelled(slot, job)
    case 'invalidArgs':
      return native.invalidArgs(slot, job, end.message)
    case 'failed': {
      const { classes, message, trace, policy, delayMs } = end
      return native.failed(slot, job, classes, message, trace, policy, delayMs)
    }
  }
}
