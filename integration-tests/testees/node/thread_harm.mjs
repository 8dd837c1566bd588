// What a worker thread can do to itself, in place of what only processes can.
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort } from 'node:worker_threads'

import { flood, hang, hang_in_c } from './harm.mjs'

export { flood, hang, hang_in_c }

const SIGSTOP = 19

/** The number of the job that runs. */
let task
if (!isMainThread) {
  parentPort.on('message', (message) => {
    if (message.type === 'run') task = message.task
  })
}

const answer = (job, notes) => {
  notes.end(job)
  // As JSON.
  parentPort.postMessage({ type: 'done', task, result: JSON.stringify(job.id) })
}

export const exit = (_job, status) => process.exit(status)
export const half_frame = () => process.exit(0)
export const ignore_term = () => undefined
export const grandchild = () => undefined
export const close = hang_in_c

export function signal(_job, number) {
  if (number === SIGSTOP) hang_in_c()
  process.exit(1)
}

export function answer_twice(job, _value, notes) {
  answer(job, notes)
  parentPort.postMessage({ type: 'done', task, result: '"twice"' })
}

export function answer_and_exit(job, _value, notes) {
  answer(job, notes)
  process.exit(1)
}

/** In the heap: buffers are not limited. */
export async function allocate_mib(_job, mebibytes) {
  const data = []
  for (let i = 0; i < mebibytes; i += 1) {
    data.push(Array.from({ length: 2 ** 17 }, (_, n) => n + 0.5))
    await sleep(0)
  }
  await sleep(600_000, data)
}
