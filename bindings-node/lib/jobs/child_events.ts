// What happens to jobs in child processes.
import type { NativeWorker } from '../../native.js'
import { call } from '../calls'
import { invalid, type LeaseqError } from '../errors'
import { called, Job, type Task } from './context'
import type { Host, JobOutcome } from './host'
import type { WorkerEvent } from './options'

interface Told {
  readonly kind: 'started' | 'ended'
  readonly job: Task
  readonly args: string
  readonly outcome?: JobOutcome
  readonly durationMs?: number
  readonly error?: string
}

/** The job runs in another process, which can ask for more. */
const elsewhere: Host = {
  remaining: () => 0,
  moreTime: (task) => {
    throw isElsewhere(task)
  },
  progress: async (task) => {
    throw isElsewhere(task)
  },
  finish: () => undefined,
}

function isElsewhere(task: Task): LeaseqError {
  return invalid(`${called(task)}: the job runs in a child process`)
}

/** Calls the function with what happens, until the worker has ended. */
export async function listen(
  native: NativeWorker,
  onEvent: (event: WorkerEvent) => void,
): Promise<void> {
  for (;;) {
    const events = await call<Told[], NativeWorker>(
      native,
      {},
      (native) => (slot) => native.events(slot),
    )
    if (events.length === 0) return
    for (const told of events) {
      try {
        onEvent(eventOf(told))
      } catch (error) {
        process.emitWarning(`onEvent has thrown: ${String(error)}`)
      }
    }
  }
}

function eventOf({ kind, job: task, args, outcome, durationMs, error }: Told): WorkerEvent {
  const job = new Job(task, elsewhere, JSON.parse(args) as unknown)
  if (kind === 'started') return { kind, job }
  const why = error === undefined ? {} : { error: errorOf(error) }
  return { kind, job, outcome: outcome!, durationMs: durationMs!, ...why }
}

/** The text of an error begins with its class. */
function errorOf(text: string): Error {
  const [, name = 'Error', message = text] = /^([\w.]+): ([^]*)$/.exec(text) ?? []
  const error = new Error(message)
  error.name = name
  return error
}
