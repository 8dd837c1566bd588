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
function nameOf(one: ErrorClass): string {
  if (typeof one !== 'function') return text('a class', one)
  const prototype = one.prototype as { name?: unknown } | undefined
  const own =
    prototype !== undefined && Object.hasOwn(prototype, 'name') ? prototype.name : undefined
  return typeof own === 'string' ? own : one.name
}

export function nativeRetry(retry: Retry): NativeRetry {
  const {
    attempts = 10,
    baseMs = 1000,
    capMs = 600_000,
    on = [],
    never = [],
  } = known(retry, 'retry', RETRY)
  return {
    attempts: number('attempts', attempts),
    baseMs: number('baseMs', baseMs),
    capMs: number('capMs', capMs),
    on: list('on', on).map(nameOf),
    never: list('never', never).map(nameOf),
  }
}
