// What the handlers of a worker have done, and what they are to do next.
import { appendFileSync } from 'node:fs'

/** Appends a note to a log. */
export function append(path, what) {
  const micros = Math.floor((performance.timeOrigin + performance.now()) * 1000)
  // In one write, so that no kill can mix lines.
  appendFileSync(path, `${micros} ${what}\n`)
}

/** The notes of a worker, in its process. */
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
    if (this.path !== undefined) append(this.path, what)
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

  start(job) {
    this.note(`${job.id} start ${job.attempt}`)
  }

  end(job) {
    this.log(`${job.id} end`)
  }

  other(_job, name) {
    throw new Error(`unknown step ${name}`)
  }
}
