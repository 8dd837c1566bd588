// Schedules: their types, and their fields as the native half takes them.
import { type NativeSchedule, scheduleTimes as nativeTimes } from '../native.js'
import { flag, known, list, number, optionalNumber, storedText } from './check'
import { invalid } from './errors'
import { itemsFields } from './input'
import type { CallOptions, Data, Item } from './types'

/** A schedule that adds items at the local times of a zone. */
export interface CronRule {
  /**
   * A cron expression with five fields (minute, hour, day, month, day of the week), or six with a
   * second first.
   */
  cron: string
  /** Its time zone, by its IANA name. Default: UTC. */
  zone?: string | undefined
  everyMs?: undefined
}

/** A schedule that adds items after each interval. */
export interface EveryRule {
  /** 100 ms to 366 days. The first one begins when the schedule is put. */
  everyMs: number
  cron?: undefined
  zone?: undefined
}

/** When a schedule adds items: either `cron`, perhaps with a zone, or `everyMs`. */
export type ScheduleRule = CronRule | EveryRule

/** How a schedule adds items. */
export type ScheduleOptions = ScheduleRule & {
  /**
   * What ticks add that nobody processed within their grace: nothing, one item for all of them, or
   * an item each for at most so many, 1 to 1,000, the earliest ones. Default: one.
   */
  missed?: 'skip' | 'one' | number | undefined
  /**
   * How late a tick may be processed before it is missed, at most 366 days. Default: 60 s, or the
   * time to the next tick if that is shorter.
   */
  graceMs?: number | undefined
  /**
   * Whether a tick adds an item although the last one of the schedule has not ended. Default: false.
   */
  overlap?: boolean | undefined
}

/** A schedule that an owner declares. */
export type Schedule = ScheduleOptions & {
  /** 1 to 128 bytes without control characters; its own in the queue. */
  name: string
  /** What each tick adds, with the id `NAME@TIME`. A delay begins with the tick. */
  item: Data | Item
}

/** Options of `putSchedule`. */
export type PutScheduleOptions = ScheduleOptions &
  CallOptions & {
    /** Who declares it, up to 128 bytes; nobody else can change it. Default: nobody. */
    owner?: string | undefined
    /**
     * The number or time of the deployment that declares it, up to 2^53. A lower one than that of the
     * stored schedule is refused, also after it was removed. Default: 0.
     */
    revision?: number | undefined
  }

/** Options of `scheduleTimes`. */
export interface TimesOptions {
  /** The times are later than this one, in ms since 1970; an interval begins then. Default: now. */
  afterMs?: number | undefined
  /** How many, at most 1,000. Default: 10. */
  count?: number | undefined
}

/**
 * What putting a schedule has done. `added`: there was none. `updated`: another one was stored; if
 * it had the same rule, the next tick has stayed. `outdated`: its owner has stored or removed one
 * with a higher revision, and nothing has changed.
 */
export type PutSchedule = 'added' | 'updated' | 'unchanged' | 'outdated'

/** What `syncSchedules` has done, by the names of the schedules. */
export interface SyncedSchedules {
  added: string[]
  updated: string[]
  /** The owner declares them no longer. */
  removed: string[]
  unchanged: string[]
  /** Their owner has stored or removed them with a higher revision. */
  outdated: string[]
}

