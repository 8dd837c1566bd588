// The history of a queue.
import type { Counts } from './types'
import type { Histogram } from './workers'

/** What a caller has measured since its last call. */
export interface Measured {
  /** For how long items were ready before they were leased, in µs. */
  waitingUs?: Histogram | undefined
  /** For how long workers worked on items, in µs. */
  runUs?: Histogram | undefined
  /** How much of their leases items had used when they ended, in thousandths. */
  leaseUse?: Histogram | undefined
}

/** What workers have measured: within 7 %, `null` if there is nothing. */
export interface Measurements {
  count: number
  p50: number | null
  p90: number | null
  p99: number | null
  /** Each value, and how often it was measured. */
  values: Histogram
}

/** How a queue was when a minute or an hour began, and what was measured in it. */
export interface HistoryRow {
  /** When it was written: RFC 3339. */
  at: string
  /** The difference to the next row is what happened in between. */
  totals: Counts['totals']
  ready: number
  delayed: number
  leased: number
  dead: number
  held: number
  waitingUs: Measurements
  runUs: Measurements
  leaseUse: Measurements
}

export const MEASURED = new Set(['waitingUs', 'runUs', 'leaseUse'])
