/** What happens when a signal is aborted; one listener for all of it. */
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
      // A signal that is not one of Node.js may throw. Answers to other calls are read after this.
    }
  }
}

/** The same caution: other calls may have the same signal. */
function reasonOf(signal: AbortSignal): unknown {
  try {
    return signal.reason
  } catch (error) {
    return error
  }
}

/**
 * Calls `action` when the signal is aborted, until the result of this is called. However many calls
 * wait on a signal, Node.js sees one listener and warns of no leak; the user's own stay untouched.
 */
export function onAbort(signal: AbortSignal, action: Action): () => void {
  let listener = listeners.get(signal)
  if (listener === undefined) listeners.set(signal, (listener = new Listener(signal)))
  listener.add(action)
  return () => listener.delete(action)
}
