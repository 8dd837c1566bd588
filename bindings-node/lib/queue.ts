import type { NativeQueue } from '../native.js'
import { call } from './calls'
import { bytes, flag, list, number, optionalNumber, text } from './check'
import { invalid } from './errors'
import { adds, completes, handOver, leaseCalls } from './gather'
import { fields, idList, indexes, message, wanted } from './input'
import { type ItemInfo, type Page, readPage } from './item'
import { Lease } from './lease'
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
    const begin = (slot: number): void => {
      const [data, id, ...others] = fields(item)
      if (others.length === 0 && adds.add(slot, this.native, data, id)) return
      handOver()
      this.native.add(slot, data, id, ...others)
    }
    return call(begin, options === undefined ? GATHERS : { options, names: CALL, gathers: true })
  }

  /**
   * Adds many items; the answers stand in their order. Each chunk of at most 1,000 items and 16 MiB
   * is one atomic step. Of two items with the same id only the first can be true. If any of them is
   * outside its limits, none is added.
   */
  addItems(items: Iterable<Data | Item>, options?: CallOptions): Promise<boolean[]> {
    const begin = (slot: number): void => {
      const all: unknown[] = []
      for (const item of list('items', items)) {
        const [data, id, priority, delayMs, maxAttempts] = fields(item)
        all.push(data, id, priority, delayMs, maxAttempts)
      }
      this.native.addMany(slot, all)
    }
    return this.call(options, CALL, begin, booleans)
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
    const begin = (slot: number): void => {
      const how = wanted(options)
      if (before === undefined) leaseCalls.add(slot, this.native, ...how)
      else leaseCalls.add(slot, this.native, ...how, before._holder, before._index)
    }
    const leases = before && [before]
    return this.leaseSome(begin, options, read, leases, stoppable, true)
  }

  /**
   * Leases up to `count` items: waits for the first, then takes what is there, at most 1,000 and
   * about 16 MiB. Empty: there was none within `waitMs`.
   */
  leaseMany(count: number, options: LeaseOptions): Promise<Lease[]> {
    const read = (parts: LeaseParts[]): Lease[] => parts.map((part) => new Lease(this, part))
    const begin = (slot: number): void => {
      this.native.leaseMany(slot, number('count', count), ...wanted(options))
    }
    return this.leaseSome(begin, options, read)
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
    const begin = (slot: number): void => {
      const { _holder: holder, _index: index } = this.own(lease)
      completes.add(slot, this.native, holder, index, flag('strict', options?.strict))
    }
    return call(begin, { options, names: COMPLETE, leases: [lease], gathers: true })
  }

  /** Completes many items; the answers stand in their order. */
  async completeMany(leases: Iterable<Lease>, options?: CompleteOptions): Promise<boolean[]> {
    const all = list('leases', leases)
    const begin = (slot: number): void => {
      const strict = flag('strict', options?.strict)
      this.native.completeMany(slot, this.holders(all), indexes(all), strict)
    }
    return this.call(options, COMPLETE, begin, booleans, all)
  }

  /**
   * Completes items, as `completeMany` does, and leases up to `count` others, as `leaseMany` does, in
   * one round trip. The items are completed at once, before this waits for the next. When it is
   * rejected, a lease that `isSettled` was completed, and only the leasing has failed; of another one,
   * the error says whether it may have been.
   */
  async completeAndLease(
    leases: Iterable<Lease>,
    count: number,
    options: CompleteAndLeaseOptions,
  ): Promise<CompletedAndLeased> {
    const before = list('leases', leases)
    const begin = (slot: number): void => {
      const strict = flag('strict', options.strict)
      const holders = this.holders(before)
      this.native.completeAndLease(
        slot,
        holders,
        indexes(before),
        strict,
        number('count', count),
        ...wanted(options),
      )
    }
    const read = ({ completed, leases }: BothParts): CompletedAndLeased => ({
      completed: booleans(completed),
      leases: leases.map((part) => new Lease(this, part)),
    })
    const undo = (answer: BothParts | undefined): void => this.giveBack(answer?.leases)
    // A strict one that was not the current one any more is lost, which its signal tells.
    const kept = { leases: before, surely: false }
    return call(begin, { options, names: COMPLETE_AND_LEASE, of: 'this call', read, undo, ...kept })
  }

  /**
   * Extends the lease: its deadline becomes the later of the old one and now + `durationMs`, on the
   * server's clock. Results in the deadline, in ms since 1970. Works after the deadline too, as long
   * as nobody has reclaimed the item; else it is rejected with `LEASE_LOST`.
   */
  extend(lease: Lease, durationMs: number, options?: CallOptions): Promise<number> {
    return this.call(options, CALL, (slot) => {
      const { _holder: holder, _index: index } = this.own(lease)
      this.native.extend(slot, holder, index, number('durationMs', durationMs))
    })
  }

  /** Extends many leases; the deadlines stand in their order, `null` for one that is lost. */
  async extendMany(
    leases: Iterable<Lease>,
    durationMs: number,
    options?: CallOptions,
  ): Promise<(number | null)[]> {
    const all = list('leases', leases)
    const begin = (slot: number): void => {
      const duration = number('durationMs', durationMs)
      this.native.extendMany(slot, this.holders(all), indexes(all), duration)
    }
    return this.call(options, CALL, begin, orNull)
  }

  /**
   * Gives the item back without counting an attempt: to the front of its priority, at once or when
   * the delay ends. `LEASE_LOST` if the lease is not the current one any more.
   */
  release(lease: Lease, options?: DelayOptions): Promise<void> {
    const begin = (slot: number): void => {
      const { _holder: holder, _index: index } = this.own(lease)
      this.native.release(slot, holder, index, optionalNumber('delayMs', options?.delayMs) ?? 0)
    }
    return this.call<void>(options, DELAY, begin, undefined, [lease])
  }

  /** Gives many items back; true stands for each that was, false for a lease that is lost. */
  async releaseMany(leases: Iterable<Lease>, options?: DelayOptions): Promise<boolean[]> {
    const all = list('leases', leases)
    const begin = (slot: number): void => {
      const delay = optionalNumber('delayMs', options?.delayMs) ?? 0
      this.native.releaseMany(slot, this.holders(all), indexes(all), delay)
    }
    return this.call(options, DELAY, begin, booleans, all)
  }

  /**
   * Counts a failure of the item: it goes to the back of its priority, at once or when the delay
   * ends, or is dead when its limit of attempts is reached. Results in the state it is in now. The
   * error is kept with the item: its message, the first 1,024 bytes. `LEASE_LOST` as in `release`.
   */
  fail(lease: Lease, error: unknown, options?: DelayOptions): Promise<State> {
    const begin = (slot: number): void => {
      const { _holder: holder, _index: index } = this.own(lease)
      const delay = optionalNumber('delayMs', options?.delayMs) ?? 0
      this.native.fail(slot, holder, index, message(error), delay)
    }
    const read = (state: number): State => STATES[state]!
    return this.call(options, DELAY, begin, read, [lease])
  }

  /** Counts failures of many items; their states stand in order, `null` for a lease that is lost. */
  async failMany(
    failures: Iterable<readonly [lease: Lease, error: unknown]>,
    options?: DelayOptions,
  ): Promise<(State | null)[]> {
    const all = list('failures', failures)
    const leases = all.map((failure) => list('a failure', failure)[0] as Lease)
    const begin = (slot: number): void => {
      const errors = all.map(([, error]) => message(error))
      const delay = optionalNumber('delayMs', options?.delayMs) ?? 0
      this.native.failMany(slot, this.holders(leases), indexes(leases), errors, delay)
    }
    const read = (states: Float64Array): (State | null)[] =>
      Array.from(states, (state) => STATES[state] ?? null)
    return this.call(options, DELAY, begin, read, leases)
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
    return this.call(options, CALL, (slot) => this.native.counts(slot))
  }

  /** Looks at an item without leasing it. `null`: there is no item with this id. */
  get(id: Id, options?: CallOptions): Promise<ItemInfo | null> {
    const read = (parts: ItemsParts): ItemInfo | null => readPage(parts).items[0] ?? null
    return this.call(options, CALL, (slot) => this.native.get(slot, bytes('id', id)), read)
  }

  /**
   * Looks at items of a state: ready ones in the order of leasing, the others by time. Not a
   * snapshot: items that move while you turn pages may be missed or shown twice. A page may hold
   * fewer items than the limit, also if it is not the last one.
   */
  list(state: State, options?: ListOptions): Promise<Page> {
    const begin = (slot: number): void => {
      const cursor = options?.cursor ?? undefined
      this.native.list(
        slot,
        text('state', state),
        cursor === undefined ? undefined : text('cursor', cursor),
        optionalNumber('limit', options?.limit) ?? 100,
      )
    }
    return this.call(options, LIST, begin, readPage)
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
    return this.call(options, CALL, (slot) => this.native.remove(slot, idList(ids)), booleans)
  }

  /**
   * Makes dead items ready again, at the back of their priority and with their attempts counted anew.
   * False for an id that is not there, or not dead.
   */
  requeue(ids: Iterable<Id>, options?: CallOptions): Promise<boolean[]> {
    return this.call(options, CALL, (slot) => this.native.requeue(slot, idList(ids)), booleans)
  }

  /**
   * Stops leasing from this queue, for every client, until `resume`. Adding, completing and
   * reclaiming go on; calls that lease wait, or get nothing.
   */
  pause(options?: CallOptions): Promise<void> {
    return this.call(options, CALL, (slot) => this.native.pause(slot, true))
  }

  /** Goes on leasing after `pause`; waiting calls wake. */
  resume(options?: CallOptions): Promise<void> {
    return this.call(options, CALL, (slot) => this.native.pause(slot, false))
  }

  /**
   * Removes every item of a state, as many as there are when it begins, and results in how many. In
   * steps: other clients go on meanwhile. After an error, some have been removed.
   */
  purge(state: State, options?: CallOptions): Promise<number> {
    return this.call(options, CALL, (slot) => this.native.purge(slot, text('state', state)))
  }

  /**
   * Makes due items ready and reclaims expired leases, for queues that nobody is waiting on. Costs by
   * what is due or expired, not by what is queued or leased.
   */
  lightClean(options?: CallOptions): Promise<LightReport> {
    return this.call(options, CALL, (slot) => this.native.lightClean(slot))
  }

  /**
   * Finds and mends every broken invariant, in small atomic steps: safe under full load and beside
   * other cleaners. On a sound queue it changes nothing.
   */
  deepClean(options?: CallOptions): Promise<DeepReport> {
    return this.call(options, CALL, (slot) => this.native.deepClean(slot, true))
  }

  /** `deepClean` that only looks. */
  check(options?: CallOptions): Promise<DeepReport> {
    return this.call(options, CALL, (slot) => this.native.deepClean(slot, false))
  }

  private call<T>(
    options: CallOptions | undefined,
    names: ReadonlySet<string>,
    begin: (slot: number) => void,
    read?: (answer: never) => T,
    leases?: Lease[],
  ): Promise<T> {
    return call(begin, { options, names, read, leases })
  }

  private leaseSome<T>(
    begin: (slot: number) => void,
    options: LeaseOptions,
    read: (parts: LeaseParts[]) => T,
    leases?: Lease[],
    stoppable?: (stop: () => void) => void,
    gathers = false,
  ): Promise<T> {
    const undo = (parts: LeaseParts[] | undefined): void => this.giveBack(parts)
    const names = LEASE
    return call(begin, { options, names, of: 'a lease', read, undo, stoppable, leases, gathers })
  }

  /** What was won by a call that was given up in this moment. */
  private giveBack(parts: LeaseParts[] = []): void {
    const leases = parts.map((part) => new Lease(this, part))
    if (leases.length > 0) this.releaseMany(leases).catch(() => undefined)
  }

  private own(lease: Lease): Lease {
    if (!(lease instanceof Lease)) throw invalid(`queue ${this.name}: what was given is no lease`)
    return lease
  }

  private holders(leases: Lease[]) {
    return leases.map((lease) => this.own(lease)._holder)
  }
}
