// The operations on schedules.
import { CALL, call, GET } from './calls'
import { flag, known, optionalNumber, storedText, text } from './check'
import { EVENTS, type EventsOptions, type EventsPage } from './events'
import { GroupQueue } from './groups'
import { pauseNote } from './input'
import { type HistoryRow, type Measured, MEASURED } from './history'
import {
  PUT,
  type PutSchedule,
  type PutScheduleOptions,
  putFields,
  type Schedule,
  type ScheduleInfo,
  type SyncedSchedules,
  syncFields,
} from './schedule'
import type { CallOptions, Data, GetOptions, Item, PauseScheduleOptions } from './types'
import { writeJson } from './workers'

/** Numbers of changes in the native half. */
const REMOVE = 0
const RESUME = 1
const RUN = 2

const PAUSE = new Set(['by', 'reason', 'signal'])

/** The part of `Queue` that adds items at certain times, and shows its history. */
export abstract class ScheduleQueue extends GroupQueue {
  /**
   * Writes how the queue is now into its history, and adds what the caller has measured since its last
   * call. Whoever works on a queue calls it once a minute; the first call of a minute writes its row.
   * False: there is no queue.
   */
  recordHistory(measured: Measured = {}, options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => {
      const given = writeJson(known(measured, 'a measurement', MEASURED))
      return (slot) => native.recordHistory(slot, given)
    })
  }

  /**
   * The history of this queue, the oldest row first: a row for each minute of the last day, or each hour
   * of the last 31 days, in which somebody has recorded it.
   */
  history(kind: 'minutes' | 'hours' = 'minutes', options?: CallOptions): Promise<HistoryRow[]> {
    return call(this.native, { options, names: CALL }, (native) => {
      const given = text('kind', kind)
      return (slot) => native.history(slot, given)
    })
  }

  /**
   * Reads what has changed in this queue, in order, if its settings keep that. Each event is in exactly
   * one page of a reader that goes on from cursor to cursor, unless there is a `gap`: the reader was
   * slower than the queue, the queue was dropped, or its events were switched off in between.
   */
  events(options?: EventsOptions): Promise<EventsPage> {
    return call(this.native, { options, names: EVENTS }, (native) => {
      const { after, limit, waitMs } = options ?? {}
      const cursor = after === undefined ? undefined : text('after', after)
      const given = [optionalNumber('limit', limit), optionalNumber('waitMs', waitMs)] as const
      return (slot) => native.events(slot, cursor, ...given)
    })
  }

  /**
   * Stores a schedule, which adds an item at certain times, or replaces the one of this name. Each
   * tick adds exactly one item, however many clients there are, while somebody waits for an item of
   * the queue or a cleaner looks after it. An unchanged rule keeps its next tick, and a paused
   * schedule stays paused. `INVALID` also for a schedule of another owner, and beyond 1,000 schedules.
   */
  putSchedule(name: string, item: Data | Item, options: PutScheduleOptions): Promise<PutSchedule> {
    return call(this.native, { options, names: PUT, of: 'a schedule' }, (native) => {
      const given = putFields(name, item, options)
      return (slot) => native.putSchedule(slot, ...given)
    })
  }

  /**
   * Makes the schedules of this owner those that it declares: adds, updates and removes them. Those
   * of other owners stay. `revision` is that of all of them, as for `putSchedule`: an older deployment
   * undoes nothing. After an error, repeat the call: each schedule is changed in a step of its own.
   */
  syncSchedules(
    owner: string,
    revision: number,
    schedules: Iterable<Schedule>,
    options?: CallOptions,
  ): Promise<SyncedSchedules> {
    return call(this.native, { options, names: CALL }, (native) => {
      const given = syncFields(owner, revision, schedules)
      return (slot) => native.syncSchedules(slot, ...given)
    })
  }

  /** The schedules of this queue, in the order of their names. */
  schedules(options?: GetOptions): Promise<ScheduleInfo[]> {
    return call(this.native, { options, names: GET }, (native) => {
      const data = flag('data', options?.data, true)
      return (slot) => native.schedules(slot, data)
    })
  }

  /**
   * Removes a schedule; the items that it has added stay. False: there was none. Its revision is
   * kept, and its owner cannot put it with a lower one.
   */
  removeSchedule(name: string, options?: CallOptions): Promise<boolean> {
    return this.changeSchedule(REMOVE, name, options)
  }

  /** Stops a schedule until `resumeSchedule`, also if it is put again. False: there is none. */
  pauseSchedule(name: string, options?: PauseScheduleOptions): Promise<boolean> {
    return call(this.native, { options, names: PAUSE }, (native) => {
      const which = storedText('name', name)
      const [by, reason] = pauseNote(options)
      return (slot) => native.pauseSchedule(slot, which, by, reason)
    })
  }

  /**
   * Continues a schedule with its first tick from now on: those during the pause were not missed.
   * False: there is none.
   */
  resumeSchedule(name: string, options?: CallOptions): Promise<boolean> {
    return this.changeSchedule(RESUME, name, options)
  }

  /**
   * Adds the item of a schedule now, also if its last one has not ended or it is paused. Its next
   * tick stays. False: there is no such schedule, or its item could not be added, because another
   * one has its unique key.
   */
  runNow(name: string, options?: CallOptions): Promise<boolean> {
    return this.changeSchedule(RUN, name, options)
  }

  private changeSchedule(change: number, name: string, options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => {
      const which = storedText('name', name)
      return (slot) => native.changeSchedule(slot, change, which)
    })
  }
}
