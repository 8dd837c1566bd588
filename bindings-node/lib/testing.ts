/**
 * For tests of programs that use leaseq, with any test runner: a queue in memory, a clock that the test sets,
 * and jobs that run where they are enqueued.
 */
import { NativeClock } from '../native.js'
import { number } from './check'
import { type Client, connectWith } from './client'
import { invalid } from './errors'
import type { Jobs, JobTable } from './jobs/define'
import { Inline, type InlineOptions } from './jobs/inline'
import { type Handlers, worker } from './jobs/worker'
import type { WorkerOptions } from './jobs/options'

export type { Inline, InlineOptions }

/** As for `Date`. */
const MAX_TIME = 8.64e15

/**
 * The time of a queue in memory. It stands still until it is advanced. It decides what is due: delays,
 * retries, schedules, what is retained, and which leases have expired. Timeouts of handlers, and how long
 * calls wait, follow the real time.
 */
export class Clock {
  /** @internal */
  readonly native: NativeClock

  constructor(start: Date | number = Date.now()) {
    this.native = new NativeClock(time('start', Number(start)))
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return this.native.now
  }

  /** Sets it forward. */
  advance(ms: number): void {
    this.native.advance(time('a time', ms))
  }
}

function time(name: string, value: unknown): number {
  const ms = number(name, value)
  if (!(ms >= 0 && ms <= MAX_TIME)) throw invalid(`${name}: ${ms} is no time in milliseconds`)
  return ms
}

/** A client of a new queue in memory, with its own time if there is a clock. Close it at the end of the test. */
export function memory(options: { clock?: Clock | undefined } = {}): Promise<Client> {
  return connectWith('memory:', {}, options.clock?.native)
}

/**
 * Runs what is due, one job after the other, and what that adds; resolves to how many jobs were run. A job that
 * has failed is run again when the clock says so.
 */
export async function runUntilIdle<T extends JobTable>(
  client: Client,
  jobs: Jobs<T>,
  handlers: Handlers<T>,
  options: WorkerOptions = {},
): Promise<number> {
  const all = { concurrency: 1, ...options }
  return (await worker(client, jobs, handlers, all).runUntilIdle()).started
}

/**
 * Runs jobs where they are enqueued, until it is closed: without a queue of yours and without a worker.
 * Arguments and results go through JSON, as in a worker, and middleware is around the handlers. What a handler
 * throws is thrown by `enqueue`; with `throwErrors: false` the reference has it, as if the job had used up its
 * attempts. Options about time and other jobs have no effect.
 */
export async function inline<T extends JobTable>(
  jobs: Jobs<T>,
  handlers: Handlers<T>,
  options: InlineOptions = {},
): Promise<Inline> {
  return Inline.begin(jobs as unknown as Jobs<JobTable>, handlers as Handlers<JobTable>, options)
}
