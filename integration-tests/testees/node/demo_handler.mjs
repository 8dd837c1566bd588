// The worker of the demo that runs jobs, in JavaScript. `src/demo/worker.rs` describes its input, `src/demo/jobs.rs`
// the jobs.
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

import { connect } from '../../../bindings-node/index.mjs'
import { defineJobs, job, worker } from '../../../bindings-node/jobs.mjs'

const [name, results, , batch] = process.argv.slice(2)
if (batch === undefined) throw new Error('usage: demo_handler.mjs QUEUE RESULTS LEASE_MS BATCH')

const ROOT = new URL('../../../', import.meta.url)
const file = openSync(results, 'a')

/** In one write: when this returns, killing the process does not lose it. */
function note(line) {
  writeSync(file, `${JSON.stringify(line)}\n`)
}

const jobs = defineJobs(
  {
    'demo.digest': job({ retry: { attempts: 3, baseMs: 100 } }),
    'demo.tally': job(),
  },
  { queue: `${name}.jobs` },
)

class Flaky extends Error {}

const handlers = jobs.handlers({
  async 'demo.digest'({ args: { path, failures }, attempt }) {
    if (attempt <= failures) throw new Flaky('on purpose')
    const data = await readFile(new URL(path.split('/').map(encodeURIComponent).join('/'), ROOT))
    note({ id: path, sha256: createHash('sha256').update(data).digest('hex') })
  },
  'demo.tally': () => undefined,
})

function onEvent(event) {
  if (event.kind === 'ended' && event.outcome === 'completed' && event.job.name === 'demo.digest') {
    note({ id: event.job.id, completed: true })
  }
}

const client = await connect()
const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const nextOrder = () => orders.next().then(({ value, done }) => (done ? 'quit' : value))

let order = 'rest'
while (order !== 'quit') {
  if (order === 'go') {
    const end = new AbortController()
    const next = nextOrder().finally(() => end.abort())
    await worker(client, jobs, handlers, { concurrency: Number(batch), onEvent }).run({
      signals: false,
      signal: end.signal,
    })
    order = await next
  } else {
    console.log('resting')
    order = await nextOrder()
  }
}
await client.close()
// The input may still be open, and would keep the process running.
process.exit(0)
