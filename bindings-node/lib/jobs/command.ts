#!/usr/bin/env node
// The command `leaseq-jobs`: a worker for the handlers of a module.
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

import { message, printable } from '../check'
import { connect } from '../client'
import { Jobs, type JobTable } from './define'
import type { WorkerEvent, WorkerOptions } from './options'
import { type Handlers, worker } from './worker'

const USAGE = `usage: leaseq-jobs FILE [options]

Runs the handlers of a module that exports \`jobs\` and \`handlers\`, until SIGTERM or Ctrl-C: then
it starts nothing more, and handlers have --grace seconds to end. A second signal cancels them, a
third ends the worker at once.

  --url URL               redis://…, sqlite:FILE and others; default: LEASEQ_URL, or else REDIS_URL
  --queue NAME[=WEIGHT]   a queue, once or more; * stands for any text; default: those of the jobs
  --strict                queues in the order of the options, not by weight
  --concurrency N         so many jobs at the same time; default: 100
  --burst                 end when there is nothing more to do
  --max-jobs N            end after N jobs
  --lease SECONDS         a killed worker's jobs are delivered again after this time; default: 30
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
  burst: FLAG,
  'max-jobs': TEXT,
  lease: TEXT,
  grace: TEXT,
  cooldown: TEXT,
  stagger: TEXT,
  name: TEXT,
  watch: FLAG,
  quiet: FLAG,
  help: FLAG,
} as const

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
    throw new UsageError(message(error))
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

function workerOptions(values: Values): WorkerOptions {
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
    concurrency: toNumber(values, 'concurrency'),
    burst: values.burst,
    maxJobs: toNumber(values, 'max-jobs'),
    leaseMs: toNumber(values, 'lease', 1000),
    graceMs: toNumber(values, 'grace', 1000),
    cooldownMs: toNumber(values, 'cooldown', 1000),
    staggerMs: toNumber(values, 'stagger', 1000),
    name: values.name,
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

interface Loaded {
  jobs: Jobs<JobTable>
  handlers: Handlers<JobTable>
}

async function load(file: string): Promise<Loaded> {
  // Not `require`, which TypeScript would make of it, and which knows no ECMAScript modules.
  const load = new Function('url', 'return import(url)') as (url: string) => Promise<object>
  const module = (await load(pathToFileURL(resolve(file)).href)) as Partial<Loaded> & {
    default?: Partial<Loaded>
  }
  const jobs = module.jobs ?? module.default?.jobs
  const handlers = module.handlers ?? module.default?.handlers
  if (!(jobs instanceof Jobs)) throw new UsageError(`${file} exports no \`jobs\` of \`defineJobs\``)
  if (typeof handlers !== 'object') throw new UsageError(`${file} exports no \`handlers\``)
  return { jobs, handlers }
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
  const options = workerOptions(values)
  const { jobs, handlers } = await load(file)
  const client = await connect(values.url)
  await worker(client, jobs, handlers, options).runProcess()
}

main().catch((error: unknown) => {
  const isUsage = error instanceof UsageError
  console.error(isUsage ? `leaseq-jobs: ${printable(error.message)}; see --help` : error)
  process.exit(isUsage ? 2 : 1)
})
