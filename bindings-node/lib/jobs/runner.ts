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
  /** Once its arguments were checked. */
  job?: Job
  /** It is to stop. */
  reason?: CancelReason
}

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

  /** Never rejects. `args` returns the arguments as they have arrived. */
  async run(task: Task, args: () => unknown): Promise<void> {
    const begun = performance.now()
    let job: Job | undefined
    let end: End
    let thrown: { error: unknown } | undefined
    const running: Running = {}
    this.#running.set(task.number, running)
    try {
      job = await this.#prepare(task, args)
      running.job = job
      if (running.reason !== undefined) job.cancel(running.reason)
      this.#event({ kind: 'started', job })
      end = endOfResult(await this.#call(job))
    } catch (error) {
      if (job === undefined && isA(error, Mismatch)) {
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

  async #prepare(task: Task, args: () => unknown): Promise<Job> {
    const schema = this.#jobs.types[task.name]!.args
    return new Job(task, this.#host, await validate(schema, args()))
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
    const awaited = this.#settings.onEvent !== undefined && about !== undefined
    const outcome = await this.#host.finish(number, end, awaited)
    if (outcome === undefined || about === undefined) return
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
