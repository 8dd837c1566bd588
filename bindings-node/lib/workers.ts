// The registry of workers: what workers say of themselves, and commands for them.
import { invalid } from './errors'
import type { CallOptions } from './types'

/** Which worker: 1 to 128 bytes each, without control characters. */
export interface WorkerName {
  /** It stays the same when the worker is started again. */
  name: string
  /** It is another one each time that the worker is started. */
  instance: string
}

/** The id of an item: as text, or in hexadecimal digits if it is no text. */
export type WorkerItemId = { itemId: string } | { itemIdHex: string }

/** An item that a worker is working on. */
export type RunningItem = WorkerItemId & {
  queue: string
  /** For how long it has been working on it. */
  elapsedMs: number
  /** When its lease expires: RFC 3339, such as `2027-01-15T08:00:00Z`. */
  deadline: string
}

/** Values, each with how often it was counted. */
export type Histogram = [value: number, count: number][]

/** What a worker does. */
export interface WorkerState {
  host: string
  process: number
  language: string
  version: string
  /** The queues that it serves, up to 1,000. */
  queues: string[]
  /** How many items it works on at the same time. */
  slots: number
  /** What it is working on, up to 1,000 items. */
  running: RunningItem[]
  memoryBytes: number | null
  /** It leases nothing at present, for lack of memory or the like. */
  throttled: boolean
  /** It leases nothing more, and ends when what it works on has ended. */
  draining: boolean
  /** For how long items were ready before it leased them, in µs, since it was started. */
  waitingUs: Histogram
  /** For how long it worked on items, in µs, since it was started. */
  runUs: Histogram
  /** How much of their leases items had used when they ended, in thousandths. */
  leaseUse: Histogram
}

/** What a worker says of itself. */
export interface Beat extends WorkerName, Partial<WorkerState> {
  /** The numbers of the commands that it has executed. */
  acknowledged?: number[]
}

/** What a worker is told to do: to end, or to cancel the work on an item. */
export type WorkerCommand =
  { action: 'stop' } | ({ action: 'cancel'; queue: string } & WorkerItemId)

/** A command that a worker has not acknowledged. */
export type GivenCommand = WorkerCommand & { number: number }

/** The reply to a beat. */
export interface BeatReply {
  /** The worker is to lease nothing until this is false again. */
  quiet: boolean
  /** Those that it has not acknowledged. One may come again, with the same number. */
  commands: GivenCommand[]
}

/** A worker as it is listed: what its last beat said. */
export interface WorkerInfo extends WorkerName, WorkerState {
  /** When that was. */
  seen: string
  quiet: boolean
  commands: GivenCommand[]
}

/** Which workers to list. */
export interface WorkersOptions extends CallOptions {
  /** The `next` of the page before. */
  after?: WorkerName | undefined
  /** Only workers of this name. */
  name?: string | undefined
  /** Only workers that serve this queue. */
  queue?: string | undefined
  /** How many workers to look at, 1 to 200. Default: 100. */
  limit?: number | undefined
}

/** Some workers, in the order of their names, then of their instances. */
export interface WorkersPage {
  /** There may be fewer than were looked at, even none. */
  workers: WorkerInfo[]
  /** The `after` of the next page; `null`: this is the last one. */
  next: WorkerName | null
  /** How many entries cannot be read. Something else has written them. */
  skipped: number
}

export const WORKERS = new Set(['after', 'name', 'queue', 'limit', 'signal'])

/** As the core reads it: with underscores in the names. */
export function writeJson(given: object): string {
  const names = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const entries = Object.entries(value as Record<string, unknown>)
    return Object.fromEntries(entries.map(([name, field]) => [underscored(name), field]))
  }
  try {
    return JSON.stringify(given, (_, value: unknown) => names(value))
  } catch (error) {
    throw invalid(`a value cannot be written as JSON: ${String(error)}`)
  }
}

const underscored = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
