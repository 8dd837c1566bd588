// Workers whose handlers run in child processes.
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { NativeWorker, NativeWorkerOptions } from '../../native.js'
import { called, known, optionalNumber } from '../check'
import type { Client } from '../client'
import { invalid } from '../errors'
import { listen } from './child_events'
import { Lifecycle } from './lifecycle'
import { type ChildWorkerOptions, COMMON, graceOf, readCommon, type WorkerEvent } from './options'

const PER_CHILD = {
  maxJobsPerChild: 'maxJobs',
  maxMemoryPerChild: 'maxMemory',
  memoryLimit: 'memoryLimit',
  startTimeoutMs: 'startTimeoutMs',
} as const
const NAMES = new Set([...COMMON, 'processes', 'isolation', 'onEvent', ...Object.keys(PER_CHILD)])

let isChild = false

/** This process is a child of a worker: its module must not start others, endlessly. */
export function becomeChild(): void {
  isChild = true
}

/** Leases jobs for child processes, which run their handlers. */
export class ChildWorker extends Lifecycle {
  readonly #onEvent: ((event: WorkerEvent) => void) | undefined

  /** @internal */
  constructor(client: Client, module: string | URL, options: ChildWorkerOptions) {
    super(client, readOptions(urlOf(module), options), graceOf(options))
    this.#onEvent = options.onEvent && called('onEvent', options.onEvent)
  }

  /** @internal */
  protected runner(): undefined {
    return undefined
  }

  /** @internal */
  protected override listen(native: NativeWorker): Promise<void> | undefined {
    return this.#onEvent && listen(native, this.#onEvent)
  }
}

/** The module of a worker. */
export function urlOf(module: string | URL): string {
  if (isChild) throw invalid('a child process has no children: start workers in another module')
  if (typeof module !== 'string' && !(module instanceof URL)) {
    throw invalid('a worker needs jobs of `defineJobs`, or the module that exports them')
  }
  const text = String(module)
  if (module instanceof URL || text.startsWith('file:')) return text
  return pathToFileURL(resolve(text)).href
}

function readOptions(url: string, given: ChildWorkerOptions): NativeWorkerOptions {
  const options = known(given, 'a worker with child processes', NAMES)
  const { isolation = 'process' } = options
  if (isolation !== 'process' && isolation !== 'job') {
    throw invalid(`isolation ${JSON.stringify(isolation)} is neither "process" nor "job"`)
  }
  const children: Record<string, unknown> = {
    command: command(url),
    events: options.onEvent !== undefined,
  }
  for (const [name, native] of Object.entries(PER_CHILD)) {
    const value = optionalNumber(name, options[name as keyof typeof PER_CHILD])
    if (value !== undefined) children[native] = value
  }
  if (isolation === 'job') {
    const most = children['maxJobs'] ?? 1
    if (most !== 1) throw invalid('maxJobsPerChild: with isolation "job", a child runs one job')
    children['maxJobs'] = most
  }
  return {
    ...readCommon(options),
    jobs: [],
    slots: optionalNumber('processes', options.processes) ?? availableParallelism(),
    children,
  } as unknown as NativeWorkerOptions
}

/** Options of Node.js that children do not get: each has a port, a terminal, a file or a watcher of its own. */
const OWN =
  /^(-[ceip]$|--(inspect|watch|test|input-type|eval|print|interactive|check|(cpu|heap)?-?prof))/

/** The options of this process that its children get. A value that stands alone belongs to the option before it. */
function optionsOfNode(): string[] {
  const code = (process as { _eval?: string })._eval
  let isOwn = false
  return process.execArgv.filter((one) => {
    if (one.startsWith('-') && one !== code) isOwn = OWN.test(one)
    return !isOwn
  })
}

/** How a child is started: as this process, with the program `child.js`. */
function command(url: string): string[] {
  return [process.execPath, ...optionsOfNode(), join(__dirname, 'child.js'), url]
}
