// Worker threads that run jobs, one at a time each.
import { join } from 'node:path'
import { Worker as Thread } from 'node:worker_threads'

import { message as messageOf } from '../check'
import { invalid } from '../errors'
import type { Message } from './child_connection'
import type { Task } from './context'
import type { CancelReason } from './decisions'
import type { End } from './report'

/** What is known about jobs before any has run. */
export type Declared = Record<
  string,
  {
    readonly queue: string
    readonly timeout_ms?: number
    readonly retry?: { max: number; base: number; cap: number; on: string[]; never: string[] }
  }
>

export interface ThreadOptions {
  readonly url: string
  readonly maxJobs: number
  readonly startTimeoutMs: number
  readonly memoryLimit: number | undefined
}

/** What a job in a thread asks for. */
export interface Asks {
  progress(text: string): void
  moreTime(ms: number): void
}

interface Current {
  readonly number: number
  readonly asks: Asks
  readonly end: (end: End) => void
}

const died = (classes: string[], message: string): End => ({
  kind: 'failed',
  classes,
  message,
  trace: undefined,
  policy: 'retry',
  delayMs: 0,
})

/** A thread, from its start to its end. */
export class JobThread {
  /** Resolves to its jobs when it can take one. Rejects if it does not start. */
  readonly started: Promise<Declared>
  jobs = 0
  #thread: Thread
  #current: Current | undefined
  #jobs: Declared = {}
  #ready: () => void = () => undefined
  #error: unknown
  #isKilled = false
  readonly #ended: Promise<void>

  constructor(options: ThreadOptions) {
    const limits =
      options.memoryLimit === undefined
        ? {}
        : { resourceLimits: { maxOldGenerationSizeMb: options.memoryLimit / 2 ** 20 } }
    this.#thread = new Thread(join(__dirname, 'thread.js'), { workerData: options.url, ...limits })
    this.#thread.on('message', (message: Message) => this.#receive(message))
    this.#thread.on('error', (error) => (this.#error = error))
    const ended = new Promise<number>((resolve) => this.#thread.once('exit', resolve))
    this.#ended = ended.then((status) => this.#end(status))
    const late = setTimeout(() => {
      this.#error ??= new Error(`it was not ready after ${options.startTimeoutMs} ms`)
      void this.kill()
    }, options.startTimeoutMs)
    this.started = new Promise<Declared>((resolve, reject) => {
      this.#ready = () => resolve(this.#jobs)
      void ended.then((status) => reject(invalid(`a worker thread: ${this.#why(status)}`)))
    }).finally(() => clearTimeout(late))
    // Whoever waits for it is told.
    this.started.catch(() => undefined)
  }

  /** Whether it can never run a job again. */
  isDead = false

  /** Runs a job, and resolves to its end when the thread can take another one, or has ended. */
  run(task: Task, args: unknown, remainingMs: number, asks: Asks): Promise<End> {
    this.jobs++
    return new Promise<End>((resolve) => {
      this.#current = { number: task.number, asks, end: resolve }
      this.#thread.postMessage({
        type: 'run',
        task: task.number,
        job: task.name,
        queue: task.queue,
        id: task.id,
        id_hex: '',
        args,
        meta: task.meta,
        attempt: task.attempt,
        max_attempts: task.maxAttempts,
        last_error: task.lastError,
        generation: task.generation,
        timeout_ms: remainingMs,
        ...previousOf(task),
      })
    })
  }

  cancel(number: number, reason: CancelReason): void {
    this.#thread.postMessage({ type: 'cancel', task: number, reason })
  }

  /** Ends it, whatever it does. Its job has then stopped because it was to. */
  async kill(): Promise<void> {
    this.#isKilled = true
    // What its job has said may arrive after this, and must bring it no other one.
    this.isDead = true
    await this.#thread.terminate()
    await this.#ended
  }

  #receive(message: Message): void {
    const current = this.#current
    if (message.type === 'hello') this.#jobs = message['jobs'] as Declared
    else if (message.type === 'ready') this.#ready()
    else if (current?.number === message['task']) this.#hear(current!, message)
  }

  #hear(current: Current, message: Message): void {
    if (message.type === 'progress') return current.asks.progress(message['progress'] as string)
    if (message.type === 'more_time') return current.asks.moreTime(message['ms'] as number)
    const end = endOf(message)
    if (end === undefined) return
    this.#current = undefined
    current.end(end)
  }

  #end(status: number): void {
    this.isDead = true
    const current = this.#current
    this.#current = undefined
    if (current === undefined) return
    if (this.#isKilled) return current.end({ kind: 'cancelled' })
    const { code } = (this.#error ?? {}) as { code?: string }
    const classes =
      code === 'ERR_WORKER_OUT_OF_MEMORY' ? ['OutOfMemory', 'ChildDied'] : ['ChildDied']
    current.end(died(classes, `the worker thread ${this.#why(status)}`))
  }

  #why(status: number): string {
    if (this.#error === undefined) return `ended with status ${status}`
    return `has failed: ${messageOf(this.#error)}`
  }
}

function previousOf({ previous }: Task): object {
  if (previous === null) return {}
  const { id, result } = previous
  return { previous: { id, id_hex: '', ...(result === null ? {} : { result }) } }
}

/** The end of a job; `undefined`: it goes on. */
function endOf(message: Message): End | undefined {
  switch (message.type) {
    case 'done':
      return { kind: 'done', result: message['result'] as string | undefined }
    case 'snooze':
      return { kind: 'snooze', delayMs: message['ms'] as number }
    case 'cancelled':
      return { kind: 'cancelled' }
    case 'invalid_args':
      return { kind: 'invalidArgs', message: message['message'] as string }
    case 'failed': {
      const { classes, message: text, trace, policy = 'retry', ms = 0 } = message
      return {
        kind: 'failed',
        classes: classes as string[],
        message: text as string,
        trace: trace as string | undefined,
        policy: policy === 'retry_after' ? 'retryAfter' : (policy as 'retry'),
        delayMs: ms as number,
      }
    }
    default:
      return undefined
  }
}
