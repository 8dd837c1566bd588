import type { Leases } from '../native.js'
import { watch } from './calls'
import { quote } from './check'
import { LeaseqError, makeError } from './errors'
import { readJson } from './item'
import type { Queue } from './queue'
import type { Ending, Releases, Trigger } from './types'
import type { LeaseParts } from './wire'

/** Stops watching a lease that is garbage. */
const forgotten = new FinalizationRegistry<() => void>((stop) => stop())

/**
 * The mutable state of a lease, which calls need. It is separate because users can freeze or wrap a
 * `Lease`.
 * @internal
 */
export class LeaseState {
  /** Set until the data is read. */
  parts: LeaseParts | undefined
  readonly holder: Leases
  readonly index: number
  idText: string | undefined
  dataCopy: Buffer | undefined
  loss: AbortController | undefined
  stopWatch: (() => void) | undefined
  /** Number of pending calls that settle it. */
  private settling = 0
  /** A call has settled it. */
  settled = false

  constructor(parts: LeaseParts) {
    this.parts = parts
    this.holder = parts.holder
    this.index = parts.index
  }

  get isSettled(): boolean {
    return this.holder.isSettled(this.index)
  }

  /** Neither settled nor about to be. */
  get isOpen(): boolean {
    return !this.settled && this.settling === 0
  }

  /** A call that settles the lease starts. */
  begin(): void {
    this.settling += 1
  }

  /** That call has ended. */
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

/** The state of a lease, or `undefined` for another value. Runs no code of the caller. @internal */
export let stateOf: (lease: unknown) => LeaseState | undefined

/**
 * A claim on one item until a deadline. A lease that becomes garbage is not released: it expires,
 * and the item is delivered again.
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

  /** The item's id as text. Invalid UTF-8 becomes U+FFFD; `idBytes` is exact. */
  get id(): string {
    const state = this.#state
    const { parts } = state
    return (state.idText ??= parts!.bytes.toString('utf8', parts!.id, parts!.data))
  }

  /** The item's exact id: 1 to 512 bytes. */
  get idBytes(): Buffer {
    return this.#state.holder.id(this.#state.index)
  }

  /** The item's key as text; `null` if it has none. Invalid UTF-8 becomes U+FFFD. */
  get key(): string | null {
    return this.keyBytes?.toString() ?? null
  }

  /** The item's exact key; `null` if it has none. */
  get keyBytes(): Buffer | null {
    return this.#state.holder.key(this.#state.index)
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
      // This lease must not keep the buffer in memory that it shares with others.
      void this.id
      state.parts = undefined
    }
    return state.dataCopy!
  }

  /** The data as text. */
  text(): string {
    return this.data.toString()
  }

  /**
   * The data parsed as JSON. Throws `INVALID` if it is not JSON; does not check that it is a `T`.
   */
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
   * How the item's last 16 failed or expired leases ended, the oldest first, also before a
   * `requeue`; empty if there was none.
   */
  get endings(): readonly Ending[] {
    return this.#state.holder.endings(this.#state.index)
  }

  /** The releases in a row for one reason, up to now; `null` if there was none. */
  get releases(): Releases | null {
    return this.#state.holder.releases(this.#state.index)
  }

  /**
   * The item whose end has added this one, if it is a follow-up that asked for it; `null` otherwise.
   */
  get trigger(): Trigger | null {
    const trigger = this.#state.holder.trigger(this.#state.index)
    return trigger && { id: trigger.id.toString(), idBytes: trigger.id, result: trigger.result }
  }

  /**
   * Generation of the item: one life of its id, from the add to the completion. It goes up with every
   * add of an id, so it can fence off writers of an earlier generation.
   */
  get generation(): number {
    return this.#state.holder.generation(this.#state.index)
  }

  /**
   * For how long the item was ready before it was leased, in ms of the server's clock: since it was
   * added, revised, requeued or due, or came back because a lease has failed or expired. An item that is
   * released without a delay goes on waiting. The time in which it was held because of its key counts.
   * 0 if it was leased at once.
   */
  get waitedMs(): number {
    return this.#state.holder.waited(this.#state.index)
  }

  /** When the lease expires, on the server's clock, as known here; ms since 1970. */
  get deadlineMs(): number {
    return this.#state.holder.deadline(this.#state.index)
  }

  /** Time left in ms, on this process's clock; never more than the server would say. */
  get remainingMs(): number {
    return this.#state.holder.remaining(this.#state.index)
  }

  /**
   * True once another worker may have the item: the server said so, or the deadline has passed.
   * False for a lease that was completed, released or failed.
   */
  get isLost(): boolean {
    return this.#state.holder.isLost(this.#state.index)
  }

  /**
   * True once the lease was completed, released or failed through this handle; `completed` says
   * which.
   */
  get isSettled(): boolean {
    return this.#state.holder.isSettled(this.#state.index)
  }

  /**
   * Whether a call has completed the item through this handle; `null` if that is unknown: a call
   * has no answer yet, was aborted, or was rejected with `outcomeUnknown`. After a rejected call
   * for many leases, this gives the outcome of each.
   *
   * - `true`: this handle has completed the item, which is gone. The lease is settled too.
   * - `false`: it has not. If the lease is settled, it was released or failed, or another caller
   *   has completed or removed the item.
   * - `null`: completing it again is harmless. `isSettled` says nothing about it.
   */
  get completed(): boolean | null {
    return this.#state.holder.completed(this.#state.index)
  }

  /**
   * True once the client has learned that the cancellation of the item was requested. The first look
   * returns false and makes the client ask the server, as `signal` does.
   */
  get isCancelled(): boolean {
    return this.#state.holder.isCancelled(this.#state.index)
  }

  /**
   * Aborts to stop work that depends on the lease: when the lease is lost, with a `LeaseLostError` as
   * its reason; and when the client learns that the cancellation of the item was requested, with an
   * `AbortError` (a `DOMException`). It never aborts for a lease that was completed, released or
   * failed, or that is garbage except for the signal.
   *
   * From the first look on, the client asks the server in the background: every 2 s, once for all
   * such leases of a queue. So a holder learns of a cancellation within about 4 s. The lease goes on:
   * release or fail it, which ends the item as cancelled, or complete it all the same.
   */
  get signal(): AbortSignal {
    const state = this.#state
    if (state.loss === undefined) {
      const loss = (state.loss = new AbortController())
      const item = `queue ${this.queue}, item ${quote(this.id)}`
      const ended = (cancelled: unknown): void =>
        loss.abort(
          cancelled === true
            ? new DOMException(`${item}: its cancellation was requested`, 'AbortError')
            : makeError('LEASE_LOST', `${item}: the lease is lost`),
        )
      if (this.isLost) {
        ended(false)
      } else if (!state.settled) {
        const { holder, index } = state
        state.stopWatch = watch((bridge, slot) => bridge.watchEnd(slot, holder, index), ended)
        forgotten.register(this, state.stopWatch, state)
      }
    }
    return state.loss.signal
  }

  /**
   * Releases the item, unless it was completed, released or failed, or is about to be. For `await
   * using`: the end of a block cannot know whether the work was done.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#state.isOpen) return
    try {
      await this.#queue.release(this)
    } catch (error) {
      // Then nothing is left to release, or the client is closed.
      const code = error instanceof LeaseqError ? error.code : undefined
      if (code !== 'LEASE_LOST' && code !== 'CLOSED') throw error
    }
  }

  /** What `console.log` shows: no data. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    const { queue, id, attempt, isLost } = this
    return Object.assign(Object.create({ constructor: Lease }), { queue, id, attempt, isLost })
  }
}
