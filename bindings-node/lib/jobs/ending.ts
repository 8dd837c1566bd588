// What ends a worker from outside: signals of the system, an AbortSignal, and errors that nobody handles.
import { isMainThread } from 'node:worker_threads'

import { onAbort } from '../signals'

/** A worker that can be ended. */
export interface Ends {
  drain(graceMs: number): void
  abort(): void
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** From now on signals do not end this process by themselves: one that is late must not change how it ends. */
export function outliveSignals(): void {
  if (!isMainThread) return
  for (const signal of SIGNALS) process.on(signal, () => undefined)
}

/**
 * The first signal begins the end of the worker, the second skips the grace period, the third ends it at
 * once. Signals that come before `begin` count.
 */
export class Ending {
  #seen = 0
  #worker: Ends | undefined
  readonly #graceMs: number
  #undo: (() => void)[] = []

  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  onSignals(): void {
    if (!isMainThread) return
    const act = (): void => this.next()
    for (const signal of SIGNALS) {
      process.on(signal, act)
      this.#undo.push(() => process.off(signal, act))
    }
  }

  onAbort(signal: AbortSignal): void {
    if (signal.aborted) this.next()
    else this.#undo.push(onAbort(signal, () => this.next()))
  }

  /** An error that nobody handles leaves the process in a state that nobody knows. */
  onUncaught(failed: (error: unknown) => void): void {
    const act = (error: unknown): void => {
      failed(error)
      if (this.#seen === 0) this.next()
    }
    process.on('uncaughtException', act)
    this.#undo.push(() => process.off('uncaughtException', act))
  }

  begin(worker: Ends): void {
    this.#worker = worker
    if (this.#seen > 0) this.#act()
  }

  next(): void {
    this.#seen += 1
    this.#act()
  }

  #act(): void {
    if (this.#seen > 2) this.#worker?.abort()
    else this.#worker?.drain(this.#seen === 1 ? this.#graceMs : 0)
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo()
  }
}
