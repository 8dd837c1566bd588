/** What is to happen when a signal is aborted; one listener for all of it. */
const heard = new WeakMap<AbortSignal, Listener>()

class Listener {
  private readonly signal: AbortSignal
  private readonly actions = new Set<() => void>()
  private readonly hear = (): void => {
    for (const action of [...this.actions]) action()
  }

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  add(action: () => void): void {
    if (this.actions.size === 0) this.signal.addEventListener('abort', this.hear)
    this.actions.add(action)
  }

  delete(action: () => void): void {
    if (this.actions.delete(action) && this.actions.size === 0) {
      this.signal.removeEventListener('abort', this.hear)
    }
  }
}

/**
 * Calls `action` when the signal is aborted, until the result of this is called. However many calls
 * wait on a signal, Node.js sees one listener and warns of no leak; the user's own stay untouched.
 */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  let listener = heard.get(signal)
  if (listener === undefined) heard.set(signal, (listener = new Listener(signal)))
  listener.add(action)
  return () => listener.delete(action)
}
