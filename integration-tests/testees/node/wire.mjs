// Values in the form that `testees/README.md` describes.

export const bytes = (digits) => Buffer.from(digits ?? '', 'hex')
const hex = (buffer) => buffer.toString('hex')
/** Without what is not there: the language's own default stands for it. */
export const given = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null))
/** The same with names as the protocol spells them. */
export const snake = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [underscored(name), value]))
const underscored = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A name of the protocol as JavaScript spells it. */
export const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

/** A value with all names within it changed. */
const renamed = (value, change) => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((entry) => renamed(entry, change))
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([name, field]) => [change(name), renamed(field, change)]))
}
export const allCamel = (value) => renamed(value, camel)
export const allSnake = (value) => renamed(value ?? null, underscored)

/** What to change of the settings of a queue; null removes one. */
export const settingsChange = (fields) =>
  Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, value]) => [
      camel(name),
      value && name.endsWith('rate') ? settingsChange(value) : value,
    ]),
  )

export const settings = (found) =>
  found && {
    ...snake(found),
    rate: found.rate && snake(found.rate),
    key_rate: found.keyRate && snake(found.keyRate),
  }

export const keyLimits = (limits) => limits.map(({ key, limit }) => [bytes(key), limit])

export const keys = (found) =>
  found.map(({ keyBytes, ...about }) => ({ ...snake(about), key: hex(keyBytes) }))

export const counts = (found) => ({ ...snake(found), totals: snake(found.totals) })

export const item = (fields) =>
  given({
    data: bytes(fields.data),
    id: fields.id === undefined ? undefined : bytes(fields.id),
    priority: fields.priority,
    delayMs: fields.delay_ms,
    dueAtMs: fields.due_at_ms,
    maxAttempts: fields.max_attempts,
    retainMs: fields.retain_ms,
    unique: fields.unique === undefined ? undefined : bytes(fields.unique),
    uniqueForMs: fields.unique_for_ms,
    replace: fields.replace,
    successor: fields.successor,
    key: fields.key === undefined ? undefined : bytes(fields.key),
    expiresInMs: fields.expires_in_ms,
    followUps: fields.follow_ups?.map(followUp),
    queue: fields.queue,
    group: fields.group && group(fields.group),
    place: fields.place,
  })

export const group = ({ queue, id, generation }) => ({ queue, id: bytes(id), generation })

export const groupValue = ({ queue, id, generation }) => ({
  queue,
  id: hex(Buffer.from(id)),
  generation,
})

export const groupInfo = (found) =>
  found && { ...snake(found), group: groupValue(found.group), changed_at_ms: found.changedAtMs }

export const groupOutcome = (ended) => {
  if (ended === null) return null
  const { places = null, ended: count = null, completed = null } = ended.info ?? {}
  return { kind: ended.kind, places, ended: count, completed }
}

export const followUp = ({ on, item: added, with_trigger: withTrigger }) =>
  given({ on, item: item(added), withTrigger })

/** What a call adds. */
export const additions = ({ add, adds }) =>
  given({ add: add?.map(item), adds: adds?.map((items) => items.map(item)) })

/** When and how a schedule adds items. */
const scheduleOptions = (fields) =>
  given({
    cron: fields.cron,
    zone: fields.zone,
    everyMs: fields.every_ms,
    missed: fields.missed,
    graceMs: fields.grace_ms,
    overlap: fields.overlap,
  })

/** The arguments of `putSchedule`. */
export const put = (fields) => [
  fields.name,
  item(fields.item ?? {}),
  { ...scheduleOptions(fields), ...given({ owner: fields.owner, revision: fields.revision }) },
]

/** A schedule that an owner declares. */
export const schedule = (fields) => ({
  name: fields.name,
  item: item(fields.item ?? {}),
  ...scheduleOptions(fields),
})

/** Who pauses, and why. */
export const noted = ({ by, reason }) => given({ by, reason })

export const scheduleInfo = (found) => ({
  ...snake(found),
  data: hex(found.data),
  unique: found.unique && hex(Buffer.from(found.unique)),
  key: found.key && hex(Buffer.from(found.key)),
})

export const completion = ({ strict, retain_ms: retainMs, result, results, ...rest }) =>
  given({
    ...additions(rest),
    strict,
    retainMs,
    result: result === undefined ? undefined : bytes(result),
    results: results?.map((one) => (one === null ? null : bytes(one))),
  })

export const generation = (fields) => given({ ifGeneration: fields.if_generation })

/** What to change of an item. */
export const revision = (fields) =>
  given({
    ...item({ ...fields, queue: undefined }),
    ...generation(fields),
    data: fields.data === undefined ? undefined : bytes(fields.data),
  })

export const listing = (fields) =>
  given({
    cursor: fields.cursor,
    limit: fields.limit,
    reverse: fields.reverse,
    sinceMs: fields.since_ms,
    untilMs: fields.until_ms,
    data: fields.with_data,
    idPrefix: fields.id_prefix && bytes(fields.id_prefix),
    dataContains: fields.data_contains && bytes(fields.data_contains),
    errorContains: fields.error_contains,
  })

/** What has happened to an item before. */
const history = ({ endings, releases }) => ({
  endings: endings.map(snake),
  releases: releases && snake(releases),
})

const TOLD =
  'queue attempt failures expiries maxAttempts priority lastError generation waitedMs deadlineMs completed'.split(
    ' ',
  )
export const lease = (held) => ({
  ...snake(Object.fromEntries(TOLD.map((name) => [name, held[name]]))),
  ...history(held),
  id: hex(held.idBytes),
  data: hex(held.data),
  key: held.keyBytes && hex(held.keyBytes),
  trigger: held.trigger && {
    id: hex(held.trigger.idBytes),
    result: held.trigger.result && hex(held.trigger.result),
  },
  lost: held.isLost,
})

export const outcome = (ended) =>
  ended instanceof Error
    ? { fails: failure(ended) }
    : ended && {
        kind: ended.kind,
        result: ended.result ? hex(ended.result) : null,
        error: ended.error ?? null,
        retained: ended.retained ?? false,
      }

export const info = (found) =>
  found && {
    ...snake(found),
    ...history(found),
    id: hex(found.idBytes),
    data: hex(found.data),
    result: found.result && hex(found.result),
    progress: found.progress && hex(found.progress),
    unique: found.uniqueBytes && hex(found.uniqueBytes),
    key: found.keyBytes && hex(found.keyBytes),
    key_bytes: undefined,
    id_bytes: undefined,
    unique_bytes: undefined,
    follow_ups: undefined,
    followed_by: allSnake(found.followUps),
  }

export const lost = { fails: 'LEASE_LOST' }
export const failure = ({ code, message, outcomeUnknown }) => ({
  kind: code,
  message,
  unknown: outcomeUnknown,
})
