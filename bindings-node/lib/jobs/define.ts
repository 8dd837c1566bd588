// Names and types of jobs, and adding them.
import type { Client } from '../client'
import { known, optionalNumber, quote, storedText, text } from '../check'
import { invalid } from '../errors'
import type { CallOptions, Item, ItemOptions } from '../types'
import { writeJson } from './json'
import { JobRef } from './ref'
import { addGroup, type EnqueuedGroup, GROUP } from './job_group'
import { chainsOf, ENQUEUE, type FollowUpJob, Prepared } from './prepared'
import { nativeRetry, type Retry } from './retry'
import type { Handlers } from './worker'
import { type AnySchema, type InputOf, mismatch, type OutputOf, validate } from './schema'

/** A text, or what makes one of the arguments. */
export type KeyOf<Args> = string | ((args: Args) => string | undefined)

/** Options of all jobs of a name. */
export interface JobOptions<Args = unknown> {
  /** Default: that of `defineJobs`, or else `default`. */
  queue?: string | undefined
  /** How long a handler may run before its signal aborts, 1 ms to 30 days. Default: 1 hour. */
  timeoutMs?: number | undefined
  /** When and how often a failed job is tried again. */
  retry?: Retry | undefined
  priority?: number | undefined
  /** How long a job is kept after its completion, with its result. Default: not at all. */
  retainMs?: number | undefined
  unique?: KeyOf<Args> | undefined
  uniqueForMs?: number | undefined
  key?: KeyOf<Args> | undefined
  expiresInMs?: number | undefined
}

/** What is added when a job or a group has ended. */
export interface ChainOptions<T extends JobTable = any> {
  /** A chain: each is added when the one before it has succeeded, the first one after this. */
  then?: readonly Enqueued<T>[] | undefined
  /** These are added when this has succeeded. They get the result of a job as `previous`. */
  onSuccess?: readonly Enqueued<T>[] | undefined
  /** These are added when this is dead; of a group, when all have ended and one has not succeeded. */
  onFailure?: readonly Enqueued<T>[] | undefined
  /** These are added when this has ended in any way. */
  onEnd?: readonly Enqueued<T>[] | undefined
}

/** Options of a group. Up to 16 jobs follow it, which get its id as `previousId`. */
export interface EnqueueGroupOptions<T extends JobTable = any>
  extends ChainOptions<T>, CallOptions {
  /** The queue that has the group. Default: that of its first job. */
  queue?: string | undefined
}

/**
 * Options of one job, which take precedence: those of items, and these. With the options of chains, a job has up
 * to 16 others, up to 16 levels deep, of any queues, 64 KiB in total; each is added exactly once.
 */
export interface EnqueueOptions<T extends JobTable = any>
  extends
    Omit<ItemOptions, 'id' | 'unique' | 'key' | 'queue' | 'followUps'>,
    ChainOptions<T>,
    CallOptions {
  id?: string | undefined
  unique?: string | undefined
  key?: string | undefined
  queue?: string | undefined
  /** Instead of what the worker says. */
  timeoutMs?: number | undefined
  /** Instead of what the worker says. */
  retry?: Retry | undefined
  /** Texts for handlers and middleware, such as a `traceparent`. */
  meta?: Record<string, string> | undefined
}

/** What is known about a job: `job` makes it. The parameters are types only. */
export interface JobType<In = unknown, Out = In, Returned = unknown, Value = Returned> {
  readonly options: JobOptions<In>
  readonly args: AnySchema | undefined
  readonly result: AnySchema | undefined
  readonly types?: { in: In; out: Out; returned: Returned; value: Value }
}

export type AnyJobType = JobType<any, any, any, any>
export type JobTable = Record<string, AnyJobType>
type Types<T extends AnyJobType> = NonNullable<T['types']>
/** What a producer gives. */
export type ArgsIn<T extends AnyJobType> = Types<T>['in']
/** What a handler gets. */
export type ArgsOut<T extends AnyJobType> = Types<T>['out']
/** What a handler returns. */
export type Returned<T extends AnyJobType> = Types<T>['returned']
/** What `result` of a reference resolves to. */
export type ValueOf<T extends AnyJobType> = Types<T>['value']

