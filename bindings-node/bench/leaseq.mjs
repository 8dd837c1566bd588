// leaseq from Node.js: one call at a time, 100 at once, and in bulk, on both engines.
// `--quick` runs everything once and small; `--json FILE` writes the figures to a file as well;
// `--rounds N` sets how many rounds there are.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { connect } from '../index.mjs'
import { startRedis } from '../test/support/redis.mjs'
import {
  addInBulk,
  addSingly,
  AT_ONCE,
  expect,
  median,
  processInBulk,
  processInLoops,
  processSingly,
  rate,
  readArguments,
} from './measure.mjs'
import { Report } from './report.mjs'

const { quick, json, rounds } = readArguments()
const ROUNDS = rounds ?? (quick ? 1 : 5)
const ONE = quick ? 100 : 5_000
const MANY = quick ? 1_000 : 50_000

async function round(client, figures, name) {
  const queue = client.queue(name)
  const measure = async (what, total, work) => {
    let count
    const figure = await rate(async () => (count = await work()))
    expect(what, count, total)
    ;(figures[what] ??= []).push(figure)
  }
  await measure('add, one at a time', ONE, () => addSingly(queue, ONE, 1))
  await measure('lease and complete, one at a time', ONE, () => processSingly(queue, 1))
  await measure(`add, ${AT_ONCE} at once`, MANY, () => addSingly(queue, MANY))
  await measure(`lease and complete, ${AT_ONCE} at once`, MANY, () => processSingly(queue))
  await addInBulk(queue, MANY)
  await measure(`complete and lease, ${AT_ONCE} at once`, MANY, () => processInLoops(queue))
  await measure('add, by 1,000', MANY, () => addInBulk(queue, MANY))
  await measure('lease and complete, by 1,000', MANY, () => processInBulk(queue))
}

const report = new Report(quick)
const server = await startRedis()
const folder = mkdtempSync(join(tmpdir(), 'leaseq-bench-'))
try {
  for (const [engine, url] of [
    ['redis', server.url],
    ['a file', `sqlite:${join(folder, 'bench.db')}`],
  ]) {
    const figures = {}
    const client = await connect(url)
    for (let i = 0; i < ROUNDS; i++) await round(client, figures, `bench-${i}`)
    await client.close()
    for (const [what, rates] of Object.entries(figures)) {
      report.add('', `${engine}: ${what}`, median(rates), '/s', {
        server: engine === 'redis' ? 'redis' : 'sqlite',
        persistence: engine === 'redis' ? 'none' : 'synchronous=full',
        concurrency: what.slice(what.indexOf(', ') + 2),
      })
    }
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true })
}
report.print()
if (json !== undefined) report.write(json)
