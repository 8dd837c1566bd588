import type { Group } from './group'
import type { Lease } from './lease'

/** Bytes, or text that is stored as UTF-8. */
export type Data = string | Uint8Array

/** The id of an item: 1 to 512 arbitrary bytes. */
export type Id = string | Uint8Array

/** The properties of an item besides its data. */
export interface ItemOptions {
  /** 1 to 512 bytes. Default: a random UUID. */
  id?: Id
  /** 0 to 9; higher priorities are leased first. Default: 0. */
  priority?: number
  /** Makes the item ready only after this time, at most 366 days. Default: 0. */
  delayMs?: number
  /**
   * Makes the item ready at this time by the server's clock, in ms since 1970, or at once if it has
   * passed; at most 366 days ahead, and not together with a delay. Default: none.
   */
  dueAtMs?: number
  /**
   * After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
   */
  maxAttempts?: number
  /**
   * How long the item stays after its completion, in the state `completed` and with its result, at
   * most 366 days. Until then its id is taken. Default: 0, not at all.
   */
  retainMs?: number
  /**
   * A key, 1 to 512 bytes, that only one item of the queue may have: while another one that is
   * ready, held, delayed, leased or retained has it, the item is not added. Default: none.
   */
  unique?: Id
  /**
   * How long the unique key stays taken from the add on, even if the item ends before, at most 366
   * days. Default: 0, no longer than the item needs it.
   */
  uniqueForMs?: number
  /**
   * Replaces an item that has the id or the unique key, unless it is leased. The new item takes its
   * own place in the order. Default: false, the item is not added.
   */
  replace?: boolean
  /**
   * With `replace`: if the item in the way is leased, this one waits, and takes its place when the
   * lease ends. A later one takes the place of one that waits. Default: false, the item is not added.
   */
  successor?: boolean
  /**
   * A key, 1 to 128 bytes: no more items of a key are leased at the same time than its limit allows,
   * which is one unless it was set. The others wait, and hold up no other key. Default: none.
   */
  key?: Id
  /**
   * The item is dead after this time, 1 ms to 366 days, if it is not leased then and no attempt has
   * counted; not shorter than a delay. Default: it does not expire.
   */
  expiresInMs?: number
  /**
   * Items that are added when this one ends: up to 16, of 64 KiB with their own follow-ups, in up to
   * 16 levels. Default: none.
   */
  followUps?: Iterable<FollowUp>
  /**
   * The name of the queue to which this item is added, if it is a follow-up or `complete` or `fail`
   * adds it. Default: the queue of the item that ends.
   */
  queue?: string
  /**
   * The end of the item fills a place of this group, which may be in another queue. Such an item must not
   * replace others, nor be a follow-up or the item of a schedule. Default: it is in no group.
   */
  group?: Group | undefined
  /** Which place of its group: 0 to 99,999. */
  place?: number | undefined
}

/** The end that fires a follow-up. `ended` is any: completed, dead, cancelled, removed or purged. */
export type FollowUpOn = 'completed' | 'dead' | 'ended'

/** An item that is added, exactly once, when another one ends so. */
export interface FollowUp {
  on: FollowUpOn
  /** What is added, with all its options. Delays begin then. */
  item: Data | Item
  /**
   * Whether `Lease.trigger` has the id and the result of the item that has fired it. Default: false.
   */
  withTrigger?: boolean
}

/** A follow-up for an item that is in the queue. */
export interface Attachment {
  /** The id of that item. */
  id: Id
  followUp: FollowUp
}

export interface CreateGroupOptions extends CallOptions {
  /**
   * Items that are added, exactly once, when the group has ended so: `completed` if all members were
   * completed, `dead` if all have ended and one of them was not completed, `ended` in both cases. The
   * limits are those of an item. A trigger has the id of the group. Default: none.
   */
  followUps?: Iterable<FollowUp>
}

export interface GroupPlacesOptions extends CallOptions {
  /** The first place that is wanted. Default: 0. */
  first?: number
}

/** The item whose end has added a follow-up. */
export interface Trigger {
  /** The id as text. Invalid UTF-8 becomes U+FFFD; `idBytes` is exact. */
  readonly id: string
  /** The exact id. */
  readonly idBytes: Buffer
  /** Of its completion. `null` if it has none, or one of more than 64 KiB. */
  readonly result: Buffer | null
}

