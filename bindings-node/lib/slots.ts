// Calls that wait for their answers, each in a slot. The native half gets the number of the slot
// with the call, and returns it with the answer.

/** What a call does with its answer. */
export interface Waiter {
  /** Whether it keeps the process running. */
  readonly counts: boolean
  resolve(answer: unknown): void
  reject(error: unknown): void
}

const slots: (Waiter | undefined)[] = []
const free: number[] = []
/** Above this number of slots, the memory is freed when the last slot is. */
const MANY = 4096
let counted = 0

export function occupy(waiter: Waiter): number {
  const slot = free.pop() ?? slots.length
  slots[slot] = waiter
  if (waiter.counts) counted += 1
  return slot
}

/** Frees the slot. `undefined` if it was free already. */
export function vacate(slot: number): Waiter | undefined {
  const waiter = slots[slot]
  if (waiter === undefined) return undefined
  slots[slot] = undefined
  free.push(slot)
  if (waiter.counts) counted -= 1
  if (free.length === slots.length && free.length > MANY) slots.length = free.length = 0
  return waiter
}

/** Whether the process must keep running. */
export function isAwaited(): boolean {
  return counted > 0
}
