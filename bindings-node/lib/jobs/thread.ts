// The program of a worker thread: imports the module with the handlers, and runs the jobs that the worker sends,
// with the messages of child processes.
import { parentPort, workerData } from 'node:worker_threads'

import type { Message, Sender } from './child_connection'
import { declare, serve } from './child_jobs'
import { becomeChild } from './child_worker'
import { load } from './load'

async function main(): Promise<void> {
  becomeChild()
  const port = parentPort!
  const sender: Sender = {
    // A result stays JSON: what it is made of may not be what a thread can pass on.
    send: (message, raw) => port.postMessage(raw ? { ...message, [raw.name]: raw.json } : message),
  }
  const url = workerData as string
  const loaded = await load(url, url)
  const jobs = declare(loaded)
  const receive = serve(sender, loaded)
  port.on('message', (message) => receive(message as Message))
  sender.send({ type: 'hello', jobs })
  sender.send({ type: 'ready' })
}

// Its errors are those of the thread.
void main()
