// Converts the arguments of queues for the native half.
import {
  bytes,
  flag,
  json,
  known,
  list,
  number,
  optionalNumber,
  quote,
  storedText,
  text,
} from './check'
import { invalid } from './errors'
import { placeFields } from './group'
import type {
  ChangeOptions,
  CompleteManyOptions,
  CompletionOptions,
  Data,
  FollowUp,
  FollowUpOn,
  Id,
  Item,
  ItemOptions,
  LeaseOptions,
  ListOptions,
  PauseScheduleOptions,
  Revision,
  SettingsChange,
} from './types'

type ItemFields = ItemOptions & { data?: Data; json?: unknown }

const CHANGEABLE = ['data', 'json', 'id', 'priority', 'delayMs', 'dueAtMs', 'maxAttempts']
const REST = ['retainMs', 'unique', 'uniqueForMs', 'replace', 'successor', 'expiresInMs', 'key']
const AFTER = ['followUps', 'queue', 'group', 'place']
const ITEM = new Set([...CHANGEABLE, ...REST, ...AFTER])
const FOLLOW_UP = new Set(['on', 'item', 'withTrigger'])
const ON: ReadonlySet<unknown> = new Set<FollowUpOn>(['completed', 'dead', 'ended'])
/** The core's limit. It is checked here because an item can be its own follow-up. */
const MAX_DEPTH = 16
const REVISION = new Set([...CHANGEABLE, 'ifGeneration'])
const KEEP_ALIVE = new Set(['limitMs'])

/** `keepAlive` as one number: the limit, `Infinity`, or `undefined` for none. */
function keepAliveMs(keepAlive: LeaseOptions['keepAlive']): number | undefined {
  if (keepAlive === undefined || typeof keepAlive === 'boolean') {
    return keepAlive ? Infinity : undefined
  }
  const { limitMs } = known(keepAlive, 'keepAlive', KEEP_ALIVE)
  return optionalNumber('limitMs', limitMs) ?? Infinity
}

/** The options of a lease, as the native half takes them. */
export function wanted({
  durationMs,
  waitMs,
  keepAlive,
}: LeaseOptions): [number, number | undefined, number | undefined] {
  return [
    number('durationMs', durationMs),
    optionalNumber('waitMs', waitMs),
    keepAliveMs(keepAlive),
  ]
}

function isData(item: Data | Item): item is Data {
  return typeof item !== 'object' || ArrayBuffer.isView(item)
}

type Result = Data | undefined
type Plain = [data: Data, id?: Id | undefined]
type Options = [
  priority?: number | undefined,
  delayMs?: number | undefined,
  dueAtMs?: number | undefined,
  maxAttempts?: number | undefined,
  retainMs?: number | undefined,
  unique?: Id | undefined,
  uniqueForMs?: number | undefined,
  replace?: boolean,
  successor?: boolean,
  expiresInMs?: number | undefined,
  key?: Id | undefined,
  queue?: string | undefined,
  followUps?: FollowUps | undefined,
  place?: ReturnType<typeof placeFields>,
]
/** Ends that fire them, whether they have their triggers, and the fields of their items. */
type FollowUps = [ends: string[], triggers: boolean[], items: unknown[]]
/** How many fields the native half takes for an item. */
const FIELDS = 16

