// Writes what every language reads alike.
import { types } from 'node:util'

import { invalid } from '../errors'

const MAX_DEPTH = 64

/**
 * A value as JSON, each part of it read once. `INVALID` for NaN, infinite numbers, integers beyond
 * 2^53, text that is not well formed, more than 64 levels, and what JSON does not have. Fields that are
 * `undefined` are left out.
 */
export function writeJson(what: string, value: unknown): string {
  const text = write(what, value, 0)
  if (text === undefined) throw invalid(`${what}: ${typeof value} is not a value of JSON`)
  return text
}

/** `undefined`: nothing is written. */
function write(what: string, value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return writeText(what, value)
    case 'number':
      return writeNumber(what, value)
    case 'boolean':
      return String(value)
    case 'undefined':
      return undefined
    case 'object':
      return value === null ? 'null' : writeObject(what, value, depth)
    default:
      throw invalid(`${what}: a ${typeof value} is not a value of JSON`)
  }
}

function writeText(what: string, text: string): string {
  if (!(text as unknown as { isWellFormed(): boolean }).isWellFormed()) {
    throw invalid(`${what}: a text has half of a surrogate pair, which UTF-8 has not`)
  }
  return JSON.stringify(text)
}

function writeNumber(what: string, number: number): string {
  if (!Number.isFinite(number)) throw invalid(`${what}: ${number} is not a number in JSON`)
  // 2^53 itself may be a rounded 2^53 + 1.
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw invalid(`${what}: integer ${number} is beyond 2^53`)
  }
  return JSON.stringify(number)
}

function writeObject(what: string, object: object, depth: number): string | undefined {
  if (depth === MAX_DEPTH) throw invalid(`${what}: values are nested more than ${MAX_DEPTH} deep`)
  if (Array.isArray(object)) {
    const parts = Array.from(object, (one) => {
      const text = write(what, one, depth + 1)
      if (text === undefined) throw invalid(`${what}: a list has an element that is undefined`)
      return text
    })
    return `[${parts.join()}]`
  }
  const { toJSON } = object as { toJSON?: unknown }
  if (typeof toJSON === 'function' && !types.isUint8Array(object)) {
    // As for a date; `null` for one that is none.
    const value: unknown = toJSON.call(object, '')
    if (value === null) throw invalid(`${what}: an invalid date is not a value of JSON`)
    return write(what, value, depth + 1)
  }
  const tag = Object.prototype.toString.call(object)
  if (tag !== '[object Object]') {
    throw invalid(`${what}: an ${tag.slice(1, -1)} is not a value of JSON`)
  }
  const parts: string[] = []
  for (const [name, field] of Object.entries(object)) {
    const text = write(what, field, depth + 1)
    if (text !== undefined) parts.push(`${writeText(what, name)}:${text}`)
  }
  return `{${parts.join()}}`
}
