import { jobs } from './jobs.mjs'

export { jobs }

export const handlers = jobs.handlers({
  async 'order.confirm'({ args, signal, progress }) {
    await progress('writing')
    signal.throwIfAborted()
    return `confirmed for ${args.to}` // the work: send a mail, with `signal`
  },
})
