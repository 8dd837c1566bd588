// The example of web servers, with each of them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import { connect } from '../index.mjs'
import { worker } from '../jobs.mjs'
import { errorOf } from './support/engines.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
let folder

/** A copy of the example, with the packages that it needs. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-web-'))
  await cp(join(PACKAGE, '../examples/node-web'), folder, { recursive: true })
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  await symlink(PACKAGE, join(modules, 'leaseq'))
  for (const name of ['express', 'fastify', '@nestjs', '@types', 'reflect-metadata', 'rxjs']) {
    await symlink(join(PACKAGE, 'node_modules', name), join(modules, name))
  }
  const tsc = join(PACKAGE, 'node_modules/typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', folder])
  assert.ok((await readdir(folder)).includes('worker.mjs'))
})
after(() => rm(folder, { recursive: true, force: true }))

const load = (name) => import(pathToFileURL(join(folder, name)).href)

const START = {
  async express(server, client) {
    const listening = server(client).listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const close = async () => {
      listening.closeAllConnections()
      listening.close()
      await client.close()
    }
    return { url: `http://127.0.0.1:${listening.address().port}`, close }
  },
  async fastify(server, client) {
    const app = server(client)
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  async nest(server, client, options) {
    const app = await server(client, options)
    await app.listen(0, '127.0.0.1')
    return { url: await app.getUrl(), close: () => app.close() }
  },
}
const FILES = { nest: 'dist/nest.mjs' }

for (const [name, start] of Object.entries(START)) {
  test(`a server with ${name} adds jobs, and says what has become of them`, async () => {
    const client = await connect('memory:')
    const { jobs, handlers } = await load('worker.mjs')
    const { url, close } = await start((await load(FILES[name] ?? `${name}.mjs`)).server, client)
    const ask = async (path, body) => {
      const headers = { 'content-type': 'application/json', connection: 'close' }
      const post = body && { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(url + path, post)
      return [response.status, await response.json()]
    }
    const [status, { id, added }] = await ask('/orders', { to: 'ada' })
    assert.deepEqual([status, added], [202, true])
    assert.deepEqual(await ask(`/orders/${id}`), [200, { state: 'pending', result: null }])
    assert.equal((await ask('/orders', { to: 'ada' }))[0], 409)
    assert.equal((await ask('/orders', {}))[0], 400)
    assert.equal((await ask('/orders/none'))[0], 404)
    const exit = await worker(client, jobs, handlers).runUntilIdle()
    assert.equal(exit.started, 1)
    const done = { state: 'completed', result: 'confirmed for ada' }
    assert.deepEqual(await ask(`/orders/${id}`), [200, done])
    await close()
  })
}

test('a server with nest runs handlers that use its providers', async () => {
  const client = await connect('memory:')
  const { server } = await load(FILES.nest)
  const { url, close } = await START.nest(server, client, { runsJobs: true })
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const body = JSON.stringify({ to: 'ada' })
  const { id } = await (await fetch(`${url}/orders`, { method: 'POST', headers, body })).json()
  const { jobs } = await load('jobs.mjs')
  const ref = jobs.ref(client, 'order.confirm', id)
  assert.equal(await ref.result({ waitMs: 30_000 }), 'confirmed for ada')
  await close()
  // It has ended the worker first.
  assert.equal((await errorOf(client.queues())).code, 'CLOSED')
})