/** An item to add: `data`, or a value that is stored as JSON. */
export type Item = ItemOptions & ({ data: Data; json?: never } | { json: unknown; data?: never })

/** Options of every call. */
export interface CallOptions {
  /**
   * Cancels the call: the promise is rejected with the signal's reason. A lease obtained by a
   * cancelled call is released. Other operations may still be executed.
   */
  signal?: AbortSignal | undefined
}

export interface ConnectOptions extends CallOptions {
  /** First part of every key on Redis, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`. */
  namespace?: string
  /**
   * How long an operation is retried before it fails with `UNAVAILABLE`: 50 ms to 10 minutes.
   * Default: 10 s.
   */
  timeoutMs?: number
  /** How long opening one connection may take: 10 ms to 10 minutes. Default: 2 s. */
  connectTimeoutMs?: number
  /** Largest data of an item that this client adds, in bytes, at most 256 MiB. Default: 8 MiB. */
  maxData?: number
  /** PEM file with the certificate authorities trusted for TLS. Default: the system's. */
  caFile?: string
  /**
   * How many replicas of the server must have a change before its call is answered: 0 to 10. If too
   * few have it in time, the call fails with `UNAVAILABLE`, and its outcome is unknown. Default: 0.
   */
  replicas?: number
  /**
   * A call is answered when the server's disk has its change (`'local'`), or also the disks of so
   * many replicas, 1 to 10. Needs Redis 7.2 or Valkey. Default: the server decides.
   */
  fsync?: 'local' | number
}

export interface LeaseOptions extends CallOptions {
  /** How long the lease lasts: 1 ms to 30 days. */
  durationMs: number
  /** How long to wait for an item; 0 returns at once. Default: no limit. */
  waitMs?: number
  /**
   * Extends the lease in the background, even while the event loop is blocked, until it is
   * completed, released, failed, lost or garbage; with `limitMs` at most for that long after it was
   * given. Default: false.
   */
  keepAlive?: boolean | { limitMs?: number }
}

export interface LeasesOptions extends LeaseOptions {
  /**
   * Completes the item of an iteration when the next iteration starts, unless the body has
   * completed, released or failed it. Completing and leasing share a round trip. Default: false.
   */
  complete?: boolean
}

/** How one or many items are completed. */
export interface CompletionOptions extends CallOptions {
  /**
   * Completes only if the lease is current. Default: false, the item is completed whoever holds it
   * by now.
   */
  strict?: boolean
  /**
   * How long the item stays after its completion, in the state `completed`, at most 366 days; 0: not
   * at all. Default: as it was added.
   */
  retainMs?: number
}

export interface CompleteOptions extends CompletionOptions {
  /**
   * The result, with the size limit of data. It is kept with an item that is retained, and dropped
   * with one that is not. Default: none.
   */
  result?: Data
  /** Items that are added if this call completes the item: up to 999, of 16 MiB. Default: none. */
  add?: Iterable<Data | Item>
}

export interface CompleteManyOptions extends CompletionOptions {
  /** The results, one for each lease; `null` for an item without one. Default: none. */
  results?: Iterable<Data | null>
  /**
   * For each lease the items that are added if this call completes its item: up to 999, of 16 MiB.
   * Default: none.
   */
  adds?: Iterable<Iterable<Data | Item>>
}

export interface CompleteAndLeaseOptions extends LeaseOptions, CompleteManyOptions {}

/** Result of `completeAndLease`. */
export interface CompletedAndLeased {
  /** For each lease, in order: true if this call has completed its item. */
  completed: boolean[]
  /** The new leases; empty if there was no item within `waitMs`. */
  leases: Lease[]
}

export interface DelayOptions extends CallOptions {
  /** How long until the item is ready again, at most 366 days. Default: 0. */
  delayMs?: number
}

export interface ReleaseOptions extends DelayOptions {
  /**
   * Why, up to 128 bytes as UTF-8. It is stored with the item, with how often in a row it was given
   * and when first. Default: no reason; an empty one is none.
   */
  reason?: string
}

/** How one or many items fail. */
export interface FailureOptions extends DelayOptions {
  /**
   * Makes the item dead, whatever its limit of attempts; not together with a delay above 0.
   * Default: false.
   */
  dead?: boolean
}

