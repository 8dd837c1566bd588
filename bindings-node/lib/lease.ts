import type { Leases } from '../native.js'
import { watch } from './calls'
import { quote } from './check'
import { LeaseqError, makeError } from './errors'
import { readJson } from './item'
import type { Queue } from './queue'
import type { LeaseParts } from './wire'

/** Ends the watch over a lease that nobody refers to any more. */
const forgotten = new FinalizationRegistry<() => void>((stop) => stop())

/**
 * What changes in a lease, and what calls need of it: users can freeze a `Lease`, or wrap it.
 * @internal
 */
export class LeaseState {
  /** Until the data is read. */
  parts: LeaseParts | undefined
  readonly holder: Leases
  readonly index: number
  idText: string | undefined
  dataCopy: Buffer | undefined
  loss: AbortController | undefined
  stopWatch: (() => void) | undefined
  /** Calls under way that complete it or give it back. */
  private settling = 0
  /** One of them has done so. */
  settled = false

  constructor(parts: LeaseParts) {
    this.parts = parts
    this.holder = parts.holder
    this.index = parts.index
  }

  get isSettled(): boolean {
    return this.holder.isSettled(this.index)
  }

  /** It was not completed or given back, nor is it about to be. */
  get isOpen(): boolean {
    return !this.settled && this.settling === 0
  }

  /** A call that completes the lease or gives it back has begun. */
  begin(): void {
    this.settling += 1
  }

  /** It is over. */
  end(settled: boolean): void {
    this.settling -= 1
    if (!settled) return
    this.settled = true
    if (this.stopWatch !== undefined) {
      forgotten.unregister(this)
      this.stopWatch()
    }
  }
}

/** The state of a lease, if it is one. Runs no code of a caller, whatever it is. @internal */
export let stateOf: (lease: unknown) => LeaseState | undefined

/**
 * A claim on one item until a deadline. A lease that nothing refers to any more is not given back:
 * it runs out, and the item is delivered again.
 */
export class Lease {
  readonly #queue: Queue
  readonly #state: LeaseState

  static {
    stateOf = (lease) =>
      typeof lease === 'object' && lease !== null && #state in lease ? lease.#state : undefined
  }

  /** @internal */
  constructor(queue: Queue, parts: LeaseParts) {
    this.#queue = queue
    this.#state = new LeaseState(parts)
  }

  /** Name of the queue. */
  get queue(): string {
    return this.#queue.name
  }

  /** The item's id as text. What is no UTF-8 in it shows as U+FFFD; `idBytes` is exact. */
  get id(): string {
    const state = this.#state
    const { parts } = state
    return (state.idText ??= parts!.bytes.toString('utf8', parts!.id, parts!.data))
  }

  /** The item's id as it is: 1 to 512 bytes. */
  get idBytes(): Buffer {
    return this.#state.holder.id(this.#state.index)
  }

  /** The item's data. */
  get data(): Buffer {
    const state = this.#state
    if (state.parts !== undefined) {
      const { bytes, data, end } = state.parts
      if (end >= data) {
        state.dataCopy = Buffer.allocUnsafe(end - data)
        bytes.copy(state.dataCopy, 0, data, end)
      } else {
        state.dataCopy = state.holder.data(state.index)
      }
      // What came along with other leases must not stay in memory because of this one.
      void this.id
      state.parts = undefined
    }
    return state.dataCopy!
  }

  /** The data as text. */
  text(): string {
    return this.data.toString()
  }

  /** The data read as JSON. Throws `INVALID` if it is none; does not check that it is a `T`. */
  json<T = unknown>(): T {
    return readJson<T>(this.id, this.data)
  }

  /** 1 for the first delivery; 1 + failures + expiries after that. */
  get attempt(): number {
    return 1 + this.failures + this.expiries
  }

  /** How many earlier deliveries ended with `fail`. */
  get failures(): number {
    return this.#state.holder.failures(this.#state.index)
  }

  /** How many earlier deliveries ended with an expired lease. */
  get expiries(): number {
    return this.#state.holder.expiries(this.#state.index)
  }

  /** The limit of attempts; `null` for none. */
  get maxAttempts(): number | null {
    return this.#state.holder.maxAttempts(this.#state.index) || null
  }

  /** 0 to 9. */
  get priority(): number {
    return this.#state.holder.priority(this.#state.index)
  }

  /** The text of the last `fail`; empty if there was none. */
  get lastError(): string {
    return this.#state.holder.lastError(this.#state.index)
  }

  /**
   * Generation of the item: one life of its id, from the add to the completion. It goes up with every
   * add of an id, so it can fence off writers of an earlier generation.
   */
  get generation(): number {
    return this.#state.holder.generation(this.#state.index)
  }

  /** When the lease expires, on the server's clock, as far as is known here; ms since 1970. */
  get deadlineMs(): number {
    return this.#state.holder.deadline(this.#state.index)
  }

  /** Time left on this process's clock, counted so that it never says more than the server would. */
  get remainingMs(): number {
    return this.#state.holder.remaining(this.#state.index)
  }

  /**
   * True once the item may belong to somebody else: the server said so, or the deadline has passed.
   * False for a lease that was completed, released or failed.
   */
  get isLost(): boolean {
    return this.#state.holder.isLost(this.#state.index)
  }

  /**
   * True once it was completed, released or failed, or was given back, through this handle. Which of
   * them, `completed` says.
   */
  get isSettled(): boolean {
    return this.#state.holder.isSettled(this.#state.index)
  }

  /**
   * Whether a call has completed the item through this handle; `null` if that is unknown: a call has
   * got no answer yet, was aborted, or was rejected with `outcomeUnknown`. After a call for many is
   * rejected, this says what has become of each.
   *
   * - `true`: the item is gone, and this handle has completed it. The lease is settled too.
   * - `false`: it has not. If the lease is settled, it was released, failed or given back, or somebody
   *   else has completed or removed the item.
   * - `null`: completing it again harms nothing. Whether it is settled says nothing about that.
   */
  get completed(): boolean | null {
    return this.#state.holder.completed(this.#state.index)
  }

  /**
   * Is aborted when the lease is lost, with a `LeaseLostError` as its reason: for what should not go
   * on then. Never for a lease that was completed, released or failed, or that nothing but the
   * signal refers to.
   */
  get signal(): AbortSignal {
    const state = this.#state
    if (state.loss === undefined) {
      const loss = (state.loss = new AbortController())
      const item = `queue ${this.queue}, item ${quote(this.id)}`
      const lost = (): void => loss.abort(makeError('LEASE_LOST', `${item}: the lease is lost`))
      if (this.isLost) {
        lost()
      } else if (!state.settled) {
        const { holder, index } = state
        state.stopWatch = watch((bridge, slot) => holder.lost(bridge, slot, index), lost)
        forgotten.register(this, state.stopWatch, state)
      }
    }
    return state.loss.signal
  }

  /**
   * Gives the item back, unless it was completed, released or failed, or is about to be. For `await
   * using`: what is at the end of a block cannot know whether the work was done.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#state.isOpen) return
    try {
      await this.#queue.release(this)
    } catch (error) {
      // Then there is nothing to give back, or nobody to give it to.
      const code = error instanceof LeaseqError ? error.code : undefined
      if (code !== 'LEASE_LOST' && code !== 'CLOSED') throw error
    }
  }

  /** For `console.log`: no data. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    const { queue, id, attempt, isLost } = this
    return Object.assign(Object.create({ constructor: Lease }), { queue, id, attempt, isLost })
  }
}
