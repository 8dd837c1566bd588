#!/usr/bin/env node
// The command `leaseq-jobs`: a worker for the handlers of a module.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

import { message, printable } from '../check'
import { type Client, connect } from '../client'
import { LeaseqError } from '../errors'
import type { JobTable } from './define'
import type { Lifecycle } from './lifecycle'
import { load, type Loaded } from './load'
import type { ChildWorkerOptions, CommonOptions, WorkerEvent, WorkerOptions } from './options'
import { type Handlers, worker } from './worker'

const USAGE = `usage: leaseq-jobs FILE [options]

Runs the handlers of a module that exports \`jobs\` and \`handlers\` (and perhaps \`middleware\`), until SIGTERM or Ctrl-C: then
it starts nothing more, and handlers have --grace seconds to end. A second signal cancels them, a
third ends the worker at once.

  --url URL               redis://…, sqlite:FILE and others; default: LEASEQ_URL, or else REDIS_URL
  --queue NAME[=WEIGHT]   a queue, once or more; * stands for any text; default: those of the jobs
  --strict                queues in the order of the options, not by weight
  --concurrency N         so many jobs at the same time; default: 100
  --processes N           so many jobs at the same time, each in a child process that imports FILE
  --threads N             so many jobs at the same time, each in a worker thread that imports FILE
  --isolation KIND        process: children are reused; job: each job has a new one
  --max-jobs-per-child N  replace a child after N jobs
  --max-memory-per-child MIB
                          replace a child that has more memory after a job
  --memory-limit MIB      kill a child that has more memory, or end a thread whose heap is larger
  --prefetch N            lease N jobs in advance, for many short jobs; default: 0
  --burst                 end when there is nothing more to do
  --max-jobs N            end after N jobs
  --lease SECONDS         a killed worker's jobs are delivered again after this time; default: 30
  --kill-after SECONDS    so long after its timeout a child is killed; default: 10
  --grace SECONDS         for handlers that run when the worker ends; default: 25
  --cooldown SECONDS      leave a slot empty after each job
  --stagger SECONDS       the least time between the starts of two jobs
  --name NAME             under which the worker is listed; default: the program and the host
  --watch                 start anew when a file of the program changes, for development
  --quiet                 no line for each job

exit status: 0 jobs ran, or it was asked to end; 3 a --burst found nothing to do; 2 wrong usage;
1 anything else.
`

const TEXT = { type: 'string' } as const
const FLAG = { type: 'boolean' } as const
const OPTIONS = {
  url: TEXT,
  queue: { type: 'string', multiple: true },
  strict: FLAG,
  concurrency: TEXT,
  processes: TEXT,
  threads: TEXT,
  isolation: TEXT,
  'max-jobs-per-child': TEXT,
  'max-memory-per-child': TEXT,
  'memory-limit': TEXT,
  prefetch: TEXT,
  burst: FLAG,
  'max-jobs': TEXT,
  lease: TEXT,
  'kill-after': TEXT,
  grace: TEXT,
  cooldown: TEXT,
  stagger: TEXT,
  name: TEXT,
  watch: FLAG,
  quiet: FLAG,
  help: FLAG,
} as const

const MIB = 2 ** 20

class UsageError extends Error {}

function parse() {
  try {
    const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true })
    const [file, ...others] = positionals
    if (values.help !== true && (file === undefined || others.length > 0)) {
      throw new UsageError('one file is needed')
    }
    return { values, file: file ?? '' }
  } catch (error) {
    // Node.js says how to write it, on further lines.
    throw new UsageError(message(error).split('\n', 1)[0])
  }
}

type Values = ReturnType<typeof parse>['values']

function toNumber(values: Values, name: keyof Values, factor = 1): number | undefined {
  const text = values[name] as string | undefined
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() === '' || Number.isNaN(number)) {
    throw new UsageError(`--${name}: ${JSON.stringify(text)} is not a number`)
  }
  return number * factor
}

function commonOptions(values: Values): CommonOptions {
  const queues = values.queue?.map((text): [string, number] => {
    const at = text.lastIndexOf('=')
    if (at < 0) return [text, 1]
    const weight = Number(text.slice(at + 1))
    if (!Number.isInteger(weight)) throw new UsageError(`--queue ${text}: the weight is no number`)
    return [text.slice(0, at), weight]
  })
  return {
    queues: queues && Object.fromEntries(queues),
    strictOrder: values.strict,
    prefetch: toNumber(values, 'prefetch'),
    burst: values.burst,
    maxJobs: toNumber(values, 'max-jobs'),
    leaseMs: toNumber(values, 'lease', 1000),
    killAfterMs: toNumber(values, 'kill-after', 1000),
    graceMs: toNumber(values, 'grace', 1000),
    cooldownMs: toNumber(values, 'cooldown', 1000),
    staggerMs: toNumber(values, 'stagger', 1000),
    name: values.name,
  }
}

