const { defineJobs, job } = require('leaseq/jobs')

class NoPaper extends Error {}

const jobs = defineJobs({ greet: job({ retainMs: 60_000 }), print: job() })
const handlers = jobs.handlers({
  greet: ({ args }) => ({ text: `welcome, ${args.to}` }),
  print: () => {
    throw new NoPaper('empty')
  },
})

module.exports = { jobs, handlers, NoPaper }
