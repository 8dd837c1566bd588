import type { Leases, NativeQueue } from '../native.js'
import { CALL, call, type Send } from './calls'
import { flag, list, message, number, optionalNumber } from './check'
import { invalid } from './errors'
import { adds, completes, handOver, leaseCalls } from './gather'
import { fields, wanted } from './input'
import { Lease, type LeaseState, stateOf } from './lease'
import { leases } from './leases'
import { OperatorQueue } from './operator'
import type {
  CallOptions,
  CompleteAndLeaseOptions,
  CompletedAndLeased,
  CompleteOptions,
  Data,
  DelayOptions,
  Item,
  LeaseOptions,
  LeasesOptions,
  State,
} from './types'
import { type BothParts, booleans, type LeaseParts, numbersOrNull } from './wire'

const GATHERS = { gathers: true }
const LEASE = new Set(['durationMs', 'waitMs', 'keepAlive', 'signal'])
const COMPLETE_AND_LEASE = new Set([...LEASE, 'strict'])
const COMPLETE = new Set(['strict', 'signal'])
const DELAY = new Set(['delayMs', 'signal'])
/** In the order of their numbers in the native half. */
const STATES: State[] = ['ready', 'delayed', 'leased', 'dead']

/**
 * One queue of a client. Calls made in the same turn of the event loop share requests.
 *
 * Besides its own errors, every operation may reject with `UNAVAILABLE` (no reply within the
 * client's timeout), `CLOSED`, `INCOMPATIBLE` (a queue written by a version with another storage
 * format), `INTERNAL` (damage; see `check`), and `INVALID` (arguments of a wrong type).
 */
export class Queue extends OperatorQueue {
  /**
   * Adds an item. True: it is stored and will be delivered. False: an item with this id exists in
   * some state; that item, data included, is unchanged.
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
   * Adds many items; the results are in their order. Each chunk of at most 1,000 items and 16 MiB
   * is one atomic step. Of two items with the same id only the first can be true. If any item is
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
   * which is not an error; without `waitMs` the wait has no limit.
   */
  lease(options: LeaseOptions): Promise<Lease | null> {
    return this.stoppableLease(options)
  }

  /**
   * Completes `before` first, if given. `stoppable` receives a function that ends the wait with
   * `null`. @internal
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
   * Leases up to `count` items: waits for the first, then takes those that are ready, at most 1,000
   * and about 16 MiB. Empty: there was none within `waitMs`.
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
   * Leases one item after the other, for `for await`. The loop ends when there was no item for
   * `waitMs`, without it never; an aborted signal makes it throw the reason. Leaving the loop early
   * releases the current lease, unless it was completed, released or failed.
   *
   * With `complete`, the start of the next iteration completes the item of the previous one, unless
   * the body has settled it, and leases the next item in the same round trip. An iteration that
   * ends with an exception, `break` or `return` completes nothing.
   */
  leases(options: LeasesOptions): AsyncGenerator<Lease, void, undefined> {
    return leases(this, options)
  }

  /**
   * Completes the item and deletes it. True for exactly one caller in a generation. That may be a
   * holder whose lease has expired, whatever state the item is in by then; a later holder then gets
   * false. `INVALID` for a lease of another queue.
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

  /** Completes many items; the results are in their order. */
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
   * Completes items, as `completeMany` does, and leases up to `count` others, as `leaseMany` does,
   * in one round trip. The items are completed at once, before the call waits for the next ones. If
   * the call is rejected, nothing was leased, and `completed` of each lease says whether it was
   * completed.
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
    // A strict completion fails if the lease is lost, and then its signal must still abort.
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
   * server's clock. Resolves to the deadline, in ms since 1970. It works after the deadline too,
   * until the item is reclaimed; then it rejects with `LEASE_LOST`.
   */
  extend(lease: Lease, durationMs: number, options?: CallOptions): Promise<number> {
    return call(this.native, { options, names: CALL }, (native) => {
      const { holder, index } = this.own(stateOf(lease))
      const duration = number('durationMs', durationMs)
      return (slot) => native.extend(slot, holder, index, duration)
    })
  }

  /** Extends many leases; the deadlines are in their order, `null` for a lost lease. */
  extendMany(
    leases: Iterable<Lease>,
    durationMs: number,
    options?: CallOptions,
  ): Promise<(number | null)[]> {
    return call(this.native, { options, names: CALL, read: numbersOrNull }, (native) => {
      const [holders, indexes] = this.ownAll(leases)
      const duration = number('durationMs', durationMs)
      return (slot) => native.extendMany(slot, holders, indexes, duration)
    })
  }

  /**
   * Releases the item without counting an attempt. It returns to the front of its priority, at once
   * or when the delay ends. `LEASE_LOST` if the lease is no longer the current one.
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

  /** Releases many items; true for each that was released, false for a lost lease. */
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
   * Counts a failed attempt. The item goes to the back of its priority, at once or when the delay
   * ends, or is dead when it reaches its limit of attempts. Resolves to its new state. The first
   * 1,024 bytes of the error's message are stored with the item. `LEASE_LOST` as in `release`.
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

  /**
   * Counts a failed attempt of many items; their new states are in order, `null` for a lost lease.
   */
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
    // Written out: spreading objects costs more than the rest of a call.
    const spec = { options, names, of: 'a lease', read, undo, stoppable, leases, gathers }
    return call(this.native, spec, prepare)
  }

  /** Releases leases that a cancelled call has obtained. */
  private giveBack(parts: LeaseParts[] = []): void {
    const leases = parts.map((part) => new Lease(this, part))
    if (leases.length > 0) this.releaseMany(leases).catch(() => undefined)
  }

  private own(state: LeaseState | undefined): LeaseState {
    if (state === undefined) throw invalid(`queue ${this.name}: what was given is no lease`)
    return state
  }

  /** The holders of the leases and their indexes; adds their states to `states`. */
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
