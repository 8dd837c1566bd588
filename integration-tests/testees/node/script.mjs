// The handler of the scenarios: it does what the arguments of its job say.

import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { Bury, Discard, RetryAfter, Snooze } from '../../../bindings-node/jobs.mjs'

/** What the handlers of a worker have done, and what they are to do next. */
export class Notes {
  seen = []
  path = undefined
  #runs = new Map()
  #told = new Map()
  #waiting = new Map()

  note(what) {
    this.log(what)
    this.seen.push(what)
  }

  log(what) {
    if (this.path === undefined) return
    const micros = Math.floor((performance.timeOrigin + performance.now()) * 1000)
    // In one write, so that no kill can mix lines.
    appendFileSync(this.path, `${micros} ${what}\n`)
  }

  /** The number of this run of the job, from 0. */
  countRun(job) {
    const run = this.#runs.get(job) ?? 0
    this.#runs.set(job, run + 1)
    return run
  }

  tell(job, steps) {
    const told = this.#told.get(job) ?? []
    this.#told.set(job, [...told, steps])
    this.#waiting.get(job)?.()
  }

  /** The next steps that the job is told; nothing if the signal aborts before. */
  async told(job, signal) {
    for (;;) {
      const steps = this.#told.get(job)?.shift()
      if (steps !== undefined) return steps
      if (signal?.aborted) return undefined
      await new Promise((resolve) => {
        this.#waiting.set(job, resolve)
        signal?.addEventListener('abort', resolve, { once: true })
      })
    }
  }
}

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
  const run = notes.countRun(job.id)
  notes.note(`${job.id} start ${job.attempt}`)
  let { steps } = job.args
  // Of several lists each is for one run, and the last one for all later runs.
  if (Array.isArray(steps[0])) steps = steps[Math.min(run, steps.length - 1)]
  try {
    return await runSteps(notes, job, [...steps])
  } finally {
    notes.log(`${job.id} end`)
  }
}

async function runSteps(notes, job, steps) {
  const { id, signal } = job
  const noteCancelled = () => notes.note(`${id} cancelled ${job.cancelReason}`)
  const stopped = () => {
    noteCancelled()
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
        notes.note(`${id} ${value}`)
        break
      case 'progress':
        await job.progress(value)
        break
      case 'more_time_ms':
        job.moreTime(value)
        break
      case 'meta':
        notes.note(`${id} ${value}=${job.meta[value]}`)
        break
      case 'previous':
        notes.note(`${id} previous ${job.previousId ?? ''} ${JSON.stringify(job.previous ?? null)}`)
        break
      case 'wait': {
        const told = await notes.told(id, signal)
        if (told === undefined) throw stopped()
        steps.unshift(...told)
        break
      }
      case 'sleep_ms':
        try {
          await sleep(value, undefined, { signal })
        } catch {
          throw stopped()
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
        noteCancelled()
        break
      default:
        throw new Error(`unknown step ${name}`)
    }
  }
  return undefined
}
