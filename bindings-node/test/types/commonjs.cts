import leaseq = require('leaseq')

export async function use(): Promise<number> {
  const client: leaseq.Client = await leaseq.connect('memory:')
  const queue = client.queue('a')
  await queue.addItem('hello')
  const leases: leaseq.Lease[] = await queue.leaseMany(5, { durationMs: 1_000, waitMs: 0 })
  await client[Symbol.asyncDispose]()
  return leases.length
}
