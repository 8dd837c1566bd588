// What the native half cannot tell by itself: types, unknown options, text that is none. What the
// values may be is said there.
import { types } from 'node:util'

import { invalid } from './errors'

/** Anything, for a message: short, and never a whole object. */
function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64))
  if (typeof value === 'object' && value !== null) {
    return `an object of type ${value.constructor?.name ?? 'none'}`
  }
  return String(value)
}

/** Refuses options that do not exist: a misspelt one would have no effect, and nobody would know. */
export function known<T extends object>(options: T, what: string, names: ReadonlySet<string>): T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${what}: ${show(options)} is not an object of options`)
  }
  for (const name in options) {
    if (!names.has(name)) {
      throw invalid(`${what} has no option ${show(name)}; there are ${[...names].join(', ')}`)
    }
  }
  return options
}

export function number(name: string, value: unknown): number {
  if (typeof value !== 'number') throw invalid(`${name}: ${show(value)} is not a number`)
  return value
}

export function optionalNumber(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : number(name, value)
}

export function text(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalid(`${name}: ${show(value)} is not a string`)
  return value
}

export function flag(name: string, value: unknown): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw invalid(`${name}: ${show(value)} is not true or false`)
  return value
}

/** Text or bytes as they are. Text that cannot be written as UTF-8 would be changed on the way. */
export function bytes(name: string, value: unknown): string | Uint8Array {
  if (typeof value === 'string') {
    if (!(value as unknown as { isWellFormed(): boolean }).isWellFormed()) {
      throw invalid(`${name}: ${show(value)} has half of a surrogate pair, which UTF-8 has not`)
    }
    return value
  }
  if (!types.isUint8Array(value)) {
    throw invalid(`${name}: ${show(value)} is neither a string nor a Uint8Array`)
  }
  // Shared memory may change while it is read.
  return types.isSharedArrayBuffer(value.buffer) ? Uint8Array.from(value) : value
}

/** What many calls take. Text and bytes are lists too, but of characters and numbers. */
export function list<T>(name: string, value: Iterable<T>): T[] {
  const iterable = typeof value === 'object' && value !== null && Symbol.iterator in value
  if (!iterable || ArrayBuffer.isView(value)) throw invalid(`${name}: ${show(value)} is not a list`)
  return [...value]
}

/** The value as JSON. */
export function json(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw invalid(`data cannot be written as json: ${(error as Error).message}`)
  }
  if (text === undefined) throw invalid(`data cannot be written as json: ${show(value)}`)
  return text
}

export function signalOf(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined
  if (typeof (value as AbortSignal | null)?.addEventListener !== 'function') {
    throw invalid(`signal: ${show(value)} is not an AbortSignal`)
  }
  return value as AbortSignal
}
