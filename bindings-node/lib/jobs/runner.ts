// Runs handlers, and reports how they have ended.
import { current, Job, type Task } from './context'
import type { CancelReason } from './decisions'
import type { JobTable, Jobs } from './define'
import type { Host } from './host'
import type { Around, WorkerEvent } from './options'
import { type End, endOfError, endOfResult, isA } from './report'
import { Mismatch, validate } from './schema'

/** A handler of any job. */
export type AnyHandler = (job: Job<never>) => unknown

/** A job from its arrival to its report. */
interface Running {
  readonly task: Task
  /** Called at its end. */
  readonly over: () => void
  /** Once its arguments were checked. */
  job: Job | undefined
  /** It is to stop. */
  reason: CancelReason | undefined
  /** When it has begun, if somebody wants to know how long it takes. */
  readonly begun: number
}

/** Runs each job with as few promises as its handler allows: with `AsyncLocalStorage`, each one costs. */
export class Runner {
  readonly #running = new Map<number, Running>()
  readonly #host: Host
  readonly #jobs: Jobs<JobTable>
  readonly #handlers: Record<string, AnyHandler>
  readonly #settings: Around

  constructor(
    host: Host,
    jobs: Jobs<JobTable>,
    handlers: Record<string, AnyHandler>,
    settings: Around,
  ) {
    this.#host = host
    this.#jobs = jobs
    this.#handlers = handlers
    this.#settings = settings
  }

  stop(number: number, reason: CancelReason): void {
    const running = this.#running.get(number)
    if (running === undefined) return
    running.reason = reason
    running.job?.cancel(reason)
  }

  /** Calls `over` when the job has ended and everything about it was told. */
  run(task: Task, args: unknown, over: () => void): void {
    const begun = this.#settings.onEvent === undefined ? 0 : performance.now()
    const running = { task, over, job: undefined, reason: undefined, begun }
    this.#running.set(task.number, running)
    const schema = this.#jobs.types[task.name]!.args
    if (schema === undefined) return this.#begin(running, args)
    validate(schema, args).then(
      (valid) => this.#begin(running, valid),
      (error: unknown) => {
        if (!isA(error, Mismatch)) return this.#failed(running, error)
        this.#end(running, { kind: 'invalidArgs', message: error.message })
      },
    )
  }

  #begin(running: Running, args: unknown): void {
    const job = new Job(running.task, this.#host, args)
    running.job = job
    if (running.reason !== undefined) job.cancel(running.reason)
    if (this.#settings.onEvent !== undefined) this.#event({ kind: 'started', job })
    let returned: unknown
    try {
      returned = this.#call(job)
      if (isObject(returned)) returned = Promise.resolve(returned)
    } catch (error) {
      return this.#failed(running, error)
    }
    if (!(returned instanceof Promise)) return this.#end(running, endOfResult(returned))
    returned.then(
      (result) => this.#end(running, endOfResult(result)),
      (error: unknown) => this.#failed(running, error),
    )
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

  #failed(running: Running, error: unknown): void {
    this.#end(running, endOfError(error, running.job?.cancelReason), { error })
  }

  #end(running: Running, end: End, thrown?: { error: unknown }): void {
    const { task, job, begun, over } = running
    this.#running.delete(task.number)
    if (this.#settings.onEvent === undefined || job === undefined) {
      this.#host.finish(task.number, end, false)
      return over()
    }
    const durationMs = performance.now() - begun
    const told = this.#host.finish(task.number, end, true)
    if (told === undefined) return over()
    told
      .then((outcome) => this.#event({ kind: 'ended', job, outcome, durationMs, ...thrown }))
      .then(over, over)
  }

  #event(event: WorkerEvent): void {
    try {
      this.#settings.onEvent?.(event)
    } catch (error) {
      process.emitWarning(`onEvent has thrown: ${String(error)}`)
    }
  }
}

/** Whether it may be a promise, of whatever kind. */
function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
