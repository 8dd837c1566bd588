// The example of web servers, with each of them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { connect } from '../index.mjs'
import { worker } from '../jobs.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
let folder

/** A copy of the example, with the packages that it needs. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-web-'))
  await cp(join(PACKAGE, '../examples/node-web'), folder, { recursive: true })
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  await symlink(PACKAGE, join(modules, 'leaseq'))
  for (const name of ['express', 'fastify']) {
    await symlink(join(PACKAGE, 'node_modules', name), join(modules, name))
  }
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
}

for (const [name, start] of Object.entries(START)) {
  test(`a server with ${name} adds jobs, and says what has become of them`, async () => {
    const client = await connect('memory:')
    const { jobs, handlers } = await load('worker.mjs')
    const { url, close } = await start((await load(`${name}.mjs`)).server, client)
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
