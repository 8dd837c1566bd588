// A job of the worker that has started this process.
import { invalid } from '../errors'
import { MAX_FRAME, type Message, type Sender } from './child_connection'
import { called, type Task } from './context'
import type { CancelReason } from './decisions'
import { hasEnded, type Host } from './host'
import type { End } from './report'

/** What is around a result in its frame. */
const AROUND = 1024

/** The message that brings a job. */
export interface Run extends Message {
  readonly task: number
  readonly job: string
  readonly queue: string
  readonly id?: string
  readonly id_hex: string
  readonly args: unknown
  readonly meta: Record<string, string>
  readonly attempt: number
  readonly max_attempts: number
  readonly last_error: string
  readonly generation: number
  readonly timeout_ms: number
  readonly previous?: { readonly id?: string; readonly id_hex: string; readonly result?: string }
}

const idOf = ({ id, id_hex: hex }: { id?: string; id_hex: string }): string =>
  id ?? Buffer.from(hex, 'hex').toString()

export const taskOf = (run: Run): Task => ({
  number: run.task,
  name: run.job,
  queue: run.queue,
  id: idOf(run),
  attempt: run.attempt,
  maxAttempts: run.max_attempts,
  generation: run.generation,
  lastError: run.last_error,
  meta: run.meta,
  previous: run.previous ? { id: idOf(run.previous), result: run.previous.result ?? null } : null,
})

/** Tells the worker what handlers do. */
export class ChildHost implements Host {
  readonly #connection: Sender
  #job: number | undefined
  #deadline = 0
  #reason: CancelReason | undefined

  constructor(connection: Sender) {
    this.#connection = connection
  }

  /** A job begins. */
  begin({ task, timeout_ms: ms }: Run): void {
    this.#job = task
    this.#deadline = performance.now() + ms
    this.#reason = undefined
    this.#connection.send({ type: 'started', task })
  }

  cancel(job: number, reason: CancelReason): void {
    if (this.#job === job) this.#reason = reason
  }

  remaining(job: number): number {
    return this.#job === job ? Math.max(this.#deadline - performance.now(), 0) : 0
  }

  moreTime(task: Task, ms: number): void {
    this.#check(task)
    if (this.#reason !== undefined) {
      throw invalid(`${called(task)}: the job was cancelled: ${this.#reason}`)
    }
    this.#deadline = performance.now() + ms
    this.#connection.send({ type: 'more_time', task: task.number, ms: Math.ceil(ms) })
  }

  async progress(task: Task, progress: string | Uint8Array): Promise<void> {
    this.#check(task)
    const text = typeof progress === 'string' ? progress : Buffer.from(progress).toString()
    this.#connection.send({ type: 'progress', task: task.number, progress: text })
  }

  finish(job: number, end: End): undefined {
    this.#job = undefined
    const say = (type: string, fields: object = {}): void =>
      this.#connection.send({ type, task: job, ...fields })
    switch (end.kind) {
      case 'done':
        return this.#done(job, end.result)
      case 'snooze':
        return say('snooze', { ms: Math.ceil(end.delayMs) }) as undefined
      case 'cancelled':
        return say('cancelled') as undefined
      case 'invalidArgs':
        return say('invalid_args', { message: end.message }) as undefined
      case 'failed': {
        const { classes, message, trace, delayMs } = end
        const policy = end.policy === 'retryAfter' ? 'retry_after' : end.policy
        return say('failed', {
          classes,
          message,
          trace,
          policy,
          ms: Math.ceil(delayMs),
        }) as undefined
      }
    }
  }

  #done(job: number, result: string | undefined): undefined {
    const done = { type: 'done', task: job }
    if (result === undefined) {
      this.#connection.send(done)
    } else if (Buffer.byteLength(result) + AROUND > MAX_FRAME) {
      const message = `the result is over the limit of ${MAX_FRAME - AROUND} bytes`
      this.#connection.send({ type: 'failed', task: job, classes: ['InvalidResult'], message })
    } else {
      this.#connection.send(done, { name: 'result', json: result })
    }
    return undefined
  }

  #check(task: Task): void {
    if (this.#job !== task.number) throw hasEnded(task)
  }
}