/** The fields of an item; the options only if one of them is set. `depth`: it is a follow-up. */
export function fields(item: Data | Item, depth = 0): [...Plain, ...Options] {
  if (isData(item)) return [bytes('data', item)]
  const given = known(item, 'an item', ITEM)
  const { data, json: value, id, priority, delayMs, dueAtMs, maxAttempts } = given as ItemFields
  const { retainMs, unique, uniqueForMs, replace, successor, expiresInMs, key } = given
  const { queue, followUps, group, place } = given
  if (value !== undefined && data !== undefined) throw invalid('an item has data or json, not both')
  const plain: Plain = [
    value === undefined ? bytes('data', data) : json(value),
    id === undefined ? undefined : bytes('id', id),
  ]
  const delayed = delayMs !== undefined || dueAtMs !== undefined
  const outlives = retainMs !== undefined || unique !== undefined || uniqueForMs !== undefined
  const replaces = replace !== undefined || successor !== undefined
  const other = priority !== undefined || maxAttempts !== undefined || replaces
  const limits = expiresInMs !== undefined || key !== undefined
  const after = followUps !== undefined || queue !== undefined
  const member = group !== undefined || place !== undefined
  if (!delayed && !outlives && !other && !limits && !after && !member) return plain
  return [
    ...plain,
    optionalNumber('priority', priority),
    optionalNumber('delayMs', delayMs),
    optionalNumber('dueAtMs', dueAtMs),
    optionalNumber('maxAttempts', maxAttempts),
    optionalNumber('retainMs', retainMs),
    unique === undefined ? undefined : bytes('unique', unique),
    optionalNumber('uniqueForMs', uniqueForMs),
    flag('replace', replace),
    flag('successor', successor),
    optionalNumber('expiresInMs', expiresInMs),
    key === undefined ? undefined : bytes('key', key),
    queue === undefined ? undefined : storedText('queue', queue),
    followUps === undefined ? undefined : followUpFields(followUps, depth + 1),
    placeFields(group, place),
  ]
}

/** The fields of many items, all of them. */
export function itemsFields(items: Iterable<Data | Item>, depth = 0): unknown[] {
  const all: unknown[] = []
  for (const item of list('items', items)) {
    const end = all.length + FIELDS
    all.push(...fields(item, depth))
    all.length = end
  }
  return all
}

/** `depth`: of the item that has them, and 1 more. */
export function followUpFields(followUps: Iterable<FollowUp>, depth: number): FollowUps {
  const given = list('followUps', followUps)
  if (given.length > 0 && depth > MAX_DEPTH) {
    throw invalid(`followUps: more than ${MAX_DEPTH} that lead from one to the next`)
  }
  const ends: string[] = []
  const triggers: boolean[] = []
  const items: (Data | Item)[] = []
  for (const one of given) {
    const { on, item, withTrigger } = known(one, 'a follow-up', FOLLOW_UP)
    const end = text('on', on)
    if (!ON.has(end)) {
      throw invalid(`a follow-up on ${quote(end)}, not on completed, dead or ended`)
    }
    ends.push(end)
    triggers.push(flag('withTrigger', withTrigger))
    items.push(item)
  }
  return [ends, triggers, itemsFields(items, depth)]
}

/** The fields of what a call adds for each of its leases: one list for each, or none at all. */
export function addsFields(
  adds: Iterable<Iterable<Data | Item>> | undefined,
  leases: number,
): unknown[][] {
  if (adds === undefined) return []
  const all = list('adds', adds)
  if (all.length !== leases) throw invalid(`${all.length} lists of adds for ${leases} leases`)
  return all.map((items) => itemsFields(items))
}

/** For each id the generation that its item must have; empty for any. */
export function generations(
  ids: readonly Id[],
  given: ChangeOptions['ifGeneration'],
): (string | null)[] {
  if ((given ?? undefined) === undefined) return []
  const all = typeof given === 'string' ? [given] : list('ifGeneration', given!)
  if (all.length !== ids.length) {
    throw invalid(`ifGeneration: ${all.length} generations for ${ids.length} ids`)
  }
  return all.map(generation)
}

function generation(one: string | null | undefined): string | null {
  return (one ?? undefined) === undefined ? null : text('ifGeneration', one)
}

/** The fields of a revision, as the native half takes them. */
export function revisionFields(revision: Revision): unknown[] {
  const given = known(revision, 'a revision', REVISION)
  const { id, data, json: value, priority, delayMs, dueAtMs, maxAttempts, ifGeneration } = given
  if (value !== undefined && data !== undefined) {
    throw invalid('a revision has data or json, not both')
  }
  const unchanged = value === undefined && data === undefined
  return [
    bytes('id', id),
    generation(ifGeneration),
    unchanged ? undefined : value === undefined ? bytes('data', data) : json(value),
    optionalNumber('priority', priority),
    optionalNumber('delayMs', delayMs),
    optionalNumber('dueAtMs', dueAtMs),
    optionalNumber('maxAttempts', maxAttempts),
  ]
}