type WithSchema<A extends AnySchema> = JobOptions<InputOf<A>> & { args: A; result?: undefined }
type WithSchemas<A extends AnySchema, R extends AnySchema> = JobOptions<InputOf<A>> & {
  args: A
  result: R
}

type Given = JobOptions<any> & { args?: AnySchema | undefined; result?: AnySchema | undefined }

const JOB = ['queue', 'timeoutMs', 'retry', 'priority', 'retainMs', 'unique', 'uniqueForMs']
const JOB_NAMES = new Set([...JOB, 'key', 'expiresInMs', 'args', 'result'])

/**
 * A job with the schemas of its arguments and of its result: any Standard Schema, such as those of
 * zod, valibot and arktype. The worker checks arguments again, and handlers get what the schema makes
 * of them; `result` of a reference checks the result.
 */
export function job<A extends AnySchema, R extends AnySchema>(
  options: WithSchemas<A, R>,
): JobType<InputOf<A>, OutputOf<A>, InputOf<R>, OutputOf<R>>
/** A job with a schema of its arguments. */
export function job<A extends AnySchema>(
  options: WithSchema<A>,
): JobType<InputOf<A>, OutputOf<A>, unknown, unknown>
/** A job whose arguments and result have these types, which nothing checks at run time. */
export function job<Args extends object = Record<never, never>, Result = unknown>(
  options?: JobOptions<Args>,
): JobType<Args, Args, Result, Result>
export function job(given: Given = {}): AnyJobType {
  const { args, result, ...options } = known(given, 'a job', JOB_NAMES)
  return { options, args, result }
}

const MAX_TIMEOUT_MS = 30 * 86_400_000

/** Refuses what would only be noticed by the worker. */
function checkType(name: string, { options }: AnyJobType): void {
  const size = Buffer.byteLength(storedText('the name of a job', name))
  if (size < 1 || size > 128) {
    throw invalid(`the name of a job, ${quote(name)}, has ${size} bytes, not between 1 and 128`)
  }
  const { timeoutMs, retry } = options
  const time = optionalNumber(`job ${name}: timeoutMs`, timeoutMs) ?? 1
  if (!(time >= 1 && time <= MAX_TIMEOUT_MS)) {
    throw invalid(`job ${name}: timeoutMs of ${time} ms is not between 1 ms and 30 days`)
  }
  const attempts = retry === undefined ? 1 : nativeRetry(name, retry).attempts
  if (!(Number.isInteger(attempts) && attempts >= 1 && attempts <= 65_535)) {
    throw invalid(`job ${name}: ${attempts} attempts are not between 1 and 65535`)
  }
}

/** A job to add, for middleware. */
export interface NewJob {
  readonly name: string
  readonly queue: string
  readonly args: unknown
  /** May be changed. */
  readonly meta: Record<string, string>
}

/** Something around adding jobs, which `next` does. The jobs of their chains are among them. */
export type EnqueueMiddleware = (
  jobs: readonly NewJob[],
  next: () => Promise<void>,
) => Promise<void>

/** A job for `enqueueMany`. */
export type Enqueued<T extends JobTable> = {
  [N in keyof T & string]: readonly [name: N, args: ArgsIn<T[N]>, options?: EnqueueOptions<T>]
}[keyof T & string]

export interface JobsOptions {
  /** The queue of jobs that name no other. Default: `default`. */
  queue?: string | undefined
  /** Around every enqueue; the first one is the outermost. */
  middleware?: readonly EnqueueMiddleware[] | undefined
}

/** Names and types of jobs, which producers and workers share. Has no client and connects to nothing. */
export class Jobs<T extends JobTable> {
  readonly types: T
  readonly #queue: string
  readonly #middleware: readonly EnqueueMiddleware[]
  /** Runs jobs instead of adding them, in tests. @internal */
  runsInline: ((jobs: readonly Prepared[]) => Promise<JobRef[]>) | undefined

