// Calls that are alike gather, and go over to the native half together: a native call for each would
// cost more than all else that the event loop does for it. Only calls that follow one another do: one
// of another kind first hands over what has gathered, so that all go over in the order in which they
// were made.
import type { Leases, NativeQueue } from '../native.js'
import { vacate } from './slots'

/** How many numbers gather: those of more calls than are ever held back. */
const ROOM = 1024
/** How many bytes of ids and data gather. */
const BYTES = 64 * 1024
/** One item may have so many; a larger one goes over by itself. */
const SMALL = 4096
/** Instead of the size of an id that is to be made. */
const NO_ID = 0xffffffff

/** The kind of calls that gathers now. */
let current: Gathering | undefined

/** Hands over what has gathered. */
export function handOver(): void {
  const gathering = current
  current = undefined
  gathering?.flush()
}

/** Calls of one kind for one queue, which differ in numbers: the first of each is its slot. */
abstract class Gathering {
  protected queue: NativeQueue | undefined
  protected readonly numbers = new Uint32Array(ROOM)
  protected used = 0

  /** `stride`: how many numbers each call has. */
  constructor(protected stride: number) {}

  /** Makes room for a call. If it is not like those that have gathered, they are handed over first. */
  protected enter(queue: NativeQueue, isAlike: boolean): void {
    const fits = this.used + this.stride <= ROOM
    if (current !== this || this.queue !== queue || !isAlike || !fits) handOver()
    current = this
    this.queue = queue
  }

  flush(): void {
    const { queue, used, stride } = this
    this.queue = undefined
    this.used = 0
    try {
      this.send(queue!, this.numbers.subarray(0, used))
    } catch (error) {
      // Nothing of it went over. Whoever hands over need not be one of those who gathered.
      for (let at = 0; at < used; at += stride) vacate(this.numbers[at]!)?.reject(error)
    }
  }

  /** Keeps nothing: what nobody else refers to is to be forgotten. */
  protected abstract send(queue: NativeQueue, numbers: Uint32Array): void
}

/** Items without options: slot, size of the id, of the data. */
class Adds extends Gathering {
  private readonly bytes = Buffer.allocUnsafeSlow(BYTES)
  private end = 0

  /** False if the item is to go over by itself. */
  add(
    slot: number,
    queue: NativeQueue,
    data: string | Uint8Array,
    id: string | Uint8Array | undefined,
  ): boolean {
    const most = mostBytes(data) + (id === undefined ? 0 : mostBytes(id))
    if (most > SMALL) return false
    this.enter(queue, this.end + most <= BYTES)
    const start = this.end
    const middle = id === undefined ? start : this.write(id, start)
    const end = this.write(data, middle)
    const at = this.used
    this.numbers[at] = slot
    this.numbers[at + 1] = id === undefined ? NO_ID : middle - start
    this.numbers[at + 2] = end - middle
    // Only now that it is complete.
    this.used = at + this.stride
    this.end = end
    return true
  }

  /** Returns where it ends. */
  private write(value: string | Uint8Array, at: number): number {
    if (typeof value === 'string') return at + this.bytes.write(value, at)
    this.bytes.set(value, at)
    return at + value.length
  }

  protected send(queue: NativeQueue, numbers: Uint32Array): void {
    const bytes = this.bytes.subarray(0, this.end)
    this.end = 0
    queue.addTogether(numbers, bytes)
  }
}

function mostBytes(value: string | Uint8Array): number {
  return typeof value === 'string' ? 3 * value.length : value.length
}

/** Calls for one lease: slot; and the index of what is completed before, if they do that. */
class LeaseCalls extends Gathering {
  private durationMs = 0
  private waitMs: number | undefined
  private keepAliveMs: number | undefined
  private holder: Leases | undefined

  add(
    slot: number,
    queue: NativeQueue,
    durationMs: number,
    waitMs: number | undefined,
    keepAliveMs: number | undefined,
    holder?: Leases,
    index = 0,
  ): void {
    const isAlike =
      this.durationMs === durationMs &&
      this.waitMs === waitMs &&
      this.keepAliveMs === keepAliveMs &&
      this.holder === holder
    this.enter(queue, isAlike)
    this.durationMs = durationMs
    this.waitMs = waitMs
    this.keepAliveMs = keepAliveMs
    this.holder = holder
    this.stride = holder === undefined ? 1 : 2
    this.numbers[this.used++] = slot
    if (holder !== undefined) this.numbers[this.used++] = index
  }

  protected send(queue: NativeQueue, numbers: Uint32Array): void {
    const { durationMs, waitMs, keepAliveMs, holder } = this
    this.holder = undefined
    if (holder === undefined) queue.lease(numbers, durationMs, waitMs, keepAliveMs)
    else queue.completeThenLease(numbers, holder, durationMs, waitMs, keepAliveMs)
  }
}

/** Calls that complete: slot, index. */
class Completes extends Gathering {
  private holder: Leases | undefined
  private strict = false

  add(slot: number, queue: NativeQueue, holder: Leases, index: number, strict: boolean): void {
    this.enter(queue, this.holder === holder && this.strict === strict)
    this.holder = holder
    this.strict = strict
    this.numbers[this.used++] = slot
    this.numbers[this.used++] = index
  }

  protected send(queue: NativeQueue, numbers: Uint32Array): void {
    const { holder, strict } = this
    this.holder = undefined
    queue.complete(numbers, holder!, strict)
  }
}

export const adds = new Adds(3)
export const leaseCalls = new LeaseCalls(2)
export const completes = new Completes(2)
