// Gathers alike calls and hands them to the native half as one batch: a native call for each would
// cost more than everything else that the event loop does for it. Only consecutive calls share a
// batch. A call of another kind first hands over the current batch, so that calls keep their order.
import type { Leases, NativeQueue } from '../native.js'
import { vacate } from './slots'

/** Most numbers of a batch: those of more calls than are ever held back. */
const ROOM = 256
/** Most bytes of ids and data in a batch. */
const BYTES = 64 * 1024
/** Most bytes of an item in a batch; a larger item is handed over by itself. */
const SMALL = 4096
/** Instead of the size of an id or a result: there is none, and the native half makes an id. */
const NONE = 0xffffffff

/** The batch that gathers calls now. */
let current: Gathering | undefined

/** Hands over the current batch. */
export function handOver(): void {
  const gathering = current
  current = undefined
  gathering?.flush()
}

/** A batch of calls of one kind for one queue. Each call adds some numbers, the first of which is its slot. */
abstract class Gathering {
  protected queue: NativeQueue | undefined
  protected readonly numbers = new Uint32Array(ROOM)
  protected used = 0

  /** `stride`: the count of numbers of each call. */
  constructor(protected stride: number) {}

  /**
   * Makes room for a call. Hands over the current batch first if the call does not fit into it.
   */
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
      // No call of the batch was handed over. The error belongs to its calls, not to the caller.
      for (let at = 0; at < used; at += stride) vacate(this.numbers[at]!)?.reject(error)
    }
  }

  /** Keeps no references, so that leases can become garbage. */
  protected abstract send(queue: NativeQueue, numbers: Uint32Array): void
}

/** A batch with bytes. */
abstract class GatheringBytes extends Gathering {
  private readonly bytes = Buffer.allocUnsafeSlow(BYTES)
  protected end = 0

  /** Returns the end of the written bytes. */
  protected write(value: string | Uint8Array, at: number): number {
    if (typeof value === 'string') return at + this.bytes.write(value, at)
    this.bytes.set(value, at)
    return at + value.length
  }

  /** The bytes of the batch; the next one begins without any, even if this one is not sent. */
  protected take(): Buffer {
    const bytes = this.bytes.subarray(0, this.end)
    this.end = 0
    return bytes
  }
}

/** Adds items without options. Numbers: slot, size of the id, size of the data. */
class Adds extends GatheringBytes {
  /** False if the item must be handed over by itself. */
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
    this.numbers[at + 1] = id === undefined ? NONE : middle - start
    this.numbers[at + 2] = end - middle
    // Last, when the call is complete.
    this.used = at + this.stride
    this.end = end
    return true
  }

  protected send(queue: NativeQueue, numbers: Uint32Array): void {
    const bytes = this.take()
    queue.addTogether(numbers, bytes)
  }
}

function mostBytes(value: string | Uint8Array): number {
  return typeof value === 'string' ? 3 * value.length : value.length
}

/** Calls for one lease. Numbers: slot, and the index of the lease to complete first, if any. */
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

/** Calls that complete an item. Numbers: slot, index of the lease, size of the result. */
class Completes extends GatheringBytes {
  private holder: Leases | undefined
  private strict = false
  private retainMs: number | undefined

  add(
    slot: number,
    queue: NativeQueue,
    holder: Leases,
    index: number,
    strict: boolean,
    retainMs: number | undefined,
    result: string | Uint8Array | undefined,
  ): void {
    const most = result === undefined ? 0 : mostBytes(result)
    if (most > SMALL) {
      handOver()
      const bytes = typeof result === 'string' ? Buffer.from(result) : result!
      queue.complete(Uint32Array.of(slot, index, bytes.length), holder, strict, retainMs, bytes)
      return
    }
    const isAlike =
      this.holder === holder &&
      this.strict === strict &&
      this.retainMs === retainMs &&
      this.end + most <= BYTES
    this.enter(queue, isAlike)
    this.holder = holder
    this.strict = strict
    this.retainMs = retainMs
    const end = result === undefined ? this.end : this.write(result, this.end)
    const at = this.used
    this.numbers[at] = slot
    this.numbers[at + 1] = index
    this.numbers[at + 2] = result === undefined ? NONE : end - this.end
    this.used = at + this.stride
    this.end = end
  }

  protected send(queue: NativeQueue, numbers: Uint32Array): void {
    const { holder, strict, retainMs } = this
    const results = this.take()
    this.holder = undefined
    queue.complete(numbers, holder!, strict, retainMs, results)
  }
}

export const adds = new Adds(3)
export const leaseCalls = new LeaseCalls(2)
export const completes = new Completes(3)
