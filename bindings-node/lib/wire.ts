// Decodes what the native half sends; `src/wire.rs` documents the format.
import type { Leases } from '../native.js'
import { makeError } from './errors'

/** A lease as received: its index in a holder, and where its id and data are in the buffer. */
export interface LeaseParts {
  readonly holder: Leases
  readonly index: number
  readonly bytes: Buffer
  readonly id: number
  readonly data: number
  /** Where the data ends; before its start if the data was not sent. */
  readonly end: number
}

/** Results of completing, 0 or 1 for each, and the new leases. */
export interface BothParts {
  readonly completed: Float64Array
  readonly leases: LeaseParts[]
}

/** The bytes of an item. */
export interface ItemBytes {
  readonly id: Buffer
  readonly data: Buffer
  readonly result: Buffer | null
  readonly unique: Buffer | null
  readonly key: Buffer | null
  readonly progress: Buffer | null
}

/** Items as received. */
export interface ItemsParts {
  readonly about: {
    items: (Record<string, unknown> | null)[]
    cursor: string | null
    examined: number
  }
  readonly bytes: ItemBytes[]
}

/** How an item has ended: an index into the kinds, and a result or an error; or null. */
export type EndParts = readonly [kind: number, bytes: Buffer | null]

/** A value with its names in camel case: the core writes them with underscores. */
export function camelCase(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(camelCase)
  const entries = Object.entries(value).map(([name, field]) => [
    name.replace(/_[a-z]/g, (part) => part.charAt(1).toUpperCase()),
    camelCase(field),
  ])
  return Object.fromEntries(entries) as unknown
}

export const booleans = (answers: Float64Array): boolean[] =>
  Array.from(answers, (answer) => answer === 1)

export const numbersOrNull = (answers: Float64Array): (number | null)[] =>
  Array.from(answers, (answer) => (Number.isNaN(answer) ? null : answer))

/** From its parts, parsed. */
export function readError(parts: unknown): Error {
  const { code, message, unknown } = parts as { code: string; message: string; unknown: boolean }
  return makeError(code, message, unknown)
}

export class Reader {
  private readonly numbers: Float64Array
  private readonly bytes: Buffer
  private readonly holders: Leases[]
  private at = 0
  private from = 0

  constructor([numbers, bytes, holders]: [Float64Array, Buffer, Leases[]]) {
    this.numbers = numbers
    this.bytes = bytes
    this.holders = holders
  }

  more(): boolean {
    return this.at < this.numbers.length
  }

  slot(): number {
    return this.next()
  }

  answer(): unknown {
    const kind = this.next()
    switch (kind) {
      case 1:
        return false
      case 2:
        return true
      case 3:
        return this.next()
      case 4:
        return this.many(this.next())
      case 5:
        return camelCase(this.json(this.next()))
      case 6:
        return readError(this.json(this.next()))
      case 7:
        return this.leases(this.next())
      case 8:
        return this.items()
      case 11:
        return this.ends(this.next())
      case 12:
        return (this.json(this.next()) as object[]).map((about) => ({
          ...about,
          data: this.part()!,
        }))
      case 13:
        return this.json(this.next())
      case 10:
        return { completed: this.many(this.next()), leases: this.leases(this.next()) }
      default:
        return undefined
    }
  }

  private next(): number {
    return this.numbers[this.at++] as number
  }

  private many(count: number): Float64Array {
    const from = this.at
    this.at += count
    return this.numbers.subarray(from, this.at)
  }

  private json(length: number): unknown {
    const from = this.from
    this.from += length
    return JSON.parse(this.bytes.toString('utf8', from, this.from))
  }

  private leases(count: number): LeaseParts[] {
    const leases: LeaseParts[] = []
    for (let i = 0; i < count; i++) {
      const holder = this.holders[this.next()] as Leases
      const index = this.next()
      const id = this.from
      const data = id + this.next()
      const end = data + this.next()
      this.from = Math.max(data, end)
      leases.push({ holder, index, bytes: this.bytes, id, data, end })
    }
    return leases
  }

  private ends(count: number): EndParts[] {
    // Evaluated in this order.
    return Array.from({ length: count }, () => [this.next(), this.part()] as const)
  }

  private items(): ItemsParts {
    const about = this.json(this.next()) as ItemsParts['about']
    const count = this.next()
    const bytes: ItemBytes[] = []
    for (let i = 0; i < count; i++) {
      // Evaluated in this order.
      const [id, data, result] = [this.part(), this.part(), this.part()]
      const [unique, progress, key] = [this.part(), this.part(), this.part()]
      bytes.push({ id: id!, data: data!, result, unique, progress, key })
    }
    return { about, bytes }
  }

  /** A copy, so that one item neither keeps the others in memory nor shares bytes with them. */
  private part(): Buffer | null {
    const length = this.next()
    if (length < 0) return null
    const from = this.from
    this.from += length
    return Buffer.from(this.bytes.subarray(from, this.from))
  }
}
