// Running jobs where they are enqueued, for tests.
import { type Client, connect } from '../client'
import { flag, known } from '../check'
import { invalid } from '../errors'
import type { Jobs, JobTable } from './define'
import type { Middleware, WorkerEvent } from './options'
import type { Prepared } from './prepared'
import { JobRef } from './ref'
import { type Handlers, worker } from './worker'

export interface InlineOptions {
  /** Around every handler; the first one is the outermost. */
  middleware?: readonly Middleware[] | undefined
  /** Whether `enqueue` throws what a handler throws. Default: true. */
  throwErrors?: boolean | undefined
}

const NAMES = new Set(['middleware', 'throwErrors'])
const QUEUE = 'inline'

/** What `inline` of `leaseq/testing` returns. */
export class Inline {
  readonly #client: Client
  readonly #jobs: Jobs<JobTable>

  private constructor(client: Client, jobs: Jobs<JobTable>) {
    this.#client = client
    this.#jobs = jobs
  }

  /** @internal */
  static async begin(
    jobs: Jobs<JobTable>,
    handlers: Handlers<JobTable>,
    given: InlineOptions,
  ): Promise<Inline> {
    const { middleware = [], throwErrors } = known(given, 'inline', NAMES)
    const throws = flag('throwErrors', throwErrors, true)
    if (jobs.runsInline !== undefined) throw invalid('inline: these jobs run inline already')
    const client = await connect('memory:')
    jobs.runsInline = async (all) => {
      const refs: JobRef[] = []
      for (const one of all) refs.push(await run(client, jobs, handlers, middleware, throws, one))
      return refs
    }
    return new Inline(client, jobs)
  }

  /** From now on jobs are enqueued as ever. References stay, without what their jobs have left. */
  async close(): Promise<void> {
    this.#jobs.runsInline = undefined
    await this.#client.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

async function run(
  client: Client,
  jobs: Jobs<JobTable>,
  handlers: Handlers<JobTable>,
  middleware: readonly Middleware[],
  throws: boolean,
  job: Prepared,
): Promise<JobRef> {
  if (handlers[job.name] === undefined) throw invalid(`job ${job.name}: there is no handler`)
  const { data } = job.item()
  const queue = client.queue(QUEUE)
  const added = await queue.addItem({
    id: job.id,
    data: data!,
    maxAttempts: 1,
    retainMs: 86_400_000,
  })
  let failed: { error: unknown } | undefined
  const onEvent = (event: WorkerEvent): void => {
    if (event.kind === 'ended' && event.job.id === job.id && event.outcome === 'dead') {
      failed = { error: event.error }
    }
  }
  const options = { queues: [QUEUE], concurrency: 1, middleware, onEvent }
  await worker(client, jobs, handlers, options).runUntilIdle()
  if (throws && failed !== undefined) throw failed.error
  return new JobRef(job.name, queue, job.id, added, jobs.types[job.name]!.result)
}