  /** @internal */
  constructor(types: T, options: JobsOptions) {
    for (const [name, type] of Object.entries(types)) checkType(name, type)
    this.types = types
    this.#queue = options.queue ?? 'default'
    this.#middleware = options.middleware ?? []
  }

  /** Handlers for some or all of the jobs, as they are: with their types, for a module of their own. */
  handlers<H extends Handlers<T>>(handlers: H): H {
    return handlers
  }

  /** The queue of a job. */
  queueOf(name: keyof T & string): string {
    return this.#type(name).options.queue ?? this.#queue
  }

  /**
   * Adds a job. `INVALID` for arguments that do not fit its schema, and for values that not every
   * language reads alike: NaN, integers beyond 2^53, more than 64 levels, and what JSON does not have.
   */
  async enqueue<N extends keyof T & string>(
    client: Client,
    name: N,
    args: ArgsIn<T[N]>,
    options: EnqueueOptions<T> = {},
  ): Promise<JobRef<ValueOf<T[N]>>> {
    const { signal } = options
    const refs = await this.#add(client, [await this.#prepare(name, args, options)], signal)
    return refs[0] as JobRef<ValueOf<T[N]>>
  }

  /**
   * Adds many jobs, which may be of several types; the references are in their order. Jobs of a queue
   * are added in batches of up to 1,000, each of which is one atomic step. If any is invalid, none is
   * added; after another error some may have been added.
   */
  async enqueueMany(
    client: Client,
    jobs: Iterable<Enqueued<T>>,
    { signal }: CallOptions = {},
  ): Promise<JobRef[]> {
    const all = Array.from(jobs, ([name, args, options]) =>
      this.#prepare(name, args, options ?? {}),
    )
    return this.#add(client, await Promise.all(all), signal)
  }

  /**
   * Adds a group of 1 to 100,000 jobs, with what follows when all of them have ended, each exactly once. A job without
   * an id of its own gets that of the group with `/` and its place, counted from 0.
   *
   * May be repeated after an error, or after the program was killed: what was added before stays, and a
   * member that has ended is not added again. Until all of this is done, nothing follows the group; if
   * nobody completes it, it is forgotten a day after its last change. A job that is not added, because another one
   * has its id or its unique key, counts as ended without success. `INVALID` also for a group that was added with
   * another number of jobs.
   */
  async enqueueGroup(
    client: Client,
    id: string,
    jobs: Iterable<Enqueued<T>>,
    options: EnqueueGroupOptions<T> = {},
  ): Promise<EnqueuedGroup> {
    const what = `group ${text('id', id)}`
    const given = known(options, what, GROUP)
    if (this.runsInline !== undefined) throw invalid(`${what}: groups do not run inline`)
    const members = await Promise.all(
      Array.from(jobs, ([name, args, own], place) =>
        this.#prepare(name, args, { ...own, id: own?.id ?? `${id}/${place}` }),
      ),
    )
    const followUps = await this.#following(what, given, 0)
    const { signal } = given
    const queue = client.queue(given.queue ?? members[0]?.queue ?? this.#queue)
    let added: EnqueuedGroup | undefined
    const all = [...members, ...followUps.map(([, job]) => job)]
    await this.#around(all, async () => {
      const add = (some: Prepared[], items: Item[]): Promise<JobRef[]> =>
        this.#addItems(client, some, items, signal)
      const ref = ({ name, queue, id }: Prepared): JobRef =>
        new JobRef(name, client.queue(queue), id, false, this.#type(name).result)
      added = await addGroup({ queue, id, members, followUps, signal, add, ref })
    })
    if (added === undefined) throw invalid(`${what}: a middleware has not added it`)
    return added
  }

