// Calls that are pending, and the bridge to the native half. Each call has a slot; its number goes
// over with the call and comes back with the answer. A call costs one promise.
import { Bridge } from '../native.js'
import { known, signalOf } from './check'
import { LeaseqError } from './errors'
import { handOver } from './gather'
import { onAbort } from './signals'
import type { CallOptions } from './types'
import { Reader } from './wire'

/** What is kept note of for a lease that a call completes or gives back. */
export interface Settled {
  readonly isSettled: boolean
  _begin(): void
  _end(settled: boolean): void
}

/** How a call is made, apart from its arguments. */
export interface Manner<T> {
  options?: object | undefined
  names?: ReadonlySet<string>
  /** What the options are of, if there must be some. */
  of?: string
  /** Makes the result of the answer. */
  read?: ((answer: never) => T) | undefined
  /** Takes back what an answer brought that nobody wants any more. */
  undo?: (answer: never) => void
  /** Is told how to give up waiting: the call then results in null. */
  stoppable?: ((stop: () => void) => void) | undefined
  /** What it completes or gives back, and whether it surely has when there is an answer. */
  leases?: readonly Settled[] | undefined
  surely?: boolean
  /** `begin` lets its call gather, or hands over what has gathered. */
  gathers?: boolean
}

const PLAIN: Manner<never> = {}

/** One call, or one watch, until its answer is there or nobody wants it any more. */
class Pending {
  private over = false
  private deafen: (() => void) | undefined

  constructor(
    private readonly manner: Manner<unknown>,
    private readonly fulfil: (result: unknown) => void,
    private readonly refuse: (error: unknown) => void,
    /** Whether the process waits for it. */
    readonly counts: boolean,
  ) {}

  get gathers(): boolean {
    return this.manner.gathers === true
  }

  resolve(answer: unknown): void {
    const { read, undo, surely = true } = this.manner
    if (this.over) {
      undo?.(answer as never)
      return
    }
    this.end(surely)
    try {
      this.fulfil(read === undefined ? answer : read(answer as never))
    } catch (error) {
      this.refuse(error)
    }
  }

  reject(error: unknown): void {
    if (this.over) return
    this.end(false)
    if (this.counts && error instanceof LeaseqError) this.fulfil(located(error))
    else this.refuse(error)
  }

  /** Gives up waiting when the signal is aborted. */
  heed(signal: AbortSignal, slot: number): void {
    this.deafen = onAbort(signal, () => {
      if (this.giveUp(slot)) this.refuse(signal.reason)
    })
  }

  stop(slot: number): void {
    if (this.giveUp(slot)) this.fulfil(null)
  }

  /** False if it is over already. */
  giveUp(slot: number): boolean {
    if (this.over) return false
    this.end(false)
    cancel(slot)
    return true
  }

  private end(settled: boolean): void {
    this.over = true
    this.deafen?.()
    const { leases } = this.manner
    if (leases === undefined) return
    // A call that fails while it waits for the next has completed what was before.
    for (const lease of leases) lease._end(settled || lease.isSettled)
  }
}

/** Rejected with the error. Where the call was made says more than where the answer arrived. */
async function located(error: LeaseqError): Promise<never> {
  // Until whoever waits for it is known: then the stack tells.
  await undefined
  await undefined
  Error.captureStackTrace(error, located)
  throw error
}

const slots: (Pending | undefined)[] = []
const free: number[] = []
/** Pending calls that the process waits for. */
let waited = 0
/** Calls that are to be sent. */
let gathered = 0
/** With so many on their way, the server works while others are being made and answered. */
const ENOUGH = 50

const bridge = new Bridge(deliver)

/** Sends the calls of this turn of the event loop when it ends, or there are enough of them. */
function sendSoon(): void {
  gathered += 1
  if (gathered === 1) process.nextTick(send)
  else if (gathered % ENOUGH === 0) sendNow()
}

function send(): void {
  if (gathered % ENOUGH !== 0) sendNow()
  gathered = 0
}

function sendNow(): void {
  handOver()
  bridge.send()
}

function deliver(): void {
  const reader = new Reader(bridge.take())
  while (reader.more()) {
    const slot = reader.slot()
    const pending = slots[slot]
    const answer = reader.answer()
    slots[slot] = undefined
    free.push(slot)
    if (pending === undefined) continue
    if (pending.counts) waited -= 1
    if (answer instanceof Error) pending.reject(answer)
    else pending.resolve(answer)
  }
  if (waited === 0) bridge.hold(false)
}

function take(pending: Pending, begin: (slot: number) => void): number {
  if (!pending.gathers) handOver()
  const slot = free.pop() ?? slots.length
  slots[slot] = pending
  try {
    begin(slot)
  } catch (error) {
    slots[slot] = undefined
    free.push(slot)
    throw error
  }
  if (pending.counts && ++waited === 1) bridge.hold(true)
  sendSoon()
  return slot
}

function cancel(slot: number): void {
  handOver()
  bridge.cancel(slot)
  sendSoon()
}

/** Makes a call. `begin` checks the arguments and hands them over. */
export function call<T>(begin: (slot: number) => void, manner: Manner<T> = PLAIN): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    try {
      start(new Pending(manner, resolve as (result: unknown) => void, reject, true), begin, manner)
    } catch (error) {
      if (error instanceof LeaseqError) Error.captureStackTrace(error, call)
      reject(error)
    }
  })
}

function start<T>(pending: Pending, begin: (slot: number) => void, manner: Manner<T>): void {
  const { options, names, of, leases, stoppable } = manner
  let signal: AbortSignal | undefined
  if (options !== undefined || of !== undefined) {
    if (names !== undefined) known(options as object, of ?? 'this call', names)
    signal = signalOf((options as CallOptions).signal)
    signal?.throwIfAborted()
  }
  const slot = take(pending, begin)
  if (leases !== undefined) for (const lease of leases) lease._begin()
  if (signal !== undefined) pending.heed(signal, slot)
  stoppable?.(() => pending.stop(slot))
}

/** Waits for something that the process need not wait for. Returns how to give that up. */
export function watch(begin: (bridge: Bridge, slot: number) => void, seen: () => void): () => void {
  const pending = new Pending({}, seen, () => undefined, false)
  const slot = take(pending, (slot) => begin(bridge, slot))
  return () => void pending.giveUp(slot)
}

export { bridge }
