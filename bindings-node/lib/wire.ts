// Reads what the native half sends; `src/wire.rs` says how it is written.
import type { Leases } from '../native.js'
import { makeError } from './errors'

/** A lease as it comes: its number in a holder, and where its id and data are. */
export interface LeaseParts {
  readonly holder: Leases
  readonly index: number
  readonly bytes: Buffer
  readonly id: number
  readonly data: number
  /** Where the data ends; before its start if it did not come along. */
  readonly end: number
}

/** What was completed, 0 or 1 for each, and what was leased. */
export interface BothParts {
  readonly completed: Float64Array
  readonly leases: LeaseParts[]
}

/** Items as they come. */
export interface ItemsParts {
  readonly about: { items: Record<string, unknown>[]; cursor: string | null }
  readonly ids: Buffer[]
  readonly data: Buffer[]
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
        return this.json(this.next())
      case 6: {
        const error = this.json(this.next()) as { code: string; message: string; unknown: boolean }
        return makeError(error.code, error.message, error.unknown)
      }
      case 7:
        return this.leases(this.next())
      case 8:
        return this.items()
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

  private items(): ItemsParts {
    const about = this.json(this.next()) as ItemsParts['about']
    const count = this.next()
    const ids: Buffer[] = []
    const data: Buffer[] = []
    for (let i = 0; i < count; i++) {
      ids.push(this.part())
      data.push(this.part())
    }
    return { about, ids, data }
  }

  /** A copy: what one holds must not keep all the others in memory, nor be changed with them. */
  private part(): Buffer {
    const from = this.from
    this.from += this.next()
    return Buffer.from(this.bytes.subarray(from, this.from))
  }
}
