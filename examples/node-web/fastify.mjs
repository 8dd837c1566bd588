import { fileURLToPath } from 'node:url'

import fastify from 'fastify'
import { connect } from 'leaseq'

import { jobs } from './jobs.mjs'

const body = {
  type: 'object',
  required: ['to'],
  properties: { to: { type: 'string', minLength: 1, maxLength: 200 } },
}

export function server(client) {
  const app = fastify()

  app.post('/orders', { schema: { body } }, async (request, reply) => {
    const { to } = request.body
    const ref = await jobs.enqueue(client, 'order.confirm', { to }, { unique: to })
    reply.code(ref.added ? 202 : 409)
    return { id: ref.id, added: ref.added }
  })

  app.get('/orders/:id', async (request, reply) => {
    const outcome = await jobs.ref(client, 'order.confirm', request.params.id).wait({ waitMs: 0 })
    if (outcome?.kind === 'gone') return reply.code(404).send({ error: 'no such order' })
    const result = outcome?.result ? JSON.parse(outcome.result) : null
    return { state: outcome?.kind ?? 'pending', result }
  })

  app.addHook('onClose', () => client.close())
  return app
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const app = server(await connect())
  await app.listen({ port: 3000, host: '127.0.0.1' })
  process.once('SIGTERM', () => app.close())
}
