import { defineJobs, job } from 'leaseq/jobs'

export class NoPaper extends Error {}

export const jobs = defineJobs({ greet: job({ retainMs: 60_000 }), print: job() })
export const handlers = jobs.handlers({
  greet: ({ args }) => ({ text: `welcome, ${args.to}` }),
  print: () => {
    throw new NoPaper('empty')
  },
})
