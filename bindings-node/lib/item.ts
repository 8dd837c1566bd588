import { message, printable, quote } from './check'
import { invalid } from './errors'
import type { Ending, FollowUpOn, Releases, State } from './types'
import { camelCase, type ItemBytes, type ItemsParts } from './wire'

/** Parses data as JSON, without checking that it is a `T`. */
export function readJson<T>(id: string, data: Buffer): T {
  try {
    return JSON.parse(data.toString()) as T
  } catch (error) {
    // The message quotes raw data.
    const why = printable(message(error))
    throw invalid(`item ${quote(id)}: data cannot be read as json: ${why}`)
  }
}

/** An item as stored in the queue, read without leasing it. */
export class ItemInfo {
  /** The id as text. Invalid UTF-8 becomes U+FFFD; `idBytes` is exact. */
  readonly id: string
  /** The exact id. */
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
  /**
   * How its last 16 failed or expired leases ended, the oldest first, also before a `requeue`;
   * empty if there was none.
   */
  readonly endings!: readonly Ending[]
  /** The releases in a row for one reason, up to now; `null` if there was none. */
  readonly releases!: Releases | null
  /**
   * Names this life of the id, for `ifGeneration`: an opaque text. It changes when the item is added
   * anew, buried, revised or cancelled while it waits; leases and `requeue` keep it.
   */
  readonly generation!: string
  /** When the item was added, on the server's clock, in ms since 1970. */
  readonly addedAtMs!: number
  /**
   * When the lease expires, the delay ends, the item died, or until when it is retained, in ms since
   * 1970; `null` for ready and held items.
   */
  readonly atMs!: number | null
  /** When a retained item ended, in ms since 1970; `null` for others. */
  readonly endedAtMs!: number | null
  /** The result of a retained item; `null` if it has none. */
  readonly result: Buffer | null
  /** How long the item is retained after its completion, as it was added; `null` for not at all. */
  readonly retainMs!: number | null
  /**
   * How far the last holder that has said so has come; `null` if none has, and for completed items.
   */
  readonly progress: Buffer | null
  /** Whether the item is leased and its cancellation was requested. */
  readonly cancelRequested!: boolean
  /** The unique key as text, like the id; `null` if it has none. */
  readonly unique: string | null
  /** The exact unique key; `null` if it has none. */
  readonly uniqueBytes: Buffer | null
  /** The key as text, like the id; `null` if it has none. */
  readonly key: string | null
  /** The exact key; `null` if it has none. */
  readonly keyBytes: Buffer | null
  /**
   * When the item is dead if it is not leased then, in ms since 1970; `null`: never, because it was
   * added without `expiresInMs`, an attempt of it has counted, or it has ended.
   */
  readonly expiresAtMs!: number | null
  /**
   * Its follow-ups, as it was given them. None for items that have been completed or cancelled, and
   * if the item was read without its data.
   */
  readonly followUps: FollowUpInfo[]

  /** @internal */
  constructor(about: Record<string, unknown>, bytes: ItemBytes) {
    const { id, data, result, unique, progress, key } = bytes
    this.id = id.toString()
    this.idBytes = id
    this.data = data
    this.result = result
    this.progress = progress
    this.unique = unique && unique.toString()
    this.uniqueBytes = unique
    this.key = key && key.toString()
    this.keyBytes = key
    Object.assign(this, about)
    this.followUps = camelCase(about.followUps) as FollowUpInfo[]
  }

  /** The data as text. */
  text(): string {
    return this.data.toString()
  }

  /**
   * The data parsed as JSON. Throws `INVALID` if it is not JSON; does not check that it is a `T`.
   */
  json<T = unknown>(): T {
    return readJson<T>(this.id, this.data)
  }
}

/** A follow-up of an item. */
export interface FollowUpInfo {
  /** Which end fires it. */
  on: FollowUpOn
  /** Whether it gives its trigger. */
  withTrigger?: boolean
  item: FollowUpItem
}

/** What a follow-up adds: its id and data, and the options that it was given. */
export interface FollowUpItem {
  id?: string
  /** Instead of `id`, if that is no text. */
  idHex?: string
  data?: string
  /** Instead of `data`, if that is no text. */
  dataHex?: string
  queue?: string
  priority?: number
  delayMs?: number
  /** RFC 3339. */
  dueAt?: string
  maxAttempts?: number
  retainMs?: number
  unique?: string
  uniqueHex?: string
  uniqueForMs?: number
  replace?: boolean
  successor?: boolean
  key?: string
  keyHex?: string
  expiresInMs?: number
  followUps?: FollowUpInfo[]
}

/** A page of items in one state. */
export interface Page {
  /** Ready and held items in the order of leasing, others by time, or in the opposite order. */
  items: ItemInfo[]
  /** Where the next page begins; `null` at the end. */
  cursor: string | null
  /**
   * How many entries of the queue the page has examined: its items, those that filters left out,
   * and those whose item is gone.
   */
  examined: number
}

/** @internal */
export function readItems({ about, bytes }: ItemsParts): (ItemInfo | null)[] {
  return about.items.map((one, i) => one && new ItemInfo(one, bytes[i]!))
}

/** @internal */
export function readPage(parts: ItemsParts): Page {
  const items = readItems(parts).filter((item) => item !== null)
  return { items, cursor: parts.about.cursor, examined: parts.about.examined }
}