/** How items are completed, as the native half takes it: `strict` and `retainMs`. */
export function completion(options: CompletionOptions | undefined): [boolean, number | undefined] {
  return [flag('strict', options?.strict), optionalNumber('retainMs', options?.retainMs)]
}

/** The results of many items: one for each, or none at all. */
export function resultList(options: CompleteManyOptions | undefined, leases: number): Result[] {
  const results = options?.results
  if (results === undefined) return []
  const all = list('results', results)
  if (all.length !== leases) throw invalid(`${all.length} results for ${leases} leases`)
  return all.map((one) => (one === null ? undefined : bytes('a result', one)))
}

export function idList(ids: Iterable<Id>): Id[] {
  return list('ids', ids).map((id) => bytes('id', id))
}

/** The options of a listing, as the native half takes them. */
export function listed(
  options: ListOptions,
): [
  limit: number,
  reverse: boolean,
  sinceMs: number | undefined,
  untilMs: number | undefined,
  data: boolean,
  idPrefix: Data | undefined,
  dataContains: Data | undefined,
  errorContains: string | undefined,
] {
  const { limit, reverse, sinceMs, untilMs, data, idPrefix, dataContains, errorContains } = options
  return [
    optionalNumber('limit', limit) ?? 100,
    flag('reverse', reverse),
    optionalNumber('sinceMs', sinceMs),
    optionalNumber('untilMs', untilMs),
    flag('data', data, true),
    idPrefix === undefined ? undefined : bytes('idPrefix', idPrefix),
    dataContains === undefined ? undefined : bytes('dataContains', dataContains),
    errorContains === undefined ? undefined : storedText('errorContains', errorContains),
  ]
}

/** The settings in the order in which the native half takes them. */
const SETTINGS = [
  'maxAttempts',
  'retainMs',
  'maxDead',
  'maxRetained',
  'maxDeadAgeMs',
  'maxRetainedAgeMs',
  'keyLimit',
  'events',
] as const
const SETTING_NAMES: ReadonlySet<string> = new Set([...SETTINGS, 'rate', 'keyRate'])
const RATE = ['count', 'periodMs', 'burst'] as const
const RATE_NAMES: ReadonlySet<string> = new Set(RATE)

/** Which settings change, and their values: none for one that is removed. */
export function settingsFields(change: SettingsChange): [boolean[], (number | undefined)[]] {
  const given = known(change, 'a change of settings', SETTING_NAMES)
  const values = SETTINGS.map((name) => given[name])
  const numbers = values.map((value, i) => optionalNumber(SETTINGS[i]!, value ?? undefined))
  const changed = [...values, given.rate, given.keyRate].map((value) => value !== undefined)
  return [changed, [...numbers, ...rateFields(given.rate), ...rateFields(given.keyRate)]]
}

/** Count, period and burst; `undefined` for each if there is no rate. */
function rateFields(rate: SettingsChange['rate']): (number | undefined)[] {
  if (rate === undefined || rate === null) return [undefined, undefined, undefined]
  const given = known(rate, 'a rate', RATE_NAMES)
  return [
    number('count', given.count),
    number('periodMs', given.periodMs),
    optionalNumber('burst', given.burst),
  ]
}

/** Keys and their limits, as the native half takes them; `null`: that of the queue. */
export function keyLimits(
  limits: Iterable<readonly [Id, number | null]>,
): [Id[], (number | null)[]] {
  const pairs = list('limits', limits)
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw invalid('limits must be pairs of a key and a limit')
    }
  }
  return [
    pairs.map(([key]) => bytes('key', key)),
    pairs.map(([, limit]) => (limit === null ? null : number('limit', limit))),
  ]
}

/** Who pauses, and why. */
export function pauseNote(options: PauseScheduleOptions | undefined): [string, string] {
  const { by = '', reason = '' } = options ?? {}
  return [storedText('by', by), storedText('reason', reason)]
}
