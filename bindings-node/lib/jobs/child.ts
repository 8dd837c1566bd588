// The program of a child process: imports the module with the handlers, and runs the jobs that the worker
// sends. What they say to each other is described in docs/child-protocol.md.
import { takeWorkerSocket } from '../../native.js'
import { message as messageOf, printable } from '../check'
import { LeaseqError } from '../errors'
import { Connection, type Message } from './child_connection'
import { declare, serve } from './child_jobs'
import { becomeChild } from './child_worker'
import { load } from './load'

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
