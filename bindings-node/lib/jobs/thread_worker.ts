// Workers whose handlers run in worker threads of this process.
import { availableParallelism } from 'node:os'

import type { NativeWorker, NativeWorkerOptions } from '../../native.js'
import { called, known, number, optionalNumber } from '../check'
import type { Client } from '../client'
import { invalid } from '../errors'
import { urlOf } from './child_worker'
import { Job, type Task } from './context'
import type { CancelReason } from './decisions'
import { NativeHost } from './host'
import { Lifecycle, type Runs } from './lifecycle'
import { COMMON, graceOf, readCommon, type ThreadWorkerOptions, type WorkerEvent } from './options'
import { type Declared, JobThread, type ThreadOptions } from './threads'

const NAMES = new Set([
  ...COMMON,
  'threads',
  'maxJobsPerChild',
  'memoryLimit',
  'startTimeoutMs',
  'onEvent',
])
const KILL_AFTER = 10_000
/** How long a cancelled handler may go on at the end of the worker, which waits for 3 s, and without its lease. */
const AT_END = 2_500
const AFTER_LOSS = 3_000

/** Leases jobs for worker threads of this process, which run their handlers. */
export class ThreadWorker extends Lifecycle {
  readonly #threads: ThreadOptions
  readonly #options: ThreadWorkerOptions
  #first: JobThread | undefined

  /** @internal */
  constructor(client: Client, module: string | URL, given: ThreadWorkerOptions) {
    const url = urlOf(module)
    const options = known(given, 'a worker with threads', NAMES)
    const slots = optionalNumber('threads', options.threads) ?? availableParallelism()
    super(
      client,
      { ...readCommon(options), jobs: [], slots } as unknown as NativeWorkerOptions,
      graceOf(options),
    )
    if (options.onEvent) called('onEvent', options.onEvent)
    this.#options = options
    const most = optionalNumber('maxJobsPerChild', options.maxJobsPerChild) ?? Infinity
    if (!(most >= 1)) throw invalid(`maxJobsPerChild: ${most} is not 1 or more`)
    this.#threads = {
      url,
      maxJobs: most,
      startTimeoutMs: optionalNumber('startTimeoutMs', options.startTimeoutMs) ?? 60_000,
      memoryLimit: optionalNumber('memoryLimit', options.memoryLimit),
    }
  }

  /** The first thread says what jobs there are. @internal */
  protected override async prepare(options: NativeWorkerOptions): Promise<NativeWorkerOptions> {
    this.#first = new JobThread(this.#threads)
    const declared = await this.#first.started
    const jobs = Object.entries(declared).map(([name, job]) => ({ name, ...nativeOf(job) }))
    const queues = [...new Set(Object.values(declared).map(({ queue }) => queue))]
    const named = options.queues.length > 0
    return {
      ...options,
      jobs,
      queues: named ? options.queues : queues.map((name) => ({ name, weight: 1 })),
    } as NativeWorkerOptions
  }

  /** @internal */
  protected runner(native: NativeWorker): ThreadRunner {
    const { killAfterMs, onEvent } = this.#options
    const first = this.#first!
    this.#first = undefined
    return new ThreadRunner(native, this.#threads, first, killAfterMs ?? KILL_AFTER, onEvent)
  }

  /** @internal */
  protected override async abandon(): Promise<void> {
    await this.#first?.kill()
    this.#first = undefined
  }
}

function nativeOf({ timeout_ms: timeoutMs, retry }: Declared[string]): object {
  if (retry === undefined) return { timeoutMs }
  const { max, base, cap, on, never } = retry
  return { timeoutMs, retry: { attempts: max, baseMs: base, capMs: cap, on, never } }
}

interface RunningJob {
  readonly job: Job
  /** The one that runs it now. */
  thread?: JobThread | undefined
  reason?: CancelReason
}

