// The program of a child process: imports the module with the handlers, and runs the jobs that the worker
// sends. What they say to each other is described in docs/child-protocol.md.
import { takeWorkerSocket } from '../../native.js'
import { message as messageOf, number, printable } from '../check'
import { invalid, LeaseqError } from '../errors'
import { Connection, type Message } from './child_connection'
import { ChildHost, type Run, taskOf } from './child_host'
import { becomeChild } from './child_worker'
import type { CancelReason } from './decisions'
import { load, type Loaded } from './load'
import { namesOf } from './options'
import { nativeRetry } from './retry'
import { Runner } from './runner'

function whole(name: string, value: unknown): number {
  const ms = Math.ceil(number(name, value))
  if (!Number.isSafeInteger(ms) || ms < 0) throw invalid(`${name} ${String(value)} is no time`)
  return ms
}

/** What the worker learns about the jobs. */
function declare({ jobs, handlers }: Loaded): Record<string, object> {
  const declared = namesOf(jobs, handlers).map((name): [string, object] => {
    const { timeoutMs, retry } = jobs.types[name]!.options
    const about: Record<string, unknown> = { queue: jobs.queueOf(name) }
    if (timeoutMs !== undefined) about['timeout_ms'] = whole(`job ${name}: timeoutMs`, timeoutMs)
    if (retry !== undefined) {
      const { attempts, baseMs, capMs, on, never } = nativeRetry(retry)
      if (!Number.isInteger(attempts)) throw invalid(`job ${name}: ${attempts} attempts`)
      about['retry'] = {
        max: attempts,
        base: whole(`job ${name}: baseMs`, baseMs),
        cap: whole(`job ${name}: capMs`, capMs),
        on,
        never,
      }
    }
    return [name, about]
  })
  return Object.fromEntries(declared)
}

/** Runs jobs one after the other. */
function serve(connection: Connection, loaded: Loaded): (message: Message) => void {
  const host = new ChildHost(connection)
  const around = { middleware: loaded.middleware, onEvent: undefined }
  const runner = new Runner(host, loaded.jobs, loaded.handlers, around)

  async function run(run: Run): Promise<void> {
    const task = taskOf(run)
    if (Object.hasOwn(loaded.handlers, task.name)) {
      host.begin(run)
      await runner.run(task, () => run.args)
    } else {
      host.finish(task.number, { kind: 'invalidArgs', message: 'there is no handler' })
    }
    connection.send({ type: 'ready' })
  }

  return (message) => {
    switch (message.type) {
      case 'run':
        return void run(message as Run)
      case 'cancel': {
        const { task, reason } = message as unknown as { task: number; reason: CancelReason }
        host.cancel(task, reason)
        return runner.stop(task, reason)
      }
      case 'stop':
        process.exit(0)
    }
  }
}

async function main(): Promise<void> {
  const socket = takeWorkerSocket(Number(process.env['LEASEQ_WORKER_PID']))
  // What handlers start is no child of the worker.
  delete process.env['LEASEQ_WORKER_PID']
  becomeChild()
  // The worker ends this process. A supervisor may send SIGTERM to all processes of a service, while the
  // worker lets handlers go on for its grace period.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined)
  const url = process.argv.pop()!
  let receive: (message: Message) => void = () => undefined
  // Nobody takes an answer any more.
  const connection = new Connection(
    socket,
    (message) => receive(message),
    () => process.exit(1),
  )
  const loaded = await load(url, url)
  const jobs = declare(loaded)
  receive = serve(connection, loaded)
  connection.send({ type: 'hello', version: 1, jobs })
  connection.send({ type: 'ready' })
}

main().catch((error: unknown) => {
  if (!(error instanceof LeaseqError)) console.error(error)
  // The last line is the reason that the worker shows.
  console.error(printable(messageOf(error)))
  process.exit(1)
})