export interface FailOptions extends FailureOptions {
  /** Items that are added if this failure makes the item dead: up to 999, of 16 MiB. Default: none. */
  add?: Iterable<Data | Item>
}

export interface FailManyOptions extends FailureOptions {
  /**
   * For each lease the items that are added if its failure makes the item dead: up to 999, of
   * 16 MiB. Default: none.
   */
  adds?: Iterable<Iterable<Data | Item>>
}

export interface ChangeOptions extends CallOptions {
  /**
   * Changes an item only if it is of this generation, as `ItemInfo` has it: one for a single id, or
   * one for each of several, `null` for any. Default: any.
   */
  ifGeneration?: string | Iterable<string | null> | undefined
}

export interface BuryOptions extends ChangeOptions {
  /**
   * Text or an error; the first 1,024 bytes of its text are stored with the items. Default:
   * `buried by an operator`.
   */
  error?: unknown
}

/** What to change of an item; what is not given stays as it is. */
export interface RevisionFields {
  /** The new data. */
  data?: Data
  /** The new data: a value that is stored as JSON. Not together with `data`. */
  json?: unknown
  /** 0 to 9. */
  priority?: number
  /** Makes the item ready only after this time from now on, at most 366 days; 0: at once. */
  delayMs?: number
  /**
   * Makes the item ready at this time by the server's clock, in ms since 1970, or at once if it has
   * passed; at most 366 days ahead, and not together with a delay.
   */
  dueAtMs?: number
  /** After this many failed or expired attempts, 1 to 65,535, the item is dead. */
  maxAttempts?: number
  /** Only if the item is of this generation, as `ItemInfo` has it. Default: any. */
  ifGeneration?: string | null
}

/** A change of one of many items. */
export type Revision = RevisionFields & { id: Id }

/**
 * The state an item is in; exactly one at a time. `held`: it would be ready, but as many items of
 * its key are leased as may be.
 */
export type State = 'ready' | 'delayed' | 'leased' | 'dead' | 'completed' | 'cancelled' | 'held'

/** How a lease ended without completion: with `fail`, or it expired and was reclaimed. */
export type EndingKind = 'failed' | 'expired'

/** The end of a lease without completion. */
export interface Ending {
  readonly kind: EndingKind
  /**
   * When it ended, on the server's clock, in ms since 1970. For an expired lease: when it was
   * reclaimed.
   */
  readonly atMs: number
}

/**
 * Releases of an item for the same reason, one after the other. A release for another reason, or for
 * none, a failed and an expired lease begin anew, and so does `requeue`.
 */
export interface Releases {
  /** The reason that each `release` gave. */
  readonly reason: string
  /** How many there were, 1 or more. */
  readonly count: number
  /** When the first one was, on the server's clock, in ms since 1970. */
  readonly firstAtMs: number
}

export interface GetOptions extends CallOptions {
  /** Whether to read the data. Without it, `data` is empty. Default: true. */
  data?: boolean
}

export interface OutcomeOptions extends CallOptions {
  /** How long to wait for the end of the items; 0 looks once. Default: no limit. */
  waitMs?: number
  /** Also waits for an item that does not exist yet. Default: false. */
  expect?: boolean
}

/** How an item has ended. */
export type Outcome =
  | {
      readonly kind: 'completed'
      /** `null`: it had none, or is not retained. */
      readonly result: Buffer | null
      /** Whether the item is retained. If not, nobody knows whether it had a result. */
      readonly retained: boolean
    }
  | {
      readonly kind: 'dead'
      /** The text of the last error, perhaps empty. */
      readonly error: string
    }
  | {
      /**
       * `removed`: also replaced by an item with another id and its unique key. `gone`: there is no
       * such item; it was never added, or has ended without being retained, and how is not known any
       * more.
       */
      readonly kind: 'cancelled' | 'removed' | 'gone'
    }

