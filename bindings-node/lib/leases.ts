import { flag } from './check'
import { type Lease, stateOf } from './lease'
import type { Queue } from './queue'
import type { LeasesOptions } from './types'

/** Leases one item after the other; see `Queue.leases`. */
export function leases(
  queue: Queue,
  options: LeasesOptions,
): AsyncGenerator<Lease, void, undefined> {
  /** Ends the waiting call, if there is one. */
  let stop: (() => void) | undefined
  let stopped = false
  async function* one() {
    const { complete, ...how } = { ...options }
    const completes = flag('complete', complete)
    let before: Lease | undefined
    for (;;) {
      let lease: Lease | null
      try {
        lease = await queue.stoppableLease(how, (way) => (stop = way), before)
      } finally {
        // Aborted just before the request was sent: the finished item is completed all the same.
        if (before && stateOf(before)?.isOpen && (stopped || how.signal?.aborted))
          await queue.complete(before)
      }
      stop = undefined
      if (lease === null) return
      let leftEarly = true
      try {
        yield lease
        leftEarly = false
      } finally {
        if (leftEarly) await lease[Symbol.asyncDispose]()
      }
      before = completes && stateOf(lease)?.isOpen ? lease : undefined
    }
  }
  const generator: AsyncGenerator<Lease, void, undefined> = one()
  const proceed = generator.return.bind(generator)
  // A generator would only notice this when the item that it waits for arrives.
  generator.return = (value) => {
    stopped = true
    stop?.()
    return proceed(value)
  }
  return generator
}
