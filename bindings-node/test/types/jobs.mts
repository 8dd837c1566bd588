// What TypeScript accepts and refuses of jobs.
import { type } from 'arktype'
import type { Client } from 'leaseq'
import { defineJobs, Discard, type Handlers, job, type ThreadWorker, worker } from 'leaseq/jobs'
import { Clock, inline, memory, runUntilIdle } from 'leaseq/testing'
import * as valibot from 'valibot'
import { z } from 'zod'

const jobs = defineJobs({
  'mail.send': job<{ to: string; order: number }, string>({ unique: ({ order }) => `${order}` }),
  zod: job({ args: z.object({ at: z.coerce.number() }), result: z.coerce.date() }),
  valibot: job({ args: valibot.object({ to: valibot.string() }) }),
  arktype: job({ args: type({ to: 'string' }) }),
  plain: job(),
})

export async function produce(client: Client): Promise<void> {
  const ref = await jobs.enqueue(client, 'mail.send', { to: 'ada', order: 1 }, { delayMs: 1 })
  const text: string = await ref.result()
  // @ts-expect-error: an argument is missing
  await jobs.enqueue(client, 'mail.send', { to: text })
  // @ts-expect-error: an argument has another type
  await jobs.enqueue(client, 'valibot', { to: 7 })
  // @ts-expect-error: there is no such job
  await jobs.enqueue(client, 'mail.sent', {})
  // @ts-expect-error: there is no such option
  await jobs.enqueue(client, 'plain', {}, { later: true })
  await jobs.enqueue(client, 'plain', {}, { then: [['valibot', { to: 'ada' }, { delayMs: 1 }]] })
  // @ts-expect-error: an argument of a job of the chain is missing
  await jobs.enqueue(client, 'plain', {}, { then: [['valibot', {}]] })
  const at: Date = await (await jobs.enqueue(client, 'zod', { at: '7' })).result()
  await jobs.enqueueMany(client, [
    ['mail.send', { to: 'ada', order: at.getTime() }],
    ['arktype', { to: 'bob' }, { priority: 5 }],
    // @ts-expect-error: the arguments of another job
    ['arktype', { order: 1 }],
  ])
}

export function work(client: Client): void {
  worker(client, jobs, {
    'mail.send': async ({ args, signal }) => {
      signal.throwIfAborted()
      const to: string = args.to
      return to
    },
    zod: ({ args }) => args.at.toFixed(),
    valibot: ({ args }) => args.to.length,
    arktype: async ({ args }) => new Discard(args.to),
  })
  worker(client, new URL('./handlers.mjs', import.meta.url), { isolation: 'job', processes: 2 })
  // @ts-expect-error: handlers in children do not share an event loop
  worker(client, './handlers.mjs', { concurrency: 3 })
  // @ts-expect-error: a result of another type
  worker(client, jobs, { 'mail.send': () => 7 })
  // @ts-expect-error: there is no such job
  const wrong: Handlers<typeof jobs.types> = { 'mail.sent': () => undefined }
  void wrong
}

export async function tests(): Promise<void> {
  const clock = new Clock(new Date())
  const client = await memory({ clock })
  clock.advance(1)
  const ran: number = await runUntilIdle(client, jobs, { plain: () => undefined }, { prefetch: 0 })
  const running = await inline(jobs, { plain: () => ran }, { throwErrors: false })
  await running.close()
  // @ts-expect-error: there is no such job
  await inline(jobs, { other: () => undefined })
}

export function threads(client: Client): ThreadWorker {
  // @ts-expect-error: threads have no processes
  worker(client, './jobs.mjs', { threads: 1, processes: 2 })
  return worker(client, './jobs.mjs', { threads: 1, onEvent: ({ kind }) => void kind })
}