export interface ListOptions extends CallOptions {
  /** `cursor` of the page before. Default: the first page. */
  cursor?: string | null
  /** Most items of a page, 1 to 1,000. Default: 100. */
  limit?: number
  /** The opposite order: what is leased last, or has the latest time, comes first. */
  reverse?: boolean
  /**
   * Only items whose time is not before this one, in ms since 1970: for ready items `addedAtMs`, for
   * others `atMs`.
   */
  sinceMs?: number
  /** Only items whose time is before this one. */
  untilMs?: number
  /** Whether to read the data. Without it, `data` is empty. Default: true. */
  data?: boolean
  /** Only items whose id begins with this, at most 512 bytes. */
  idPrefix?: Id
  /** Only items whose data contains this, at most 1,024 bytes. */
  dataContains?: Data
  /** Only items whose last error contains this, at most 1,024 bytes. */
  errorContains?: string
}

/** What `configure` changes. What is not named stays as it is; `null` removes a setting. */
export interface SettingsChange {
  /**
   * After so many failed or expired attempts, 1 to 65,535, an item is dead that was added without a
   * limit of its own. It holds for items that are in the queue already, too.
   */
  maxAttempts?: number | null | undefined
  /**
   * How long, at most 366 days, a completed or cancelled item is retained if neither it nor its
   * completion says so.
   */
  retainMs?: number | null | undefined
  /**
   * The most dead items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans removes
   * the oldest others.
   */
  maxDead?: number | null | undefined
  /**
   * The most retained items that the queue keeps, 1 to 1,000,000,000. Whoever leases or cleans
   * removes the others, those first whose time ends first.
   */
  maxRetained?: number | null | undefined
  /** Dead items are removed after this time, 1 ms to 366 days, by whoever leases or cleans. */
  maxDeadAgeMs?: number | null | undefined
  /** The longest time, 1 ms to 366 days, for which items are retained that end from now on. */
  maxRetainedAgeMs?: number | null | undefined
  /**
   * How many items of a key are leased at the same time, 1 to 1,000, unless it has a limit of its
   * own (`setKeyLimits`). `null`: 1. A lower limit takes no lease away.
   */
  keyLimit?: number | null | undefined
  /**
   * How many of its last changes the queue keeps, 1 to 1,000,000: see `events`. `null`: none, and
   * those that it has kept are deleted.
   */
  events?: number | null | undefined
  /**
   * How many leases the queue gives in a time, to all clients together. When they are used up, items
   * stay ready, and calls that wait get theirs when the next lease is allowed.
   */
  rate?: Rate | null | undefined
  /**
   * How many leases each key gets in a time. When they are used up, the items of that key are held,
   * and calls that wait get one when the next lease is allowed. The burst must be used up for at most
   * 366 days: `burst × periodMs / count`.
   */
  keyRate?: Rate | null | undefined
}

/** How many leases a queue, or each of its keys, gives: at most `burst + count × t / periodMs` in any time t. */
export interface Rate {
  /** How many leases become allowed in each period, 1 to 1,000,000, evenly distributed over it. */
  count: number
  /** The period, 1 ms to 31 days. */
  periodMs: number
  /**
   * How many leases are allowed at once if there were none for a while, 1 to 1,000,000. Default:
   * `count`.
   */
  burst?: number | undefined
}

/** Options of `configure`. */
export interface ConfigureOptions extends CallOptions {
  /** The revision that must be stored; 0: the queue was never configured. Default: any. */
  revision?: number | undefined
}

/** Options of `dropQueue`. */
export interface DropOptions extends CallOptions {
  /** Drops the queue although follow-ups for other queues wait in it, which are then never added. Default: false. */
  force?: boolean | undefined
}

/** Options of `pauseSchedule`. */
export interface PauseScheduleOptions extends CallOptions {
  /** Who pauses, for those who see the pause: up to 128 bytes. Default: empty. */
  by?: string | undefined
  /** Why, up to 256 bytes. Default: empty. */
  reason?: string | undefined
}

/** Options of `pause`. */
export interface PauseOptions extends PauseScheduleOptions {
  /** For how long, 1 ms to 366 days. Default: until `resume`. */
  durationMs?: number | undefined
}

