import { NativeClient, type NativeClock } from '../native.js'
import { bridge, CALL, call } from './calls'
import { known, number, text } from './check'
import { invalid, makeError } from './errors'
import { Queue } from './queue'
import type { CallOptions, ConnectOptions } from './types'
import {
  type Beat,
  type BeatReply,
  type WorkerCommand,
  type WorkerName,
  WORKERS,
  type WorkersOptions,
  type WorkersPage,
  writeJson,
} from './workers'

const CONNECT = new Set([
  'namespace',
  'timeoutMs',
  'connectTimeoutMs',
  'maxData',
  'caFile',
  'replicas',
  'fsync',
  'signal',
])

/**
 * Owns the connections to one server or file and serves any number of queues. An idle client does
 * not keep the process running; a pending call does.
 */
export class Client {
  private readonly native: NativeClient

  /** @internal */
  constructor(native: NativeClient) {
    this.native = native
  }

  /**
   * The queue of this name, `[A-Za-z0-9._-]{1,128}`. A queue exists as soon as it has items. Throws
   * `INVALID` for a bad name, `CLOSED` after `close`.
   */
  queue(name: string): Queue {
    try {
      return new Queue(name, this.native.queue(text('name', name)))
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      throw makeError(code, message)
    }
  }

  /**
   * Names of all queues to which items were added, or which were paused or configured, and which were not dropped
   * since; sorted.
   */
  queues(options?: CallOptions): Promise<string[]> {
    return call(this.native, { options, names: CALL }, (native) => (slot) => native.queues(slot))
  }

  /**
   * Says what a worker does, and returns what it shall do. A worker beats every 10 s and is listed for
   * 30 s after its last beat. A command comes with each reply until a beat acknowledges its number.
   * `INVALID` for a value above its limit, or a beat of more than 256 KiB.
   */
  beat(beat: Beat, options?: CallOptions): Promise<BeatReply> {
    return this.registry('beat', () => ({ language: 'node', ...beat }), options)
  }

  /** Ends a worker: it is listed no longer, and its commands are deleted. */
  async leave(worker: WorkerName, options?: CallOptions): Promise<void> {
    await this.registry('leave', () => worker, options)
  }

  /** A page of the workers that have beaten within 30 s. */
  workers(options: WorkersOptions = {}): Promise<WorkersPage> {
    const which = (): object => ({ ...options, signal: undefined })
    return this.registry('workers', which, options, WORKERS)
  }

  /**
   * Gives a worker a command, which comes with the reply to its next beat. It waits for 5 minutes at
   * most. False: no such worker has beaten within 30 s. `INVALID` if the worker has 100 commands that it
   * has not acknowledged.
   */
  commandWorker(
    worker: WorkerName,
    command: WorkerCommand,
    options?: CallOptions,
  ): Promise<boolean> {
    return this.registry('command_worker', () => ({ worker, command }), options)
  }

  /**
   * Lets the workers of this name lease nothing until `resumeWorker`, those included that are started
   * later; there need not be any.
   */
  async quietWorker(name: string, options?: CallOptions): Promise<void> {
    await this.registry('quiet_worker', () => ({ name }), options)
  }

  /** Lets the workers of this name lease again, from their next beats on. */
  async resumeWorker(name: string, options?: CallOptions): Promise<void> {
    await this.registry('resume_worker', () => ({ name }), options)
  }

  private registry<T>(
    operation: string,
    given: () => object,
    options?: CallOptions,
    names = CALL,
  ): Promise<T> {
    return call(this.native, { options, names }, (native) => {
      const text = writeJson(given())
      return (slot) => native.callRegistry(slot, operation, text)
    })
  }

  /**
   * Ends waiting calls with `CLOSED`, finishes requests in flight, releases leases that reached no
   * caller, and closes the connections. Held leases stay valid until their deadline. A second call
   * does nothing.
   */
  close(): Promise<void> {
    return call(this.native, {}, (native) => (slot) => native.close(slot))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** For the worker. @internal */
export const nativeClient = (client: Client): NativeClient => client['native']

/**
 * Connects to `redis://`, `rediss://` (TLS), `redis+unix:///path`,
 * `redis+sentinel://h1:26379,h2:26379/master-name` or `redis+cluster://h1:7000,h2:7000`, or opens
 * the embedded engine, `sqlite:path/to/file.db` or `memory:`. Without a URL: the environment
 * variable `LEASEQ_URL`, or else `REDIS_URL`. The URL wins over the options.
 *
 * Rejects with `INVALID` for a wrong URL, option or credentials, `INCOMPATIBLE` for a server or
 * file of another version, or a server that may evict items, and `UNAVAILABLE` if there is no
 * server.
 */
export async function connect(url?: string | URL, options: ConnectOptions = {}): Promise<Client> {
  return connectWith(url, options)
}

/** With the time of a clock, for tests. @internal */
export async function connectWith(
  url: string | URL | undefined,
  options: ConnectOptions,
  clock?: NativeClock,
): Promise<Client> {
  // The value is not shown: it may be a URL with a password.
  if (typeof options === 'string') throw invalid('connect: the options are a string, not an object')
  const { signal, fsync, ...others } = known(options, 'connect', CONNECT)
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue
    if (name === 'namespace' || name === 'caFile') text(name, value)
    else number(name, value)
  }
  if (fsync !== undefined && fsync !== 'local') number('fsync', fsync)
  const checked = fsync === undefined ? others : { ...others, fsync: String(fsync) }
  const place = text('url', url instanceof URL ? url.href : (url ?? fromEnvironment()))
  const native = new NativeClient(bridge)
  const read = (): Client => new Client(native)
  const undo = (): void => {
    read()
      .close()
      .catch(() => undefined)
  }
  const spec = { options: { signal }, read, undo }
  return call(native, spec, (native) => (slot) => native.connect(slot, place, checked, clock))
}

function fromEnvironment(): string {
  // Not in the native half: a worker thread has its own environment.
  const url = process.env['LEASEQ_URL'] || process.env['REDIS_URL']
  if (!url) {
    throw invalid('no url: give one, or set the environment variable LEASEQ_URL or REDIS_URL')
  }
  return url
}