/** Gives jobs to threads. There are never more jobs than slots, and never more threads than jobs. */
class ThreadRunner implements Runs {
  readonly #host: NativeHost
  readonly #options: ThreadOptions
  readonly #killAfterMs: number
  readonly #onEvent: ((event: WorkerEvent) => void) | undefined
  readonly #idle: JobThread[]
  readonly #all = new Set<JobThread>()
  readonly #running = new Map<number, RunningJob>()
  readonly #timers = new Map<number, NodeJS.Timeout>()

  constructor(
    native: NativeWorker,
    options: ThreadOptions,
    first: JobThread,
    killAfterMs: number,
    onEvent: ((event: WorkerEvent) => void) | undefined,
  ) {
    this.#host = new NativeHost(native)
    this.#options = options
    this.#killAfterMs = number('killAfterMs', killAfterMs)
    this.#onEvent = onEvent
    this.#idle = [first]
    this.#all.add(first)
  }

  run(task: Task, args: unknown, over: () => void): void {
    void this.#run(task, args).then(over)
  }

  /** Never rejects. */
  async #run(task: Task, given: unknown): Promise<void> {
    const running: RunningJob = { job: new Job(task, this.#host, given) }
    this.#running.set(task.number, running)
    const begun = performance.now()
    const { number: job } = task
    try {
      const thread = await this.#take()
      running.thread = thread
      this.#event({ kind: 'started', job: running.job })
      const asks = {
        progress: (text: string) => void this.#host.progress(task, text).catch(() => undefined),
        moreTime: (ms: number) => {
          // Too late, or for too long: the handler goes on with the time that it has.
          try {
            this.#host.moreTime(task, ms)
          } catch {}
        },
      }
      const ended = thread.run(task, given, this.#host.remaining(job), asks)
      if (running.reason !== undefined) thread.cancel(job, running.reason)
      const end = await ended
      const durationMs = performance.now() - begun
      // From here on the thread may run another job: who stops this one must not reach it.
      running.thread = undefined
      clearTimeout(this.#timers.get(job))
      await this.#give(thread)
      const outcome = await this.#host.finish(job, end, this.#onEvent !== undefined)
      if (outcome === undefined) return
      const error = end.kind === 'failed' ? { error: errorOf(end) } : {}
      this.#event({ kind: 'ended', job: running.job, outcome, durationMs, ...error })
    } catch {
      // No thread could be started: the job waits for another attempt of that.
      await this.#host.finish(job, { kind: 'snooze', delayMs: 1000 }, false)
    } finally {
      this.#running.delete(job)
      clearTimeout(this.#timers.get(job))
      this.#timers.delete(job)
    }
  }

  stop(job: number, reason: CancelReason): void {
    const running = this.#running.get(job)
    if (running === undefined) return
    running.reason = reason
    running.job.cancel(reason)
    running.thread?.cancel(job, reason)
    const after =
      reason === 'shutdown' ? AT_END : reason === 'lost' ? AFTER_LOSS : this.#killAfterMs
    // A thread that computes hears nothing.
    clearTimeout(this.#timers.get(job))
    this.#timers.set(
      job,
      setTimeout(() => void running.thread?.kill(), after),
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => thread.kill()))
  }

  async #take(): Promise<JobThread> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isDead) return idle
      this.#all.delete(idle)
    }
    const thread = new JobThread(this.#options)
    this.#all.add(thread)
    try {
      await thread.started
    } catch (error) {
      this.#all.delete(thread)
      throw error
    }
    return thread
  }

  async #give(thread: JobThread): Promise<void> {
    if (!thread.isDead && thread.jobs < this.#options.maxJobs) {
      this.#idle.push(thread)
      return
    }
    await thread.kill()
    this.#all.delete(thread)
  }

  #event(event: WorkerEvent): void {
    try {
      this.#onEvent?.(event)
    } catch (error) {
      process.emitWarning(`onEvent has thrown: ${String(error)}`)
    }
  }
}

/** What a handler has thrown, as far as it has come here. */
function errorOf({ classes, message }: { classes: string[]; message: string }): Error {
  const error = new Error(message)
  error.name = classes[0] ?? 'Error'
  return error
}
