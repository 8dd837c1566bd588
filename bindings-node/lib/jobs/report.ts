// How a handler has ended, for the worker.
import { Bury, Decision, Discard, JobCancelledError, RetryAfter, Snooze } from './decisions'
import type { CancelReason } from './decisions'
import { writeJson } from './json'

/** The longest message that is kept, in characters. A queue keeps 1,024 bytes of an error. */
const MESSAGE = 500
/** The longest message with its stack, in bytes. */
const ERROR = 1000
/** How many names of classes are looked at. */
const CLASSES = 20

/** The end of a handler, as the native half takes it. */
export type End =
  | { readonly kind: 'done'; readonly result: string | undefined }
  | { readonly kind: 'snooze'; readonly delayMs: number }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'invalidArgs'; readonly message: string }
  | Failed

interface Failed {
  readonly kind: 'failed'
  readonly classes: string[]
  readonly message: string
  readonly trace: string | undefined
  readonly policy: 'retry' | 'retryAfter' | 'discard' | 'bury'
  readonly delayMs: number
}

const wellFormed = (text: string): string =>
  (text as unknown as { toWellFormed(): string }).toWellFormed()

/** Anything can be thrown, and its getters may throw. */
function safely<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/** Whether it is an instance of the class: a proxy may throw when it is asked. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  return safely(() => value instanceof type, false)
}

function messageOf(error: unknown): string {
  const text = safely(() => {
    const message: unknown = isObject(error) && 'message' in error ? error.message : error
    return String(message)
  }, 'its message cannot be shown')
  return wellFormed(text.length <= MESSAGE ? text : `${text.slice(0, MESSAGE)}…`)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The names of the error's class and of its superclasses: what `name` says along the chain of prototypes,
 * and the names of the constructors. Then the code of the error, such as `ECONNREFUSED`.
 */
export function classesOf(error: unknown): string[] {
  if (!isObject(error)) return [error === null ? 'null' : typeof error]
  const names = new Set<string>()
  const add = (name: unknown): void => {
    if (typeof name === 'string' && name !== '') names.add(wellFormed(name.slice(0, 128)))
  }
  safely(() => {
    let one: object | null = error
    while (one !== null && one !== Object.prototype && names.size < CLASSES) {
      const at = one
      if (Object.hasOwn(at, 'name')) safely(() => add(Reflect.get(at, 'name', error)), undefined)
      if (at !== error) safely(() => add(at.constructor.name), undefined)
      one = Object.getPrototypeOf(at) as object | null
    }
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) add(code)
  }, undefined)
  return names.size > 0 ? [...names] : ['Object']
}

/** The calls that led to the error, without those of this library and of Node.js, and its causes. */
function traceOf(error: unknown, most: number): string | undefined {
  const parts: string[] = []
  const seen = new Set<unknown>()
  let one = error
  while (isObject(one) && !seen.has(one) && seen.size < 3) {
    const at = one
    if (seen.size > 0) parts.push(`caused by ${classesOf(at)[0]}: ${messageOf(at)}`)
    seen.add(at)
    const stack = safely(() => String((at as { stack?: unknown }).stack ?? ''), '')
    const calls = stack.split('\n').filter((line) => /^ +at /.test(line))
    parts.push(...calls.filter((line) => !line.includes(__dirname) && !line.includes('(node:')))
    one = safely(() => (at as { cause?: unknown }).cause, undefined)
  }
  const text = Buffer.from(wellFormed(parts.join('\n')))
  if (text.length <= most) return text.length > 0 ? text.toString() : undefined
  return `${text
    .subarray(0, most)
    .toString()
    .replace(/\ufffd+$/, '')}…`
}

/** The handler has returned this. */
export function endOfResult(result: unknown): End {
  if (result instanceof Decision) return endOfDecision(result)
  if (result === undefined) return { kind: 'done', result: undefined }
  try {
    return { kind: 'done', result: writeJson('the result', result) }
  } catch (error) {
    return failed(['InvalidResult'], messageOf(error))
  }
}

function failed(
  classes: string[],
  message: string,
  policy: Failed['policy'] = 'retry',
  delayMs = 0,
  trace?: string,
): Failed {
  return { kind: 'failed', classes, message, trace, policy, delayMs }
}

function endOfDecision(decision: Decision): End {
  const { message, delayMs } = decision
  if (decision instanceof Snooze) return { kind: 'snooze', delayMs }
  if (decision instanceof RetryAfter) return failed(['RetryAfter'], message, 'retryAfter', delayMs)
  if (decision instanceof Discard) return failed(['Discard'], message, 'discard')
  if (decision instanceof Bury) return failed(['Bury'], message, 'bury')
  return failed(classesOf(decision), message)
}

/** The handler has thrown this. */
export function endOfError(error: unknown, reason: CancelReason | undefined): End {
  if (isA(error, Decision)) return endOfDecision(error)
  const classes = classesOf(error)
  const stopped = isA(error, JobCancelledError) || classes.includes('AbortError')
  if (reason !== undefined && stopped) return { kind: 'cancelled' }
  const message = messageOf(error)
  const left = ERROR - Buffer.byteLength(`${classes[0]}: ${message}`)
  return failed(classes, message, 'retry', 0, traceOf(error, Math.max(left, 200)))
}
