// The registry of workers.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { connect } from '../index.mjs'

const me = { name: 'w', instance: '1' }
let client
before(async () => {
  client = await connect('memory:')
})
after(() => client.close())

test('what a worker says is listed', async () => {
  const running = [
    { queue: 'q', itemId: 'ß', elapsedMs: 5, deadline: '2027-01-15T08:00:00Z' },
    { queue: 'q', itemIdHex: '00ff', elapsedMs: 0, deadline: '2027-01-15T08:00:00Z' },
  ]
  const said = { ...me, queues: ['q'], slots: 2, running, memoryBytes: 5, waitingUs: [[3, 2]] }
  assert.deepEqual(await client.beat(said), { quiet: false, commands: [] })
  const page = await client.workers({ queue: 'q', limit: 1 })
  const [worker] = page.workers
  assert.equal(worker.language, 'node')
  assert.equal(worker.process, process.pid)
  assert.equal(worker.memoryBytes, 5)
  assert.deepEqual(worker.running, running)
  assert.deepEqual(worker.waitingUs, [[3, 2]])
  assert.deepEqual([page.next, page.skipped], [me, 0])
  assert.deepEqual((await client.workers({ after: page.next })).workers, [])
  await client.leave(me)
  assert.deepEqual((await client.workers({ name: 'w' })).workers, [])
})

test('a worker is commanded', async () => {
  assert.equal(await client.commandWorker(me, { action: 'stop' }), false)
  await client.beat(me)
  const cancel = { action: 'cancel', queue: 'q', itemId: 'x' }
  assert.equal(await client.commandWorker(me, cancel), true)
  await client.quietWorker('w')
  const { quiet, commands } = await client.beat(me)
  assert.equal(quiet, true)
  const { number, ...command } = commands[0]
  assert.deepEqual([commands.length, command], [1, cancel])
  await client.resumeWorker('w')
  const reply = await client.beat({ ...me, acknowledged: [number] })
  assert.deepEqual(reply, { quiet: false, commands: [] })
})

test('what is wrong is invalid', async () => {
  for (const beat of [{}, { name: 'w' }, { ...me, colour: 1 }, { ...me, host: 5 }, []]) {
    await assert.rejects(client.beat(beat), { code: 'INVALID' })
  }
  const circle = { ...me }
  circle.host = circle
  await assert.rejects(client.beat(circle), { code: 'INVALID' })
  await assert.rejects(client.workers({ limit: 0 }), { code: 'INVALID' })
  await assert.rejects(client.workers({ colour: 1 }), { code: 'INVALID' })
  await assert.rejects(client.quietWorker(''), { code: 'INVALID' })
})