  /** The item of a job, for schedules and for programs that add it themselves. */
  async item<N extends keyof T & string>(
    name: N,
    args: ArgsIn<T[N]>,
    options: EnqueueOptions<T> = {},
  ): Promise<Item> {
    const item = (await this.#prepare(name, args, options)).item()
    // Each time that it is added it has another one.
    if (options.id === undefined) delete item.id
    return item
  }

  /** A reference to a job that was added before, here or elsewhere. */
  ref<N extends keyof T & string>(client: Client, name: N, id: string): JobRef<ValueOf<T[N]>> {
    return new JobRef(name, client.queue(this.queueOf(name)), id, true, this.#type(name).result)
  }

  #type(name: string): AnyJobType {
    const type = Object.hasOwn(this.types, name) ? this.types[name] : undefined
    if (type === undefined) throw invalid(`there is no job ${JSON.stringify(name)}`)
    return type
  }

  /** `level`: of how many others it is in the chain. */
  async #prepare(
    name: string,
    args: unknown,
    options: EnqueueOptions,
    level = 0,
  ): Promise<Prepared> {
    const type = this.#type(name)
    const given = known(options, `job ${name}`, ENQUEUE)
    const json = writeJson(`job ${name}`, args)
    try {
      // As the worker will see them.
      if (type.args !== undefined) await validate(type.args, JSON.parse(json))
    } catch (error) {
      throw mismatch(`job ${name}: the arguments do not fit`, error)
    }
    const followUps = await this.#following(`job ${name}`, given, level)
    const queue = given.queue ?? this.queueOf(name)
    return new Prepared(name, queue, args, json, type, given, followUps)
  }

  /** What follows something that is so deep in a chain. */
  #following(what: string, given: ChainOptions, level: number): Promise<FollowUpJob[]> {
    return Promise.all(
      chainsOf(what, given, level + 1).map(
        async ([on, [next, args, its]]): Promise<FollowUpJob> => [
          on,
          await this.#prepare(next, args, its ?? {}, level + 1),
        ],
      ),
    )
  }

  async #add(client: Client, jobs: Prepared[], signal?: AbortSignal): Promise<JobRef[]> {
    let refs: JobRef[] = []
    await this.#around(jobs, async () => {
      // All of them first: if any is invalid, none is added.
      const items = jobs.map((one) => one.item())
      refs = await (this.runsInline?.(jobs) ?? this.#addItems(client, jobs, items, signal))
    })
    return refs
  }

  /** Adds something with the middleware around it, which sees these jobs and those of their chains. */
  async #around(jobs: Prepared[], add: () => Promise<void>): Promise<void> {
    const all = this.#middleware.length > 0 ? jobs.flatMap((one) => one.all()) : jobs
    const around = this.#middleware.reduceRight<() => Promise<void>>(
      (next, one) => () => one(all, next),
      add,
    )
    await around()
  }

  async #addItems(
    client: Client,
    jobs: Prepared[],
    items: Item[],
    signal: AbortSignal | undefined,
  ): Promise<JobRef[]> {
    const refs: JobRef[] = []
    const queues = [...new Set(jobs.map(({ queue }) => queue))]
    await Promise.all(
      queues.map(async (name) => {
        const queue = client.queue(name)
        const places = [...jobs.keys()].filter((place) => jobs[place]!.queue === name)
        const some = places.map((place) => items[place]!)
        const alone = some.length === 1
        const added = alone
          ? [await queue.addItem(some[0]!, { signal })]
          : await queue.addItems(some, { signal })
        places.forEach((place, i) => {
          const { name, id } = jobs[place]!
          refs[place] = new JobRef(name, queue, id, added[i]!, this.types[name]!.result)
        })
      }),
    )
    return refs
  }
}

/**
 * Names and types of jobs. A name is the same in every language and version: 1 to 128 bytes, never a path
 * in the code.
 */
export function defineJobs<T extends JobTable>(types: T, options: JobsOptions = {}): Jobs<T> {
  const names = new Set(['queue', 'middleware'])
  return new Jobs(types, known(options, 'defineJobs', names))
}
