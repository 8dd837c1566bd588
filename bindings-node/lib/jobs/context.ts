// The job that a handler runs.
import { AsyncLocalStorage } from 'node:async_hooks'

import { bytes, message, number } from '../check'
import { invalid } from '../errors'
import type { Data } from '../types'
import { Bury, type CancelReason, JobCancelledError } from './decisions'
import type { Host } from './host'

const MAX_PROGRESS = 1024
const MAX_TIME = 30 * 86_400_000

/** A job as it arrives. @internal */
export interface Task {
  readonly number: number
  readonly name: string
  readonly queue: string
  readonly id: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly lastError: string
  readonly meta: Record<string, string>
  /** The job whose end has added this one, with its result as JSON. */
  readonly previous: { readonly id: string; readonly result: string | null } | null
}

/** A job in messages. @internal */
export function called({ queue, name, id }: Pick<Task, 'queue' | 'name' | 'id'>): string {
  return `queue ${queue}, job ${name}, item ${JSON.stringify(id)}`
}

/** The job that a handler runs. Its parts may be taken apart: `async ({ args, signal }) => …`. */
export class Job<Args = unknown> {
  /** The arguments, as the schema of the job returns them. */
  readonly args: Args
  readonly #task: Task
  readonly #host: Host
  #controller: AbortController | undefined
  #reason: CancelReason | undefined

  /** @internal */
  constructor(task: Task, host: Host, args: Args) {
    this.#task = task
    this.#host = host
    this.args = args
  }

  /** The name of the job. */
  get name(): string {
    return this.#task.name
  }

  /** The name of its queue. */
  get queue(): string {
    return this.#task.queue
  }

  /** The id of its item. */
  get id(): string {
    return this.#task.id
  }

  /** 1 for the first attempt. */
  get attempt(): number {
    return this.#task.attempt
  }

  /** How many attempts the job has. */
  get maxAttempts(): number {
    return this.#task.maxAttempts
  }

  /** The text of the last failure; empty if there was none. */
  get lastError(): string {
    return this.#task.lastError
  }

  /** The id of the job whose end has added this one, as part of a chain; `undefined`: a program has added it. */
  get previousId(): string | undefined {
    return this.#task.previous?.id
  }

  /**
   * The result of the job whose success has added this one. `undefined` if it had none, or one of more than
   * 64 KiB, has not succeeded, or there is none. If the result is not JSON, reading it makes the job dead.
   */
  get previous(): unknown {
    const result = this.#task.previous?.result ?? undefined
    if (result === undefined) return undefined
    try {
      return JSON.parse(result) as unknown
    } catch (error) {
      const { id } = this.#task.previous!
      throw new Bury(`the result of the previous job ${JSON.stringify(id)}: ${message(error)}`)
    }
  }

  /**
   * Numbers the lives of the id: it goes up with every add, and is the same in all attempts. A store of
   * your own can refuse writers of an earlier generation.
   */
  get generation(): number {
    return this.#task.generation
  }

  /** What producers and middleware have attached, such as a `traceparent`. */
  get meta(): Readonly<Record<string, string>> {
    return this.#task.meta
  }

  /** Milliseconds until the timeout; 0 once it is over. */
  get remainingMs(): number {
    return this.#host.remaining(this.#task.number)
  }

  /**
   * Aborts when the handler should stop, with a `JobCancelledError` as its reason: somebody has cancelled
   * the job (`user`), its time is over (`timeout`), the worker ends (`shutdown`), or another worker may
   * have the job (`lost`). A handler that succeeds nevertheless completes its job.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#cancelled())
    }
    return this.#controller.signal
  }

  /** Why the handler should stop; `undefined`: it should not. */
  get cancelReason(): CancelReason | undefined {
    return this.#reason
  }

  /**
   * Stores how far the handler has come, at most 1,024 bytes, for whoever looks at the job. Need not be
   * awaited. Throws `INVALID` for more bytes; rejects if it could not be stored.
   */
  get progress(): (progress: Data) => Promise<void> {
    return (progress) => {
      const job = called(this.#task)
      const data = bytes(`${job}: progress`, progress)
      const size = Buffer.byteLength(data)
      if (size > MAX_PROGRESS) {
        throw invalid(`${job}: progress of ${size} bytes is over the limit of ${MAX_PROGRESS}`)
      }
      const stored = this.#host.progress(this.#task, data)
      // A handler that does not wait for it does not care.
      stored.catch(() => undefined)
      return stored
    }
  }

  /**
   * Sets the timeout anew: the handler has this much time from now on, at most 30 days. Throws `INVALID`
   * for more, and when the signal has aborted.
   */
  get moreTime(): (ms: number) => void {
    return (ms) => {
      const job = called(this.#task)
      if (!(number(`${job}: a time`, ms) >= 0 && ms <= MAX_TIME)) {
        throw invalid(`${job}: ${ms} ms more are not between 0 and ${MAX_TIME}`)
      }
      this.#host.moreTime(this.#task, ms)
    }
  }

  /** @internal */
  cancel(reason: CancelReason): void {
    this.#reason = reason
    this.#controller?.abort(this.#cancelled())
  }

  #cancelled(): JobCancelledError {
    const reason = this.#reason
    return new JobCancelledError(`${called(this.#task)}: ${reason}`, reason)
  }
}

/** @internal */
export const current = new AsyncLocalStorage<Job>()

/** The job whose handler runs here, for loggers and the like; `undefined` outside of handlers. */
export function currentJob(): Job | undefined {
  return current.getStore()
}
