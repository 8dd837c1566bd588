import { fileURLToPath } from 'node:url'

import express from 'express'
import { connect } from 'leaseq'

import { jobs } from './jobs.mjs'

export function server(client) {
  const app = express()
  app.use(express.json())

  app.post('/orders', async (request, response) => {
    const { to } = request.body ?? {}
    if (typeof to !== 'string') return response.status(400).json({ error: 'to is missing' })
    const ref = await jobs.enqueue(client, 'order.confirm', { to }, { unique: to })
    response.status(ref.added ? 202 : 409).json({ id: ref.id, added: ref.added })
  })

  app.get('/orders/:id', async (request, response) => {
    const outcome = await jobs.ref(client, 'order.confirm', request.params.id).wait({ waitMs: 0 })
    if (outcome?.kind === 'gone') return response.status(404).json({ error: 'no such order' })
    const result = outcome?.result ? JSON.parse(outcome.result) : null
    response.json({ state: outcome?.kind ?? 'pending', result })
  })
  return app
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const client = await connect()
  const listening = server(client).listen(3000, '127.0.0.1')
  process.once('SIGTERM', () => listening.close(() => client.close()))
}
