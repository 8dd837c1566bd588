import type { Leases } from '../native.js'
import { watch } from './calls'
import { LeaseqError, makeError } from './errors'
import { readJson } from './item'
import type { Queue } from './queue'
import type { LeaseParts } from './wire'

/** Ends the watch over a lease that nobody refers to any more. */
const forgotten = new FinalizationRegistry<() => void>((stop) => stop())

/**
 * A claim on one item until a deadline. A lease that nothing refers to any more is not given back:
 * it runs out, and the item is delivered again.
 */
export class Lease {
  /** @internal */
  readonly _queue: Queue
  /** @internal */
  readonly _holder: Leases
  /** @internal */
  readonly _index: number
  private parts: LeaseParts | undefined
  private idText: string | undefined
  private dataCopy: Buffer | undefined
  private loss: AbortController | undefined
  private stopWatch: (() => void) | undefined
  /** Calls under way that complete it or give it back. */
  private settling = 0
  private settled = false

  /** @internal */
  constructor(queue: Queue, parts: LeaseParts) {
    this._queue = queue
    this._holder = parts.holder
    this._index = parts.index
    this.parts = parts
  }

  /** Name of the queue. */
  get queue(): string {
    return this._queue.name
  }

  /** The item's id as text. What is no UTF-8 in it shows as U+FFFD; `idBytes` is exact. */
  get id(): string {
    const parts = this.parts
    return (this.idText ??= parts!.bytes.toString('utf8', parts!.id, parts!.data))
  }

  /** The item's id as it is: 1 to 512 bytes. */
  get idBytes(): Buffer {
    return this._holder.id(this._index)
  }

  /** The item's data. */
  get data(): Buffer {
    const parts = this.parts
    if (parts !== undefined) {
      const { bytes, data, end } = parts
      if (end >= data) {
        this.dataCopy = Buffer.allocUnsafe(end - data)
        bytes.copy(this.dataCopy, 0, data, end)
      } else {
        this.dataCopy = this._holder.data(this._index)
      }
      // What came along with other leases must not stay in memory because of this one.
      void this.id
      this.parts = undefined
    }
    return this.dataCopy!
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
    return this._holder.failures(this._index)
  }

  /** How many earlier deliveries ended with an expired lease. */
  get expiries(): number {
    return this._holder.expiries(this._index)
  }

  /** The limit of attempts; `null` for none. */
  get maxAttempts(): number | null {
    return this._holder.maxAttempts(this._index) || null
  }

  /** 0 to 9. */
  get priority(): number {
    return this._holder.priority(this._index)
  }

  /** The text of the last `fail`; empty if there was none. */
  get lastError(): string {
    return this._holder.lastError(this._index)
  }

  /**
   * Generation of the item: one life of its id, from the add to the completion. It goes up with every
   * add of an id, so it can fence off writers of an earlier generation.
   */
  get generation(): number {
    return this._holder.generation(this._index)
  }

  /** When the lease expires, on the server's clock, as far as is known here; ms since 1970. */
  get deadlineMs(): number {
    return this._holder.deadline(this._index)
  }

  /** Time left on this process's clock, counted so that it never says more than the server would. */
  get remainingMs(): number {
    return this._holder.remaining(this._index)
  }

  /**
   * True once the item may belong to somebody else: the server said so, or the deadline has passed.
   * False for a lease that was completed, released or failed.
   */
  get isLost(): boolean {
    return this._holder.isLost(this._index)
  }

  /** True once it was completed, released or failed, or was given back, through this handle. */
  get isSettled(): boolean {
    return this._holder.isSettled(this._index)
  }

  /**
   * Is aborted when the lease is lost, with a `LeaseLostError` as its reason: for what should not go
   * on then. Never for a lease that was completed, released or failed, or that nothing but the
   * signal refers to.
   */
  get signal(): AbortSignal {
    if (this.loss === undefined) {
      const loss = (this.loss = new AbortController())
      const item = `queue ${this.queue}, item ${JSON.stringify(this.id.slice(0, 64))}`
      const lost = (): void => loss.abort(makeError('LEASE_LOST', `${item}: the lease is lost`))
      if (this.isLost) {
        lost()
      } else if (!this.settled) {
        const [holder, index] = [this._holder, this._index]
        this.stopWatch = watch((bridge, slot) => holder.lost(bridge, slot, index), lost)
        forgotten.register(this, this.stopWatch, this)
      }
    }
    return this.loss.signal
  }

  /**
   * Gives the item back, unless it was completed, released or failed, or is about to be. For `await
   * using`: what is at the end of a block cannot know whether the work was done.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this._open) return
    try {
      await this._queue.release(this)
    } catch (error) {
      // Then there is nothing to give back, or nobody to give it to.
      const code = error instanceof LeaseqError ? error.code : undefined
      if (code !== 'LEASE_LOST' && code !== 'CLOSED') throw error
    }
  }

  /** It was not completed or given back, nor is it about to be. @internal */
  get _open(): boolean {
    return !this.settled && this.settling === 0
  }

  /** For `console.log`: no data. @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    const { queue, id, attempt, isLost } = this
    return Object.assign(Object.create({ constructor: Lease }), { queue, id, attempt, isLost })
  }

  /** A call that completes the lease or gives it back has begun. @internal */
  _begin(): void {
    this.settling += 1
  }

  /** It is over. @internal */
  _end(settled: boolean): void {
    this.settling -= 1
    if (!settled) return
    this.settled = true
    if (this.stopWatch !== undefined) {
      forgotten.unregister(this)
      this.stopWatch()
    }
  }
}
