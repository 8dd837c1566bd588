// The same tests on each engine: a server of its own, and a file.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'

import { connect } from '../../index.mjs'
import { startRedis } from './redis.mjs'

/** A lease of 30 s, if there is an item. */
export const AT_ONCE = { durationMs: 30_000, waitMs: 0 }

const ENGINES = {
  async redis() {
    const server = await startRedis()
    return { url: server.url, end: () => server.stop() }
  },
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'leaseq-test-'))
    const url = `sqlite:${join(folder, 'test.db')}?synchronous=normal`
    return { url, end: () => rm(folder, { recursive: true, force: true }) }
  },
}

/**
 * Describes something on each engine. `tests` gets a place: `url`, a `client`, and `queue()` for a
 * queue that no other test uses.
 */
export function onEachEngine(what, tests) {
  for (const [engine, start] of Object.entries(ENGINES)) {
    describe(`${what}, on ${engine}`, () => {
      let made = 0
      const place = { engine, queue: () => place.client.queue(`test-${made++}`) }
      before(async () => {
        const { url, end } = await start()
        Object.assign(place, { url, end, client: await connect(url) })
      })
      after(async () => {
        await place.client.close()
        await place.end()
      })
      tests(place)
    })
  }
}

/** The error that a promise is rejected with. */
export async function errorOf(promise) {
  let value
  try {
    value = await promise
  } catch (error) {
    return error
  }
  throw new Error(`not rejected, but ${JSON.stringify(value)}`)
}
