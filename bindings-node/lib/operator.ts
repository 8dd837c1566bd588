// The operations of operators: reading a queue, changing its items, cleaning.
import type { NativeQueue } from '../native.js'
import { CALL, call, GET } from './calls'
import { bytes, flag, known, list, message, optionalNumber, text } from './check'
import {
  followUpFields,
  generations,
  idList,
  keyLimits,
  listed,
  pauseNote,
  revisionFields,
  settingsFields,
} from './input'
import { type ItemInfo, type Page, readItems, readPage } from './item'
import type {
  Attachment,
  BuryOptions,
  CallOptions,
  ChangeOptions,
  ConfigureOptions,
  Counts,
  DeepReport,
  DropOptions,
  FollowUp,
  GetOptions,
  Id,
  KeyInfo,
  LightReport,
  ListOptions,
  PauseOptions,
  Revision,
  RevisionFields,
  Settings,
  SettingsChange,
  State,
} from './types'
import { booleans, type ItemsParts } from './wire'

const LIST = new Set([
  'cursor',
  'limit',
  'reverse',
  'sinceMs',
  'untilMs',
  'data',
  'idPrefix',
  'dataContains',
  'errorContains',
  'signal',
])
const CHANGE = new Set(['ifGeneration', 'signal'])
const CONFIGURE = new Set(['revision', 'signal'])
const PAUSE = new Set(['durationMs', 'by', 'reason', 'signal'])
const DROP = new Set(['force', 'signal'])
const ATTACHMENT = new Set(['id', 'followUp'])
const BURY = new Set(['error', 'ifGeneration', 'signal'])

/** The part of `Queue` that operators use. */
export abstract class OperatorQueue {
  /** The queue's name. */
  readonly name: string
  /** @internal */
  protected readonly native: NativeQueue

  /** @internal */
  constructor(name: string, native: NativeQueue) {
    this.name = name
    this.native = native
  }

  /** How many items are ready. */
  async queueLen(options?: CallOptions): Promise<number> {
    return (await this.counts(options)).ready
  }

  /** How many items are leased, including expired ones that are not reclaimed yet. */
  async processing(options?: CallOptions): Promise<number> {
    return (await this.counts(options)).leased
  }

