// Pending calls, and the bridge to the native half. A call costs one promise.
//
// A call has two steps. Its `prepare` reads the arguments, which may run code of the caller: code
// that throws, makes other calls or closes the client. The function that `prepare` returns sends
// the call and runs no such code, so no caller can interfere with shared state.
import { Bridge } from '../native.js'
import { known, signalOf } from './check'
import { LeaseqError } from './errors'
import { handOver } from './gather'
import { onAbort } from './signals'
import { isAwaited, occupy, vacate, type Waiter } from './slots'
import type { CallOptions } from './types'
import { Reader } from './wire'

/** The options that every call has. */
export const CALL = new Set(['signal'])

/** Those of calls that can leave out the data. */
export const GET = new Set(['data', 'signal'])

/** Hands a call to the native half. Runs no code of the caller. */
export type Send = (slot: number) => void

/** A lease that a call settles. */
export interface Settled {
  readonly isSettled: boolean
  begin(): void
  end(settled: boolean): void
}

/** Properties of a call besides its arguments. */
export interface CallSpec<T> {
  options?: object | undefined
  names?: ReadonlySet<string>
  /** What needs the options, if they are required; for error messages. */
  of?: string
  /** Makes the result from the answer. */
  read?: ((answer: never) => T) | undefined
  /** Undoes an answer that arrives after the call was cancelled. */
  undo?: (answer: never) => void
  /** Receives a function that ends the wait; the result is then null. */
  stoppable?: ((stop: () => void) => void) | undefined
  /** The leases that it settles, known after `prepare`. */
  leases?: readonly Settled[] | undefined
  /** Whether any answer means that they are settled. */
  surely?: boolean
  /** It joins a batch, or hands over the current batch itself. */
  gathers?: boolean
}

/** One call or watch, until it is answered or cancelled. */
class Pending implements Waiter {
  private over = false
  private slot: number | undefined
  private unlisten: (() => void) | undefined

  constructor(
    private readonly spec: CallSpec<unknown>,
    private readonly fulfil: (result: unknown) => void,
    private readonly refuse: (error: unknown) => void,
    readonly counts: boolean,
  ) {}

  start<N>(native: N, prepare: (native: N) => Send): void {
    const { options, names, of } = this.spec
    if (options !== undefined || of !== undefined) {
      if (names !== undefined) known(options as object, of ?? 'this call', names)
      const signal = signalOf((options as CallOptions).signal)
      if (signal !== undefined) this.listen(signal)
    }
    if (this.over) return
    const send = prepare(native)
    // Reading an argument may have aborted the signal.
    if (!this.over) this.submit(send)
  }

  private submit(send: Send): void {
    const { leases, stoppable, gathers } = this.spec
    if (gathers !== true) handOver()
    this.slot = occupy(this)
    if (leases !== undefined) for (const lease of leases) lease.begin()
    try {
      send(this.slot)
    } catch (error) {
      vacate(this.slot)?.reject(error)
      return
    }
    hold()
    sendSoon()
    stoppable?.(() => {
      if (this.giveUp()) this.fulfil(null)
    })
  }

  resolve(answer: unknown): void {
    const { read, undo, surely = true } = this.spec
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

  /** For wrong arguments. */
  rejectAtOnce(error: unknown): void {
    if (error instanceof LeaseqError) Error.captureStackTrace(error, call)
    this.end(false)
    this.refuse(error)
  }

  /** Cancels the call. False if it is over already. */
  giveUp(): boolean {
    if (this.over) return false
    this.end(false)
    if (this.slot !== undefined) cancel(this.slot)
    return true
  }

  private listen(signal: AbortSignal): void {
    const aborted = (reason: unknown): void => {
      if (this.giveUp()) this.refuse(reason)
    }
    if (signal.aborted) aborted(signal.reason)
    else this.unlisten = onAbort(signal, aborted)
  }

  private end(settled: boolean): void {
    if (this.over) return
    this.over = true
    this.unlisten?.()
    const { leases } = this.spec
    if (leases === undefined || this.slot === undefined) return
    // A call that fails while it waits for a lease has already completed the one before.
    for (const lease of leases) lease.end(settled || lease.isSettled)
  }
}

/** Rejects with the error and a stack trace of the caller, which says more than where the answer arrived. */
async function located(error: LeaseqError): Promise<never> {
  // By then the stack trace includes the awaiting functions.
  await undefined
  await undefined
  Error.captureStackTrace(error, located)
  throw error
}

/** Number of calls in this turn of the event loop. */
let gathered = 0
/** A batch is sent at this size, so that the server works while more calls are made. */
const ENOUGH = 50

const bridge = new Bridge(deliver)
let held = false

/** Keeps the process running while a call is pending. */
function hold(): void {
  if (held !== isAwaited()) bridge.hold((held = !held))
}

/** Sends calls at the end of this turn of the event loop, or when there are enough. */
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
  hold()
}

function deliver(): void {
  const reader = new Reader(bridge.take())
  while (reader.more()) {
    const pending = vacate(reader.slot())
    const answer = reader.answer()
    if (answer instanceof LeaseqError) pending?.reject(answer)
    else pending?.resolve(answer)
  }
  hold()
}

function cancel(slot: number): void {
  handOver()
  bridge.cancel(slot)
  sendSoon()
}

/** Makes a call. `prepare` reads and checks its arguments. */
export function call<T, N>(native: N, spec: CallSpec<T>, prepare: (native: N) => Send): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const pending = new Pending(spec, resolve as (result: unknown) => void, reject, true)
    try {
      pending.start(native, prepare)
    } catch (error) {
      pending.rejectAtOnce(error)
    }
  })
}

/** Waits for an event without keeping the process running. Returns a function that stops the wait. */
export function watch(
  begin: (bridge: Bridge, slot: number) => void,
  seen: (result: unknown) => void,
): () => void {
  const pending = new Pending({}, seen, () => undefined, false)
  pending.start(bridge, (bridge) => (slot) => begin(bridge, slot))
  return () => void pending.giveUp()
}

export { bridge }
