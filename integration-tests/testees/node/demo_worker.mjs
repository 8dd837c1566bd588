// A worker of the demo, in JavaScript. `src/demo/worker.rs` describes its input.
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

import { connect } from '../../../bindings-node/index.mjs'

const [name, results, leaseMs, batch] = process.argv.slice(2)
if (batch === undefined) throw new Error('usage: demo_worker.mjs QUEUE RESULTS LEASE_MS BATCH')

const file = openSync(results, 'a')
const client = await connect()
const queue = client.queue(name)
const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** The next order, `quit` at the end of the input. Asked for once until it has come. */
let asked
function nextOrder() {
  asked ??= orders.next().then(({ value, done }) => {
    asked = undefined
    return done ? 'quit' : value
  })
  return asked
}

/** In one write: when this returns, killing the process does not lose it. */
function note(line) {
  writeSync(file, `${JSON.stringify(line)}\n`)
}

function lease(signal) {
  return queue.leaseMany(Number(batch), { durationMs: Number(leaseMs), signal })
}

async function workOn(leases) {
  for (const lease of leases) {
    const sha256 = createHash('sha256').update(lease.data).digest('hex')
    note({ id: lease.id, sha256 })
    note({ id: lease.id, completed: await queue.complete(lease) })
  }
}

/** Works until there is an order. A lease call that is given up then strands no item. */
async function work() {
  const controller = new AbortController()
  const next = nextOrder().then((order) => {
    controller.abort()
    return order
  })
  while (!controller.signal.aborted) {
    const leases = await lease(controller.signal).catch((error) => {
      if (controller.signal.aborted) return []
      throw error
    })
    await workOn(leases)
  }
  return next
}

async function hold() {
  const leases = await lease()
  const half = leases.length >> 1
  console.log(`holding ${leases.length - half}`)
  await workOn(leases.slice(0, half))
  console.log('quiet')
  const order = await nextOrder()
  await workOn(leases.slice(half))
  return order
}

let order = 'rest'
while (order !== 'quit') {
  if (order === 'go') order = await work()
  else if (order === 'hold') order = await hold()
  else {
    console.log('resting')
    order = await nextOrder()
  }
}
await client.close()
// The input may still be open, and would keep the process running.
process.exit(0)
