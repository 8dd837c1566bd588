import type { Leases, NativeQueue } from '../native.js'
import { call, type Send } from './calls'
import { bytes, flag, list, message, number, optionalNumber, text } from './check'
import { invalid } from './errors'
import { adds, completes, handOver, leaseCalls } from './gather'
import { fields, idList, wanted } from './input'
import { type ItemInfo, type Page, readPage } from './item'
import { Lease, type LeaseState, stateOf } from './lease'
import { leases } from './leases'
import type {
  CallOptions,
  CompleteAndLeaseOptions,
  CompletedAndLeased,
  CompleteOptions,
  Counts,
  Data,
  DeepReport,
  DelayOptions,
  Id,
  Item,
  LeaseOptions,
  LeasesOptions,
  LightReport,
  ListOptions,
  State,
} from './types'
import type { BothParts, ItemsParts, LeaseParts } from './wire'

const CALL = new Set(['signal'])
const GATHERS = { gathers: true }
const LEASE = new Set(['durationMs', 'waitMs', 'keepAlive', 'signal'])
const COMPLETE_AND_LEASE = new Set([...LEASE, 'strict'])
const COMPLETE = new Set(['strict', 'signal'])
const DELAY = new Set(['delayMs', 'signal'])
const LIST = new Set(['cursor', 'limit', 'signal'])
/** In the order of their numbers in the native half. */
const STATES: State[] = ['ready', 'delayed', 'leased', 'dead']

const booleans = (answers: Float64Array): boolean[] => Array.from(answers, (answer) => answer === 1)
const orNull = (answers: Float64Array): (number | null)[] =>
  Array.from(answers, (answer) => (Number.isNaN(answer) ? null : answer))

/**
 * One queue of a client. Calls made in the same turn of the event loop travel in one request.
 *
 * Besides the errors named, every operation may be rejected with `UNAVAILABLE` (no answer within the
 * client's time-out), `CLOSED`, `INCOMPATIBLE` (a queue written by a version with another storage
 * format), `INTERNAL` (damage; see `check`), and `INVALID` for arguments of a wrong type.
 */
export class Queue {
  /** The queue's name. */
  readonly name: string
  private readonly native: NativeQueue

  /** @internal */
  constructor(name: string, native: NativeQueue) {
    this.name = name
    this.native = native
  }

  /**
   * Adds an item. True: it is stored and will be delivered. False: an item with this id exists in
   * some state; nothing changed, its data was not overwritten.
   */
  addItem(item: Data | Item, options?: CallOptions): Promise<boolean> {
    const spec = options === undefined ? GATHERS : { options, names: CALL, gathers: true }
    return call(this.native, spec, (native) => {
      const [data, id, ...others] = fields(item)
      return (slot) => {
        if (others.length === 0 && adds.add(slot, native, data, id)) return
        handOver()
        native.add(slot, data, id, ...others)
      }
    })
  }

