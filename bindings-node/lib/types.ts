import type { Lease } from './lease'

/** Bytes, or text that is written as UTF-8. */
export type Data = string | Uint8Array

/** The id of an item: 1 to 512 arbitrary bytes. */
export type Id = string | Uint8Array

/** What an item is, besides its data. */
export interface ItemOptions {
  /** 1 to 512 bytes. Default: a random UUID. */
  id?: Id
  /** 0 to 9; higher ones are leased first. Default: 0. */
  priority?: number
  /** Makes the item ready only after this time, at most 366 days. Default: 0. */
  delayMs?: number
  /** After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit. */
  maxAttempts?: number
}

/** An item to add: `data`, or a value that is stored as JSON. */
export type Item = ItemOptions & ({ data: Data; json?: never } | { json: unknown; data?: never })

/** How a call is made. */
export interface CallOptions {
  /**
   * Gives up: the promise is rejected with the signal's reason. A lease that was won in the same
   * moment is given back. What changes the queue may still be executed.
   */
  signal?: AbortSignal | undefined
}

export interface ConnectOptions extends CallOptions {
  /** First part of every key on Redis, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`. */
  namespace?: string
  /** How long an operation is tried before it is `UNAVAILABLE`: 50 ms to 10 minutes. Default: 10 s. */
  timeoutMs?: number
  /** How long opening one connection may take: 10 ms to 10 minutes. Default: 2 s. */
  connectTimeoutMs?: number
  /** Largest data of an item that this client adds, in bytes, at most 256 MiB. Default: 8 MiB. */
  maxData?: number
  /** PEM file with the certificate authorities trusted for TLS. Default: the system's. */
  caFile?: string
}

export interface LeaseOptions extends CallOptions {
  /** How long the lease lasts: 1 ms to 30 days. */
  durationMs: number
  /** How long to wait for an item; 0 returns at once. Default: until there is one. */
  waitMs?: number
  /**
   * Has the lease extended in the background, also while the event loop is blocked, until it is
   * completed, released, failed or lost, or until nothing refers to it any more; with `limitMs` only
   * until that much time has passed since it was given. Default: no.
   */
  keepAlive?: boolean | { limitMs?: number }
}

export interface LeasesOptions extends LeaseOptions {
  /**
   * Whether going on to the next turn completes the item of the turn before, unless the body has
   * completed, released or failed it. Both take one round trip together. Default: no.
   */
  complete?: boolean
}

export interface CompleteOptions extends CallOptions {
  /** False unless the lease is current. Default: the work is done, whoever holds the item by now. */
  strict?: boolean
}

export interface CompleteAndLeaseOptions extends LeaseOptions, CompleteOptions {}

/** What `completeAndLease` has done. */
export interface CompletedAndLeased {
  /** For each lease, in their order: true if this call has completed its item. */
  completed: boolean[]
  /** The new leases; none if there was nothing within `waitMs`. */
  leases: Lease[]
}

export interface DelayOptions extends CallOptions {
  /** How long until the item is ready again, at most 366 days. Default: 0. */
  delayMs?: number
}

/** The state an item is in; exactly one at a time. */
export type State = 'ready' | 'delayed' | 'leased' | 'dead'

export interface ListOptions extends CallOptions {
  /** `cursor` of the page before. Default: the first page. */
  cursor?: string | null
  /** Most items of a page, 1 to 1,000. Default: 100. */
  limit?: number
}

/** How many items are in each state, and more that operators watch. */
export interface Counts {
  ready: number
  /** Ready items by priority, 0 to 9. */
  readyByPriority: number[]
  /** Items whose delay has not ended, or that nobody has promoted yet. */
  delayed: number
  /** Leased items, expired ones that nobody has reclaimed yet included. */
  leased: number
  /** Items that are out of attempts. */
  dead: number
  /** How long the oldest ready item has been ready; `null` if none is. */
  oldestReadyMs: number | null
  /** Whether leasing is paused. */
  paused: boolean
  /** What has happened since the queue was new. */
  totals: {
    added: number
    leased: number
    completed: number
    expired: number
    failed: number
    died: number
    removed: number
  }
}

/** What a light clean did. */
export interface LightReport {
  /** Delayed items that became ready. */
  promoted: number
  /** Expired leases that were reclaimed. */
  expired: number
  /** How many of those items are dead now, at their limit of attempts. */
  died: number
  /** When the next item is due or the next lease expires; `null` if there is neither. */
  nextInMs: number | null
}

/** What a deep clean, or a check, found. */
export interface DeepReport {
  /** True if nothing is wrong. */
  sound: boolean
  /** Items looked at. */
  items: number
  /** Idle lanes of clients that are gone. Leaving them is no damage. */
  idleLanes: number
  /** How often each damage was found, by its name. */
  found: Record<string, number>
  /** How often it was mended; empty for a check. */
  mended: Record<string, number>
  /** The first findings, one line each, at most 100. */
  details: string[]
}