/** A schedule as it is stored. */
export interface ScheduleInfo {
  readonly name: string
  /** The data of the item that each tick adds; empty if it was read without. */
  readonly data: Buffer
  /** The cron expression; `null` for an interval. */
  readonly cron: string | null
  /** The time zone of the expression; `null` for an interval. */
  readonly zone: string | null
  /** The interval; `null` for a cron expression. */
  readonly everyMs: number | null
  /** Who declares it; empty: nobody. */
  readonly owner: string
  /** The revision of its owner. */
  readonly revision: number
  /** What ticks add that were missed. */
  readonly missed: 'skip' | 'one' | number
  /** How late a tick may be processed; `null`: the default. */
  readonly graceMs: number | null
  /** Whether a tick adds an item although the last one has not ended. */
  readonly overlap: boolean
  /** The priority of its items, 0 to 9. */
  readonly priority: number
  /** How long after its tick an item is ready; 0: at once. */
  readonly delayMs: number
  /** The limit of attempts of its items; `null`: they have none of their own. */
  readonly maxAttempts: number | null
  /** How long an item is retained after its completion; `null`: not at all, unless the queue says so. */
  readonly retainMs: number | null
  /** The unique key of its items as text; `null` if they have none. Invalid UTF-8 becomes U+FFFD. */
  readonly unique: string | null
  /** How long the unique key stays taken at least; `null`: no longer than the item needs it. */
  readonly uniqueForMs: number | null
  /** Whether an item replaces another one that has its unique key. */
  readonly replace: boolean
  /** Whether it waits for the end of the lease if that one is leased. */
  readonly successor: boolean
  /** The key of its items as text, like `unique`; `null` if they have none. */
  readonly key: string | null
  /** After which time an item is dead that was not leased; `null`: it does not expire. */
  readonly expiresInMs: number | null
  readonly paused: boolean
  /** When it was paused, in ms since 1970 by the server's clock; `null`: it is not paused. */
  readonly pausedAtMs: number | null
  /** Who has paused it; empty: it is not paused, or nobody said so. */
  readonly pausedBy: string
  /** Why it was paused; empty: it is not paused, or nobody said so. */
  readonly pauseReason: string
  /** The next tick, in ms since 1970; `null` while it is paused. */
  readonly nextMs: number | null
  /** The id of the last item that it has added; `null`: it has added none. */
  readonly lastId: string | null
}

const RULE = ['cron', 'zone', 'everyMs']
const OPTIONS = [...RULE, 'missed', 'graceMs', 'overlap']
/** The options of `putSchedule`. */
export const PUT: ReadonlySet<string> = new Set([...OPTIONS, 'owner', 'revision', 'signal'])
const SCHEDULE = new Set([...OPTIONS, 'name', 'item'])
const RULE_NAMES = new Set(RULE)
const TIMES = new Set(['afterMs', 'count'])

function optionalText(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : storedText(name, value)
}

/** A schedule without its item. */
function about(name: string, options: ScheduleOptions): NativeSchedule {
  const { cron, zone, everyMs, missed, graceMs, overlap } = options
  return {
    name: storedText('name', name),
    cron: optionalText('cron', cron),
    zone: optionalText('zone', zone),
    everyMs: optionalNumber('everyMs', everyMs),
    missed: typeof missed === 'string' ? missed : optionalNumber('missed', missed),
    graceMs: optionalNumber('graceMs', graceMs),
    overlap: flag('overlap', overlap),
  } as NativeSchedule
}

/** A schedule and its item, as the native half takes them. */
export function putFields(
  name: string,
  item: Data | Item,
  options: PutScheduleOptions,
): [NativeSchedule, unknown[], string, number] {
  const { owner, revision } = options
  return [
    about(name, options),
    itemsFields([item]),
    optionalText('owner', owner) ?? '',
    optionalNumber('revision', revision) ?? 0,
  ]
}

/** Schedules and their items, as the native half takes them. */
export function syncFields(
  owner: string,
  revision: number,
  schedules: Iterable<Schedule>,
): [string, number, NativeSchedule[], unknown[]] {
  const all = list('schedules', schedules).map((one) => known(one, 'a schedule', SCHEDULE))
  return [
    storedText('owner', owner),
    number('revision', revision),
    all.map((one) => about(one.name, one)),
    itemsFields(all.map((one) => one.item)),
  ]
}

/**
 * The next times of a rule, in ms since 1970: of a cron expression, or of an interval. Fewer than
 * `count` if the rule has no more.
 */
export function scheduleTimes(rule: ScheduleRule, options?: TimesOptions): number[] {
  const { cron, zone, everyMs } = known(rule, 'a rule', RULE_NAMES)
  const { afterMs, count } = options === undefined ? {} : known(options, 'this call', TIMES)
  const times = nativeTimes(
    optionalText('cron', cron),
    optionalText('zone', zone),
    optionalNumber('everyMs', everyMs),
    optionalNumber('afterMs', afterMs),
    optionalNumber('count', count) ?? 10,
  )
  if (typeof times === 'string') throw invalid(times)
  return times
}
