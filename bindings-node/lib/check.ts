// Checks that the native half cannot make: types, unknown options, malformed text. The native half
// checks the limits of values. Any function here may run code of the caller (a getter, a proxy, an
// iterator), so it reads each value once and returns a copy that cannot change.
import { types } from 'node:util'

import { invalid } from './errors'

const MAX_SHOWN = 64
const MAX_MESSAGE = 1024

/** Escapes characters that control a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)
}

/** Quotes text for a message, shortened. */
export function quote(text: string): string {
  return printable(JSON.stringify(text.slice(0, MAX_SHOWN)))
}

/** Describes any value for a message, shortened; never a whole object. */
function show(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value).slice(0, MAX_SHOWN)
  try {
    const name: unknown = value.constructor?.name
    const type = typeof name === 'string' ? printable(name.slice(0, MAX_SHOWN)) : ''
    return `an object of type ${type || 'none'}`
  } catch {
    return 'an object'
  }
}

/**
 * The message of an error, up to the length that an item stores. Any value can be thrown, and its
 * getters may throw.
 */
export function message(error: unknown): string {
  let text: string
  try {
    text = String(error instanceof Error ? error.message : error)
  } catch {
    text = 'an error that cannot be written as text'
  }
  return (text.slice(0, MAX_MESSAGE) as unknown as { toWellFormed(): string }).toWellFormed()
}

/** Refuses unknown options: a misspelt option would silently have no effect. */
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

/** A function that is called later. */
export function called<T>(name: string, value: T): T {
  if (typeof value !== 'function') throw invalid(`${name}: ${show(value)} is not a function`)
  return value
}

/** Text that is stored. What is not valid UTF-16 is refused, because UTF-8 would change it. */
export function storedText(name: string, value: unknown): string {
  const given = text(name, value)
  if (!(given as unknown as { isWellFormed(): boolean }).isWellFormed()) {
    throw invalid(`${name}: ${show(given)} has half of a surrogate pair, which UTF-8 has not`)
  }
  return given
}

export function flag(name: string, value: unknown, otherwise = false): boolean {
  if (value === undefined) return otherwise
  if (typeof value !== 'boolean') throw invalid(`${name}: ${show(value)} is not true or false`)
  return value
}

/** The real length of a view, even if the caller has redefined its property. */
const lengthOf: (view: Uint8Array) => number = Function.prototype.call.bind(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')!.get!,
)

/**
 * Stored text, or a copy of bytes. Bytes are copied because the caller may change, transfer or
 * resize their buffer later. A transferred buffer looks empty.
 */
export function bytes(name: string, value: unknown): string | Uint8Array {
  if (typeof value === 'string') return storedText(name, value)
  if (!types.isUint8Array(value)) {
    throw invalid(`${name}: ${show(value)} is neither a string nor a Uint8Array`)
  }
  try {
    const copy = Buffer.allocUnsafe(lengthOf(value))
    copy.set(value)
    return copy
  } catch (error) {
    // Shared memory has grown meanwhile, or no memory is left.
    if (!(error instanceof TypeError)) return new Uint8Array(value)
    throw invalid(`${name}: the bytes are gone: their buffer was transferred or made smaller`)
  }
}

/**
 * The values of an iterable. Text and bytes are refused: they would be lists of characters and
 * numbers.
 */
export function list<T>(name: string, value: Iterable<T>): T[] {
  const iterable = typeof value === 'object' && value !== null && Symbol.iterator in value
  if (!iterable || ArrayBuffer.isView(value)) throw invalid(`${name}: ${show(value)} is not a list`)
  return [...value]
}

/** The value as JSON text. */
export function json(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw invalid(`data cannot be written as json: ${printable(message(error))}`)
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
