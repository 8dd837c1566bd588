// Items to add that have gathered, each in a call of its own. They go over to the native half together:
// a native call for each would cost more than all else that the event loop does for it.
import type { NativeQueue } from '../native.js'

/** How many bytes of ids and data gather. */
const ROOM = 64 * 1024
/** One item may have so many; a larger one goes over by itself. */
const SMALL = 4096
/** How many items gather. */
const MOST = 256
/** Instead of the size of an id that is to be made. */
const NO_ID = 0xffffffff

const bytes = Buffer.allocUnsafeSlow(ROOM)
/** Of each: slot, size of the id, of the data. */
const sizes = new Uint32Array(3 * MOST)
let items = 0
let end = 0
/** Whose they are. */
let owner: NativeQueue | undefined

/** False if it is to go over by itself. Text and bytes are copied in this moment. */
export function gather(
  queue: NativeQueue,
  slot: number,
  data: string | Uint8Array,
  id: string | Uint8Array | undefined,
): boolean {
  const most = mostBytes(data) + (id === undefined ? 0 : mostBytes(id))
  if (most > SMALL) return false
  if (queue !== owner || items === MOST || end + most > ROOM) handOver()
  owner = queue
  const at = 3 * items++
  sizes[at] = slot
  sizes[at + 1] = id === undefined ? NO_ID : write(id)
  sizes[at + 2] = write(data)
  return true
}

/** Before any other call goes over, so that calls keep their order. */
export function handOver(): void {
  if (owner === undefined) return
  const [queue, count, size] = [owner, items, end]
  owner = undefined
  items = end = 0
  queue.addTogether(sizes.subarray(0, 3 * count), bytes.subarray(0, size))
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
