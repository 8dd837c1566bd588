import { message, printable, quote } from './check'
import { invalid } from './errors'
import type { State } from './types'
import type { ItemsParts } from './wire'

/** Data read as JSON; there is no check that it is of type `T`. */
export function readJson<T>(id: string, data: Buffer): T {
  try {
    return JSON.parse(data.toString()) as T
  } catch (error) {
    // It quotes the data as it is.
    const why = printable(message(error))
    throw invalid(`item ${quote(id)}: data cannot be read as json: ${why}`)
  }
}

/** An item as it stands in the queue, looked at without leasing it. */
export class ItemInfo {
  /** The id as text. What is no UTF-8 in it shows as U+FFFD; `idBytes` is exact. */
  readonly id: string
  /** The id as it is. */
  readonly idBytes: Buffer
  readonly data: Buffer
  readonly state!: State
  /** 0 to 9. */
  readonly priority!: number
  /** The limit of attempts; `null` for none. */
  readonly maxAttempts!: number | null
  /** Deliveries so far that ended with `fail`, since the add or the last `requeue`. */
  readonly failures!: number
  /** Deliveries so far that ended with an expired lease, since the add or the last `requeue`. */
  readonly expiries!: number
  /** The text of the last `fail`; empty if there was none. */
  readonly lastError!: string
  /** When it was added, on the server's clock, in milliseconds since 1970. */
  readonly addedAtMs!: number
  /** The lease's deadline, the time it is due, or the time of death; `null` for ready items. */
  readonly atMs!: number | null

  /** @internal */
  constructor(about: Record<string, unknown>, id: Buffer, data: Buffer) {
    this.id = id.toString()
    this.idBytes = id
    this.data = data
    Object.assign(this, about)
  }

  /** The data as text. */
  text(): string {
    return this.data.toString()
  }

  /** The data read as JSON. Throws `INVALID` if it is none; does not check that it is a `T`. */
  json<T = unknown>(): T {
    return readJson<T>(this.id, this.data)
  }
}

/** Some items of a state. */
export interface Page {
  /** In the order of leasing (ready) or of time (the others). */
  items: ItemInfo[]
  /** Where to go on; `null` at the end. */
  cursor: string | null
}

/** @internal */
export function readPage({ about, ids, data }: ItemsParts): Page {
  const items = about.items.map((one, i) => new ItemInfo(one, ids[i]!, data[i]!))
  return { items, cursor: about.cursor }
}