/** The settings of a queue, which hold for every client. */
export interface Settings {
  /** The limit of attempts of items that were added without one; `null`: there is no limit. */
  maxAttempts: number | null
  /** How long an item is retained if neither it nor its completion says so; 0: not at all. */
  retainMs: number
  /** The most dead items that the queue keeps; `null`: there is no limit. */
  maxDead: number | null
  /** The most retained items that the queue keeps; `null`: there is no limit. */
  maxRetained: number | null
  /** Dead items are removed after this time; `null`: they stay. */
  maxDeadAgeMs: number | null
  /** The longest time for which an item is retained; `null`: there is no limit. */
  maxRetainedAgeMs: number | null
  /** How many items of a key are leased at the same time, unless it has a limit of its own. */
  keyLimit: number
  /** How many of its last changes the queue keeps; `null`: none. */
  events: number | null
  /** How many leases the queue gives in a time; `null`: there is no limit. */
  rate: Required<Rate> | null
  /** How many leases each key gets in a time; `null`: there is no limit. */
  keyRate: Required<Rate> | null
  /** Goes up with each change; 0: the queue was never configured. A pause is no change. */
  revision: number
  /** Whether leasing is paused. */
  paused: boolean
  /**
   * When leasing goes on by itself, in ms since 1970 by the server's clock; `null`: it is not
   * paused, or until `resume`.
   */
  pausedUntilMs: number | null
  /** When the pause has begun, in ms since 1970 by the server's clock; `null`: it is not paused. */
  pausedAtMs: number | null
  /** Who has paused it; empty: it is not paused, or nobody said so. */
  pausedBy: string
  /** Why it was paused; empty: it is not paused, or nobody said so. */
  pauseReason: string
  /**
   * When the rate allows the next lease, in ms since 1970 by the server's clock; `null`: it allows
   * one now, or there is no rate.
   */
  rateLimitedUntilMs: number | null
}

/** A key of items, as `getKeys` reads it. */
export interface KeyInfo {
  /** The key as text. Invalid UTF-8 becomes U+FFFD; `keyBytes` is exact. */
  key: string
  keyBytes: Buffer
  /** How many of its items may be leased at the same time. */
  limit: number
  /** Whether the limit is its own, and not that of the queue. */
  ownLimit: boolean
  /**
   * How many of its items are leased now; more than the limit after that was lowered. Leases that
   * have expired count until somebody leases or cleans.
   */
  leased: number
}

/** Numbers of items by state, and other figures for operators. */
export interface Counts {
  ready: number
  /** Ready items by priority, 0 to 9. */
  readyByPriority: number[]
  /** Items whose delay has not ended, or that are not promoted yet. */
  delayed: number
  /** Leased items, including expired ones that are not reclaimed yet. */
  leased: number
  /** Items without attempts left. */
  dead: number
  /** Completed items that are retained. */
  completed: number
  /** Cancelled items that are retained. */
  cancelled: number
  /**
   * Items that wait until fewer of their key are leased; one of which no lease has found yet that its
   * key is full counts as ready.
   */
  held: number
  /** How long the oldest ready item has been ready; `null` if none is. */
  oldestReadyMs: number | null
  /** Whether leasing is paused. */
  paused: boolean
  /** Whether the rate of the queue is used up now: it gives no lease, however many items are ready. */
  rateLimited: boolean
  /** Totals since the queue was created. */
  totals: {
    added: number
    leased: number
    completed: number
    expired: number
    failed: number
    died: number
    removed: number
    replaced: number
    /** Items that nobody leased before they expired; they count in `died` too. */
    expiredUnleased: number
    /** Items that have ended because they were cancelled. */
    cancelled: number
  }
}

/** Result of a light clean. */
export interface LightReport {
  /** Delayed items that became ready. */
  promoted: number
  /** Expired leases that were reclaimed. */
  expired: number
  /** How many of those items are now dead because they reached their limit of attempts. */
  died: number
  /** Dead and retained items removed because the settings allow no more, or none so old. */
  removed: number
  /** Time until the next item is due or the next lease expires; `null` if there is neither. */
  nextInMs: number | null
}

/** Result of a deep clean or a check. */
export interface DeepReport {
  /** True if nothing is wrong. */
  sound: boolean
  /** Number of items examined. */
  items: number
  /** Idle lanes of clients that are gone. They are not damage. */
  idleLanes: number
  /** How often each damage was found, by its name. */
  found: Record<string, number>
  /** How often it was mended; empty for a check. */
  mended: Record<string, number>
  /** The first findings, one line each, at most 100. */
  details: string[]
}
