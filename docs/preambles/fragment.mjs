import { connect } from 'leaseq'

async function send(data) {
  return data
}

//--- client
//--- queue < client
const client = await connect()
const queue = client.queue('emails')
//--- item < queue
await queue.addItem({ data: 'your order', id: 'order-17' })
//--- lease < item
const lease = await queue.lease({ durationMs: 30_000 })
//--- lost < lease
await queue.release(lease)
//--- dead < queue
await queue.addItem({ data: 'your order', id: 'order-17', maxAttempts: 1 })
await queue.fail(await queue.lease({ durationMs: 30_000 }), 'no such address')
//--- example