  /** How many items are in each state, the age of the oldest ready one, and totals. */
  counts(options?: CallOptions): Promise<Counts> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.counts(slot))
  }

  /** Reads an item without leasing it. `null`: there is no item with this id. */
  get(id: Id, options?: CallOptions): Promise<ItemInfo | null> {
    const read = (parts: ItemsParts): ItemInfo | null => readItems(parts)[0] ?? null
    return call(this.native, { options, names: CALL, read }, (native) => {
      const wanted = [bytes('id', id)]
      return (slot) => native.get(slot, wanted, true)
    })
  }

  /**
   * Reads many items without leasing them; the results are in the order of the ids, `null` for an
   * id without an item. It works in steps of up to 1,000 ids and 16 MiB of data, so it is no
   * snapshot.
   */
  getMany(ids: Iterable<Id>, options?: GetOptions): Promise<(ItemInfo | null)[]> {
    return call(this.native, { options, names: GET, read: readItems }, (native) => {
      const all = idList(ids)
      const data = flag('data', options?.data, true)
      return (slot) => native.get(slot, all, data)
    })
  }

  /**
   * Reads items of a state: ready items in the order of leasing, others by time (`atMs`), or in the
   * opposite order. A page examines at most 1,000 items and has 16 MiB of data at most, so any page
   * may hold fewer items than the limit, and perhaps none, although there are more: `cursor`
   * says whether there are.
   *
   * This is no snapshot, but the cursor stays right while items are added and taken: an item that
   * stays where it is is listed once, and one that is added, completed or removed meanwhile at most
   * once. An item whose time changes meanwhile, or that is revised, or leased and comes back, may be
   * missed or listed twice.
   */
  list(state: State, options?: ListOptions): Promise<Page> {
    return call(this.native, { options, names: LIST, read: readPage }, (native) => {
      const wanted = text('state', state)
      const { cursor } = options ?? {}
      const from = (cursor ?? undefined) === undefined ? undefined : text('cursor', cursor)
      const how = listed(options ?? {})
      return (slot) => native.list(slot, wanted, from, ...how)
    })
  }

  /**
   * Removes an item in any state. False: there is no item with this id, or it is of another
   * generation than `ifGeneration` says. From then on the holder of its lease gets false or
   * `LEASE_LOST`.
   */
  async remove(id: Id, options?: ChangeOptions): Promise<boolean> {
    return (await this.removeMany([id], options))[0] === true
  }

  /** Removes many items; the results are in their order. */
  removeMany(ids: Iterable<Id>, options?: ChangeOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CHANGE, read: booleans }, (native) => {
      const all = idList(ids)
      const seen = generations(all, options?.ifGeneration)
      return (slot) => native.remove(slot, all, seen)
    })
  }

  /**
   * Makes dead items ready again, at the back of their priority, with their counts of attempts
   * reset. False for an item that does not exist, is not dead, or is of another generation than
   * `ifGeneration` says.
   */
  requeue(ids: Iterable<Id>, options?: ChangeOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CHANGE, read: booleans }, (native) => {
      const all = idList(ids)
      const seen = generations(all, options?.ifGeneration)
      return (slot) => native.requeue(slot, all, seen)
    })
  }

  /**
   * Makes items dead that are ready, held or delayed, whatever their limit of attempts. False for an
   * item that does not exist, is leased, is dead, or is of another generation than `ifGeneration` says.
   * A buried item is a new generation: an earlier holder of a lease can no longer complete it.
   */
  bury(ids: Iterable<Id>, options?: BuryOptions): Promise<boolean[]> {
    return call(this.native, { options, names: BURY, read: booleans }, (native) => {
      const all = idList(ids)
      const { error, ifGeneration } = options ?? {}
      const seen = generations(all, ifGeneration)
      const why = error === undefined ? '' : message(error)
      return (slot) => native.bury(slot, all, why, seen)
    })
  }

  /**
   * Cancels an item. If it is ready, held or delayed, it is gone, or retained as `cancelled`. If it is
   * leased, it is marked: its holder may still complete it; if the lease fails, is released or
   * expires instead, the item ends as cancelled, and is neither retried nor dead. A holder that asks
   * (`Lease.signal`) learns of it within a few seconds.
   *
   * True: cancelled, or leased and marked by this call or an earlier one. False: there is no such
   * item, it has ended, or it is of another generation than `ifGeneration` says.
   */
  async cancel(id: Id, options?: ChangeOptions): Promise<boolean> {
    return (await this.cancelMany([id], options))[0] === true
  }

  /** Cancels many items; the results are in their order. */
  cancelMany(ids: Iterable<Id>, options?: ChangeOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CHANGE, read: booleans }, (native) => {
      const all = idList(ids)
      const seen = generations(all, options?.ifGeneration)
      return (slot) => native.cancel(slot, all, seen)
    })
  }

  /**
   * Adds a follow-up to an item that has not ended, in whatever state it is. If the item has ended as
   * the follow-up requires, and is dead or retained, the follow-up is added at once.
   *
   * True: the item has this follow-up, or it is added. False: there is no such item, it has ended in
   * another way, or it is of another generation than `ifGeneration` says. A follow-up whose id the
   * item has already for that end is not attached again. Rejects with `INVALID` if the item would
   * have more than 16 follow-ups or 64 KiB of them.
   */
  async attach(id: Id, followUp: FollowUp, options?: ChangeOptions): Promise<boolean> {
    return (await this.attachMany([{ id, followUp }], options))[0] === true
  }

  /** Attaches many follow-ups, to one item or several; the results are in their order. */
  attachMany(attachments: Iterable<Attachment>, options?: ChangeOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CHANGE, read: booleans }, (native) => {
      const given = list('attachments', attachments).map((one) =>
        known(one, 'an attachment', ATTACHMENT),
      )
      const ids = idList(given.map((one) => one.id))
      const followUps = followUpFields(
        given.map((one) => one.followUp),
        1,
      )
      const seen = generations(ids, options?.ifGeneration)
      return (slot) => native.attach(slot, ids, followUps, seen)
    })
  }

  /**
   * Changes an item that is not leased. It stays in its state, and keeps its attempts and the time
   * of its add; a delay, which a dead item cannot have, makes it delayed or ready. An item that is
   * ready afterwards goes to the back of its priority. False: there is no item with this id, or it
   * is leased, or of another generation than `ifGeneration` says, or it is dead and there is a
   * delay. A revised item is a new generation: an earlier holder of a lease can no longer complete
   * it.
   */
  async revise(id: Id, revision: RevisionFields, options?: CallOptions): Promise<boolean> {
    return (await this.reviseMany([{ ...revision, id }], options))[0] === true
  }

  /** Changes many items; the results are in their order. */
  reviseMany(revisions: Iterable<Revision>, options?: CallOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CALL, read: booleans }, (native) => {
      const all = list('revisions', revisions).flatMap(revisionFields)
      return (slot) => native.revise(slot, all)
    })
  }

  /**
   * Changes settings of this queue, which hold for every client, and resolves to all of them. What
   * is not named stays as it is; `null` removes a setting. A change that changes nothing keeps the
   * revision. With `revision`, the change is refused if the stored one is another: it resolves to
   * null, and changes nothing. 0 is the revision of a queue that was never configured.
   */
  configure(change: SettingsChange, options?: ConfigureOptions): Promise<Settings | null> {
    return call(this.native, { options, names: CONFIGURE }, (native) => {
      const [changed, values] = settingsFields(change)
      const revision = optionalNumber('revision', options?.revision)
      return (slot) => native.configure(slot, changed, values, revision)
    })
  }

  /** The settings of this queue, and whether it is paused. */
  settings(options?: CallOptions): Promise<Settings> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.settings(slot))
  }

  /**
   * Gives keys limits of their own, 1 to 1,000: so many items of each are leased at the same time.
   * `null`: the limit of the queue again. Up to 1,000 keys change in one atomic step. A limit stays
   * when no item has its key any more. A lower limit takes no lease away: until enough of them have
   * ended, the key gets none.
   */
  setKeyLimits(
    limits: Iterable<readonly [Id, number | null]>,
    options?: CallOptions,
  ): Promise<void> {
    return call(this.native, { options, names: CALL }, (native) => {
      const [keys, most] = keyLimits(limits)
      return (slot) => native.setKeyLimits(slot, keys, most)
    })
  }

  /**
   * The limits of keys, and how many items of each are leased now; the results are in the order of
   * the keys. It works in steps of up to 1,000 keys.
   */
  getKeys(keys: Iterable<Id>, options?: CallOptions): Promise<KeyInfo[]> {
    let all: Buffer[] = []
    const read = (numbers: Float64Array): KeyInfo[] =>
      all.map((keyBytes, i) => ({
        key: keyBytes.toString(),
        keyBytes,
        limit: numbers[3 * i]!,
        ownLimit: numbers[3 * i + 1] === 1,
        leased: numbers[3 * i + 2]!,
      }))
    return call(this.native, { options, names: CALL, read }, (native) => {
      all = list('keys', keys).map((key) => Buffer.from(bytes('key', key)))
      const wanted = [...all]
      return (slot) => native.getKeys(slot, wanted)
    })
  }

  /**
   * Stops leasing from this queue, for every client, until `resume`. With `durationMs`, 1 ms to 366
   * days, leasing goes on by itself after that time, and waiting calls wake. Of several pauses the
   * last one counts. Adding, completing and reclaiming continue; calls that lease wait or return
   * nothing. `settings` shows who has paused and why, if `by` and `reason` say so.
   */
  pause(options?: PauseOptions): Promise<void> {
    return call(this.native, { options, names: PAUSE }, (native) => {
      const durationMs = optionalNumber('durationMs', options?.durationMs)
      const [by, reason] = pauseNote(options)
      return (slot) => native.pause(slot, durationMs, by, reason)
    })
  }

  /**
   * Deletes the queue: items in every state, counts, totals, settings, the pause, and its name, which
   * `queues` no longer lists. False: there was no such queue. From then on holders of its leases
   * get false or `LEASE_LOST`. Calls that wait for an item keep waiting: adding an item creates a
   * new queue of this name, which a late retry of this call does not affect. Follow-ups for other queues
   * are delivered first: `UNAVAILABLE`, and the queue exists, if that cannot be now, unless `force` gives
   * them up. After another error the queue may or may not exist: call again.
   */
  dropQueue(options?: DropOptions): Promise<boolean> {
    return call(this.native, { options, names: DROP }, (native) => {
      const force = flag('force', options?.force)
      return (slot) => native.dropQueue(slot, force)
    })
  }

  /** Resumes leasing after `pause`; waiting calls wake. */
  resume(options?: CallOptions): Promise<void> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.resume(slot))
  }

  /**
   * Removes every item that is in this state when the call begins; resolves to their number. It
   * works in steps, so that other clients can proceed. After an error, some items may be removed.
   */
  purge(state: State, options?: CallOptions): Promise<number> {
    return call(this.native, { options, names: CALL }, (native) => {
      const wanted = text('state', state)
      return (slot) => native.purge(slot, wanted)
    })
  }

  /**
   * Makes due items ready and reclaims expired leases, for queues on which no worker waits. The
   * cost depends on the number of due or expired items, not on the length of the queue.
   */
  lightClean(options?: CallOptions): Promise<LightReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.lightClean(slot),
    )
  }

  /**
   * Finds and mends every broken invariant in small atomic steps. It is safe under full load and
   * beside other cleaners, and changes nothing in a sound queue.
   */
  deepClean(options?: CallOptions): Promise<DeepReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.deepClean(slot, true),
    )
  }

  /** `deepClean` that changes nothing. */
  check(options?: CallOptions): Promise<DeepReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.deepClean(slot, false),
    )
  }
}
