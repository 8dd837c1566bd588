// Calls that wait for their answers, each in a slot: its number goes over to the native half with the
// call, and comes back with the answer.

/** A call, as far as its answer is concerned. */
export interface Waiter {
  /** Whether the process waits for it. */
  readonly counts: boolean
  resolve(answer: unknown): void
  reject(error: unknown): void
}

const slots: (Waiter | undefined)[] = []
const free: number[] = []
/** From so many slots on, the memory of a peak is freed when the last one is. */
const MANY = 4096
let counted = 0

export function occupy(waiter: Waiter): number {
  const slot = free.pop() ?? slots.length
  slots[slot] = waiter
  if (waiter.counts) counted += 1
  return slot
}

/** Frees the slot. `undefined` if it was free, which it then is only once. */
export function vacate(slot: number): Waiter | undefined {
  const waiter = slots[slot]
  if (waiter === undefined) return undefined
  slots[slot] = undefined
  free.push(slot)
  if (waiter.counts) counted -= 1
  if (free.length === slots.length && free.length > MANY) slots.length = free.length = 0
  return waiter
}

/** Whether the process must not end yet. */
export function isAwaited(): boolean {
  return counted > 0
}
