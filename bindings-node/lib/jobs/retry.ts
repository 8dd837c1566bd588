import type { NativeRetry } from '../../native.js'
import { known, list, number, text } from '../check'

/** A class of errors, or its name in any language. */
export type ErrorClass = string | (abstract new (...args: never[]) => unknown)

/**
 * When a failed job is tried again: after a random time between 0 and `baseMs` · 2ⁿ, at most `capMs`,
 * where n is the number of earlier attempts.
 */
export interface Retry {
  /** How many attempts a job has, 1 to 65,535. Failures and expired leases count. Default: 10. */
  attempts?: number | undefined
  /** Default: 1 s. */
  baseMs?: number | undefined
  /** Default: 10 minutes. */
  capMs?: number | undefined
  /** If not empty, only errors of these classes and their subclasses are retried. */
  on?: Iterable<ErrorClass> | undefined
  /** Errors of these classes and their subclasses are not retried. */
  never?: Iterable<ErrorClass> | undefined
}

const RETRY = new Set(['attempts', 'baseMs', 'capMs', 'on', 'never'])

/** The name of a class: the one that it sets, or that of its constructor. */
function nameOf(what: string, one: ErrorClass): string {
  if (typeof one !== 'function') return text(what, one)
  const prototype = one.prototype as { name?: unknown } | undefined
  const own =
    prototype !== undefined && Object.hasOwn(prototype, 'name') ? prototype.name : undefined
  return typeof own === 'string' ? own : one.name
}

/** The rules of this job. */
export function nativeRetry(job: string, retry: Retry): NativeRetry {
  const what = `job ${job}: retry`
  const {
    attempts = 10,
    baseMs = 1000,
    capMs = 600_000,
    on = [],
    never = [],
  } = known(retry, what, RETRY)
  return {
    attempts: number(`${what}: attempts`, attempts),
    baseMs: number(`${what}: baseMs`, baseMs),
    capMs: number(`${what}: capMs`, capMs),
    on: list(`${what}: on`, on).map((one) => nameOf(`${what}: on`, one)),
    never: list(`${what}: never`, never).map((one) => nameOf(`${what}: never`, one)),
  }
}
