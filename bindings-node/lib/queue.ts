import type { NativeQueue } from '../native.js'
import { CALL, call, type Send } from './calls'
import { flag, number, optionalNumber } from './check'
import type { LeaseqError } from './errors'
import { adds, handOver, leaseCalls } from './gather'
import { addsFields, completion, fields, idList, itemsFields, resultList, wanted } from './input'
import { Lease, type LeaseState, stateOf } from './lease'
import { leases } from './leases'
import { readOutcomes } from './outcome'
import { SettleQueue } from './settle'
import type {
  CallOptions,
  CompleteAndLeaseOptions,
  CompletedAndLeased,
  Data,
  Id,
  Item,
  LeaseOptions,
  LeasesOptions,
  Outcome,
  OutcomeOptions,
} from './types'
import { type BothParts, booleans, type LeaseParts } from './wire'

const GATHERS = { gathers: true }
const LEASE = new Set(['durationMs', 'waitMs', 'keepAlive', 'signal'])
const OUTCOME = new Set(['waitMs', 'expect', 'signal'])
const COMPLETE_AND_LEASE = new Set([...LEASE, 'strict', 'retainMs', 'results', 'adds'])

/**
 * One queue of a client. Calls made in the same turn of the event loop share requests.
 *
 * Besides its own errors, every operation may reject with `UNAVAILABLE` (no reply within the
 * client's timeout), `CLOSED`, `INCOMPATIBLE` (a queue written by a version with another storage
 * format), `INTERNAL` (damage; see `check`), and `INVALID` (arguments of a wrong type).
 */
export class Queue extends SettleQueue {
  /**
   * Adds an item. True: it is stored and will be delivered. False: an item with this id exists in
   * some state, or its unique key is taken; nothing is changed, data included. With `replace`, false
   * only if the other item is leased, or if its key is taken otherwise.
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
      const all = itemsFields(items)
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
        const complete = completion(options)
        const results = resultList(options, states.length)
        const added = addsFields(options.adds, states.length)
        const most = number('count', count)
        const how = wanted(options)
        return (slot) =>
          native.completeAndLease(slot, holders, indexes, ...complete, results, added, most, ...how)
      },
    )
  }

  /**
   * Waits until an item has ended, and resolves to how: with its result if it is retained. `null`: it
   * has not ended within `waitMs`; without `waitMs` the wait has no limit. If there is no item with
   * this id, the outcome is `gone`, unless `expect` is set: then it also waits for one that is not
   * added yet. Any number of calls share two connections.
   *
   * It is about the id: if the item ends and is added anew before the client has learned of it, the
   * outcome may be that of the later one.
   */
  async outcome(id: Id, options?: OutcomeOptions): Promise<Outcome | null> {
    // An error for every id is one of the call.
    return ((await this.outcomeMany([id], options))[0] ?? null) as Outcome | null
  }

  /**
   * Waits until all of these items have ended; the results are in the order of the ids. There is an
   * error for an item that could not be asked about, so that the outcomes of the others are not lost;
   * the client asks about up to 1,000 items in a request, and its error is that of all of them. If
   * there is one for every item, or one of the ids is invalid, the promise rejects.
   */
  outcomeMany(
    ids: Iterable<Id>,
    options?: OutcomeOptions,
  ): Promise<(Outcome | LeaseqError | null)[]> {
    return call(this.native, { options, names: OUTCOME, read: readOutcomes }, (native) => {
      const all = idList(ids)
      const waitMs = optionalNumber('waitMs', options?.waitMs)
      const expect = flag('expect', options?.expect)
      return (slot) => native.outcome(slot, all, waitMs, expect)
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
}
