// Calls that are alike gather, and go over to the native half together: a native call for each would
// cost more than all else that the event loop does for it. They are handed over before any other call
// is; items of one queue keep the order of their calls.
import type { Leases, NativeQueue } from '../native.js'

/** How many numbers gather: those of more calls than are ever held back. */
const ROOM = 1024
/** How many bytes of ids and data gather. */
const BYTES = 64 * 1024
/** One item may have so many; a larger one goes over by itself. */
const SMALL = 4096
/** Instead of the size of an id that is to be made. */
const NO_ID = 0xffffffff

/** Calls of one kind. `numbers` has what they differ in: first, for each, the number of its slot. */
abstract class Gathering {
  protected readonly numbers = new Uint32Array(ROOM)
  protected used = 0

  handOver(): void {
    if (this.used === 0) return
    const numbers = this.numbers.subarray(0, this.used)
    this.used = 0
    this.send(numbers)
  }

  /** Keeps nothing: what nobody else refers to is to be forgotten. */
  protected abstract send(numbers: Uint32Array): void
}

/** Items without options: slot, size of the id, of the data. */
class Adds extends Gathering {
  private queue: NativeQueue | undefined
  private readonly bytes = Buffer.allocUnsafeSlow(BYTES)
  private end = 0

  /** False if the item is to go over by itself. Text and bytes are copied in this moment. */
  add(
    slot: number,
    queue: NativeQueue,
    data: string | Uint8Array,
    id: string | Uint8Array | undefined,
  ): boolean {
    const most = mostBytes(data) + (id === undefined ? 0 : mostBytes(id))
    if (most > SMALL) return false
    const fits = this.used + 3 <= ROOM && this.end + most <= BYTES
    if (this.queue !== queue || !fits) this.handOver()
    this.queue = queue
    this.numbers[this.used++] = slot
    this.numbers[this.used++] = id === undefined ? NO_ID : this.write(id)
    this.numbers[this.used++] = this.write(data)
    return true
  }

  private write(value: string | Uint8Array): number {
    const from = this.end
    if (typeof value === 'string') {
      this.end += this.bytes.write(value, from)
    } else {
      this.bytes.set(value, from)
      this.end += value.byteLength
    }
    return this.end - from
  }

  protected send(numbers: Uint32Array): void {
    const { queue, bytes, end } = this
    this.queue = undefined
    this.end = 0
    queue?.addTogether(numbers, bytes.subarray(0, end))
  }
}

function mostBytes(value: string | Uint8Array): number {
  return typeof value === 'string' ? 3 * value.length : value.byteLength
}

/** Calls for one lease: slot; and the index of what is completed before, if they do that. */
class LeaseCalls extends Gathering {
  private queue: NativeQueue | undefined
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
    const alike =
      this.queue === queue &&
      this.durationMs === durationMs &&
      this.waitMs === waitMs &&
      this.keepAliveMs === keepAliveMs &&
      this.holder === holder
    if (!alike || this.used + 2 > ROOM) {
      this.handOver()
      this.queue = queue
      this.durationMs = durationMs
      this.waitMs = waitMs
      this.keepAliveMs = keepAliveMs
      this.holder = holder
    }
    this.numbers[this.used++] = slot
    if (holder !== undefined) this.numbers[this.used++] = index
  }

  protected send(numbers: Uint32Array): void {
    const { queue, durationMs, waitMs, keepAliveMs, holder } = this
    this.queue = this.holder = undefined
    if (holder === undefined) queue?.lease(numbers, durationMs, waitMs, keepAliveMs)
    else queue?.completeThenLease(numbers, holder, durationMs, waitMs, keepAliveMs)
  }
}

/** Calls that complete: slot, index. */
class Completes extends Gathering {
  private queue: NativeQueue | undefined
  private holder: Leases | undefined
  private strict = false

  add(slot: number, queue: NativeQueue, holder: Leases, index: number, strict: boolean): void {
    const alike = this.queue === queue && this.holder === holder && this.strict === strict
    if (!alike || this.used + 2 > ROOM) {
      this.handOver()
      this.queue = queue
      this.holder = holder
      this.strict = strict
    }
    this.numbers[this.used++] = slot
    this.numbers[this.used++] = index
  }

  protected send(numbers: Uint32Array): void {
    const { queue, holder, strict } = this
    this.queue = this.holder = undefined
    if (holder !== undefined) queue?.complete(numbers, holder, strict)
  }
}

export const adds = new Adds()
export const leaseCalls = new LeaseCalls()
export const completes = new Completes()

/** Hands over what has gathered. */
export function handOver(): void {
  adds.handOver()
  completes.handOver()
  leaseCalls.handOver()
}
