// The handler of the scenarios: it does what the arguments of its job say.

import { setTimeout as sleep } from 'node:timers/promises'

import { Bury, Discard, RetryAfter, Snooze } from '../../../bindings-node/jobs.mjs'

/** An error of classes of these names, the most specific first. */
function errorOf(names) {
  const derive = (Super, name) => ({ [name]: class extends Super {} })[name]
  return new (names.reduceRight(derive, Error))('on purpose')
}

/** Blocks the event loop. */
export const block = (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const cancelled = (signal) =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', resolve, { once: true })
  })

export async function run(notes, job) {
  let { steps } = job.args
  // Of several lists each is for one run, and the last one for all later runs.
  if (Array.isArray(steps[0]))
    steps = steps[Math.min(await notes.countRun(job.id), steps.length - 1)]
  await notes.start(job)
  try {
    return await runSteps(notes, job, [...steps])
  } finally {
    notes.end(job)
  }
}

async function runSteps(notes, job, steps) {
  const { id, signal } = job
  const noteCancelled = () => notes.note(`${id} cancelled ${job.cancelReason}`)
  const stopped = async () => {
    await noteCancelled()
    // The reason of the signal says that the handler has stopped because of it.
    return signal.reason
  }
  while (steps.length > 0) {
    const step = steps.shift()
    const [name, value] = typeof step === 'string' ? [step] : Object.entries(step)[0]
    switch (name) {
      case 'return':
        return value
      case 'raise':
        throw errorOf([value].flat())
      case 'panic':
        // Anything can be thrown.
        throw 'on purpose'
      case 'retry_after_ms':
        throw new RetryAfter(value, 'on purpose')
      case 'discard':
        throw new Discard('on purpose')
      case 'bury':
        throw new Bury('on purpose')
      case 'snooze_ms':
        throw new Snooze(value)
      case 'say':
        await notes.note(`${id} ${value}`)
        break
      case 'progress':
        await job.progress(value)
        break
      case 'more_time_ms':
        job.moreTime(value)
        break
      case 'meta':
        await notes.note(`${id} ${value}=${job.meta[value]}`)
        break
      case 'previous':
        await notes.note(
          `${id} previous ${job.previousId ?? ''} ${JSON.stringify(job.previous ?? null)}`,
        )
        break
      case 'wait': {
        const told = await notes.told(id, signal)
        if (told === undefined) throw await stopped()
        steps.unshift(...told)
        break
      }
      case 'sleep_ms':
        try {
          await sleep(value, undefined, { signal })
        } catch {
          throw await stopped()
        }
        break
      case 'block_ms':
        block(value)
        break
      case 'skip_from':
        if (job.attempt >= value) steps.shift()
        break
      case 'ignore':
        steps.unshift(...(await notes.told(id)))
        break
      case 'cancelled':
        await cancelled(signal)
        await noteCancelled()
        break
      default:
        await notes.other(job, name, value)
    }
  }
  return undefined
}
