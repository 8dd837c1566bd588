// Workers whose handlers run in child processes or worker threads: the module that these import, and where they note.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { serveNotes } from './note_server.mjs'
import { given } from './wire.mjs'

/** Whether all workers run their handlers in worker threads. */
export const THREADS = process.argv.includes('--threads')

/** What the children of a worker need, until they are dropped. */
export class Children {
  #folder
  #server
  #asked

  constructor(request, notes) {
    // Beside a log, so that nothing is left behind when this process is killed.
    const within = request.log === undefined ? tmpdir() : dirname(request.log)
    this.#folder = mkdtempSync(join(within, 'leaseq-testee-'))
    this.#asked = request.children ?? { threads: true }
    const socket = join(this.#folder, 'notes')
    this.#server = serveNotes(socket, notes)
    const environment = {
      LEASEQ_TESTEE_SOCKET: socket,
      LEASEQ_TESTEE_SLOTS: String(request.slots ?? 10),
      ...(this.#asked.broken && { LEASEQ_TESTEE_NO_STARTS: this.#folder }),
      ...(request.log && { LEASEQ_TESTEE_LOG: request.log }),
    }
    this.module = join(this.#folder, 'jobs.mjs')
    const made = `${JSON.stringify(request)}, ${JSON.stringify(environment)}`
    writeFileSync(
      this.module,
      `import { modules } from ${JSON.stringify(new URL('in_child.mjs', import.meta.url).href)}
       export const { jobs, handlers, middleware } = modules(${made})
      `,
    )
  }

  /** The options of the worker. */
  options(slots = 10) {
    const { threads, max_jobs: maxJobs, memory_limit_mib: memory } = this.#asked
    const memoryLimit = memory && memory * 2 ** 20
    if (threads) return given({ threads: slots, maxJobsPerChild: maxJobs, memoryLimit })
    const isolation = maxJobs === 1 ? 'job' : 'process'
    return given({ processes: slots, isolation, maxJobsPerChild: maxJobs, memoryLimit })
  }

  drop() {
    this.#server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
