// The jobs of a worker and their handlers, wherever these run.
import { defineJobs, job } from '../../../bindings-node/jobs.mjs'
import { run } from './script.mjs'
import { given } from './wire.mjs'

export const retry = (fields) =>
  fields &&
  given({
    attempts: fields.max,
    baseMs: fields.base_ms,
    capMs: fields.cap_ms,
    on: fields.on,
    never: fields.never,
  })

/** Arguments of the scenarios, and nothing else. */
const args = {
  '~standard': {
    version: 1,
    vendor: 'testee',
    validate: (value) =>
      Array.isArray(value?.steps) && Object.keys(value).length === 1
        ? { value }
        : { issues: [{ message: 'not steps' }] },
  },
}

/** Notes when it begins and ends. */
const around = (name, notes) => async (job, next) => {
  await notes.note(`${job.id} ${name} before`)
  try {
    return await next()
  } finally {
    await notes.note(`${job.id} ${name} after`)
  }
}

export function jobsOf(request, notes) {
  const types = Object.entries(request.jobs ?? { work: {} }).map(([name, options]) => [
    name,
    job({ args, ...given({ timeoutMs: options.timeout_ms, retry: retry(options.retry) }) }),
  ])
  return {
    jobs: defineJobs(Object.fromEntries(types), { queue: request.queue }),
    handlers: Object.fromEntries(types.map(([name]) => [name, (job) => run(notes, job)])),
    middleware: (request.middleware ?? []).map((name) => around(name, notes)),
  }
}
