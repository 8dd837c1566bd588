// Handlers in child processes.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { connect } from '../index.mjs'
import { ChildWorker, JobCancelledError, worker } from '../jobs.mjs'
import { jobs } from './support/children.mjs'
import { errorOf } from './support/engines.mjs'
import { eventually } from './support/wait.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const APP = new URL('support/children.mjs', import.meta.url)
const FORMS = ['process', 'job']
let folder, url, client

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-children-'))
  url = `sqlite:${join(folder, 'jobs.db')}?synchronous=normal`
  client = await connect(url)
})
after(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

const add = (name, args = {}, options = {}) => jobs.enqueue(client, name, args, options)
const run = (options = {}) => worker(client, APP, { processes: 1, ...options }).runUntilIdle()
const errorText = async (ref) => (await ref.info()).lastError
const begun = (ref) =>
  eventually('its begin', async () => String((await ref.info())?.progress) === 'begun')

for (const isolation of FORMS) {
  const options = { isolation }

  test(`${isolation}: handlers get what they get elsewhere`, async () => {
    const ids = [0, 1, 2].map((n) => `${isolation} ☃ ${n}`)
    const refs = []
    for (const id of ids) refs.push(await add('about', { id }, { id, meta: { k: 'v' } }))
    const checked = await add('checked', { n: 21 })
    const exit = await run(options)
    assert.deepEqual([exit.started, exit.status, exit.reason], [4, 0, 'idle'])
    const pids = new Set()
    for (const [n, ref] of refs.entries()) {
      const { pid, count, ...result } = await ref.result({ waitMs: 0 })
      pids.add(pid)
      assert.equal(count, isolation === 'job' ? 1 : n + 1)
      assert.deepEqual(result, {
        id: ids[n],
        queue: 'tests',
        attempt: 1,
        maxAttempts: 1,
        meta: { k: 'v' },
        args: { id: ids[n] },
        seen: 'around about',
        inTime: true,
        isCurrent: true,
        stdin: 0,
      })
    }
    assert.equal(pids.size, isolation === 'job' ? 3 : 1)
    assert.ok(!pids.has(process.pid))
    assert.equal(await checked.result({ waitMs: 0 }), 42)
  })

  test(`${isolation}: errors and decisions are those of other workers`, async () => {
    const decide = async (how) => add('decide', { how })
    const [discard, bury, later, snooze] = await Promise.all(
      ['discard', 'bury', 'later', 'snooze'].map(decide),
    )
    const [retried, unknown] = [await add('retried'), await add('unknown')]
    const unfit = await client.queue('tests').addItem({
      ...(await jobs.item('checked', { n: 1 }, { id: `unfit ${isolation}` })),
      data: JSON.stringify({ job: 'checked', args: { n: 0 }, v: 1 }),
    })
    assert.ok(unfit)
    await run({ ...options, processes: 2 })
    assert.equal((await discard.wait({ waitMs: 0 })).kind, 'completed')
    assert.match(await errorText(bury), /^Bury: never/)
    assert.match(await errorText(later), /^RetryAfter: busy/)
    const { state, failures } = await snooze.info()
    assert.deepEqual([state, failures], ['delayed', 0])
    assert.deepEqual(await retried.result({ waitMs: 0 }), [2, 'Broken: first'])
    assert.equal((await unknown.info()).releases.reason, 'unhandled')
    await client.queue('tests').purge('delayed')
  })

  test(`${isolation}: whatever a handler does ends only its job`, async () => {
    const says = {
      error: /^Broken: on purpose\n +at [^]*children\.mjs[^]*caused by Error: the cause/,
      exit: /^ChildDied: the child ended with status 3/,
      abort: /^ChildDied: the child was killed by SIGABRT/,
      killed: /^ChildDied: the child was killed by SIGKILL/,
      rejection: /^ChildDied: the child ended with status 1[^]*nobody handles this/,
      timer: /^ChildDied: the child ended with status 1[^]*on purpose/,
      result: /^InvalidResult: the result/,
      nan: /^InvalidResult: the result: NaN/,
      recursion: /^RangeError: Maximum call stack/,
      text: /^string: a text/,
    }
    const refs = []
    for (const how of Object.keys(says)) refs.push([how, await add('fail', { how })])
    const last = await add('about')
    const exit = await run({ ...options, processes: 2 })
    assert.equal(exit.started, refs.length + 1)
    for (const [how, ref] of refs) {
      const { state, lastError } = await ref.info()
      assert.equal(state, 'dead', how)
      assert.match(lastError, says[how], how)
    }
    assert.equal((await last.result({ waitMs: 0 })).id, last.id)
  })

  test(`${isolation}: what blocks its event loop is killed after its timeout`, async () => {
    const [blocks, more] = [await add('blocks'), await add('more')]
    await run({ ...options, processes: 2, killAfterMs: 300, leaseMs: 1000 })
    assert.match(await errorText(blocks), /^Timeout: the handler ran for more than 200ms/)
    assert.equal(String((await blocks.info()).progress), 'begun')
    assert.equal(await more.result({ waitMs: 0 }), 'in time')
  })

  test(`${isolation}: cancelled jobs end`, async () => {
    const refs = [await add('waits'), await add('ignores')]
    const w = worker(client, APP, { ...options, processes: 2, killAfterMs: 300, leaseMs: 1000 })
    await w.start()
    for (const ref of refs) {
      await begun(ref)
      assert.ok(await ref.cancel())
    }
    for (const ref of refs) await ref.wait({ waitMs: 30_000 })
    const ended = await Promise.all(refs.map((ref) => errorOf(ref.result({ waitMs: 0 }))))
    assert.ok(ended.every((error) => error instanceof JobCancelledError))
    assert.equal((await w.stop()).status, 0)
  })

  test(`${isolation}: a worker that ends gives its jobs back`, async () => {
    const refs = [await add('waits'), await add('ignores')]
    const w = worker(client, APP, { ...options, processes: 2 })
    await w.start()
    for (const ref of refs) await begun(ref)
    await w.stop(0)
    for (const ref of refs) {
      const { failures, releases } = await ref.info()
      assert.deepEqual([failures, releases.reason], [0, 'shutdown'])
      await ref.cancel()
    }
  })
}

test('errors of handlers name their jobs', async () => {
  const ref = await add('misuse', {}, { id: 'm' })
  await run()
  const job = 'queue tests, job misuse, item "m"'
  assert.deepEqual(await ref.result({ waitMs: 0 }), [
    `${job}: -1 ms more are not between 0 and 2592000000`,
    `${job}: progress of 1025 bytes is over the limit of 1024`,
  ])
})

test('events say what has become of jobs in children', async () => {
  const refs = [
    await add('checked', { n: 21 }, { meta: { trace_id: '7' } }),
    await add('fail', { how: 'error' }),
    await add('fail', { how: 'exit' }),
    await add('retried'),
  ]
  const events = []
  const onEvent = ({ kind, job, outcome, durationMs, error }) => {
    if (kind === 'ended') assert.ok(durationMs >= 0)
    if (job.name === 'checked') {
      assert.deepEqual([job.args, job.meta], [{ n: 21 }, { trace_id: '7' }])
    }
    const message = `queue tests, job ${job.name}, item "${job.id}": the job runs in a child process`
    assert.throws(() => job.moreTime(1000), { code: 'INVALID', message })
    const why = error && [error.name, error.message.split('\n')[0]]
    events.push([kind, job.id, job.attempt, outcome, why])
    if (events.length === 2) throw new Error('of a test: ignored, with a warning')
  }
  await run({ onEvent })
  // A retry may begin before the end of the attempt before it is told.
  const of = (ref) =>
    events.filter(([, id]) => id === ref.id).map(([kind, , ...rest]) => [kind, ...rest])
  assert.deepEqual(of(refs[0]), [
    ['started', 1, undefined, undefined],
    ['ended', 1, 'completed', undefined],
  ])
  assert.deepEqual(of(refs[1])[1], ['ended', 1, 'dead', ['Broken', 'on purpose']])
  const died = ['ChildDied', 'the child ended with status 3 before its answer']
  assert.deepEqual(of(refs[2])[1], ['ended', 1, 'dead', died])
  const retried = of(refs[3])
  assert.deepEqual(retried.length, 4)
  assert.ok(retried.some(([, attempt, outcome]) => attempt === 1 && outcome === 'retried'))
  assert.ok(retried.some(([, attempt, outcome]) => attempt === 2 && outcome === 'completed'))
})

test('a chain in children passes results on', async () => {
  const then = [['chained', {}, { id: 'b' }]]
  await jobs.enqueue(client, 'chained', {}, { id: 'a', then })
  const ref = jobs.ref(client, 'chained', 'b')
  await run()
  await run()
  assert.deepEqual(await ref.result({ waitMs: 0 }), [[null, null], 'a'])
})

test('a child is replaced after its jobs, and when it is too large', async () => {
  const pids = async (options, name, args) => {
    const refs = []
    for (let i = 0; i < 3; i += 1) refs.push(await add(name, args))
    await run(options)
    const results = await Promise.all(refs.map((ref) => ref.result({ waitMs: 0 })))
    return results.map((result) => result.pid ?? result)
  }
  const [a, b, c] = await pids({ maxJobsPerChild: 2 }, 'about')
  assert.ok(a === b && b !== c)
  const large = { mib: 200, keep: true }
  const each = await pids({ maxMemoryPerChild: 200 * 2 ** 20 }, 'allocate', large)
  assert.equal(new Set(each).size, 3)
})

test('a child over its limit of memory is killed', async () => {
  const ref = await add('allocate', { mib: 2000 })
  await run({ memoryLimit: 300 * 2 ** 20 })
  assert.match(await errorText(ref), /^OutOfMemory: the child used/)
})

test('a first child that does not start is an error with its reason', async () => {
  const write = async (name, code) => {
    const file = join(folder, name)
    await writeFile(file, code)
    return file
  }
  const index = JSON.stringify(pathToFileURL(join(PACKAGE, 'jobs.mjs')).href)
  const ours = JSON.stringify(APP.href)
  const modules = {
    [join(folder, 'nothing.mjs')]: /Cannot find module/,
    [await write('throws.mjs', 'throw new Error("on purpose")')]: /on purpose/,
    [await write('exits.mjs', 'process.exit(7)')]: /status 7/,
    [await write('empty.mjs', '')]: /exports no `jobs` of `defineJobs`/,
    [await write('half.mjs', `export { jobs } from ${ours}`)]: /exports no `handlers`/,
    [await write('other.mjs', `export { jobs } from ${ours}; export const handlers = { x() {} }`)]:
      /there is no job/,
    [await write(
      'time.mjs',
      `import { defineJobs, job } from ${index}
       export const jobs = defineJobs({ a: job({ timeoutMs: -1 }) })
       export const handlers = { a() {} }`,
    )]: /job a: timeoutMs of -1 ms/,
    [await write(
      'attempts.mjs',
      `import { defineJobs, job } from ${index}
       export const jobs = defineJobs({ a: job({ retry: { attempts: 1.5 } }) })
       export const handlers = { a() {} }`,
    )]: /job a: 1\.5 attempts/,
    [await write(
      'worker.mjs',
      `import { worker } from ${index}
       export { jobs, handlers } from ${ours}
       await worker({}, import.meta.url).run()`,
    )]: /a child process has no children/,
  }
  for (const [file, says] of Object.entries(modules)) {
    const error = await errorOf(worker(client, file, { processes: 1 }).run({ signals: false }))
    assert.equal(error.code, 'INVALID', file)
    assert.match(error.message, says, file)
  }
})

test('options that are wrong are refused', async () => {
  const made = (module, options) => () => worker(client, module, options)
  const invalid = (says) => ({ code: 'INVALID', message: says })
  assert.throws(made(3), invalid(/needs jobs/))
  assert.throws(made(APP, { concurrency: 3 }), invalid(/no option "concurrency"/))
  assert.throws(made(APP, { middleware: [] }), invalid(/no option "middleware"/))
  assert.throws(made(APP, { isolation: 'thread' }), invalid(/"thread" is neither/))
  assert.throws(made(APP, { isolation: 'job', maxJobsPerChild: 2 }), invalid(/runs one job/))
  assert.throws(made(APP, { memoryLimit: '1' }), invalid(/memoryLimit/))
  for (const [name, value] of [
    ['processes', 0],
    ['processes', 1001],
    ['maxJobsPerChild', 0],
    ['maxMemoryPerChild', 0.5],
    ['memoryLimit', -1],
    ['startTimeoutMs', 0],
  ]) {
    const error = await errorOf(worker(client, APP, { [name]: value }).run({ signals: false }))
    assert.equal(error.code, 'INVALID', `${name} ${value}`)
  }
  assert.ok(worker(client, APP) instanceof ChildWorker)
})

/** A program with a worker for the jobs of this file. */
async function start(options, run = 'runProcess()', flags = []) {
  const code = `
    import { connect } from ${JSON.stringify(join(PACKAGE, 'index.mjs'))}
    import { worker } from ${JSON.stringify(join(PACKAGE, 'jobs.mjs'))}
    const client = await connect(${JSON.stringify(url)})
    await worker(client, new URL(${JSON.stringify(APP.href)}), ${JSON.stringify(options)}).${run}`
  const args = [...flags, '--input-type=module', '-e', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  return { child, ended: once(child, 'close') }
}

/** Each is a child of the thread that has started it. */
async function childrenOf(pid) {
  const threads = await readdir(`/proc/${pid}/task`)
  const found = threads.map((id) => readFile(`/proc/${pid}/task/${id}/children`, 'utf8'))
  return (await Promise.all(found)).join(' ').match(/\d+/g).map(Number)
}

async function isAlive(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat !== undefined && stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z'
}

test('children are started with the options of Node.js that are not for one process', async () => {
  const flags = [
    '--inspect-port',
    '0',
    '--conditions',
    'x',
    '--test-name-pattern=y',
    '--no-warnings',
  ]
  const ref = await add('options')
  const { ended } = await start({ processes: 1 }, 'runUntilIdle()\nawait client.close()', flags)
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(await ref.result({ waitMs: 0 }), ['--conditions', 'x', '--no-warnings'])
})

test('signals end a process with children in order', async () => {
  const refs = [await add('waits'), await add('ignores')]
  const { child, ended } = await start({ processes: 2, graceMs: 0 })
  for (const ref of refs) await begun(ref)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  for (const ref of refs) {
    assert.equal((await ref.info()).releases.reason, 'shutdown')
    await ref.cancel()
  }
})

test(
  'a signal for all processes of a service ends no job',
  { skip: process.platform !== 'linux' },
  async () => {
    const ref = await add('pauses')
    const { child, ended } = await start({ processes: 2, graceMs: 20_000 })
    await begun(ref)
    const pids = await childrenOf(child.pid)
    for (const pid of [...pids, child.pid]) process.kill(pid, 'SIGTERM')
    for (const pid of pids) process.kill(pid, 'SIGINT')
    assert.deepEqual(await ended, [0, null])
    assert.equal(await ref.result({ waitMs: 0 }), 'done')
    assert.equal((await ref.info()).failures, 0)
  },
)

test('children end with a killed worker', { skip: process.platform !== 'linux' }, async () => {
  const ref = await add('ignores', {}, { maxAttempts: 2 })
  const { child, ended } = await start({ processes: 2, leaseMs: 1000 })
  await begun(ref)
  const pids = await childrenOf(child.pid)
  assert.equal(pids.length, 2)
  child.kill('SIGKILL')
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  for (const pid of pids) await eventually('its end', async () => !(await isAlive(pid)))
  await eventually('the expiry', async () => {
    await client.queue('tests').lightClean()
    return (await ref.info()).state === 'ready'
  })
  await ref.cancel()
})
