// What a handler can say about its job, by throwing or returning it.
import { invalid } from '../errors'

/** Why a handler is to stop. */
export type CancelReason = 'user' | 'timeout' | 'shutdown' | 'lost'

/** What a handler throws or returns to say what happens to its job. */
export abstract class Decision extends Error {
  /** How long the job waits, in milliseconds. */
  readonly delayMs: number

  constructor(message = '', delayMs = 0) {
    super(message)
    if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs < Infinity)) {
      throw invalid(`a delay of ${String(delayMs)} ms is not a time from zero on`)
    }
    this.delayMs = delayMs
  }
}

/** There is nothing more to do: the job ends as completed, without a result. */
export class Discard extends Decision {
  constructor(message?: string) {
    super(message)
  }
}

/** The job is dead, whatever attempts it has left. */
export class Bury extends Decision {
  constructor(message?: string) {
    super(message)
  }
}

/** The job has failed, and is tried again after this delay if it has an attempt left. */
export class RetryAfter extends Decision {
  constructor(delayMs: number, message?: string) {
    super(message, delayMs)
  }
}

/** The job runs again after this delay, and this attempt does not count. */
export class Snooze extends Decision {
  constructor(delayMs: number) {
    super('', delayMs)
  }
}

/** The reason of a job's signal, and the error of its reference. */
export class JobCancelledError extends Error {
  /** Why a handler is to stop; `undefined` in the error of a reference. */
  readonly reason: CancelReason | undefined

  constructor(message: string, reason?: CancelReason) {
    super(message)
    this.reason = reason
  }
}

/** The job is dead. The message is the last error. */
export class JobFailedError extends Error {}
/** Somebody has removed the job. */
export class JobRemovedError extends Error {}
/** There is no such job, or it has ended and was not retained, so nobody knows how. */
export class JobGoneError extends Error {}
/** The job was completed, and was not retained, so its result is not known. */
export class JobNotRetainedError extends JobGoneError {}
/** A job has not ended in time. */
export class JobTimeoutError extends Error {}

// A name that stays when the code is minified.
for (const [name, one] of Object.entries({
  Discard,
  Bury,
  RetryAfter,
  Snooze,
  JobCancelledError,
  JobFailedError,
  JobRemovedError,
  JobGoneError,
  JobNotRetainedError,
  JobTimeoutError,
})) {
  Object.defineProperty(one.prototype, 'name', { value: name, configurable: true })
}
