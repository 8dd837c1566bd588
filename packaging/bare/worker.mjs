// A job, its worker, and a queue in a file.
import { connect } from 'leaseq'
import { defineJobs, job, worker } from 'leaseq/jobs'

const jobs = defineJobs({ 'mail.send': job() }, { queue: 'mail' })
const client = await connect('sqlite:jobs.db')
await jobs.enqueue(client, 'mail.send', { to: 'anna' })
const handlers = { 'mail.send': ({ args }) => console.log('sent to', args.to) }
await worker(client, jobs, handlers).runUntilIdle()
await client.close()