const workerOptions = (values: Values): WorkerOptions => ({
  ...commonOptions(values),
  concurrency: toNumber(values, 'concurrency'),
  onEvent: values.quiet === true ? undefined : print,
})

function childOptions(values: Values): ChildWorkerOptions {
  if (values.concurrency !== undefined) {
    throw new UsageError('--concurrency is for one event loop, --processes for child processes')
  }
  const { isolation } = values
  if (isolation !== undefined && isolation !== 'process' && isolation !== 'job') {
    throw new UsageError(`--isolation ${isolation}: there are process and job`)
  }
  return {
    ...commonOptions(values),
    processes: toNumber(values, 'processes'),
    isolation,
    maxJobsPerChild: toNumber(values, 'max-jobs-per-child'),
    maxMemoryPerChild: toNumber(values, 'max-memory-per-child', MIB),
    memoryLimit: toNumber(values, 'memory-limit', MIB),
    onEvent: values.quiet === true ? undefined : print,
  }
}

function print(event: WorkerEvent): void {
  if (event.kind === 'started') return
  const { job, outcome, durationMs, error } = event
  const why = error === undefined ? '' : `: ${message(error)}`
  const what = `${job.name} ${job.id} ${outcome} in ${durationMs.toFixed()} ms, attempt ${job.attempt}`
  console.error(printable(`${new Date().toISOString()} ${job.queue} ${what}${why}`))
}

/** Runs this command once more under the watch of Node.js, which starts it anew after changes. */
function watchFiles(): void {
  const args = process.argv.slice(1).filter((one) => one !== '--watch')
  const child = spawn(process.execPath, ['--watch', '--no-warnings', ...args], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 0))
}

async function main(): Promise<void> {
  const { values, file } = parse()
  if (values.help === true) return console.log(USAGE)
  if (values.watch === true) return watchFiles()
  const made = await make(values, file)
  const worker = made(await connect(values.url))
  worker.reportFailure = reportFailure
  await worker.runProcess()
}

const NOT_OF_THREADS = ['concurrency', 'processes', 'isolation', 'max-memory-per-child'] as const
const PER_CHILD = ['max-jobs-per-child', 'max-memory-per-child', 'memory-limit'] as const

/** A worker as the options say, before there is a client. */
async function make(values: Values, file: string): Promise<(client: Client) => Lifecycle> {
  const threads = toNumber(values, 'threads')
  if (threads !== undefined) {
    for (const name of NOT_OF_THREADS) {
      if (values[name] !== undefined) throw new UsageError(`--${name} is not for --threads`)
    }
    const options = {
      ...commonOptions(values),
      threads,
      maxJobsPerChild: toNumber(values, 'max-jobs-per-child'),
      memoryLimit: toNumber(values, 'memory-limit', MIB),
      onEvent: values.quiet === true ? undefined : print,
    }
    return (client) => worker(client, file, options)
  }
  if (values.processes !== undefined || values.isolation !== undefined) {
    const options = childOptions(values)
    return (client) => worker(client, file, options)
  }
  for (const name of PER_CHILD) {
    if (values[name] !== undefined) throw new UsageError(`--${name} needs --processes or --threads`)
  }
  const options = workerOptions(values)
  const { jobs, handlers, middleware } = await loadFile(file)
  return (client) =>
    worker(client, jobs, handlers as Handlers<JobTable>, { ...options, middleware })
}

async function loadFile(file: string): Promise<Loaded> {
  try {
    return await load(pathToFileURL(resolve(file)).href, file)
  } catch (error) {
    if (!existsSync(file)) throw new UsageError(`there is no file ${file}`)
    throw error instanceof LeaseqError ? new UsageError(error.message) : error
  }
}

/** What is wrong with the options, with what they name, or with the server needs no trace. Returns the exit status. */
function reportFailure(error: unknown): number {
  const isUsage = error instanceof UsageError
  const isInvalid = error instanceof LeaseqError && error.code === 'INVALID'
  if (isUsage || error instanceof LeaseqError) {
    const help = isUsage || isInvalid ? '; see --help' : ''
    console.error(`leaseq-jobs: ${printable(error.message)}${help}`)
  } else {
    console.error(error)
  }
  return isUsage || isInvalid ? 2 : 1
}

main().catch((error: unknown) => process.exit(reportFailure(error)))
