// The command `leaseq-jobs`.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { connect } from '../index.mjs'
import { defineJobs, job } from '../jobs.mjs'
import { eventually } from './support/wait.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const jobs = defineJobs({ greet: job({ retainMs: 60_000 }) })
let folder, url, client

const module = (greeting) => `
  import { defineJobs, job } from 'leaseq/jobs'
  export const jobs = defineJobs({ greet: job() })
  export const handlers = jobs.handlers({ greet: ({ args }) => ${JSON.stringify(greeting)} + args.name })
`

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-command-'))
  url = `sqlite:${join(folder, 'jobs.db')}?synchronous=normal`
  client = await connect(url)
  await mkdir(join(folder, 'node_modules'))
  await symlink(PACKAGE, join(folder, 'node_modules/leaseq'))
  await writeFile(join(folder, 'jobs.mjs'), module('hello, '))
  const commonjs = module('hi, ')
    .replace("import { defineJobs, job } from 'leaseq/jobs'", "const l = require('leaseq/jobs')")
    .replace(
      'export const jobs = defineJobs({ greet: job() })',
      'const jobs = l.defineJobs({ greet: l.job() })',
    )
    .replace('export const handlers =', 'module.exports.jobs = jobs; module.exports.handlers =')
  await writeFile(join(folder, 'jobs.cjs'), commonjs)
  await writeFile(join(folder, 'none.mjs'), 'export const handlers = {}')
})
after(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

function start(...args) {
  const command = join(PACKAGE, 'dist/jobs/command.js')
  const env = { ...process.env, LEASEQ_URL: url }
  const child = spawn(process.execPath, [command, ...args], { cwd: folder, env, timeout: 60_000 })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (data) => (printed.out += data))
  child.stderr.setEncoding('utf8').on('data', (data) => (printed.err += data))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...printed }))
  return { child, ended, printed }
}

test('it runs what there is and ends, with ECMAScript modules and CommonJS', async () => {
  for (const [file, greeting] of [
    ['jobs.mjs', 'hello, ada'],
    ['./jobs.cjs', 'hi, ada'],
  ]) {
    const ref = await jobs.enqueue(client, 'greet', { name: 'ada' }, { id: `${file}\u001b[2J` })
    const { code, err } = await start(file, '--burst', '--queue', 'default=2', '--lease=5').ended
    assert.equal(code, 0, err)
    assert.equal(await ref.result({ waitMs: 0 }), greeting)
    assert.match(err, /default greet .*u\{1b\}.* completed in \d+ ms, attempt 1/)
    assert.equal((await start(file, '--burst').ended).code, 3)
  }
})

test('with --processes handlers run in child processes', async () => {
  const ref = await jobs.enqueue(client, 'greet', { name: 'ada' })
  const limits = ['--max-jobs-per-child', '5', '--max-memory-per-child', '500']
  const more = ['--memory-limit', '1000', '--kill-after', '1']
  const { code, err } = await start('jobs.mjs', '--burst', '--processes=2', ...limits, ...more)
    .ended
  assert.equal(code, 0, err)
  assert.match(err, /^\S+ default greet .* completed in \d+ ms, attempt 1\n$/)
  assert.equal(await ref.result({ waitMs: 0 }), 'hello, ada')
  const { code: status, err: says } = await start('none.mjs', '--isolation', 'job').ended
  assert.equal(status, 2)
  assert.match(says, /exports no `jobs` of `defineJobs`/)
})

test('with --threads they run in worker threads, with a line for each job', async () => {
  const ref = await jobs.enqueue(client, 'greet', { name: 'ada' })
  const { code, err } = await start('jobs.mjs', '--burst', '--threads=2', '--memory-limit=500')
    .ended
  assert.equal(code, 0, err)
  assert.match(err, /default greet .* completed in \d+ ms, attempt 1/)
  assert.equal(await ref.result({ waitMs: 0 }), 'hello, ada')
})

test('wrong usage', async () => {
  for (const args of [
    [],
    ['jobs.mjs', 'jobs.cjs'],
    ['jobs.mjs', '--nonsense'],
    ['jobs.mjs', '--concurrency', 'many'],
    ['jobs.mjs', '--queue', 'a=b'],
    ['none.mjs'],
    ['nowhere.mjs'],
    ['jobs.mjs', '--concurrency', '0'],
    ['jobs.mjs', '--threads', '0'],
    ['jobs.mjs', '--processes', '0'],
    ['jobs.mjs', '--lease', '0'],
    ['jobs.mjs', '--queue', 'a=0'],
    ['jobs.mjs', '--url', 'nonsense:'],
    ['jobs.mjs', '--grace', '-1'],
    ['jobs.mjs', '--processes', '2', '--concurrency', '3'],
    ['jobs.mjs', '--memory-limit', '100'],
    ['jobs.mjs', '--isolation', 'thread'],
    ['jobs.mjs', '--threads', '2', '--processes', '2'],
    ['jobs.mjs', '--threads', '2', '--max-memory-per-child', '100'],
  ]) {
    const { code, err } = await start(...args).ended
    assert.equal(code, 2, err)
    assert.match(err, /^leaseq-jobs: .*; see --help\n$/, args.join(' '))
  }
  const { code, out } = await start('--help').ended
  assert.equal(code, 0)
  assert.match(out, /^usage: leaseq-jobs FILE/)
  // Not what was asked for, but the server.
  const { code: status, err } = await start('jobs.mjs', '--url', 'redis://127.0.0.1:1/').ended
  assert.equal(status, 1)
  assert.match(err, /^leaseq-jobs: .*127\.0\.0\.1:1.*\n$/)
})

test('with --watch it starts anew when a file changes', async () => {
  await writeFile(join(folder, 'watched.mjs'), module('one, '))
  const { child, ended } = start('watched.mjs', '--watch', '--quiet')
  const first = await jobs.enqueue(client, 'greet', { name: 'ada' })
  assert.equal(await first.result({ waitMs: 30_000 }), 'one, ada')
  await writeFile(join(folder, 'watched.mjs'), module('two, '))
  await eventually('the new one runs', async () => {
    const ref = await jobs.enqueue(client, 'greet', { name: 'ada' })
    return (await ref.result({ waitMs: 30_000 })) === 'two, ada'
  })
  child.kill('SIGTERM')
  await ended
  assert.equal((await client.workers()).workers.length, 0)
})
