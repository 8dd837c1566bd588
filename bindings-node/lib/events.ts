// Events: what has changed in a queue.
import type { CallOptions } from './types'

/** What has happened to an item. */
export type EventKind =
  | 'added'
  | 'leased'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'released'
  | 'dead'
  | 'requeued'
  | 'removed'
  | 'replaced'
  | 'cancelled'
  | 'revised'

/** A change of an item. */
export interface QueueEvent {
  /** Its place among the events of the queue. */
  number: number
  kind: EventKind
  /** When, by the server's clock: RFC 3339. */
  at: string
  /** The generation of the item, as that of `ItemInfo`. */
  generation: string
  /** The id, if the change knows it and it is text. */
  id?: string
  /** The id, if the change knows it and it is no text. */
  idHex?: string
  /** Which attempt it was, for events that are about a lease. */
  attempt?: number
}

/** Some events, in their order. */
export interface EventsPage {
  /** None if there are no more. */
  events: QueueEvent[]
  /** Where to go on: behind the last of them. */
  cursor: string
  /** Whether there were events before these that are not kept any more. */
  gap: boolean
}

/** Options of `events`. */
export interface EventsOptions extends CallOptions {
  /**
   * The cursor of the page before, or `now` for the events from now on. Default: with the oldest
   * event that is kept.
   */
  after?: string | undefined
  /** At most so many events, 1 to 1,000. Default: 100. */
  limit?: number | undefined
  /** For how long to wait for one. The client looks up to four times a second. Default: 0. */
  waitMs?: number | undefined
}

export const EVENTS: ReadonlySet<string> = new Set(['signal', 'after', 'limit', 'waitMs'])
