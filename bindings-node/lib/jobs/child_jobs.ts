// What a child process and a worker thread have in common: they declare jobs, and run one after the other.
import { number } from '../check'
import { invalid } from '../errors'
import type { Message, Sender } from './child_connection'
import { ChildHost, type Run, taskOf } from './child_host'
import type { CancelReason } from './decisions'
import type { Loaded } from './load'
import { namesOf } from './options'
import { nativeRetry } from './retry'
import { Runner } from './runner'

function whole(name: string, value: unknown): number {
  const ms = Math.ceil(number(name, value))
  if (!Number.isSafeInteger(ms) || ms < 0)
    throw invalid(`${name} of ${String(value)} ms: not a length of time`)
  return ms
}

/** What the worker learns about the jobs. */
export function declare({ jobs, handlers }: Loaded): Record<string, object> {
  const declared = namesOf(jobs, handlers).map((name): [string, object] => {
    const { timeoutMs, retry } = jobs.types[name]!.options
    const about: Record<string, unknown> = { queue: jobs.queueOf(name) }
    if (timeoutMs !== undefined) about['timeout_ms'] = whole(`job ${name}: timeoutMs`, timeoutMs)
    if (retry !== undefined) {
      const { attempts, baseMs, capMs, on, never } = nativeRetry(name, retry)
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
export function serve(connection: Sender, loaded: Loaded): (message: Message) => void {
  const host = new ChildHost(connection)
  const around = { middleware: loaded.middleware, onEvent: undefined }
  const runner = new Runner(host, loaded.jobs, loaded.handlers, around)

  async function run(run: Run): Promise<void> {
    const task = taskOf(run)
    if (Object.hasOwn(loaded.handlers, task.name)) {
      host.begin(run)
      await new Promise<void>((resolve) => runner.run(task, run.args, resolve))
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
