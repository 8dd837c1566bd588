// What runs the jobs of a worker: this process, or a child process of another one.
import type { NativeWorker } from '../../native.js'
import { call } from '../calls'
import { invalid, LeaseqError, makeError } from '../errors'
import { called, type Task } from './context'
import type { End } from './report'

/** What has become of a job; `lost`: another worker has it, or it has ended otherwise. */
export type JobOutcome =
  'completed' | 'retried' | 'dead' | 'released' | 'cancelled' | 'lost' | 'uncertain'

/** What handlers do with their jobs, some of which have only a number here. @internal */
export interface Host {
  /** Milliseconds until the timeout; 0 once it is over. */
  remaining(job: number): number
  /** Throws `INVALID` if the job has ended or was cancelled. */
  moreTime(task: Task, ms: number): void
  progress(task: Task, progress: string | Uint8Array): Promise<void>
  /** Reports the end of a handler, at once. Resolves later to what has become of the job, if it is `awaited`. */
  finish(job: number, end: End, awaited: boolean): Promise<JobOutcome> | undefined
}

/** A handler has ended, and goes on. @internal */
export function hasEnded(task: Task): LeaseqError {
  return invalid(`${called(task)}: the job has ended`)
}

/** So many successes are reported together, so that the server works while more jobs end. */
const ENOUGH = 50

/** The worker of this process. @internal */
export class NativeHost implements Host {
  readonly #native: NativeWorker
  /** Jobs that have succeeded, and were not reported yet. */
  readonly #done = new Uint32Array(ENOUGH)
  #results: (string | undefined)[] = []
  #count = 0

  constructor(native: NativeWorker) {
    this.#native = native
  }

  remaining(job: number): number {
    return this.#native.remaining(job)
  }

  moreTime(task: Task, ms: number): void {
    let runs: boolean
    try {
      runs = this.#native.moreTime(task.number, ms)
    } catch (error) {
      if (error instanceof LeaseqError) throw error
      const { code, message } = error as { code: string; message: string }
      throw makeError(code, message)
    }
    if (!runs) throw hasEnded(task)
  }

  progress(task: Task, progress: string | Uint8Array): Promise<void> {
    const read = (runs: boolean): void => {
      if (!runs) throw hasEnded(task)
    }
    return call<void, NativeWorker>(this.#native, { read }, (native) => (slot) => {
      native.progress(slot, task.number, progress)
    })
  }

  finish(job: number, end: End, awaited: boolean): Promise<JobOutcome> | undefined {
    const native = this.#native
    if (awaited) {
      return call<JobOutcome, NativeWorker>(native, {}, () => (slot) => {
        finish(native, slot, job, end)
      })
    }
    if (end.kind === 'done') this.#succeeded(job, end.result)
    else finish(native, undefined, job, end)
    return undefined
  }

  /** Reports it with others whose handlers end at the same time. */
  #succeeded(job: number, result: string | undefined): void {
    if (this.#count === 0) queueMicrotask(() => this.#report())
    if (result !== undefined) this.#results[this.#count] = result
    this.#done[this.#count++] = job
    if (this.#count === ENOUGH) this.#report()
  }

  #report(): void {
    if (this.#count === 0) return
    const [done, results] = [this.#done.subarray(0, this.#count), this.#results]
    this.#count = 0
    if (results.length > 0) this.#results = []
    this.#native.doneMany(done, Array.from(results))
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
