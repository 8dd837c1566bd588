// Calls that are alike gather, and go over to the native half together: a native call for each would
// cost more than all else that the event loop does for it. They are handed over before any other call
// is, so that calls keep their order.
import type { Leases, NativeQueue } from '../native.js'

/** Calls that are alike. */
interface Alike {
  /** Hands them over. `numbers` has what they differ in, the number of its slot first for each. */
  handOver(numbers: Uint32Array): void
}

/** How many numbers gather: those of more calls than are ever held back. */
const ROOM = 1024
const numbers = new Uint32Array(ROOM)
let used = 0
let gathered: Alike | undefined

/** Hands over what has gathered. */
export function handOver(): void {
  if (gathered === undefined) return
  const [alike, count] = [gathered, used]
  gathered = undefined
  used = 0
  alike.handOver(numbers.subarray(0, count))
}

/** How many bytes of ids and data gather. */
const BYTES = 64 * 1024
/** One item may have so many; a larger one goes over by itself. */
const SMALL = 4096
/** Instead of the size of an id that is to be made. */
const NO_ID = 0xffffffff
const bytes = Buffer.allocUnsafeSlow(BYTES)
let end = 0

/** Items without options. In `numbers`: slot, size of the id, of the data. */
class Adds implements Alike {
  constructor(readonly queue: NativeQueue) {
    end = 0
  }

  handOver(numbers: Uint32Array): void {
    this.queue.addTogether(numbers, bytes.subarray(0, end))
  }
}

/** False if the item is to go over by itself. Text and bytes are copied in this moment. */
export function add(
  slot: number,
  queue: NativeQueue,
  data: string | Uint8Array,
  id: string | Uint8Array | undefined,
): boolean {
  const most = mostBytes(data) + (id === undefined ? 0 : mostBytes(id))
  if (most > SMALL) return false
  const fits = used + 3 <= ROOM && end + most <= BYTES
  if (!(gathered instanceof Adds && gathered.queue === queue && fits)) {
    handOver()
    gathered = new Adds(queue)
  }
  numbers[used++] = slot
  numbers[used++] = id === undefined ? NO_ID : write(id)
  numbers[used++] = write(data)
  return true
}

function mostBytes(value: string | Uint8Array): number {
  return typeof value === 'string' ? 3 * value.length : value.byteLength
}

function write(value: string | Uint8Array): number {
  const from = end
  if (typeof value === 'string') {
    end += bytes.write(value, from)
  } else {
    bytes.set(value, from)
    end += value.byteLength
  }
  return end - from
}

/** Calls for one lease. In `numbers`: slot; and the index of what is completed before, if they do that. */
class LeaseCalls implements Alike {
  constructor(
    readonly queue: NativeQueue,
    readonly durationMs: number,
    readonly waitMs: number | undefined,
    readonly keepAliveMs: number | undefined,
    readonly holder: Leases | undefined,
  ) {}

  handOver(numbers: Uint32Array): void {
    const { queue, durationMs, waitMs, keepAliveMs, holder } = this
    if (holder === undefined) queue.lease(numbers, durationMs, waitMs, keepAliveMs)
    else queue.completeThenLease(numbers, holder, durationMs, waitMs, keepAliveMs)
  }
}

export function lease(
  slot: number,
  queue: NativeQueue,
  durationMs: number,
  waitMs: number | undefined,
  keepAliveMs: number | undefined,
  holder?: Leases,
  index = 0,
): void {
  const alike =
    gathered instanceof LeaseCalls &&
    gathered.queue === queue &&
    gathered.durationMs === durationMs &&
    gathered.waitMs === waitMs &&
    gathered.keepAliveMs === keepAliveMs &&
    gathered.holder === holder
  if (!alike || used + 2 > ROOM) {
    handOver()
    gathered = new LeaseCalls(queue, durationMs, waitMs, keepAliveMs, holder)
  }
  numbers[used++] = slot
  if (holder !== undefined) numbers[used++] = index
}

/** Calls that complete. In `numbers`: slot, index. */
class Completes implements Alike {
  constructor(
    readonly queue: NativeQueue,
    readonly holder: Leases,
    readonly strict: boolean,
  ) {}

  handOver(numbers: Uint32Array): void {
    this.queue.complete(numbers, this.holder, this.strict)
  }
}

export function complete(
  slot: number,
  queue: NativeQueue,
  holder: Leases,
  index: number,
  strict: boolean,
): void {
  const alike =
    gathered instanceof Completes &&
    gathered.queue === queue &&
    gathered.holder === holder &&
    gathered.strict === strict
  if (!alike || used + 2 > ROOM) {
    handOver()
    gathered = new Completes(queue, holder, strict)
  }
  numbers[used++] = slot
  numbers[used++] = index
}
