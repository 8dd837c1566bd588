// The operations on leases: completing, extending, reporting progress, releasing and failing.
import type { Leases, NativeQueue } from '../native.js'
import { CALL, call } from './calls'
import { bytes, flag, list, message, number, optionalNumber, storedText } from './check'
import { invalid } from './errors'
import { completes, handOver } from './gather'
import { addsFields, completion, itemsFields, resultList } from './input'
import { type Lease, type LeaseState, stateOf } from './lease'
import { ScheduleQueue } from './schedules'
import type {
  CallOptions,
  CompleteManyOptions,
  CompleteOptions,
  DelayOptions,
  FailManyOptions,
  FailOptions,
  ReleaseOptions,
  State,
} from './types'
import { booleans, numbersOrNull } from './wire'

const COMPLETE = new Set(['strict', 'retainMs', 'result', 'add', 'signal'])
const COMPLETE_MANY = new Set(['strict', 'retainMs', 'results', 'adds', 'signal'])
const RELEASE = new Set(['delayMs', 'reason', 'signal'])
const FAIL = new Set(['delayMs', 'dead', 'add', 'signal'])
const FAIL_MANY = new Set(['delayMs', 'dead', 'adds', 'signal'])
/** In the order of their numbers in the native half. */
const STATES: State[] = ['ready', 'delayed', 'leased', 'dead', 'completed', 'cancelled', 'held']

/** The part of `Queue` that settles and extends leases. */
export abstract class SettleQueue extends ScheduleQueue {
  /**
   * Completes the item, which is then gone, or retained with its result: for the time that it was
   * added with, or for `retainMs`. True for exactly one caller in a generation. That may be a holder
   * whose lease has expired, whatever state the item is in by then; a later holder then gets false.
   * `INVALID` for a lease of another queue.
   *
   * With `add`, it adds these items in the same step if it completes the item.
   */
  complete(lease: Lease, options?: CompleteOptions): Promise<boolean> {
    const state = stateOf(lease)
    const read = (done: boolean | Float64Array): boolean =>
      typeof done === 'boolean' ? done : done[0] === 1
    return call(
      this.native,
      { options, names: COMPLETE, read, leases: state && [state], gathers: true },
      (native) => {
        const { holder, index } = this.own(state)
        const [strict, retainMs] = completion(options)
        const given = options?.result
        const result = given === undefined ? undefined : bytes('a result', given)
        const add = options?.add
        if (add === undefined) {
          return (slot) => completes.add(slot, native, holder, index, strict, retainMs, result)
        }
        const added = [itemsFields(add)]
        return (slot) => {
          handOver()
          native.completeMany(slot, [holder], [index], strict, retainMs, [result], added)
        }
      },
    )
  }

