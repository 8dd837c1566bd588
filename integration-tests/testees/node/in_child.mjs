// The jobs of a worker whose handlers run in children, and what these note: over a testee's socket, or into a log.
// `testees/children/notes.py` is the same in Python, and says what the locks are for.
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

import * as processHarm from './harm.mjs'
import { jobsOf } from './jobs.mjs'
import { ask } from './note_server.mjs'
import { append } from './notes.mjs'
import * as threadHarm from './thread_harm.mjs'

const harm = isMainThread ? processHarm : threadHarm

/** The notes of the one run of this child. */
class ChildNotes {
  locks = []
  #log = process.env.LEASEQ_TESTEE_LOG
  #socket = process.env.LEASEQ_TESTEE_SOCKET
  #hasEnded = false

  async note(what) {
    if (this.#log === undefined) await ask(this.#socket, { note: what })
    else append(this.#log, what)
  }

  countRun(job) {
    return ask(this.#socket, { run: job })
  }

  told(job, signal) {
    return ask(this.#socket, { told: job }, signal)
  }

  async start(job) {
    this.#hasEnded = false
    await this.note(`${job.id} start ${job.attempt}`)
    if (this.#log === undefined) return
    const beside = (name) => join(dirname(this.#log), name)
    const limits = [
      ['job', beside(job.id), 1],
      ['slot', this.#log, Number(process.env.LEASEQ_TESTEE_SLOTS)],
    ]
    const { key, key_limit: most } = job.meta
    if (key !== undefined) limits.push(['key', beside(key), Number(most)])
    for (const [what, path, most] of limits) {
      const places = Array.from({ length: most }, (_, place) => `${path}.${what}${place}`)
      if (!places.some((place) => this.#lock(place))) await this.note(`${job.id} over ${what}`)
    }
  }

  /** A name among the sockets is free again when its process or thread has ended. */
  #lock(name) {
    const lock = createServer().on('error', () => undefined)
    lock.listen(`\0${name}`.padEnd(108, '/'))
    if (lock.listening) this.locks.push(lock)
    return lock.listening
  }

  /** Notes that the run has ended, once. */
  end(job) {
    if (this.#hasEnded || this.#log === undefined) return
    this.#hasEnded = true
    append(this.#log, `${job.id} end`)
    for (const lock of this.locks.splice(0)) lock.close()
  }

  other(job, name, value) {
    return harm[name](job, value, this)
  }
}

/** What the module of a worker exports, unless children are not to start for now. */
export function modules(request, environment) {
  Object.assign(process.env, environment)
  if (existsSync(process.env.LEASEQ_TESTEE_NO_STARTS ?? '')) throw new Error('no starts for now')
  return jobsOf(request, new ChildNotes())
}