  /**
   * Adds many items; the answers stand in their order. Each chunk of at most 1,000 items and 16 MiB
   * is one atomic step. Of two items with the same id only the first can be true. If any of them is
   * outside its limits, none is added.
   */
  addItems(items: Iterable<Data | Item>, options?: CallOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CALL, read: booleans }, (native) => {
      const all: unknown[] = []
      for (const item of list('items', items)) {
        const [data, id, priority, delayMs, maxAttempts] = fields(item)
        all.push(data, id, priority, delayMs, maxAttempts)
      }
      return (slot) => native.addMany(slot, all)
    })
  }

  /**
   * Leases the oldest ready item of the highest priority. `null`: there was none within `waitMs`,
   * which is not an error; without `waitMs` it waits until there is one.
   */
  lease(options: LeaseOptions): Promise<Lease | null> {
    return this.stoppableLease(options)
  }

  /**
   * Completes `before` first, if there is one. `stoppable` is told how to end the waiting; the result
   * is `null` then. @internal
   */
  stoppableLease(
    options: LeaseOptions,
    stoppable?: (stop: () => void) => void,
    before?: Lease,
  ): Promise<Lease | null> {
    const read = (parts?: LeaseParts[]): Lease | null =>
      parts?.[0] ? new Lease(this, parts[0]) : null
    const state = before && stateOf(before)
    const leases = state && [state]
    return this.leaseSome(options, read, stoppable, leases, true, (native) => {
      const [durationMs, waitMs, keepAliveMs] = wanted(options)
      return (slot) =>
        leaseCalls.add(slot, native, durationMs, waitMs, keepAliveMs, state?.holder, state?.index)
    })
  }

  /**
   * Leases up to `count` items: waits for the first, then takes what is there, at most 1,000 and
   * about 16 MiB. Empty: there was none within `waitMs`.
   */
  leaseMany(count: number, options: LeaseOptions): Promise<Lease[]> {
    const read = (parts: LeaseParts[]): Lease[] => parts.map((part) => new Lease(this, part))
    return this.leaseSome(options, read, undefined, undefined, false, (native) => {
      const most = number('count', count)
      const how = wanted(options)
      return (slot) => native.leaseMany(slot, most, ...how)
    })
  }

  /**
   * Leases one item after the other, for `for await`. Ends when there has been none for `waitMs`,
   * without it never; when the signal is aborted, the loop throws its reason. A loop that is left
   * early gives back the lease it was at, unless that was completed, released or failed.
   *
   * With `complete`, going on to the next turn completes the item of the turn before, unless the body
   * did or gave it back, and leases the next in the same round trip. A turn that does not end, because
   * of an exception, `break` or `return`, completes nothing.
   */
  leases(options: LeasesOptions): AsyncGenerator<Lease, void, undefined> {
    return leases(this, options)
  }

  /**
   * Completes the item: it is gone. True for exactly one caller in a generation. A holder whose lease
   * has expired may still be that caller, wherever the item is by then; whoever has leased it
   * meanwhile gets false. `INVALID` for a lease of another queue.
   */
  complete(lease: Lease, options?: CompleteOptions): Promise<boolean> {
    const state = stateOf(lease)
    return call(
      this.native,
      { options, names: COMPLETE, leases: state && [state], gathers: true },
      (native) => {
        const { holder, index } = this.own(state)
        const strict = flag('strict', options?.strict)
        return (slot) => completes.add(slot, native, holder, index, strict)
      },
    )
  }

  /** Completes many items; the answers stand in their order. */
  completeMany(leases: Iterable<Lease>, options?: CompleteOptions): Promise<boolean[]> {
    const states: LeaseState[] = []
    return call(
      this.native,
      { options, names: COMPLETE, read: booleans, leases: states },
      (native) => {
        const [holders, indexes] = this.ownAll(leases, states)
        const strict = flag('strict', options?.strict)
        return (slot) => native.completeMany(slot, holders, indexes, strict)
      },
    )
  }

  /**
   * Completes items, as `completeMany` does, and leases up to `count` others, as `leaseMany` does, in
   * one round trip. The items are completed at once, before this waits for the next. When it is
   * rejected, nothing was leased, and `completed` of each lease says whether it was completed.
   */
  completeAndLease(
    leases: Iterable<Lease>,
    count: number,
    options: CompleteAndLeaseOptions,
  ): Promise<CompletedAndLeased> {
    const states: LeaseState[] = []
    const read = ({ completed, leases }: BothParts): CompletedAndLeased => ({
      completed: booleans(completed),
      leases: leases.map((part) => new Lease(this, part)),
    })
    const undo = (answer: BothParts | undefined): void => this.giveBack(answer?.leases)
    // A strict one that was not the current one any more is lost, which its signal tells.
    const kept = { leases: states, surely: false }
    return call(
      this.native,
      { options, names: COMPLETE_AND_LEASE, of: 'this call', read, undo, ...kept },
      (native) => {
        const [holders, indexes] = this.ownAll(leases, states)
        const strict = flag('strict', options.strict)
        const most = number('count', count)
        const how = wanted(options)
        return (slot) => native.completeAndLease(slot, holders, indexes, strict, most, ...how)
      },
    )
  }

  /**
   * Extends the lease: its deadline becomes the later of the old one and now + `durationMs`, on the
   * server's clock. Results in the deadline, in ms since 1970. Works after the deadline too, as long
   * as nobody has reclaimed the item; else it is rejected with `LEASE_LOST`.
   */
  extend(lease: Lease, durationMs: number, options?: CallOptions): Promise<number> {
    return call(this.native, { options, names: CALL }, (native) => {
      const { holder, index } = this.own(stateOf(lease))
      const duration = number('durationMs', durationMs)
      return (slot) => native.extend(slot, holder, index, duration)
    })
  }

  /** Extends many leases; the deadlines stand in their order, `null` for one that is lost. */
  extendMany(
    leases: Iterable<Lease>,
    durationMs: number,
    options?: CallOptions,
  ): Promise<(number | null)[]> {
    return call(this.native, { options, names: CALL, read: orNull }, (native) => {
      const [holders, indexes] = this.ownAll(leases)
      const duration = number('durationMs', durationMs)
      return (slot) => native.extendMany(slot, holders, indexes, duration)
    })
  }

  /**
   * Gives the item back without counting an attempt: to the front of its priority, at once or when
   * the delay ends. `LEASE_LOST` if the lease is not the current one any more.
   */
  release(lease: Lease, options?: DelayOptions): Promise<void> {
    const state = stateOf(lease)
    return call<void, NativeQueue>(
      this.native,
      { options, names: DELAY, leases: state && [state] },
      (native) => {
        const { holder, index } = this.own(state)
        const delay = delayOf(options)
        return (slot) => native.release(slot, holder, index, delay)
      },
    )
  }

  /** Gives many items back; true stands for each that was, false for a lease that is lost. */
  releaseMany(leases: Iterable<Lease>, options?: DelayOptions): Promise<boolean[]> {
    const states: LeaseState[] = []
    return call(
      this.native,
      { options, names: DELAY, read: booleans, leases: states },
      (native) => {
        const [holders, indexes] = this.ownAll(leases, states)
        const delay = delayOf(options)
        return (slot) => native.releaseMany(slot, holders, indexes, delay)
      },
    )
  }

  /**
   * Counts a failure of the item: it goes to the back of its priority, at once or when the delay
   * ends, or is dead when its limit of attempts is reached. Results in the state it is in now. The
   * error is kept with the item: its message, the first 1,024 bytes. `LEASE_LOST` as in `release`.
   */
  fail(lease: Lease, error: unknown, options?: DelayOptions): Promise<State> {
    const state = stateOf(lease)
    const read = (state: number): State => STATES[state]!
    return call(
      this.native,
      { options, names: DELAY, read, leases: state && [state] },
      (native) => {
        const { holder, index } = this.own(state)
        const text = message(error)
        const delay = delayOf(options)
        return (slot) => native.fail(slot, holder, index, text, delay)
      },
    )
  }

  /** Counts failures of many items; their states stand in order, `null` for a lease that is lost. */
  failMany(
    failures: Iterable<readonly [lease: Lease, error: unknown]>,
    options?: DelayOptions,
  ): Promise<(State | null)[]> {
    const states: LeaseState[] = []
    const read = (states: Float64Array): (State | null)[] =>
      Array.from(states, (state) => STATES[state] ?? null)
    return call(this.native, { options, names: DELAY, read, leases: states }, (native) => {
      const all = list('failures', failures).map((one) => list('a failure', one))
      const [holders, indexes] = this.ownAll(
        all.map(([lease]) => lease as Lease),
        states,
      )
      const errors = all.map(([, error]) => message(error))
      const delay = delayOf(options)
      return (slot) => native.failMany(slot, holders, indexes, errors, delay)
    })
  }

  /** How many items are ready. */
  async queueLen(options?: CallOptions): Promise<number> {
    return (await this.counts(options)).ready
  }

  /** How many items are leased, expired ones that nobody has reclaimed yet included. */
  async processing(options?: CallOptions): Promise<number> {
    return (await this.counts(options)).leased
  }

  /** How many items are in each state, the age of the oldest ready one, and totals. */
  counts(options?: CallOptions): Promise<Counts> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.counts(slot))
  }

  /** Looks at an item without leasing it. `null`: there is no item with this id. */
  get(id: Id, options?: CallOptions): Promise<ItemInfo | null> {
    const read = (parts: ItemsParts): ItemInfo | null => readPage(parts).items[0] ?? null
    return call(this.native, { options, names: CALL, read }, (native) => {
      const wanted = bytes('id', id)
      return (slot) => native.get(slot, wanted)
    })
  }

  /**
   * Looks at items of a state: ready ones in the order of leasing, the others by time. Not a
   * snapshot: items that move while you turn pages may be missed or shown twice. A page may hold
   * fewer items than the limit, also if it is not the last one.
   */
  list(state: State, options?: ListOptions): Promise<Page> {
    return call(this.native, { options, names: LIST, read: readPage }, (native) => {
      const wanted = text('state', state)
      const { cursor, limit } = options ?? {}
      const from = (cursor ?? undefined) === undefined ? undefined : text('cursor', cursor)
      const most = optionalNumber('limit', limit) ?? 100
      return (slot) => native.list(slot, wanted, from, most)
    })
  }

  /**
   * Removes an item in whatever state it is. False: there is no item with this id. A holder of its
   * lease gets false or `LEASE_LOST` from then on.
   */
  async remove(id: Id, options?: CallOptions): Promise<boolean> {
    return (await this.removeMany([id], options))[0] === true
  }

  /** Removes many items; the answers stand in their order. */
  removeMany(ids: Iterable<Id>, options?: CallOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CALL, read: booleans }, (native) => {
      const all = idList(ids)
      return (slot) => native.remove(slot, all)
    })
  }

  /**
   * Makes dead items ready again, at the back of their priority and with their attempts counted anew.
   * False for an id that is not there, or not dead.
   */
  requeue(ids: Iterable<Id>, options?: CallOptions): Promise<boolean[]> {
    return call(this.native, { options, names: CALL, read: booleans }, (native) => {
      const all = idList(ids)
      return (slot) => native.requeue(slot, all)
    })
  }

  /**
   * Stops leasing from this queue, for every client, until `resume`. Adding, completing and
   * reclaiming go on; calls that lease wait, or get nothing.
   */
  pause(options?: CallOptions): Promise<void> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.pause(slot, true),
    )
  }

  /**
   * Deletes the queue with everything in it: items in every state, counts, totals, the pause, and its
   * name, which `queues` does not list from then on. True: the queue was there, and is gone. False:
   * there was none. Holders of its leases get false or `LEASE_LOST` from then on. Calls that wait for
   * an item go on waiting: adding an item makes another queue of this name, which a late or repeated
   * request of this call does not touch. After an error the queue is there or gone; call again.
   */
  dropQueue(options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.dropQueue(slot))
  }

  /** Goes on leasing after `pause`; waiting calls wake. */
  resume(options?: CallOptions): Promise<void> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.pause(slot, false),
    )
  }

  /**
   * Removes every item of a state, as many as there are when it begins, and results in how many. In
   * steps: other clients go on meanwhile. After an error, some have been removed.
   */
  purge(state: State, options?: CallOptions): Promise<number> {
    return call(this.native, { options, names: CALL }, (native) => {
      const wanted = text('state', state)
      return (slot) => native.purge(slot, wanted)
    })
  }

  /**
   * Makes due items ready and reclaims expired leases, for queues that nobody is waiting on. Costs by
   * what is due or expired, not by what is queued or leased.
   */
  lightClean(options?: CallOptions): Promise<LightReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.lightClean(slot),
    )
  }

  /**
   * Finds and mends every broken invariant, in small atomic steps: safe under full load and beside
   * other cleaners. On a sound queue it changes nothing.
   */
  deepClean(options?: CallOptions): Promise<DeepReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.deepClean(slot, true),
    )
  }

  /** `deepClean` that only looks. */
  check(options?: CallOptions): Promise<DeepReport> {
    return call(
      this.native,
      { options, names: CALL },
      (native) => (slot) => native.deepClean(slot, false),
    )
  }

  private leaseSome<T>(
    options: LeaseOptions,
    read: (parts: LeaseParts[]) => T,
    stoppable: ((stop: () => void) => void) | undefined,
    leases: LeaseState[] | undefined,
    gathers: boolean,
    prepare: (native: NativeQueue) => Send,
  ): Promise<T> {
    const undo = (parts: LeaseParts[] | undefined): void => this.giveBack(parts)
    const names = LEASE
    // Not from parts: objects that are spread cost more than the rest of a call.
    const spec = { options, names, of: 'a lease', read, undo, stoppable, leases, gathers }
    return call(this.native, spec, prepare)
  }

  /** What was won by a call that was given up in this moment. */
  private giveBack(parts: LeaseParts[] = []): void {
    const leases = parts.map((part) => new Lease(this, part))
    if (leases.length > 0) this.releaseMany(leases).catch(() => undefined)
  }

  private own(state: LeaseState | undefined): LeaseState {
    if (state === undefined) throw invalid(`queue ${this.name}: what was given is no lease`)
    return state
  }

  /** The holders of the leases and their numbers in them; keeps their states. */
  private ownAll(leases: Iterable<Lease>, states: LeaseState[] = []): [Leases[], number[]] {
    const holders: Leases[] = []
    const indexes: number[] = []
    for (const lease of list('leases', leases)) {
      const state = this.own(stateOf(lease))
      states.push(state)
      holders.push(state.holder)
      indexes.push(state.index)
    }
    return [holders, indexes]
  }
}

function delayOf(options: DelayOptions | undefined): number {
  return optionalNumber('delayMs', options?.delayMs) ?? 0
}
