// What only a child process can do to itself and to its worker. What it says goes past the library.
import { spawn } from 'node:child_process'
import { closeSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

import { block } from './script.mjs'

const FOREVER = 600_000

/** The connection to the worker, which a child opens before it imports its jobs. */
const worker = process._getActiveHandles().find((one) => one instanceof Socket && !one._type)
const descriptor = worker?._handle.fd
/** The number of the job that runs. */
let task

let bytes = Buffer.alloc(0)
worker?.on('data', (data) => {
  bytes = Buffer.concat([bytes, data])
  for (;;) {
    const end = bytes.length < 4 ? Infinity : 4 + bytes.readUInt32BE()
    if (bytes.length < end) return
    const message = JSON.parse(bytes.subarray(4, end))
    if (message.type === 'run') task = message.task
    bytes = bytes.subarray(end)
  }
})

function send(message) {
  const text = Buffer.from(JSON.stringify({ task, ...message }))
  const head = Buffer.alloc(4)
  head.writeUInt32BE(text.length)
  writeSync(descriptor, Buffer.concat([head, text]))
}

export const exit = (_job, status) => process.reallyExit(status)
export const hang = () => sleep(FOREVER)
export const hang_in_c = () => block(FOREVER)
// Children do not heed it.
export const ignore_term = () => process.kill(process.pid, 'SIGTERM')

export async function signal(_job, number) {
  process.kill(process.pid, number)
  await sleep(FOREVER)
}

/** Speaks without a pause. */
export async function flood(job, ms) {
  const until = performance.now() + ms
  while (performance.now() < until && !job.signal.aborted) {
    for (let i = 0; i < 100; i += 1) void job.progress('x'.repeat(100))
    await setImmediate()
  }
}

export function half_frame() {
  writeSync(descriptor, Buffer.from([0, 0, 1, 0, 0x7b]))
  process.reallyExit(0)
}

export function answer_twice(job, _value, notes) {
  notes.end(job)
  send({ type: 'done', result: job.id })
  send({ type: 'done', result: 'twice' })
}

/** Its id is what all jobs of the faults return. */
export function answer_and_exit(job, _value, notes) {
  notes.end(job)
  send({ type: 'done', result: job.id })
  process.reallyExit(1)
}

/** Starts a process that would outlive the job, and ignores what it can. */
export function grandchild() {
  const shell = "trap '' TERM INT HUP; sleep 600"
  const env = { ...process.env, LEASEQ_TESTEE_GRANDCHILD: '1' }
  spawn('sh', ['-c', shell], { env, stdio: 'inherit' }).unref()
}

/** Every descriptor, the connection included; not the locks of this run. */
export function close(_job, _value, { locks }) {
  const kept = new Set(locks.map((lock) => lock._handle.fd))
  for (let one = 3; one < 64; one += 1) {
    if (kept.has(one)) continue
    try {
      closeSync(one)
    } catch {}
  }
  block(FOREVER)
}

export function allocate_mib(_job, mebibytes) {
  const data = Buffer.alloc(mebibytes * 2 ** 20, 1)
  return sleep(FOREVER, data)
}
