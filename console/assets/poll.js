// @ts-check
// Asks the server again and again, while somebody looks.

const LIMIT_MS = 10_000
const MAX_PAUSE_MS = 15_000

let failures = 0
let since = Date.now()

/** Says that the server does not answer, or that it does, and of when the page is. */
export function say() {
  const lost = /** @type {HTMLElement | null} */ (document.querySelector('#lost'))
  if (!lost) return
  lost.hidden = failures < 2
  const seconds = Math.round((Date.now() - since) / 1_000)
  if (failures >= 2) lost.textContent = `No answer for ${seconds} s. These numbers are old; this page goes on by itself.`
}

/** An answer; the browser keeps those with a tag, and asks whether they have changed. Throws if there is none. */
export async function poll(/** @type {string} */ source, accept = 'application/json') {
  const answer = await fetch(source, { headers: { accept }, signal: AbortSignal.timeout(LIMIT_MS) })
  // Somebody has to sign in again, or what the page shows is gone.
  if (answer.redirected || answer.status === 401 || answer.status === 404) location.reload()
  if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`)
  return answer
}

/** Does this every so many ms, less often while it fails, and not while nobody looks. */
export function tick(/** @type {number} */ ms, /** @type {() => Promise<void>} */ work) {
  let own = 0
  const again = async () => {
    if (document.visibilityState === 'visible') {
      try {
        await work()
        own = failures = 0
        since = Date.now()
        const asOf = document.querySelector('#as-of time')
        asOf?.setAttribute('datetime', new Date().toISOString())
      } catch {
        own += 1
        failures = Math.max(failures, own)
      }
      say()
    }
    setTimeout(again, Math.max(ms, Math.min(ms * 2 ** Math.min(own, 3), MAX_PAUSE_MS)))
  }
  setTimeout(again, ms)
}
