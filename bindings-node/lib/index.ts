/**
 * A work queue for work that must not be lost. A producer adds items; a worker leases one for a time,
 * does the work and completes it. If the worker dies, the lease expires and another worker gets the
 * item. All times are in milliseconds.
 */
export { Client, connect } from './client'
export {
  ClosedError,
  type ErrorCode,
  IncompatibleError,
  InternalError,
  InvalidError,
  LeaseLostError,
  LeaseqError,
  UnavailableError,
} from './errors'
export type { EventKind, EventsOptions, EventsPage, QueueEvent } from './events'
export type { Group, GroupInfo, GroupOutcome, PlaceState } from './group'
export type { HistoryRow, Measured, Measurements } from './history'
export { type FollowUpInfo, type FollowUpItem, ItemInfo, type Page } from './item'
export { Lease } from './lease'
export { Queue } from './queue'
export {
  type CronRule,
  type EveryRule,
  type PutSchedule,
  type PutScheduleOptions,
  type Schedule,
  type ScheduleInfo,
  type ScheduleOptions,
  type ScheduleRule,
  scheduleTimes,
  type SyncedSchedules,
  type TimesOptions,
} from './schedule'
export type * from './types'
export type {
  Beat,
  BeatReply,
  GivenCommand,
  Histogram,
  RunningItem,
  WorkerCommand,
  WorkerInfo,
  WorkerItemId,
  WorkerName,
  WorkersOptions,
  WorkersPage,
  WorkerState,
} from './workers'
