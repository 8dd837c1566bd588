// Waiting for a condition, never for a time.
import { setTimeout as sleep } from 'node:timers/promises'

/** Until `condition` is true, or results in something else; fails after 30 s. */
export async function eventually(what, condition, withinMs = 30_000) {
  const end = Date.now() + withinMs
  for (;;) {
    const result = await condition()
    if (result) return result
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(5)
  }
}
