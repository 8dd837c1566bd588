import type { ItemInfo } from '../item'
import type { Queue } from '../queue'
import type { CallOptions, Outcome } from '../types'
import {
  JobCancelledError,
  JobFailedError,
  JobGoneError,
  JobNotRetainedError,
  JobRemovedError,
  JobTimeoutError,
} from './decisions'
import { called } from './context'
import { type AnySchema, mismatch, validate } from './schema'

export interface WaitOptions extends CallOptions {
  /** How long to wait. Default: without a limit. */
  waitMs?: number | undefined
}

/** A reference to a job, which `enqueue` returns. */
export class JobRef<Value = unknown> {
  /** The name of the job. */
  readonly name: string
  /** The id of its item. */
  readonly id: string
  /**
   * False: the id or the unique key was taken, and nothing was added. The reference is about the job
   * that has this id, if there is one.
   */
  readonly added: boolean
  readonly #queue: Queue
  readonly #schema: AnySchema | undefined

  /** @internal */
  constructor(name: string, queue: Queue, id: string, added: boolean, schema?: AnySchema) {
    this.name = name
    this.id = id
    this.added = added
    this.#queue = queue
    this.#schema = schema
  }

  /** The name of its queue. */
  get queue(): string {
    return this.#queue.name
  }

  /** Waits until the job has ended, and resolves to how; `null`: it has not within `waitMs`. */
  wait({ waitMs, signal }: WaitOptions = {}): Promise<Outcome | null> {
    return this.#queue.outcome(this.id, { signal, ...(waitMs === undefined ? {} : { waitMs }) })
  }

  /**
   * Waits for what the handler returns. The job must be retained. Rejects with `JobTimeoutError` after
   * `waitMs`, with `JobFailedError`, `JobCancelledError`, `JobRemovedError` or `JobGoneError` if the job
   * has not succeeded, and with `JobNotRetainedError` if its result was not kept.
   */
  async result(options: WaitOptions = {}): Promise<Value> {
    const outcome = await this.wait(options)
    const job = called(this)
    switch (outcome?.kind) {
      case undefined:
        throw new JobTimeoutError(`${job}: not ended within ${options.waitMs} ms`)
      case 'completed':
        if (outcome.retained) return this.#read(job, outcome.result)
        throw new JobNotRetainedError(`${job}: completed, and its result was not kept: retain it`)
      case 'dead':
        throw new JobFailedError(outcome.error || `${job}: dead`)
      case 'cancelled':
        throw new JobCancelledError(`${job}: cancelled`)
      case 'removed':
        throw new JobRemovedError(`${job}: removed`)
      default:
        throw new JobGoneError(`${job}: gone: a job is kept only if it is retained`)
    }
  }

  async #read(job: string, result: Buffer | null): Promise<Value> {
    try {
      const value: unknown = result === null ? undefined : JSON.parse(result.toString())
      return (await validate(this.#schema, value)) as Value
    } catch (error) {
      throw mismatch(`${job}: the result`, error)
    }
  }

  /**
   * Cancels the job: one that waits is gone, the signal of a running handler aborts within 5 s. False:
   * the job has ended.
   */
  cancel(options?: CallOptions): Promise<boolean> {
    return this.#queue.cancel(this.id, options)
  }

  /** The item, with its state and progress; `null` if it is gone. */
  info(): Promise<ItemInfo | null> {
    return this.#queue.get(this.id)
  }
}
