import { defineJobs, job } from 'leaseq/jobs'

export const jobs = defineJobs(
  { 'order.confirm': job({ timeoutMs: 30_000, retainMs: 3_600_000, retry: { attempts: 5 } }) },
  { queue: 'orders' },
)
