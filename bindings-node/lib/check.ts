// What the native half cannot check by itself: types, unknown options, text that is none. It checks
// what the values may be. Everything here may run code of the caller (a getter, a proxy, an iterator),
// so each value is read once, and what is returned can not change any more.
import { types } from 'node:util'

import { invalid } from './errors'

const MAX_SHOWN = 64
const MAX_MESSAGE = 1024

/** Without characters that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)
}

/** Text, for a message: short. */
export function quote(text: string): string {
  return printable(JSON.stringify(text.slice(0, MAX_SHOWN)))
}

/** Anything, for a message: short, and never a whole object. */
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

/** What an error says, as far as an item keeps it. Anything can be thrown, or have a getter that throws. */
export function message(error: unknown): string {
  let text: string
  try {
    text = String(error instanceof Error ? error.message : error)
  } catch {
    text = 'an error that cannot be written as text'
  }
  return (text.slice(0, MAX_MESSAGE) as unknown as { toWellFormed(): string }).toWellFormed()
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

/** How long a view really is, whatever properties it has. */
const lengthOf: (view: Uint8Array) => number = Function.prototype.call.bind(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')!.get!,
)

/**
 * Text, or a copy of bytes. Text that cannot be written as UTF-8 would be changed on the way. Bytes
 * can be taken away or changed after this: by a transfer to another thread, by a resize of their
 * buffer, by a thread that shares them. Bytes that are gone already look empty.
 */
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
  try {
    const copy = Buffer.allocUnsafe(lengthOf(value))
    copy.set(value)
    return copy
  } catch (error) {
    // Shared memory was made larger meanwhile, or there is no memory left.
    if (!(error instanceof TypeError)) return new Uint8Array(value)
    throw invalid(`${name}: the bytes are gone: their buffer was transferred or made smaller`)
  }
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