  /** Completes many items; the results are in their order. */
  completeMany(leases: Iterable<Lease>, options?: CompleteManyOptions): Promise<boolean[]> {
    const states: LeaseState[] = []
    return call(
      this.native,
      { options, names: COMPLETE_MANY, read: booleans, leases: states },
      (native) => {
        const [holders, indexes] = this.ownAll(leases, states)
        const complete = completion(options)
        const results = resultList(options, states.length)
        const added = addsFields(options?.adds, states.length)
        return (slot) => native.completeMany(slot, holders, indexes, ...complete, results, added)
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
   * Stores how far the work on the item has come, for `get` and `list`: text or bytes, up to 1,024
   * bytes. It replaces what earlier holders stored. It stays when the lease ends, until the item is
   * completed or gone.
   *
   * Call it as often as you like. The first value of a lease is stored when the promise resolves.
   * Later ones wait if the client has sent one within the last second, and the promise resolves at
   * once; when the second is over, the last value of each lease is sent. `fail` and `release` send
   * what waits, `complete` drops it. `LEASE_LOST`, perhaps only in a later call.
   */
  setProgress(lease: Lease, progress: string | Uint8Array, options?: CallOptions): Promise<void> {
    return call<void, NativeQueue>(this.native, { options, names: CALL }, (native) => {
      const { holder, index } = this.own(stateOf(lease))
      const value = bytes('progress', progress)
      return (slot) => native.setProgress(slot, holder, index, value)
    })
  }

  /**
   * Releases the item without counting an attempt. It returns to the front of its priority, at once
   * or when the delay ends. `LEASE_LOST` if the lease is no longer the current one.
   */
  release(lease: Lease, options?: ReleaseOptions): Promise<void> {
    const state = stateOf(lease)
    return call<void, NativeQueue>(
      this.native,
      { options, names: RELEASE, leases: state && [state] },
      (native) => {
        const { holder, index } = this.own(state)
        const delay = delayOf(options)
        const reason = reasonOf(options)
        return (slot) => native.release(slot, holder, index, delay, reason)
      },
    )
  }

  /** Releases many items; true for each that was released, false for a lost lease. */
  releaseMany(leases: Iterable<Lease>, options?: ReleaseOptions): Promise<boolean[]> {
    const states: LeaseState[] = []
    return call(
      this.native,
      { options, names: RELEASE, read: booleans, leases: states },
      (native) => {
        const [holders, indexes] = this.ownAll(leases, states)
        const delay = delayOf(options)
        const reason = reasonOf(options)
        return (slot) => native.releaseMany(slot, holders, indexes, delay, reason)
      },
    )
  }

  /**
   * Counts a failed attempt. The item goes to the back of its priority, at once or when the delay
   * ends, or is dead: with `dead`, or when it reaches its limit of attempts. Resolves to its new
   * state. The first 1,024 bytes of the error's message are stored with the item. With `add`, it adds
   * these items in the same step if the item is dead. `LEASE_LOST` as in `release`.
   */
  fail(lease: Lease, error: unknown, options?: FailOptions): Promise<State> {
    const state = stateOf(lease)
    const read = (state: number): State => STATES[state]!
    return call(this.native, { options, names: FAIL, read, leases: state && [state] }, (native) => {
      const { holder, index } = this.own(state)
      const text = message(error)
      const delay = delayOf(options)
      const dead = flag('dead', options?.dead)
      const add = options?.add
      const added = add === undefined ? [] : [itemsFields(add)]
      return (slot) => native.fail(slot, holder, index, text, delay, dead, added)
    })
  }

  /**
   * Counts a failed attempt of many items; their new states are in order, `null` for a lost lease.
   */
  failMany(
    failures: Iterable<readonly [lease: Lease, error: unknown]>,
    options?: FailManyOptions,
  ): Promise<(State | null)[]> {
    const states: LeaseState[] = []
    const read = (states: Float64Array): (State | null)[] =>
      Array.from(states, (state) => STATES[state] ?? null)
    return call(this.native, { options, names: FAIL_MANY, read, leases: states }, (native) => {
      const all = list('failures', failures).map((one) => list('a failure', one))
      const [holders, indexes] = this.ownAll(
        all.map(([lease]) => lease as Lease),
        states,
      )
      const errors = all.map(([, error]) => message(error))
      const delay = delayOf(options)
      const dead = flag('dead', options?.dead)
      const added = addsFields(options?.adds, states.length)
      return (slot) => native.failMany(slot, holders, indexes, errors, delay, dead, added)
    })
  }

  /** The state of a lease; throws for anything else. @internal */
  protected own(state: LeaseState | undefined): LeaseState {
    if (state === undefined) throw invalid(`queue ${this.name}: what was given is no lease`)
    return state
  }

  /** The holders of the leases and their indexes; adds their states to `states`. @internal */
  protected ownAll(leases: Iterable<Lease>, states: LeaseState[] = []): [Leases[], number[]] {
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

function reasonOf(options: ReleaseOptions | undefined): string {
  const reason = options?.reason
  return reason === undefined ? '' : storedText('reason', reason)
}
