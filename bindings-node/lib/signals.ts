/** One listener for all actions that a signal triggers. */
const listeners = new WeakMap<AbortSignal, Listener>()

type Action = (reason: unknown) => void

class Listener {
  private readonly signal: AbortSignal
  private readonly actions = new Set<Action>()
  private readonly run = (): void => {
    const reason = reasonOf(this.signal)
    for (const action of [...this.actions]) action(reason)
  }

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  add(action: Action): void {
    if (this.actions.size === 0) this.signal.addEventListener('abort', this.run)
    this.actions.add(action)
  }

  delete(action: Action): void {
    if (!this.actions.delete(action) || this.actions.size > 0) return
    try {
      this.signal.removeEventListener('abort', this.run)
    } catch {
      // A foreign signal may throw, and answers to other calls are read after this.
    }
  }
}

/** Catches errors, because other calls may have the same signal. */
function reasonOf(signal: AbortSignal): unknown {
  try {
    return signal.reason
  } catch (error) {
    return error
  }
}

/**
 * Calls `action` when the signal aborts. The returned function undoes that. However many calls use
 * a signal, Node.js sees one listener and does not warn of a leak.
 */
export function onAbort(signal: AbortSignal, action: Action): () => void {
  let listener = listeners.get(signal)
  if (listener === undefined) listeners.set(signal, (listener = new Listener(signal)))
  listener.add(action)
  return () => listener.delete(action)
}
